"""MuJoCo's order and convention of coordinates, joint by joint, mapped by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kinloop.errors import ModelError, unknown
from kinloop.io.convert.coordinate_map import AnyRobot, CoordinateMap, Coordinates, Slot, identity, same
from kinloop.io.mjcf.mjcf_names import Names
from kinloop.io.mjcf.mujoco_codes import BALL, FREE, HINGE, SLIDE, MjModel
from kinloop.model import Joint
from kinloop.model import joints as jt
from kinloop.scalar import Array
from kinloop.spatial import quaternion_rotation

TYPES = {jt.Free: FREE, jt.Spherical: BALL, jt.Prismatic: SLIDE, jt.Revolute: HINGE}
"""MuJoCo's code of the joint types it shares with kinloop."""


def mujoco_map(robot: AnyRobot, model: MjModel) -> CoordinateMap:
    """The map between a robot's coordinates and those of a MuJoCo model of it."""
    return CoordinateMap(robot, _slots(model), model.nq, model.nv)


def _slots(model: MjModel) -> Callable[[Joint], Slot]:
    names = Names(model)
    index = {names.joint(j): j for j in range(model.njnt)}
    free = [j for j in range(model.njnt) if model.jnt_type[j] == FREE]

    def slot(joint: Joint) -> Slot:
        j = index.get(joint.name)
        if j is None and joint.type.is_free and len(free) == 1:
            j = free[0]
        if j is None:
            raise ModelError(f"the MuJoCo model lacks a joint: {unknown('joint', joint.name, index)}")
        if model.jnt_type[j] != TYPES.get(type(joint.type), -1):
            raise ModelError(f"joint {joint.name!r} is {joint.type.name} here and of another type in the MuJoCo model")
        a, b, kind = int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j]), joint.type
        written = FREE_JOINT if kind.is_free else Coordinates(same, same, identity(kind.nv))
        return Slot(slice(a, a + kind.nq), slice(b, b + kind.nv), written)

    return slot


def _free_velocity(q: Array) -> Array:
    """MuJoCo: (linear in the world, angular in the body); kinloop: (angular, linear) in the body."""
    zero = np.zeros((3, 3))
    return np.block([[zero, quaternion_rotation(q[3:])], [np.eye(3), zero]])


def _free_drift(q: Array, qd: Array) -> Array:
    """The velocity of the origin in world axes changes also because the body turns: R (w x v)."""
    return np.concatenate([quaternion_rotation(q[3:]) @ np.cross(qd[:3], qd[3:]), np.zeros(3)])


FREE_JOINT = Coordinates(same, same, _free_velocity, _free_drift)
