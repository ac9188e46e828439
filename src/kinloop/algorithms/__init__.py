"""Algorithms on cluster trees: pure functions of NumPy arrays of numbers or symbols.

- `trees`: robots whose loops are embedded in clusters: kinematics, forward and inverse dynamics, inertias, energy.
- `constrained`: the same robots under motion constraints (points, welds, rows, constrained loops).
- `witnesses`: slower or approximate ways to the same quantities, which the others are checked and compared with.
- `quantities`: the table of everything a robot can compute, with its inputs, outputs and methods.
- `requests`: which quantity is asked for, with which method, frames and constraints, and its evaluation.
- `differentiated`: derivatives of any of them, forward, reverse and of second order.
- `position_derivatives`: steps along closed loops and differences of configurations, with their derivatives.

Derivations, one page per algorithm: docs/algorithms/.
"""
