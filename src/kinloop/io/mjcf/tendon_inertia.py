"""Inertia of MuJoCo's tendons: along a single joint it is an armature of that joint, elsewhere nothing here has it."""

from __future__ import annotations

from kinloop.io.mjcf.mujoco_codes import WRAPS_JOINT, MjModel


def is_along_one_joint(model: MjModel, t: int) -> bool:
    """Whether a tendon is the multiple of one joint."""
    return int(model.tendon_num[t]) == 1 and int(model.wrap_type[model.tendon_adr[t]]) == WRAPS_JOINT


def tendon_inertia(model: MjModel, j: int) -> float:
    """What tendons along a joint alone add to its armature."""
    total = 0.0
    for t in range(model.ntendon):
        at = int(model.tendon_adr[t])
        if is_along_one_joint(model, t) and int(model.wrap_objid[at]) == j:
            total += float(model.tendon_armature[t] * model.wrap_prm[at] ** 2)
    return total
