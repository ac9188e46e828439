"""What closes a loop: one protocol that every kind of loop and coupling answers for itself.

Nobody outside asks what kind a closure is. They ask for its rows, the bodies it involves, what its
multipliers do, how it looks; a kind that does not answer is refused by name. docs/extending.md shows how to
write one, docs/decisions/loop-kinds.md why it is so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from kinloop import scalar as sc
from kinloop.errors import ModelError
from kinloop.model.facts import written_here
from kinloop.model.known_names import known_body
from kinloop.model.loops.loop_rows import LoopRows
from kinloop.model.loops.picture import Picture
from kinloop.scalar import Array
from kinloop.spatial import Transform

if TYPE_CHECKING:
    from kinloop.model.mechanism import Mechanism
    from kinloop.model.topology import Topology

Place = tuple[str, Transform]
"""A body, and a pose in its frame."""

NOTHING = 1e-11
"""Norm of a row of K [m, rad per unit] that is zero but for rounding."""


@dataclass(frozen=True, eq=False)
class LoopClosure(ABC):
    """Base of loops and couplings. A new kind says its bodies and its rows; the rest has defaults."""

    name: str

    noun: ClassVar[str] = "loop"
    """What messages call it."""

    linear: ClassVar[bool] = False
    """Whether the rows are linear in q, so that K is the same everywhere."""

    @property
    def what(self) -> str:
        """How messages name it: loop 'knee_pin'."""
        return f"{self.noun} {self.name!r}"

    # --- mathematics

    @abstractmethod
    def bodies(self, top: Topology) -> list[int]:
        """The bodies whose joints appear in its rows; they move as one cluster."""

    @abstractmethod
    def rows(self, top: Topology, q: Array, qd: Array | None = None) -> LoopRows:
        """phi (rows) [m, rad], K (rows, dofs), k (rows) at q (nq) and qd (None: at rest), of numbers or symbols."""

    def row_sizes(self, norms: Array) -> Array:
        """The size (rows) [m, rad, 1] each row counts as, so that rows of different kinds compare.

        `norms` are the largest norms of its rows of K over sample configurations. A row counts as large as that,
        unless its kind knows better.
        """
        return norms

    def row_scales(self, norms: Array) -> Array:
        """What each row (rows) [m, rad, 1] could be, to judge what is rounding: `row_sizes`, 1 where that is nothing.

        Loops are closed to tolerances in metres and radians, so that a row below `NOTHING` of these is rounding.
        """
        sizes = self.row_sizes(np.where(norms > NOTHING, norms, 0.0))
        return np.where(sizes > 0.0, sizes, 1.0)

    def openness(self, phi: Array) -> str:
        """How far it stands open, in words, by the worst of its residuals phi (rows) [m, rad]."""
        return f"open by {np.max(np.abs(phi), initial=0.0):.3g} (m or rad, as its joints move)"

    def explicit_joints(self) -> tuple[str, ...]:
        """Joints whose positions it gives explicitly, one per row, so that they are dependent for preference."""
        return ()

    @property
    def ratios(self) -> Array | None:
        """The last columns of K (rows, n) [1, rad/m, m/rad] that parameters may leave open; None without them."""
        return None

    # --- the two bodies it joins

    @property
    def ends(self) -> tuple[str, str] | None:
        """Predecessor and successor, where it joins two bodies; None where it joins joints only."""
        return None

    def touches(self, body: str) -> bool:
        """Whether it holds a body, so that the body's own orientation matters."""
        return self.ends is not None and body in self.ends

    def wrench_basis(self, top: Topology, q: Array) -> Array | None:
        """Wrenches on the successor (6, rows) [m, 1] per unit of each row's multiplier; None where it joins joints.

        About the origin and in the axes of the ends' nearest common ancestor; the predecessor feels the opposite.
        """
        if self.ends is not None:
            raise self._unsaid("which wrenches its rows put on the bodies it joins", "wrench_basis")
        return None

    def reattached(self, predecessor: Place, successor: Place) -> Self:
        """The same closure between bodies in which its present ends stand at the given poses."""
        raise self._unsaid("how to move its ends to other bodies", "reattached")

    def _unsaid(self, question: str, method: str) -> ModelError:
        kind = type(self).__name__
        return ModelError(f"{self.what} is of the kind {kind}, which does not say {question}; define {kind}.{method}")

    # --- facts, words and pictures

    def check(self, mechanism: Mechanism) -> None:
        """Raise a `ModelError` if it names what the mechanism does not have."""
        for end in self.ends or ():
            known_body(mechanism, end, self.what, world=True)
        if self.ends is not None and self.ends[0] == self.ends[1]:
            raise ModelError(f"{self.what} joins body {self.ends[0]!r} to itself; give two different bodies")

    def own_functions(self, top: Topology) -> list[sc.Function]:
        """Traces of mathematics that is not in this package: part of the key of every kernel."""
        return [] if written_here(self) else [self.traced_rows(top)]

    def traced_rows(self, top: Topology) -> sc.Function:
        """Its rows as a graph of (q, qd)."""

        def equations(q: Array, qd: Array) -> dict[str, Array]:
            rows = self.rows(top, q, qd)
            return {"phi": rows.phi, "K": rows.K, "k": rows.k}

        return sc.trace(equations, {"q": top.nq, "qd": top.n_spanning})

    @property
    def kind(self) -> str:
        """What it is, in a few words."""
        return type(self).__name__.lower()

    @property
    def between(self) -> str:
        """What it ties together, in a few words."""
        return " - ".join(self.ends or ())

    def picture(self, top: Topology) -> Picture:
        """What there is to draw; nothing unless a kind says so."""
        return Picture()


class Loop(LoopClosure):
    """Base of what closes a loop by an equation phi(q) = 0."""
