"""Kernels for use without kinloop.

- `c99`: a plan as C that needs nothing but libm;
- `casadi_graph`: a graph as a CasADi function.
"""
