"""What a compiled MuJoCo model has that acts and that kinloop does not model: left out, with a warning each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kinloop.io.mjcf.mjcf_actuators import unmodelled_words
from kinloop.io.mjcf.mjcf_names import Names
from kinloop.io.mjcf.mujoco_codes import BALL, FREE, MjModel
from kinloop.io.mjcf.safe_source import Places
from kinloop.io.mjcf.tendon_inertia import is_along_one_joint
from kinloop.io.shared.file_errors import Notes, Where

Reason = tuple[str, int, str]
"""The kind and number of a part, and why it is left out."""


def warn_of_unmodelled(model: MjModel, notes: Notes, names: Names, places: Places) -> None:
    """Warn about everything in the compiled model that acts and that kinloop does not have."""
    for of_kind in (_tendons, _bodies, _joints, _actuators, _keyframes):
        for kind, number, reason in of_kind(model, names):
            name = names.joint(number) if kind == "joint" else names.of(kind, number)
            notes.warn(places.of(kind, name, number), f"{reason}; it is left out", dropped=True)
    for element, reason in _surroundings(model):
        notes.warn(Where(places.root.file, places.root.line, element), f"{reason}; it is left out", dropped=True)


def _tendons(m: MjModel, names: Names) -> Iterator[Reason]:
    for t in range(m.ntendon):
        if m.tendon_armature[t] and not is_along_one_joint(m, t):
            inertia = float(m.tendon_armature[t])
            yield "tendon", t, f"has the inertia {inertia:g}, which kinloop models only along a single joint"
        if np.any(m.tendon_stiffnesspoly[t]) or np.any(m.tendon_dampingpoly[t]):
            yield "tendon", t, "has a spring or damper that is not linear, which kinloop does not model"


def _bodies(m: MjModel, names: Names) -> Iterator[Reason]:
    for b in np.flatnonzero(m.body_mocapid >= 0):
        yield "body", int(b), "is a mocap body, moved by the user; here it stands still"


def _joints(m: MjModel, names: Names) -> Iterator[Reason]:
    for j in range(m.njnt):
        several = m.jnt_type[j] in (FREE, BALL)
        beyond = np.any(m.jnt_stiffnesspoly[j]) or np.any(m.dof_dampingpoly[m.jnt_dofadr[j]])
        if (several and m.jnt_stiffness[j]) or beyond:
            yield "joint", j, "has a spring or damper beyond a linear one on one coordinate"
        if several and m.jnt_limited[j]:
            yield "joint", j, "has a limit on a ball, which kinloop does not model"
        if m.jnt_actgravcomp[j] and m.jnt_actfrclimited[j] and m.ngravcomp:
            yield "joint", j, "counts gravity compensation among the forces that it bounds, which kinloop does not"


def _actuators(m: MjModel, names: Names) -> Iterator[Reason]:
    for a in range(m.nu):
        words = unmodelled_words(m, a)
        if words:
            yield "actuator", a, f"{' and '.join(words)}, which kinloop does not model"


def _keyframes(m: MjModel, names: Names) -> Iterator[Reason]:
    for k in range(m.nkey):
        if np.any(m.key_qvel[k]):
            yield "key", k, "has velocities, which keyframes here do not have"


def _surroundings(m: MjModel) -> Iterator[tuple[str, str]]:
    if m.opt.density or m.opt.viscosity:
        yield "option", "asks for forces of a fluid, which kinloop does not model"
    if m.nflex:
        yield "flex", "is deformable, which kinloop does not model"
