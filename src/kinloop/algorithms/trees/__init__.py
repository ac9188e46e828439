"""Dynamics of robots whose loops are embedded in clusters.

The algorithms, a file each:

- `cluster_aba`: forward dynamics, the cluster articulated-body algorithm.
- `cluster_rnea`: inverse dynamics, the cluster recursive Newton-Euler algorithm.
- `cluster_crba`: the mass matrix, from composite inertias.
- `cluster_efpa`: the inverse operational-space inertia, by extended force propagators.
- `factorization`: the innovations factorisation of the mass matrix, its inverse and its determinant.
- `derivatives`: derivatives of inverse dynamics along closed motions, by one recursion inward.
- `forward_derivatives`: derivatives of forward dynamics, through the factors of the mass matrix.
- `regressor`: inverse dynamics as a product with the numbers of bodies and joints.
- `base_parameters`: the combinations of these numbers that forces can show.
- `positions`: steps along closed loops, the nearest closed configuration, how far loops are open.
- `reactions`: the wrenches that joints and loops transmit.
- `frame_derivatives`: derivatives of a frame's velocity, acceleration and Jacobian.
- `coriolis`: the Coriolis matrix.
- `energy`: energies with the gradient of the kinetic one, momentum, centre of mass.
- `centroidal`: the centre of mass' Jacobian, momentum about it with matrix and rate, the force of gravity.

What they share:

- `kinematics`: poses, velocities, accelerations, Jacobians of bodies and frames.
- `body_forces`: the bias force of each body, and wrenches from outside.
- `cluster_changes`: how the motion of a cluster changes along its own coordinates.
- `composites`: what a body and all it carries answer to a change of its motion.
- `branch_factor`: the mass matrix factorised along the branches of a tree.
- `articulated`: articulated inertias of clusters, the inward pass of all recursive algorithms.
- `handles`: the bodies through which a cluster feels its surroundings, and what passes through them.
"""
