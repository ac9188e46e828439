"""The same mechanism in other libraries: what they are called with, and what they found.

Pinocchio takes trees, loop joints (point or weld constraints) and gears of one joint to one other (mimic
joints), not belts over several joints nor loop functions; MuJoCo takes everything but loop functions, softly,
and balances inertias that no mass distribution can have. A peer that cannot express a mechanism, or is not
installed, gives no contenders.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinloop.model import LoopJoint
from kinloop.model import joints as jt
from kinloop.robot import Robot
from kinloop.spatial import Transform

Array = np.ndarray

POINTS = (jt.Revolute, jt.Spherical, jt.Fixed)
"""Loop joints that points and welds can say."""
MODULES = {"pinocchio": "pin", "mujoco": "mujoco"}
"""Peers, and what to install for them."""


class Peer(NamedTuple):
    """A contender: what to call, and what it computed, in kinloop's coordinates (None where it cannot be read).

    `states` is how many states or steps a call computes. Batches are sized so that a call takes about a
    millisecond: on a busy machine a longer one is interrupted, and would look slower than it is. `close` ends what
    a contender keeps running, such as a pool of threads.
    """

    name: str
    call: Callable[[], Any]
    result: Callable[[], Array] | None
    states: int = 1
    close: Callable[[], Any] = lambda: None


class Problem(NamedTuple):
    """A robot at one state."""

    robot: Robot
    q: Array
    v: Array
    tau: Array


def make_problem(robot: Robot, seed: int = 1) -> Problem:
    """A random closed state and forces."""
    rng = np.random.default_rng(seed)
    q, v = robot.random_state(rng)
    return Problem(robot, q, v, rng.normal(size=robot.nv))


def batch_for(seconds: float, most: int = 4096) -> int:
    """How many states make a call of about a millisecond."""
    return int(np.clip(1e-3 / max(seconds, 1e-9), 4, most))


def seconds_of(call: Callable[[], Any]) -> float:
    """A rough time of one call, to size batches by."""
    best = np.inf
    for _ in range(20):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def missing() -> dict[str, str]:
    """Peers that are not installed, and what to do about it."""
    return {
        name: f"{name} is not installed: pip install 'kinloop[peers]'"
        for name in MODULES
        if importlib.util.find_spec(name) is None
    }


def wheel_file(ending: str) -> Path | None:
    """A model file of the example-robot-data wheel by the end of its path."""
    try:
        files = importlib.metadata.distribution("example-robot-data").files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(f.locate())) for f in files if str(f).endswith(ending)), None)


def spanning_force(problem: Problem) -> Array:
    """tau placed on the joints it acts on, zero elsewhere."""
    out = np.zeros(problem.robot.n_spanning)
    out[problem.robot.tree.independent_dofs] = problem.tau
    return out


Ends = list[tuple[int, Transform]]


def loop_points(robot: Robot) -> list[tuple[bool, Ends]]:
    """Loop joints as the peers take them: (rigid, ends), each end a body's index and a place on it.

    A ball is a point. A hinge is a point too where the rest of the mechanism keeps its axes aligned, as in planar
    linkages; else two points along its axis.
    """
    count = 1 if balls_suffice(robot) else 2
    return [points for loop in robot.mechanism.loops for points in _points(robot, loop, count)]


@lru_cache(maxsize=64)
def balls_suffice(robot: Robot) -> bool:
    """Whether balls in place of the hinges that close loops leave as many freedoms."""
    m = robot.mechanism
    hinges = [isinstance(loop, LoopJoint) and isinstance(loop.type, jt.Revolute) for loop in m.loops]
    if not any(hinges):
        return True
    loops = [replace(x, type=jt.Spherical()) if h else x for x, h in zip(m.loops, hinges, strict=True)]  # type: ignore
    return Robot(replace(m, loops=tuple(loops), independent=())).nv == robot.nv


def _points(robot: Robot, loop: Any, hinge: int) -> list[tuple[bool, Ends]]:
    index = robot.tree.top.body_index
    ends = [
        (index[loop.predecessor], loop.predecessor_placement),
        (index[loop.successor], loop.successor_placement),
    ]
    if not isinstance(loop.type, jt.Revolute):
        return [(isinstance(loop.type, jt.Fixed), ends)]
    axis = np.array(loop.type.axis)
    return [
        (False, [(body, Transform(at.R, at.p + 0.1 * k * (at.R @ axis))) for body, at in ends]) for k in range(hinge)
    ]
