"""What a compiled MuJoCo model has that acts and that kinloop does not model: left out, with a warning each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kinloop.io.mjcf.mjcf_actuators import is_tendon_of_joints, transmission
from kinloop.io.mjcf.mjcf_names import Names
from kinloop.io.mjcf.mujoco_codes import BALL, FREE, MjModel
from kinloop.io.shared.file_errors import Where
from kinloop.io.shared.robot_description import RobotDescription

Reason = tuple[str, str]
"""An element, and why it is left out."""


def warn_of_unmodelled(model: MjModel, description: RobotDescription, names: Names) -> None:
    """Warn about everything in the compiled model that acts and that kinloop does not have."""
    for of_kind in (_tendons, _bodies, _joints, _actuators, _surroundings):
        for element, reason in of_kind(model, names):
            where = Where(description.where.file, description.where.line, element)
            description.notes.warn(where, f"{reason}; it is left out", dropped=True)


def _tendons(m: MjModel, names: Names) -> Iterator[Reason]:
    for t in range(m.ntendon):
        acts = m.tendon_stiffness[t] or m.tendon_damping[t] or m.tendon_limited[t] or m.tendon_frictionloss[t]
        if acts or m.tendon_armature[t] or not is_tendon_of_joints(m, t):
            yield f"tendon {names.of('tendon', t)!r}", "is a tendon that acts by itself, which kinloop does not model"


def _bodies(m: MjModel, names: Names) -> Iterator[Reason]:
    for b in np.flatnonzero(m.body_gravcomp):
        yield f"body {names.of('body', int(b))!r}", "has gravity compensation, which kinloop does not model"
    for b in np.flatnonzero(m.body_mocapid >= 0):
        yield f"body {names.of('body', int(b))!r}", "is a mocap body, moved by the user; here it stands still"


def _joints(m: MjModel, names: Names) -> Iterator[Reason]:
    for j in range(m.njnt):
        several = m.jnt_type[j] in (FREE, BALL)
        beyond = np.any(m.jnt_stiffnesspoly[j]) or np.any(m.dof_dampingpoly[m.jnt_dofadr[j]])
        if (several and m.jnt_stiffness[j]) or beyond:
            yield f"joint {names.joint(j)!r}", "has a spring or damper beyond a linear one on one coordinate"
        if several and m.jnt_limited[j]:
            yield f"joint {names.joint(j)!r}", "has a limit on a ball, which kinloop does not model"


def _actuators(m: MjModel, names: Names) -> Iterator[Reason]:
    for a in range(m.nu):
        element = f"actuator {names.of('actuator', a)!r}"
        if not transmission(m, names, a):
            yield element, "does not act through joints, which kinloop does not model"
        elif m.actuator_armature[a] or m.actuator_damping[a] or m.actuator_dyntype[a]:
            yield element, "has dynamics of its own, which kinloop does not model"


def _surroundings(m: MjModel, names: Names) -> Iterator[Reason]:
    if m.opt.density or m.opt.viscosity:
        yield "option", "asks for forces of a fluid, which kinloop does not model"
    if m.nflex:
        yield "flex", "is deformable, which kinloop does not model"
