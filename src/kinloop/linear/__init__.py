"""Small dense linear algebra on numbers or symbols: what clusters and algorithms solve with.

- `symmetric`: products that are known to be symmetric, one triangle of them.
- `vectors`: sums in an order that lets constants fold, joined vectors and the places of their parts.
- `ldl`: the factorisation L D L^T of symmetric matrices, with a rule for small pivots.
- `elimination`: systems without symmetry, and determinants, with the pivots chosen while the kernel runs.
- `shortest`: the shortest solution of fewer equations than unknowns.
"""

from kinloop.linear.elimination import determinant, largest_inverse_pivot, solve
from kinloop.linear.ldl import Factor, Pivot, PivotRule, floored, guarded, plain
from kinloop.linear.shortest import shortest_solution
from kinloop.linear.symmetric import gram, mirror, symmetric_product
from kinloop.linear.vectors import join, spans, total

__all__ = [
    "Factor", "Pivot", "PivotRule", "determinant", "floored", "gram", "guarded", "join",
    "largest_inverse_pivot", "mirror", "plain", "shortest_solution", "solve",
    "spans", "symmetric_product", "total",
]  # fmt: skip
