"""Tendons of a compiled MuJoCo model: their joints or paths, springs and limits."""

from __future__ import annotations

from kinloop.io.mjcf.mjcf_actuators import joint_sum, site
from kinloop.io.mjcf.mjcf_bodies import LinkFrames
from kinloop.io.mjcf.mujoco_codes import (
    DAMPERS_DISABLED,
    FRICTION_DISABLED,
    LIMITS_DISABLED,
    SPRINGS_DISABLED,
    WRAPS_PULLEY,
    WRAPS_SITE,
    WRAPS_SPHERE,
    MjModel,
)
from kinloop.io.mjcf.safe_source import Places
from kinloop.model import Frame, Pulley, Tendon, Wrap
from kinloop.model.annotations import UNBOUNDED

LEAST = 1e-4
"""The least impedance of a limit, and of what it lacks of 1, as in MuJoCo."""


def read_tendons(model: MjModel, frames: LinkFrames, places: Places) -> list[Tendon]:
    out = []
    for t in range(model.ntendon):
        name = frames.names.of("tendon", t)
        with places.of("tendon", name, t).blamed():
            out.append(_tendon(model, frames, t, name))
    return out


def _tendon(model: MjModel, frames: LinkFrames, t: int, name: str) -> Tendon:
    joints, off = joint_sum(model, frames.names, t), model.opt.disableflags
    limited = bool(model.tendon_limited[t]) and not off & LIMITS_DISABLED
    low, high = (float(x) for x in model.tendon_range[t]) if limited else UNBOUNDED
    stiffness, damping = _limit(model, t) if limited else (0.0, 0.0)
    return Tendon(
        name, joints, () if joints else _path(model, frames, t),
        0.0 if off & SPRINGS_DISABLED else float(model.tendon_stiffness[t]),
        0.0 if off & DAMPERS_DISABLED else float(model.tendon_damping[t]),
        (float(model.tendon_lengthspring[t, 0]), float(model.tendon_lengthspring[t, 1])),
        (low, high), stiffness, damping, 0.0 if off & FRICTION_DISABLED else float(model.tendon_frictionloss[t]),
    )  # fmt: skip


def _path(model: MjModel, frames: LinkFrames, t: int) -> tuple[Frame | Wrap | Pulley, ...]:
    out: list[Frame | Wrap | Pulley] = []
    first, count = int(model.tendon_adr[t]), int(model.tendon_num[t])
    for w in range(first, first + count):
        kind, number = int(model.wrap_type[w]), int(model.wrap_objid[w])
        if kind == WRAPS_PULLEY:
            out.append(Pulley(float(model.wrap_prm[w])))
        elif kind == WRAPS_SITE:
            out.append(site(model, frames, number))
        else:
            place = frames.place(int(model.geom_bodyid[number]), model.geom_pos[number], model.geom_quat[number])
            side = round(float(model.wrap_prm[w]))
            shape = "sphere" if kind == WRAPS_SPHERE else "cylinder"
            own, radius = Frame(frames.names.of("geom", number), *place), float(model.geom_size[number, 0])
            out.append(Wrap(shape, own, radius, site(model, frames, side) if side >= 0 else None))
    return tuple(out)


def _limit(model: MjModel, t: int) -> tuple[float, float]:
    """Stiffness and damping with which a limit resists: those of the file's `solref` and `solimp`.

    With an impedance d MuJoCo asks for the acceleration a = (1 - d) a_0 - d (b v + d k r) along a tendon that is too
    long by r, where a_0 is that without the limit. Divided by (1 - d), this is a spring d k and a damper b times
    d / (1 - d) per unit of the tendon's inertia, and as much inertia, which is left out here: what hangs on a limit
    hangs as deep. A positive time constant T and damping ratio z mean k = 1 / (d T z)^2 and b = 2 / (d T); negative
    ones are k d^2 and b d.
    """
    first, second = (float(x) for x in model.tendon_solref_lim[t])
    most = float(model.body_subtreemass[0])  # where nothing moves along it in the reference position
    inertia = 1.0 / max(float(model.tendon_invweight0[t]), 1.0 / most) if most else 0.0
    d = min(max(float(model.tendon_solimp_lim[t, 1]), LEAST), 1.0 - LEAST)
    inertia *= d / (1.0 - d)
    if first <= 0:
        return inertia * -first / d, inertia * -second / d
    time = max(first, 2.0 * float(model.opt.timestep))
    return inertia / (d * (time * second) ** 2), inertia * 2.0 / (d * time)
