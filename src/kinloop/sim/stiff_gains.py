"""Springs and servos that are too stiff for their steps, where something may touch.

A step takes a spring of stiffness k at the mean of its ends (`actuators`). In a step in which something touches,
positions move by h times the last velocity, with which that rule gives energy to what vibrates faster than steps can
follow. As springs of users do then ((2) of `implicit_springs`), such a spring is taken a part

    b = (s / (4 + s))^2,      s = h^2 k m,      m the mobility of its coordinate, the inverse of the inertia there

nearer to the end of the step. With v0 and v1 the velocities at the ends of the step that is a damper more, b k h / 2 at
v1, and an inertia more, b k h^2 / 4: vibrations fade that no step could show. Where s is small nothing changes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.clusters import ClusterTree
from kinloop.robot import Robot
from kinloop.scalar import Array

STIFF = 0.25
"""s above which a spring is too stiff for steps of the simulator's length."""

TRIED = 4
"""Configurations at which mobilities are looked for, where the first ones are singular."""


class Faded(NamedTuple):
    """What a stiff spring has besides: damping, and inertia with that of the damping in an implicit step."""

    damping: Any
    armature: Any


NOTHING = Faded(0.0, 0.0)


class StiffGains(NamedTuple):
    """Mobilities [1/kg, 1/(kg m^2)] of all spanning coordinates, and the length of steps."""

    mobility: tuple[float, ...]
    dt: float

    def faded(self, k: float, arms: dict[int, Any], h: Any) -> Faded:
        """What a spring k along a line has besides, in a step of length h; arms that are no numbers are left alone."""
        if not k > 0.0 or not all(isinstance(x, float | int) for x in arms.values()):
            return NOTHING
        mobility = sum(abs(float(arm)) * self.mobility[d] ** 0.5 for d, arm in arms.items()) ** 2
        if self.dt * self.dt * k * mobility <= STIFF:
            return NOTHING
        s = (h * h) * (k * mobility)
        part = s / (4.0 + s)
        b = part * part
        return Faded((0.5 * k) * (h * b), (0.75 * k) * (h * h * b))


def mobilities(robot: Robot) -> tuple[float, ...]:
    """How much unit impulses on spanning coordinates move these, everything else free: at the neutral configuration.

    At others it differs by a factor that does no harm. Zero where no configuration that was tried is regular.
    """
    for k in range(TRIED):
        q = robot.random_state(k)[0] if k else robot.neutral()
        with np.errstate(all="ignore"):
            found = _mobility(robot.tree, q)
        if found is not None:
            return tuple(found.tolist())
    return (0.0,) * robot.n_spanning


def _mobility(tree: ClusterTree, q: Array) -> Array | None:
    """diag(G M^-1 G^T), None where that is not to be had."""
    M, G = cluster_crba(tree, q), tree.spanning_jacobian(q)
    if not (np.all(np.isfinite(M)) and np.all(np.isfinite(G))):
        return None
    try:
        found = np.einsum("ij,ij->i", G, np.linalg.solve(M, G.T).T)
    except np.linalg.LinAlgError:
        return None
    return found if np.all(np.isfinite(found)) and np.all(found >= 0.0) else None
