"""Couplings: joints whose positions follow from those of other joints."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kinloop.errors import ModelError
from kinloop.model.known_names import known_joints
from kinloop.model.loops.closure import LoopClosure
from kinloop.model.loops.loop_rows import LoopRows
from kinloop.scalar import Array

if TYPE_CHECKING:
    from kinloop.model.mechanism import Mechanism
    from kinloop.model.topology import Topology


@dataclass(frozen=True, eq=False)
class Coupling(LoopClosure):
    """Base of what fixes joints explicitly: q_dependent = gamma(q_independent)."""

    dependent: tuple[str, ...]
    independent: tuple[str, ...]

    noun: ClassVar[str] = "coupling"

    @abstractmethod
    def explicit(self, top: Topology, q: Array, qd: Array | None = None) -> tuple[Any, Any, Any]:
        """gamma (m) [rad, m], G (m, n), g (m): q_dep = gamma, qd_dep = G qd_ind, qdd_dep = G qdd_ind + g."""

    def independent_motion(self, top: Topology, q: Array, qd: Array | None) -> tuple[Array, Array]:
        """Positions (n) [rad, m] and velocities (n) [rad/s, m/s] of the independent joints; `qd=None` is at rest."""
        positions, dofs = top.places(self.independent)
        return q[positions], np.zeros(len(dofs)) if qd is None else qd[dofs]

    def bodies(self, top: Topology) -> list[int]:
        return [top.joint_index[name] for name in (*self.dependent, *self.independent)]

    def rows(self, top: Topology, q: Array, qd: Array | None = None) -> LoopRows:
        """phi = q_dep - gamma(q_ind) (m) [rad, m], K = [1, -G] (m, m + n), k = g (m)."""
        gamma, G, g = self.explicit(top, q, qd)
        positions, dofs = top.places(self.dependent)
        _, others = top.places(self.independent)
        K = np.concatenate([np.eye(len(dofs)), -G], axis=1)
        return LoopRows(dofs + others, q[positions] - gamma, K, g)

    def explicit_joints(self) -> tuple[str, ...]:
        return self.dependent

    def check(self, mechanism: Mechanism) -> None:
        known_joints(mechanism, (*self.dependent, *self.independent), self.what)
        twice = set(self.dependent) & set(self.independent)
        if twice:
            raise ModelError(f"{self.what} has {sorted(twice)} on both sides; a joint is dependent or independent")
        for name in (*self.dependent, *self.independent):
            kind = mechanism.joint_types[name]
            if kind.nq != 1:
                raise ModelError(
                    f"{self.what} uses joint {name!r} of type {kind.name}, which has "
                    f"{kind.nq} coordinates; couplings take joints of one coordinate (use a LoopFunction)"
                )

    @property
    def kind(self) -> str:
        return type(self).__name__.removesuffix("Coupling").lower()

    @property
    def between(self) -> str:
        return f"{', '.join(self.independent)} -> {', '.join(self.dependent)}"
