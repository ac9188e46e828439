"""All forces of users on a robot: what they do to its joints at a state, and the energy that their springs store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinloop.clusters import ClusterTree
from kinloop.errors import MethodError
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.sim.force_state import BodyPlaces
from kinloop.sim.spring_rows import BoundSpring, Row
from kinloop.sim.user_forces import Push, UserForce


@dataclass(frozen=True, eq=False)
class Outside:
    """Springs and pushes of a robot, at the time t of a state [s]. Their controls follow those of `motors` motors."""

    springs: tuple[BoundSpring, ...] = ()
    pushes: tuple[Push, ...] = ()
    motors: int = 0
    t: Any = 0.0

    def __bool__(self) -> bool:
        return bool(self.springs or self.pushes)

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        return tuple(f.key for f in (*self.springs, *self.pushes))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the controls of all pushes."""
        return tuple(name for push in self.pushes for name in push.inputs)

    @cached_property
    def is_timed(self) -> bool:
        """Whether something depends on time."""
        return any(push.is_timed for push in self.pushes)

    def at(self, t: Any) -> Outside:
        """The same at another time."""
        return replace(self, t=t) if self.is_timed else self

    def after(self, h: Any) -> Outside:
        """The same a time h later."""
        return self.at(self.t + h)

    def pushed(self, q: Array, qd: Array, u: Array) -> Array:
        """What external forces do to the spanning coordinates."""
        out, k = np.zeros(len(qd), dtype=np.result_type(float, q, qd)), self.motors
        for push in self.pushes:
            own = u[k : k + len(push.inputs)]
            k += len(push.inputs)
            out = out + push.function(q, qd, np.array([self.t]), own)
        return out

    def wrenches(self, q: Array, qd: Array, u: Array) -> list[tuple[Push, Array]]:
        """External forces with their wrenches in world axes about the world's origin."""
        out, k = [], self.motors
        for push in self.pushes:
            own = u[k : k + len(push.inputs)]
            k += len(push.inputs)
            out.append((push, push.wrench(q, qd, np.array([self.t]), own)))
        return out

    def rows(self, top: Topology, q: Array) -> list[tuple[Row, Array]]:
        """All coordinates along which springs and dampers act, and what unit forces there are on the joints."""
        places = BodyPlaces(top, q)
        return [(row, row.on_joints(places)) for spring in self.springs for row in spring.rows(places)]

    def forces(self, top: Topology, q: Array, qd: Array, u: Array) -> Array:
        """What all of them do to the spanning coordinates, as it is at this state."""
        out = self.pushed(q, qd, u)
        for row, g in self.rows(top, q):
            out = out - (row.stiffness * row.x + row.damping * (g @ qd)) * g
        return out

    def working(self, top: Topology, q: Array, qd: Array, u: Array) -> Array:
        """What all but springs do to the spanning coordinates at this state: springs only store energy."""
        out = self.pushed(q, qd, u)
        for row, g in self.rows(top, q) if any(spring.damping for spring in self.springs) else ():
            out = out - (row.damping * (g @ qd)) * g
        return out

    def stored(self, top: Topology, q: Array) -> Any:
        """The energy that springs store [J]."""
        total: Any = 0.0
        for spring in self.springs:
            for row in spring.rows(BodyPlaces(top, q)):
                total = total + 0.5 * row.stiffness * row.x * row.x
        return total


NOTHING = Outside()


def make_outside(tree: ClusterTree, forces: Sequence[UserForce] | None, motors: int) -> Outside:
    """The forces of users on a robot with so many motors."""
    springs: list[BoundSpring] = []
    pushes: list[Push] = []
    for force in forces or ():
        if not isinstance(force, UserForce):
            raise MethodError(
                f"forces are a list of Spring, Damper, JointSpring and ExternalForce, received {type(force).__name__}"
            )
        made = force.bound(tree)
        if isinstance(made, Push):
            pushes.append(made)
        else:
            springs.append(made)
    return Outside(tuple(springs), tuple(pushes), motors)
