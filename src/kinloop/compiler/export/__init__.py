"""Kernels for use without kinloop.

- `c99`: a plan as C that needs nothing but libm;
- `c_interface`: the header of C sources and of object code, and an example that calls a kernel;
- `casadi_graph`: a graph as a CasADi function.
"""
