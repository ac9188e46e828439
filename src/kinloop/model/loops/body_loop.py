"""Loops between a frame on each of two bodies, written row by row on these frames."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kinloop.model.loops.chain_motion import walk
from kinloop.model.loops.closure import Loop
from kinloop.model.loops.loop_rows import LoopRows
from kinloop.model.loops.picture import Mark, Picture
from kinloop.model.loops.row_writer import RowUnit, RowWriter
from kinloop.scalar import Array
from kinloop.spatial import Transform

if TYPE_CHECKING:
    from kinloop.model.topology import Topology


@dataclass(frozen=True, eq=False)
class BodyLoop(Loop):
    """Base of loops between two bodies, or a body and the world. A new kind says its two frames and its rows."""

    predecessor: str
    successor: str

    @property
    @abstractmethod
    def frames(self) -> tuple[Transform, Transform]:
        """The loop frames, on the predecessor and on the successor."""

    @abstractmethod
    def write(self, writer: RowWriter) -> None:
        """Write the rows that hold the two frames together."""

    @property
    def ends(self) -> tuple[str, str]:
        return self.predecessor, self.successor

    def bodies(self, top: Topology) -> list[int]:
        _, a, b = self._paths(top)
        return a + b

    def _paths(self, top: Topology) -> tuple[int, list[int], list[int]]:
        return top.paths(top.body_index[self.predecessor], top.body_index[self.successor])

    def _written(self, top: Topology, q: Array, qd: Array | None) -> RowWriter:
        _, to_P, to_S = self._paths(top)
        writer = RowWriter(walk(top, to_P, q, qd), walk(top, to_S, q, qd), *self.frames)
        self.write(writer)
        return writer

    def rows(self, top: Topology, q: Array, qd: Array | None = None) -> LoopRows:
        return self._written(top, q, qd).rows()

    def wrench_basis(self, top: Topology, q: Array) -> Array:
        return self._written(top, q, None).wrenches()

    @cached_property
    def row_units(self) -> tuple[RowUnit, ...]:
        """What each row measures."""
        writer = RowWriter.at_rest()
        self.write(writer)
        return tuple(writer.units)

    def row_sizes(self, norms: Array) -> Array:
        """Shifts count in units of the loop's longest lever, turns in radians: sizes (rows) [m, rad]."""
        shifts = np.array([unit is RowUnit.SHIFT for unit in self.row_units], dtype=bool)
        return np.where(shifts, np.max(norms[shifts], initial=0.0), 1.0)

    def openness(self, phi: Array) -> str:
        """By how much its points or its axes miss each other, by the worst of its residuals phi (rows) [m, rad]."""
        worst = int(np.argmax(np.where(np.isnan(phi), np.inf, np.abs(phi)))) if len(phi) else 0
        size, shift = abs(float(phi[worst])) if len(phi) else 0.0, RowUnit.SHIFT in self.row_units[worst : worst + 1]
        return f"open by {size:.3g} {'m between its points' if shift else 'rad between its axes'}"

    def picture(self, top: Topology) -> Picture:
        """A ball at either end."""
        places = tuple(zip(self.ends, self.frames, strict=True))
        points = tuple((body, np.asarray(T.p, dtype=float)) for body, T in places)
        return Picture(points, tuple(Mark(body, T) for body, T in places))
