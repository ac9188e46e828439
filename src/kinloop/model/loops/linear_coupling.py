"""Linear couplings: gears, belts, mimics, linear differentials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kinloop.model.frozen_arrays import frozen
from kinloop.model.loops.coupling import Coupling
from kinloop.scalar import Array

if TYPE_CHECKING:
    from kinloop.model.topology import Topology


@dataclass(frozen=True, eq=False)
class LinearCoupling(Coupling):
    """q_dependent = matrix @ q_independent + offset: gears, belts, mimics, linear differentials.

    Matrix and offset are given as anything array-like and kept as read-only arrays.
    """

    matrix: Any
    offset: Any = None

    linear: ClassVar[bool] = True

    def __post_init__(self) -> None:
        shape = (len(self.dependent), len(self.independent))
        matrix = np.atleast_2d(np.asarray(self.matrix, dtype=float))
        offset = np.zeros(shape[0]) if self.offset is None else np.atleast_1d(self.offset)
        object.__setattr__(self, "matrix", frozen(matrix, shape, f"matrix of {self.what}"))
        object.__setattr__(self, "offset", frozen(offset, shape[:1], f"offset of {self.what}"))

    @property
    def ratios(self) -> Array:
        matrix: Array = self.matrix
        return matrix

    def explicit(self, top: Topology, q: Array, qd: Array | None = None) -> tuple[Any, Any, Any]:
        y, _ = self.independent_motion(top, q, qd)
        ratios = top.ratios[self.name]
        return ratios @ y + self.offset, ratios, np.zeros(len(self.dependent))

    @property
    def kind(self) -> str:
        return f"gear of {self.matrix[0, 0]:.4g}" if self.matrix.shape == (1, 1) else "linear"
