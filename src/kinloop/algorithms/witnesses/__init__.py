"""What the other algorithms are checked and compared with.

Oracles, slow and obvious:

- `dense_kkt`: dense Jacobians in the world frame, one linear system for everything.
- `dense_constrained`: the same under motion constraints.
- `graph_derivatives`: derivatives of dynamics from the graph, one tangent per direction.

Exact methods of other authors, the papers' baselines:

- `projection`: dynamics of the spanning tree, projected onto the independent coordinates.
- `lagrange`: the same with a multiplier for every loop row.
- `ltl`, `ltl_soft`: constrained motion by the sparse factorisation of the joint-space inertia.
- `efpa`, `kjr`: inverse operational-space inertia of constraints; `constrained_efpa`: constrained motion with them.

What they use: `spanning_tree` (all loops cut), `sparse_ltl` (the factorisation that keeps the zeros of a tree).

Not exact: `approximate`, the loops ignored, with or without reflected inertias.
"""
