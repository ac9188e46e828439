"""Actuators of a compiled MuJoCo model: what their control means, and what they act on."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.io.mjcf.mjcf_bodies import LinkFrames
from kinloop.io.mjcf.mjcf_names import Names
from kinloop.io.mjcf.mujoco_codes import (
    ACTUATION_DISABLED,
    AFFINE,
    AT_SITE,
    CLAMP_DISABLED,
    DYNAMICS,
    FIXED_GAIN,
    FREE,
    IN_PARENT,
    NO_BIAS,
    NO_DYNAMICS,
    ON_JOINT,
    ON_TENDON,
    OTHER_DYNAMICS,
    OTHER_LAWS,
    VELOCITIES,
    WRAPS_JOINT,
    MjModel,
)
from kinloop.io.mjcf.safe_source import Places
from kinloop.model import Actuator, Frame, Transmission
from kinloop.model.annotations import UNBOUNDED

Law = tuple[float, float, float]
ZERO: Law = (0.0, 0.0, 0.0)


def read_actuators(model: MjModel, frames: LinkFrames, places: Places) -> list[Actuator]:
    """All actuators; what of one nothing here does is said by its `unmodelled`."""
    names, out = frames.names, []
    for a in range(model.nu):
        with places.of("actuator", names.of("actuator", a), a).blamed():
            out.append(_actuator(model, frames, a))
    return out


def _actuator(model: MjModel, frames: LinkFrames, a: int) -> Actuator:
    gain, bias = _law(model.actuator_gainprm[a]), _law(model.actuator_biasprm[a])
    gain = (gain[0], 0.0, 0.0) if model.actuator_gaintype[a] == FIXED_GAIN else gain
    bias = ZERO if model.actuator_biastype[a] == NO_BIAS else bias
    plain = bool(model.actuator_dyntype[a] == NO_DYNAMICS) and not _strange_law(model, a)
    if bias[1] or (gain[0] == 0 and any(bias)):
        kind = "position"
    else:
        kind = "velocity" if any(bias) else "torque"
    more = _acting(model, frames, a) | _dynamics(model, a)
    unmodelled = tuple(unmodelled_words(model, a))
    exact = plain and not unmodelled and _is_exact(kind, gain, bias) and _acts_plainly(model, a)
    return Actuator(
        frames.names.of("actuator", a), kind, transmission(model, frames.names, a), gain, bias,
        UNBOUNDED if model.opt.disableflags & CLAMP_DISABLED else _limits(model, a, "ctrl"), _limits(model, a, "force"),
        exact, unmodelled=unmodelled, **more,
    )  # fmt: skip


def _law(parameters: np.ndarray) -> Law:
    return float(parameters[0]), float(parameters[1]), float(parameters[2])


def _strange_law(model: MjModel, a: int) -> bool:
    """Whether the force is no affine function of length and velocity times the control plus another one."""
    return max(int(model.actuator_gaintype[a]), int(model.actuator_biastype[a])) > AFFINE


def _dynamics(model: MjModel, a: int) -> dict[str, Any]:
    kind = DYNAMICS.get(int(model.actuator_dyntype[a]), "none")
    if kind == "none":
        return {}
    time = float(model.actuator_dynprm[a, 0]) if kind == "filter" else 0.0
    return {"dynamics": kind, "time_constant": time, "activation_range": _limits(model, a, "act")}


def _acting(model: MjModel, frames: LinkFrames, a: int) -> dict[str, Any]:
    """What it acts on where that is not joints."""
    kind, (target, other), gear = int(model.actuator_trntype[a]), model.actuator_trnid[a], model.actuator_gear[a]
    if kind == ON_TENDON and not is_tendon_of_joints(model, target):
        return {"tendon": frames.names.of("tendon", target), "gear": float(gear[0])}
    if kind == AT_SITE:
        wrench = (*gear[3:].tolist(), *gear[:3].tolist())
        sites = {"site": site(model, frames, int(target)), "wrench": wrench}
        return sites | ({"reference": site(model, frames, int(other))} if other >= 0 else {})
    return {"in_parent": kind == IN_PARENT and VELOCITIES[int(model.jnt_type[target])] > 1}


def site(model: MjModel, frames: LinkFrames, s: int) -> Frame:
    """A site as a frame of its link."""
    return Frame(
        frames.names.of("site", s), *frames.place(int(model.site_bodyid[s]), model.site_pos[s], model.site_quat[s])
    )


def _acts_plainly(model: MjModel, a: int) -> bool:
    """Whether it acts on joints by its gear alone, about no axes but the joint's, and the joint bounds forces as much
    in one direction as in the other."""
    kind, target, gear = int(model.actuator_trntype[a]), int(model.actuator_trnid[a, 0]), model.actuator_gear[a]
    if kind not in (ON_JOINT, IN_PARENT):
        joints = _joints_of_tendon(model, target) if kind == ON_TENDON else []
        return bool(joints) and not any(_one_sided(model, j) for j in joints)
    if model.jnt_type[target] == FREE and np.any(gear[:3]):
        return False  # along the axes of the world
    turned = kind == IN_PARENT and VELOCITIES[int(model.jnt_type[target])] > 1
    return not turned and not _one_sided(model, target)


def _one_sided(model: MjModel, j: int) -> bool:
    low, high = model.jnt_actfrcrange[j]
    return bool(model.jnt_actfrclimited[j]) and low != -high


def _joints_of_tendon(model: MjModel, t: int) -> list[int]:
    if not is_tendon_of_joints(model, t):
        return []
    first, count = int(model.tendon_adr[t]), int(model.tendon_num[t])
    return [int(model.wrap_objid[w]) for w in range(first, first + count)]


def _limits(model: MjModel, a: int, what: str) -> tuple[float, float]:
    if not getattr(model, f"actuator_{what}limited")[a]:
        return UNBOUNDED
    low, high = getattr(model, f"actuator_{what}range")[a]
    return float(low), float(high)


def _is_exact(kind: str, gain: Law, bias: Law) -> bool:
    """Whether gain u + bias is the force of a motor or servo of that kind, and nothing else."""
    if gain[1] or gain[2]:
        return False
    match kind:
        case "position":
            return bias[0] == 0 and gain[0] == -bias[1]
        case "velocity":
            return bias[0] == 0 and gain[0] == -bias[2]
    return not any(bias)


def unmodelled_words(model: MjModel, a: int) -> list[str]:
    """What an actuator is or has that nothing here does."""
    out = []
    words = [
        OTHER_LAWS.get(int(model.actuator_gaintype[a])), OTHER_LAWS.get(int(model.actuator_biastype[a])),
        OTHER_DYNAMICS.get(int(model.actuator_dyntype[a])),
    ]  # fmt: skip
    out += list(dict.fromkeys(word for word in words if word))
    kind, (target, other), gear = int(model.actuator_trntype[a]), model.actuator_trnid[a], model.actuator_gear[a]
    if kind not in (ON_JOINT, IN_PARENT, ON_TENDON, AT_SITE):
        out.append("acts on neither joints nor tendons nor a site")
    if kind == AT_SITE and other >= 0 and np.any(gear[3:]):
        out.append("turns a site relative to another one")
    if kind == ON_TENDON and model.tendon_actfrclimited[target]:
        out.append("pulls a tendon that bounds forces")
    if model.actuator_armature[a] or np.any(model.actuator_damping[a]) or np.any(model.actuator_dampingpoly[a]):
        out.append("has inertia or damping of its own")
    if np.any(model.actuator_delay[a]):
        out.append("has a delay")
    if model.opt.disableflags & ACTUATION_DISABLED:
        out.append("is switched off with all others")
    return out


def transmission(model: MjModel, names: Names, a: int) -> tuple[Transmission, ...]:
    """Joints an actuator acts on with its gear (moment arm) on each; empty where it is not through joints."""
    kind, target, gear = int(model.actuator_trntype[a]), int(model.actuator_trnid[a, 0]), model.actuator_gear[a]
    if kind in (ON_JOINT, IN_PARENT):
        count = VELOCITIES[int(model.jnt_type[target])]
        ours = [3, 4, 5, 0, 1, 2] if count == VELOCITIES[FREE] else list(range(count))  # angular first
        return (Transmission(names.joint(target), tuple(gear[ours].tolist())),)
    return joint_sum(model, names, target, float(gear[0])) if kind == ON_TENDON else ()


def joint_sum(model: MjModel, names: Names, t: int, gear: float = 1.0) -> tuple[Transmission, ...]:
    """The joints of a tendon with their coefficients; none where it has a path."""
    if not is_tendon_of_joints(model, t):
        return ()
    first, count = int(model.tendon_adr[t]), int(model.tendon_num[t])
    return tuple(
        Transmission(names.joint(int(model.wrap_objid[w])), (float(model.wrap_prm[w] * gear),))
        for w in range(first, first + count)
    )


def is_tendon_of_joints(model: MjModel, t: int) -> bool:
    """Whether a tendon is a linear combination of joints, which MuJoCo calls fixed."""
    return bool(model.tendon_num[t]) and int(model.wrap_type[model.tendon_adr[t]]) == WRAPS_JOINT
