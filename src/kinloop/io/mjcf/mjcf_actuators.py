"""Actuators of a compiled MuJoCo model: what their control means, and which joints they act on."""

from __future__ import annotations

import numpy as np

from kinloop.io.mjcf.mjcf_names import Names
from kinloop.io.mjcf.mujoco_codes import (
    AFFINE_BIAS,
    BALL,
    FIXED_GAIN,
    FREE,
    IN_PARENT,
    NO_BIAS,
    NO_DYNAMICS,
    ON_JOINT,
    ON_TENDON,
    VELOCITIES,
    WRAPS_JOINT,
    MjModel,
)
from kinloop.io.mjcf.safe_source import Places
from kinloop.model import Actuator, Transmission
from kinloop.model.annotations import UNBOUNDED

Law = tuple[float, float, float]


def read_actuators(model: MjModel, names: Names, places: Places) -> list[Actuator]:
    out = []
    for a in range(model.nu):
        with places.of("actuator", names.of("actuator", a), a).blamed():
            out.append(_actuator(model, names, a))
    return out


def _actuator(model: MjModel, names: Names, a: int) -> Actuator:
    gain, bias = _law(model.actuator_gainprm[a]), _law(model.actuator_biasprm[a])
    plain = _is_plain(model, a)
    if plain and model.actuator_biastype[a] == NO_BIAS:
        bias = (0.0, 0.0, 0.0)
        kind = "torque"
    elif bias[1] or (plain and gain[0] == 0):
        kind = "position"
    else:
        kind = "velocity" if any(bias) else "torque"
    return Actuator(
        names.of("actuator", a), kind, transmission(model, names, a), gain, bias,
        _limits(model, a, "ctrl"), _limits(model, a, "force"),
        plain and _is_exact(kind, gain[0], bias) and _acts_plainly(model, a),
    )  # fmt: skip


def _law(parameters: np.ndarray) -> Law:
    return float(parameters[0]), float(parameters[1]), float(parameters[2])


def _is_plain(model: MjModel, a: int) -> bool:
    """Whether the force is a constant times the control and an affine function of length and velocity."""
    memory = model.actuator_dyntype[a] != NO_DYNAMICS
    return not memory and bool(
        model.actuator_gaintype[a] == FIXED_GAIN and model.actuator_biastype[a] in (NO_BIAS, AFFINE_BIAS)
    )


def _acts_plainly(model: MjModel, a: int) -> bool:
    """Whether it acts on joints by its gear alone: no inertia or damping of its own, no axes but the joint's, and no
    bound at the joint that is not the same in both directions."""
    if model.actuator_armature[a] or np.any(model.actuator_damping[a]):
        return False
    kind, target, gear = int(model.actuator_trntype[a]), int(model.actuator_trnid[a, 0]), model.actuator_gear[a]
    if kind not in (ON_JOINT, IN_PARENT):
        joints = _joints_of_tendon(model, target) if kind == ON_TENDON else []
        return not any(_one_sided(model, j) for j in joints)
    if model.jnt_type[target] == FREE and np.any(gear[:3]):
        return False  # along the axes of the world
    turned = kind == IN_PARENT and model.jnt_type[target] in (FREE, BALL)
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


def _is_exact(kind: str, gain: float, bias: Law) -> bool:
    """Whether gain u + bias is the force of a motor or servo of that kind, and nothing else."""
    match kind:
        case "position":
            return bias[0] == 0 and gain == -bias[1]
        case "velocity":
            return bias[0] == 0 and gain == -bias[2]
    return not any(bias)


def transmission(model: MjModel, names: Names, a: int) -> tuple[Transmission, ...]:
    """Joints an actuator acts on with its gear (moment arm) on each; empty where it is not through joints."""
    kind, target, gear = int(model.actuator_trntype[a]), int(model.actuator_trnid[a, 0]), model.actuator_gear[a]
    if kind in (ON_JOINT, IN_PARENT):
        count = VELOCITIES[int(model.jnt_type[target])]
        ours = [3, 4, 5, 0, 1, 2] if count == VELOCITIES[FREE] else list(range(count))  # angular first
        return (Transmission(names.joint(target), tuple(gear[ours].tolist())),)
    if kind == ON_TENDON and is_tendon_of_joints(model, target):
        first, count = int(model.tendon_adr[target]), int(model.tendon_num[target])
        return tuple(
            Transmission(names.joint(int(model.wrap_objid[w])), (float(model.wrap_prm[w] * gear[0]),))
            for w in range(first, first + count)
        )
    return ()


def is_tendon_of_joints(model: MjModel, t: int) -> bool:
    """Whether a tendon is a linear combination of joints, which MuJoCo calls fixed."""
    return bool(model.tendon_num[t]) and int(model.wrap_type[model.tendon_adr[t]]) == WRAPS_JOINT
