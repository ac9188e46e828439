"""A closed configuration moved by its independent coordinates, one at a time, as sliders do."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinloop.errors import KinloopError
from kinloop.inputs import checked
from kinloop.model.topology import Topology
from kinloop.robot import Robot
from kinloop.scalar import Array

STRIDE = 0.1
"""Longest step of a slider at once [rad, m]: longer ones are walked, so that loops keep their branch."""

STEPS = 200
"""Steps of a walk, at most."""

ARRIVED = 1e-9
"""A coordinate so near to its target is there [rad, m]."""

JUMP = 20 * STRIDE
"""A position that changes by more in one step has jumped to another branch [rad, m]."""


class Coordinates:
    """A closed configuration moved by its independent coordinates, one at a time."""

    def __init__(self, robot: Robot, q: ArrayLike | None = None) -> None:
        self.robot = robot
        top = robot.tree.top
        self.q = robot.close(robot.neutral() if q is None else checked("q", q, robot.nq))
        self.names = robot.independent_names
        self.places = [_place(top, d) for d in robot.tree.independent_dofs]
        # what has no plain position (a free base, a ball) is counted from where it starts
        self.turned = np.zeros(robot.nv)

    def value(self, k: int) -> float:
        """Where coordinate k is."""
        place = self.places[k]
        return float(self.turned[k] if place < 0 else self.q[place])

    def values(self) -> list[float]:
        """Where all coordinates are."""
        return [self.value(k) for k in range(len(self.names))]

    def limits(self, k: int) -> tuple[float, float]:
        """Where a slider may go: the joint's limits, else a turn or a metre around the start."""
        top = self.robot.tree.top
        d = self.robot.tree.independent_dofs[k]
        joint = top.joints[top.body_of[d]]
        slides = joint.type.slides()[d - top.v_of[top.body_of[d]].start]
        around, now = (1.0 if slides else np.pi), self.value(k)
        low = joint.lower if np.isfinite(joint.lower) and joint.type.nv == 1 else min(-around, now)
        high = joint.upper if np.isfinite(joint.upper) and joint.type.nv == 1 else max(around, now)
        return min(float(low), now), max(float(high), now)

    def move(self, k: int, target: float) -> bool:
        """Bring coordinate k to the target; False where the loops cannot follow (it then stays where it came)."""
        for _ in range(STEPS):
            rest = target - self.value(k)
            if abs(rest) < ARRIVED:
                return True
            step = np.zeros(self.robot.nv)
            step[k] = np.clip(rest, -STRIDE, STRIDE)
            before = self.value(k)
            try:
                q = self.robot.integrate(self.q, step)
                self.robot.check_closed(q)
            except KinloopError:
                return False
            if not np.all(np.isfinite(q)) or np.max(np.abs(q - self.q)) > JUMP:
                return False
            self.q = q
            if self.places[k] < 0:
                self.turned[k] += step[k]
            elif abs(self.value(k) - before - step[k]) > 0.5 * abs(step[k]):
                return False  # the loops took it elsewhere: the end of its way
        return False

    def restart(self, q: Array) -> None:
        """Go on from the closed configuration q."""
        self.q, self.turned = q, np.zeros(self.robot.nv)


def _place(top: Topology, d: int) -> int:
    """Place in q of spanning coordinate d, or -1 if its joint has no plain positions."""
    i = top.body_of[d]
    kind = top.types[i]
    return top.q_of[i].start + d - top.v_of[i].start if kind.nq == kind.nv else -1
