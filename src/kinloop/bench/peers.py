"""The same mechanism in other libraries: what they are called with, and what they found.

Pinocchio takes trees, loop joints (point or weld constraints) and gears of one joint to one other (mimic
joints), not belts over several joints nor loop functions; MuJoCo takes everything but loop functions, softly,
and balances inertias that no mass distribution can have. A peer that cannot express a mechanism, or is not
installed, gives no contenders.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinloop.robot import Robot
from kinloop.scalar import Array

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


def spanning_force(problem: Problem) -> Array:
    """tau placed on the joints it acts on, zero elsewhere."""
    out = np.zeros(problem.robot.n_spanning)
    out[problem.robot.tree.independent_dofs] = problem.tau
    return out
