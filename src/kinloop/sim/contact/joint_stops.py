"""Stops and dry friction of joints, as rows of the contact solver.

A joint with dry friction is a row in every step. A mere stop is one only where some joint of the robot may come
to a stop within the step: the loop that minds stops, and all that only it needs, is left out elsewhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.sim.actuation import Drive
from kinloop.sim.contact.propagation import Carried
from kinloop.sim.contact.solver import ContactRow, Impulses, JointRow, Stops, solve_impulses
from kinloop.sim.integrators.flight import Smooth, spanning
from kinloop.spatial.transform import Array

NEVER = 1e30

BACK = 5.0
"""How fast a joint comes back from beyond its stops, per step [rad/s^2, m/s^2]: as slowly as a fall begins."""

NEAR = 100.0
"""A stop is near where a joint this much faster [rad/s, m/s] would reach it in the step: 0.1 rad at dt = 1 ms."""


class JointLimit(NamedTuple):
    """Stops and dry friction of one spanning coordinate."""

    dof: int
    place: int
    lower: float
    upper: float
    friction: float

    def bounds(self, x: Any, h: float) -> tuple[Any, Any]:
        """Velocities that keep position x within the stops, or bring it back slowly from beyond them."""
        low, high = -NEVER, NEVER
        if np.isfinite(self.lower):
            low = sc.minimum((self.lower - x) / h, BACK * h)
        if np.isfinite(self.upper):
            high = sc.maximum((self.upper - x) / h, -BACK * h)
        return low, high


def joint_limits(tree: ClusterTree, drive: Drive) -> list[JointLimit]:
    """Stops and dry friction of all joints that have any."""
    top, out = tree.top, []
    for i, j in enumerate(top.joints):
        for d in range(top.v_of[i].start, top.v_of[i].stop):
            place = drive.place_of[d]
            plain = place >= 0 and j.type.nv == 1
            lower, upper = (j.lower, j.upper) if plain else (-np.inf, np.inf)
            if np.isfinite(lower) or np.isfinite(upper) or j.friction:
                out.append(JointLimit(d, place, float(lower), float(upper), float(j.friction)))
    return out


class Path(NamedTuple):
    """The velocity of a joint at the end of a step without impulses, its bounds, and the most dry friction takes."""

    rate: Any
    low: Any
    high: Any
    dry: float

    @property
    def inside(self) -> Any:
        return sc.logical_and(self.low <= self.rate, self.rate <= self.high)

    @property
    def near(self) -> Any:
        return sc.logical_or(self.rate < self.low + NEAR, self.high - NEAR < self.rate)


def joint_paths(
    joints: list[JointLimit], tree: ClusterTree, s: Smooth, q: Array, v: Array, v_free: Array, h: float
) -> list[Path]:
    """Where joints go in a step from v to v_free with its middle at q."""
    was, rates = spanning(tree, s.kin, v) - (0.5 * h) * s.g, spanning(tree, s.kin, v_free) + (0.5 * h) * s.g
    out = []
    for j in joints:
        x = q[j.place] - 0.5 * h * was[j.dof] if j.place >= 0 else 0.0
        out.append(Path(rates[j.dof], *j.bounds(x, h), j.friction * h))
    return out


class Brakes:
    """The rows of joints in a step, and their impulses together with those of contacts."""

    def __init__(self, joints: list[JointLimit], paths: list[Path], tree: ClusterTree, s: Smooth) -> None:
        self.joints, self.paths, self.tree, self.s = joints, paths, tree, s
        self.dry = [k for k, j in enumerate(joints) if j.friction]
        self.free = [k for k, j in enumerate(joints) if not j.friction]

    def solve(self, contacts: list[ContactRow], touching: Any, rounds: int, start: Array) -> tuple[Impulses, list[Any]]:
        """Impulses of contacts where they are `touching`, and those of all joints, beginning with `start`."""
        n = 3 * len(contacts)
        begin = np.concatenate([start[:n], start[[n + k for k in self.dry]]])
        near: Any = False
        for k in self.free:
            near = sc.logical_or(near, self.paths[k].near)
        stops = Stops(near, [self._row(k) for k in self.free], start[[n + k for k in self.free]])
        found = solve_impulses(
            contacts, [self._row(k) for k in self.dry], self.tree.nv, rounds, begin, stops if self.free else None,
            True if self.dry else touching,
        )  # fmt: skip
        by_joint = dict(zip(self.dry + self.free, [*found.joints, *found.stops], strict=True))
        return found, [by_joint[k] for k in range(len(self.joints))]

    def _row(self, k: int) -> JointRow:
        z, at = Carried.joint(self.tree, self.s.kin, self.s.art, self.joints[k].dof).row()
        return JointRow(z[0], at, *self.paths[k])
