"""Keyframes of a model file: where a robot is, with its loops closed, what its motors are told, their activations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop.errors import KinloopError, MethodError, unknown
from kinloop.model import Keyframe
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.actuators import Drive


class Start(NamedTuple):
    """A configuration (nq,), controls (nu,) and activations of motors that have one; None where it says nothing."""

    q: Array
    controls: Array
    activations: Array | None


def at_keyframe(robot: Robot, drive: Drive, name: str) -> Start:
    """The start that a keyframe describes; its controls are those of the file's motors, if the drive has these."""
    known = {k.name: k for k in robot.mechanism.keyframes}
    if name not in known:
        raise unknown("keyframe", name, known)
    frame, nu = known[name], len(drive.motors)
    if len(frame.q) != robot.nq:
        raise MethodError(
            f"keyframe {name!r} has {len(frame.q)} positions and {robot.name!r} {robot.nq}; load it as drawn"
        )
    try:
        q = robot.close(np.asarray(frame.q, dtype=float))
    except KinloopError as error:
        raise MethodError(f"keyframe {name!r} cannot be used: {error}") from None
    act = np.array(frame.act) if len(frame.act) == len(drive.states) else None
    return Start(q, keyframe_controls(frame, drive) if frame.ctrl else np.zeros(nu), act)


def keyframe_controls(frame: Keyframe, drive: Drive) -> Array:
    """The controls of a keyframe, for a drive with the file's motors; zeros for another one."""
    nu = len(drive.motors)
    return np.array(frame.ctrl) if drive.of_file and len(frame.ctrl) == nu else np.zeros(nu)
