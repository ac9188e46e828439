"""Where a simulated robot starts: neutral or at a keyframe, above the ground, at rest or pushed at random."""

from __future__ import annotations

import warnings

import numpy as np

import kinloop as kl
from kinloop.cli.running import LEVEL, lands, lowest, raised
from kinloop.errors import KinloopError, MethodError, unknown
from kinloop.sim import Plane
from kinloop.spatial.rotation import quaternion_product, quaternion_rotation

HEIGHT = 0.1
"""How high a robot hangs above the ground where nothing is said [m]."""


def configuration(
    robot: kl.Robot, keyframe: str | None, height: float | None, ground: Plane | None = None
) -> np.ndarray:
    """The closed q a run starts from: a robot with a free base that can touch the ground hangs above it.

    A keyframe keeps the height the file gives it, unless that is below the ground. On a slope all lean with it.
    """
    q = robot.neutral() if keyframe is None else at_keyframe(robot, keyframe)
    warn_of_stops(robot, q, keyframe)
    if not lands(robot):
        if height is not None:
            raise MethodError(f"--height is for robots with a free base, and {robot.name!r} has none; remove it")
        return q
    below = LEVEL if ground is None else ground
    q = along(robot, q, below)
    if height is not None or keyframe is None:
        return raised(robot, q, HEIGHT if height is None else height, below)
    return raised(robot, q, 0.0, below) if lowest(robot, q, below) < 0 else q


def along(robot: kl.Robot, q: np.ndarray, ground: Plane) -> np.ndarray:
    """q with every free base turned about the origin as far as the ground is tilted there."""
    n = np.array(ground.normal)
    turn = np.array([1.0 + n[2], -n[1], n[0], 0.0])
    turn /= np.linalg.norm(turn)
    top, q = robot.tree.top, q.copy()
    for i in top.floating_bases:
        k = top.q_of[i].start
        q[k : k + 3] = quaternion_rotation(turn) @ q[k : k + 3]
        q[k + 3 : k + 7] = quaternion_product(turn, q[k + 3 : k + 7])
    return q


def at_keyframe(robot: kl.Robot, name: str) -> np.ndarray:
    """The closed q nearest to a keyframe of the model file."""
    known = robot.mechanism.extras.get("keyframes") or {}
    if not known:
        raise MethodError(f"the model of {robot.name!r} has no keyframes; remove --keyframe")
    if name not in known:
        raise unknown("keyframe", name, known)
    q = np.asarray(known[name], dtype=float)
    if q.shape != (robot.nq,):
        raise MethodError(
            f"keyframe {name!r} has {len(q)} positions and {robot.name!r} {robot.nq}; remove --fixed or --floating"
        )
    try:
        return robot.close(q)
    except KinloopError as error:
        raise MethodError(f"keyframe {name!r} cannot be used: {error}") from None


def warn_of_stops(robot: kl.Robot, q: np.ndarray, keyframe: str | None) -> None:
    """Say which joints start beyond their stops: these push hard at once."""
    top = robot.tree.top
    beyond = []
    for i, j in enumerate(top.joints):
        if j.type.nq == j.type.nv == 1 and not j.lower - 1e-3 <= (x := float(q[top.q_of[i].start])) <= j.upper + 1e-3:
            beyond.append(f"{j.name} at {x:.3g} (stops {j.lower:.3g} and {j.upper:.3g})")
    if beyond:
        known = list(robot.mechanism.extras.get("keyframes") or {})
        remedy = f"; start from --keyframe {known[0]}" if known and keyframe is None else ""
        more = f" and {len(beyond) - 1} more" if len(beyond) > 1 else ""
        start = "neutral" if keyframe is None else f"keyframe {keyframe!r}"
        warnings.warn(f"at {start} joints are beyond their stops: {beyond[0]}{more}{remedy}", stacklevel=2)


def rows(robot: kl.Robot, q: np.ndarray, batch: int, seed: int | None) -> tuple[np.ndarray, np.ndarray]:
    """q and v of every row: one at rest; with a seed or as several rows, with random velocities."""
    if batch == 1 and seed is None:
        return q, np.zeros(robot.nv)
    v = 0.5 * np.random.default_rng(0 if seed is None else seed).normal(size=(batch, robot.nv))
    return np.tile(q, (batch, 1)), v
