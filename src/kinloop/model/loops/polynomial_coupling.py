"""Polynomial couplings of one joint to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.errors import ModelError
from kinloop.model.frozen_arrays import frozen
from kinloop.model.loops.coupling import Coupling
from kinloop.scalar import Array

if TYPE_CHECKING:
    from kinloop.model.topology import Topology


@dataclass(frozen=True, eq=False)
class PolynomialCoupling(Coupling):
    """q_dependent = c0 + c1 q + c2 q^2 + ... of one independent joint."""

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.coefficients):
            raise ModelError(f"{self.what} has no coefficients; give at least one")
        frozen(self.coefficients, (len(self.coefficients),), f"coefficients of {self.what}")
        if (len(self.dependent), len(self.independent)) != (1, 1):
            raise ModelError(
                f"{self.what} joins {len(self.dependent)} dependent and {len(self.independent)} independent joints; "
                "a polynomial takes one of each"
            )

    def explicit(self, top: Topology, q: Array, qd: Array | None = None) -> tuple[Any, Any, Any]:
        y, yd = self.independent_motion(top, q, qd)
        value, slope, curve = (self._derivative(y[0], order) for order in range(3))
        return np.array([value]), np.array([[slope]]), np.array([curve * yd[0] * yd[0]])

    def _derivative(self, x: Any, order: int) -> Any:
        """The order-th derivative of sum c_k x^k, by Horner's rule."""
        c = list(self.coefficients)
        for _ in range(order):
            c = [k * a for k, a in enumerate(c)][1:]
        out: Any = 0.0
        for a in reversed(c):
            out = out * x + a
        return out
