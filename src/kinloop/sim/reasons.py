"""Why a batch row stopped: its status, and a sentence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop.scalar import Array
from kinloop.sim.engine import Engine
from kinloop.sim.singularity import is_blind, loop_speed
from kinloop.sim.status import Fault, Status

FAST = 1e3
"""Rows that stop at higher speeds [rad/s, m/s] have diverged, whatever became of their loops."""

FAULTS = {
    Fault.OPEN: "its loops do not close",
    Fault.ROUGH: "its acceleration changes too quickly",
    Fault.FAST: "joints turn too far in a step",
    Fault.BEYOND: "positions or velocities go beyond all bounds",
    Fault.BLIND: "a loop loses rank there, and rounding hides how the motion goes on",
}

REMEDIES = {
    Status.OPEN: "look for what pulls its loops apart",
    Status.DIVERGED: "look for forces that are too large for the masses they move",
    Status.SINGULAR: "start elsewhere, or keep it away from there",
}


class Stop(NamedTuple):
    """The last good state of a row that stops, why its next step was refused, and what was tried."""

    q: Array
    qd: Array
    fault: Fault
    h: float
    """Length of the shortest steps that were tried [s]."""
    tried: str
    """The same in words: "with the step in 8 parts"."""


class Verdict(NamedTuple):
    """What becomes of a row that stops, and why, without the time; how near it is to a singular configuration."""

    status: Status
    why: str
    near: float


def judge(engine: Engine, stop: Stop) -> Verdict:
    """A row that stops has diverged where it is fast, and is singular where rounding hides its accelerations."""
    tree, fault = engine.tree, stop.fault
    bends = any(c.bends for c in tree)
    near = float(engine.nearness(stop.q)[0]) if bends else 1.0
    fastest = int(np.argmax(np.abs(stop.qd)))
    speed = float(np.abs(stop.qd[fastest]))
    if bends and speed < FAST and is_blind(near, float(loop_speed(tree, stop.qd)), stop.h):
        fault = Fault.BLIND
    status = Status.SINGULAR if fault == Fault.BLIND else Status.DIVERGED
    if fault == Fault.OPEN and speed < FAST:
        status = Status.OPEN
    slides = [x for kind in tree.top.types for x in kind.slides()]
    said = [
        f"{FAULTS[fault]}, even {stop.tried}",
        f"fastest is {tree.top.coordinates[fastest]!r} at {speed:.3g} {'m/s' if slides[fastest] else 'rad/s'}",
        *([f"nearness to a singular configuration is {near:.2g}, 1 being far away"] if bends else []),
        REMEDIES[status],
    ]
    return Verdict(status, "; ".join(said), near)
