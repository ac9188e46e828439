"""Contact with the ground, and the stops and dry friction of joints.

- `ground`: what robots stand on: `Plane`, `HeightField`, and the protocol of both.
- `candidates`: the points of a robot that may touch the ground.
- `propagation`: forces propagated inward through the clusters, and the motion they cause: rows of L^-1 J^T.
- `touch`: one candidate at a pose of its body: its gap, its axes, the bound on its velocity.
- `impact`: the contact problem of one step: gaps, velocities, bounds, restitution, and where the impulses lead.
- `joint_stops`: stops and dry friction of joints as further rows of that problem.
- `standing`: where a robot is over the ground: its points of contact, lifted and tilted bases.
- `contact_block`: how a contact can move, in all directions or in some; what is inverted of its Delassus block.
- `row_steps`: the impulse that one contact or joint takes while all others are held.
- `shapes`: gap, point and normal of pairs of shapes: spheres, capsules, boxes, planes, ...
- `solver`: impulses that meet the laws of contact: a projected Gauss-Seidel method.
"""
