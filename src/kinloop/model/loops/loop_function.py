"""A loop closed by a user's function of joint positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kinloop import scalar as sc
from kinloop.model.known_names import known_joints
from kinloop.model.loops.closure import Loop
from kinloop.model.loops.loop_rows import LoopRows
from kinloop.model.loops.picture import Picture
from kinloop.model.loops.traced_function import JointFunction, TracedFunction, check_function
from kinloop.scalar import Array

if TYPE_CHECKING:
    from kinloop.model.mechanism import Mechanism
    from kinloop.model.topology import Topology


@dataclass(frozen=True, eq=False)
class LoopFunction(Loop):
    """phi(q1, q2, ...) = 0 for any function of the positions of the named joints.

    The function is plain Python on scalars (arrays for joints of several coordinates), written with
    `kinloop.scalar` functions; it returns one value or a sequence of them.
    """

    joints: tuple[str, ...]
    phi: JointFunction

    def __post_init__(self) -> None:
        check_function(self.phi, self.what)

    @cached_property
    def _traced(self) -> TracedFunction:
        return TracedFunction(self.phi, self.what)

    def bodies(self, top: Topology) -> list[int]:
        return [top.joint_index[name] for name in self.joints]

    def rows(self, top: Topology, q: Array, qd: Array | None = None) -> LoopRows:
        positions, dofs = top.places(self.joints)
        rates = np.zeros(len(dofs)) if qd is None else qd[dofs]
        phi, K, bias = self._derivatives(top)(q[positions], rates)
        return LoopRows(dofs, phi, K, -bias)

    def _derivatives(self, top: Topology) -> sc.Function:
        return self._traced.derivatives(tuple(top.types[i] for i in self.bodies(top)))

    def check(self, mechanism: Mechanism) -> None:
        known_joints(mechanism, self.joints, self.what)

    def own_functions(self, top: Topology) -> list[sc.Function]:
        return [*super().own_functions(top), self._derivatives(top)]

    @property
    def kind(self) -> str:
        return "function"

    @property
    def between(self) -> str:
        return ", ".join(self.joints)

    def picture(self, top: Topology) -> Picture:
        """The bars its function stands for, where it is an object with a method `bars(top, joints)` that says so."""
        said = getattr(self.phi, "bars", None)
        bars = said(top, self.bodies(top)) if said is not None else []
        return Picture(bars=tuple(bar._replace(name=f"{self.name}_{bar.name}") for bar in bars))
