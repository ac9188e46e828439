"""Where a simulated robot starts: neutral or at a keyframe, above the ground, at rest or pushed at random."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer

import kinloop as kl
from kinloop.errors import KinloopError, MethodError, unknown
from kinloop.sim import Plane
from kinloop.sim.contact.candidates import find_candidates
from kinloop.sim.contact.standing import can_land, clearance, lifted, tilted
from kinloop.viewer.poses import Poses

HEIGHT = 0.1
"""How high a robot hangs above the ground where nothing is said [m]."""

PUSH = 0.5
"""Standard deviation of random velocities [rad/s, m/s]."""

STOP_TOLERANCE = 1e-3
"""Joints so far beyond a stop are not mentioned: keyframes are rounded [rad, m]."""

PANEL = "Start"


@dataclass(frozen=True)
class StartOptions:
    """Where a run starts."""

    keyframe: Annotated[
        str | None, typer.Option(help="Start at this keyframe of the model file.", rich_help_panel=PANEL)
    ] = None
    height: Annotated[
        float | None,
        typer.Option(
            help="Metres from the ground to the robot's lowest point. Default: 0.1, or as in the keyframe.",
            rich_help_panel=PANEL,
        ),
    ] = None
    seed: Annotated[
        int | None, typer.Option(help="Start with random velocities drawn from this seed.", rich_help_panel=PANEL)
    ] = None


def configuration(robot: kl.Robot, start: StartOptions, ground: Plane | None = None) -> np.ndarray:
    """The closed q a run starts from: a robot with a free base that can touch the ground hangs above it.

    A keyframe keeps the height the file gives it, unless that is below the ground. On a slope all lean with it.
    """
    keyframe, height = start.keyframe, start.height
    if height is not None and not np.isfinite(height):
        raise MethodError(f"--height must be a finite number of metres, received {height:g}")
    if start.seed is not None and start.seed < 0:
        raise MethodError(f"--seed must not be below zero, received {start.seed}")
    q = robot.neutral() if keyframe is None else at_keyframe(robot, keyframe)
    warn_of_stops(robot, q, keyframe)
    if not can_land(robot):
        if height is not None:
            raise MethodError(f"--height is for robots with a free base, and {robot.name!r} has none; remove it")
        return q
    below = Plane() if ground is None else ground
    q = tilted(robot, q, below)
    if height is not None or keyframe is None:
        return raised(robot, q, HEIGHT if height is None else height, below)
    return raised(robot, q, 0.0, below) if lowest(robot, q, below) < 0 else q


def lowest(robot: kl.Robot, q: np.ndarray, ground: Plane) -> float:
    """How high above the ground the robot's lowest point of contact is at q [m]."""
    return clearance(Poses(robot)(q), find_candidates(robot, None), ground)


def raised(robot: kl.Robot, q: np.ndarray, height: float, ground: Plane) -> np.ndarray:
    """q with every free base lifted so that the lowest point of contact is `height` above the ground."""
    return lifted(robot, q, height - lowest(robot, q, ground))


def at_keyframe(robot: kl.Robot, name: str) -> np.ndarray:
    """The closed q nearest to a keyframe of the model file."""
    known = {k.name: k.q for k in robot.mechanism.keyframes}
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
        if not j.type.nq == j.type.nv == 1:
            continue
        x = float(q[top.q_of[i].start])
        if not j.lower - STOP_TOLERANCE <= x <= j.upper + STOP_TOLERANCE:
            beyond.append(f"{j.name} at {x:.3g} (stops {j.lower:.3g} and {j.upper:.3g})")
    if beyond:
        known = robot.mechanism.keyframes
        remedy = f"; start from --keyframe {known[0].name}" if known and keyframe is None else ""
        more = f" and {len(beyond) - 1} more" if len(beyond) > 1 else ""
        start = "neutral" if keyframe is None else f"keyframe {keyframe!r}"
        warnings.warn(f"at {start} joints are beyond their stops: {beyond[0]}{more}{remedy}", stacklevel=2)


def batch_start(robot: kl.Robot, q: np.ndarray, batch: int, seed: int | None) -> tuple[np.ndarray, np.ndarray]:
    """q and v of every batch row: one at rest; with a seed or as several, with random velocities."""
    if batch == 1 and seed is None:
        return q, np.zeros(robot.nv)
    v = PUSH * np.random.default_rng(0 if seed is None else seed).normal(size=(batch, robot.nv))
    return np.tile(q, (batch, 1)), v
