"""A rod of fixed length between two bodies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinloop.errors import ModelError
from kinloop.model.frozen_arrays import frozen, is_finite
from kinloop.model.loops.body_loop import BodyLoop
from kinloop.model.loops.closure import Place
from kinloop.model.loops.picture import BarPicture, Picture
from kinloop.model.loops.row_writer import RowWriter
from kinloop.spatial import Transform, apply_pose

if TYPE_CHECKING:
    from kinloop.model.topology import Topology


@dataclass(frozen=True, eq=False)
class Rod(BodyLoop):
    """A massless rod of fixed length [m] between a point on each of two bodies, with ball ends.

    The points are given as anything array-like and kept as read-only arrays.
    """

    predecessor_point: Any
    successor_point: Any
    length: float

    def __post_init__(self) -> None:
        for end in ("predecessor_point", "successor_point"):
            object.__setattr__(self, end, frozen(getattr(self, end), (3,), f"{end} of rod {self.name!r}"))
        if not (is_finite(self.length) and self.length > 0):
            raise ModelError(f"rod {self.name!r} has length {self.length!r}; it must be a positive number of metres")

    @property
    def frames(self) -> tuple[Transform, Transform]:
        return Transform(np.eye(3), self.predecessor_point), Transform(np.eye(3), self.successor_point)

    def write(self, writer: RowWriter) -> None:
        writer.distance(self.length)

    def reattached(self, predecessor: Place, successor: Place) -> Self:
        (P, T_P), (S, T_S) = predecessor, successor
        return replace(
            self,
            predecessor=P,
            successor=S,
            predecessor_point=apply_pose(T_P, self.predecessor_point),
            successor_point=apply_pose(T_S, self.successor_point),
        )

    @property
    def kind(self) -> str:
        return f"rod of {self.length:.4g} m"

    def picture(self, top: Topology) -> Picture:
        """A bar with a ball at either end."""
        bodies = (top.body_index[self.predecessor], top.body_index[self.successor])
        ends = (self.predecessor_point, self.successor_point)
        bar = BarPicture(f"rod_{self.name}", bodies, lambda q: ends)
        return super().picture(top)._replace(bars=(bar,))
