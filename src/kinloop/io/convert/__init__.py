"""States from and to Pinocchio's and MuJoCo's orders and conventions, joint by joint, mapped by name.

Functions take one state or a batch over leading axes, and return what they are given: q alone, or (q, v),
or (q, v, tau). `robot` is a Robot or a Mechanism, `model` a `mujoco.MjModel` or a `pinocchio.Model`.

| module | what is there |
|---|---|
| `coordinate_map` | joints paired with another library's, and what maps to what |
| `mujoco_coordinates` | where and how MuJoCo writes each joint's coordinates |
| `pinocchio_coordinates` | where and how Pinocchio writes them |
| `loop_points` | loop joints as points that other libraries tie together |
"""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from kinloop.io.convert.coordinate_map import AnyRobot
from kinloop.io.convert.mujoco_coordinates import mujoco_map
from kinloop.io.convert.pinocchio_coordinates import PinocchioModel, pinocchio_map, pinocchio_order
from kinloop.io.mjcf.mujoco_codes import MjModel
from kinloop.scalar import Array

__all__ = [
    "acceleration_from_mujoco", "acceleration_from_pinocchio", "from_mujoco", "from_pinocchio", "mujoco_map",
    "pinocchio_map", "pinocchio_order", "to_mujoco", "to_pinocchio",
]  # fmt: skip


@overload
def to_mujoco(robot: AnyRobot, model: MjModel, q: ArrayLike, v: None = None, tau: None = None) -> Array: ...
@overload
def to_mujoco(
    robot: AnyRobot, model: MjModel, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None
) -> tuple[Array, ...]: ...
def to_mujoco(
    robot: AnyRobot, model: MjModel, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None
) -> Array | tuple[Array, ...]:
    """MuJoCo's qpos, qvel, `qfrc_applied` [N m, N] of q (nq) [rad, m], v (nv) [rad/s, m/s] and tau (nv)."""
    return mujoco_map(robot, model).to(np.array(model.qpos0), q, v, tau)


@overload
def from_mujoco(robot: AnyRobot, model: MjModel, qpos: ArrayLike, qvel: None = None, qfrc: None = None) -> Array: ...
@overload
def from_mujoco(
    robot: AnyRobot, model: MjModel, qpos: ArrayLike, qvel: ArrayLike | None = None, qfrc: ArrayLike | None = None
) -> tuple[Array, ...]: ...
def from_mujoco(
    robot: AnyRobot, model: MjModel, qpos: ArrayLike, qvel: ArrayLike | None = None, qfrc: ArrayLike | None = None
) -> Array | tuple[Array, ...]:
    """The robot's q (nq) [rad, m], v (nv) [rad/s, m/s], tau (nv) [N m, N] of MuJoCo's qpos, qvel, generalized force."""
    return mujoco_map(robot, model).back(qpos, qvel, qfrc)


def acceleration_from_mujoco(robot: AnyRobot, model: MjModel, q: ArrayLike, v: ArrayLike, qacc: ArrayLike) -> Array:
    """The robot's a (nv) [rad/s^2, m/s^2] at its state q (nq), v (nv), of MuJoCo's qacc there."""
    return mujoco_map(robot, model).acceleration_back(q, v, qacc)


@overload
def to_pinocchio(robot: AnyRobot, model: PinocchioModel, q: ArrayLike, v: None = None, tau: None = None) -> Array: ...
@overload
def to_pinocchio(
    robot: AnyRobot, model: PinocchioModel, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None
) -> tuple[Array, ...]: ...
def to_pinocchio(
    robot: AnyRobot, model: PinocchioModel, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None
) -> Array | tuple[Array, ...]:
    """Pinocchio's q [rad, m], v [rad/s, m/s] and tau [N m, N] of the robot's q (nq), v (nv), tau (nv)."""
    import pinocchio

    return pinocchio_map(robot, model).to(pinocchio.neutral(model), q, v, tau)


@overload
def from_pinocchio(robot: AnyRobot, model: PinocchioModel, q: ArrayLike, v: None = None, tau: None = None) -> Array: ...
@overload
def from_pinocchio(
    robot: AnyRobot, model: PinocchioModel, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None
) -> tuple[Array, ...]: ...
def from_pinocchio(
    robot: AnyRobot, model: PinocchioModel, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None
) -> Array | tuple[Array, ...]:
    """The robot's q (nq) [rad, m], v (nv) [rad/s, m/s] and tau (nv) [N m, N] of Pinocchio's."""
    return pinocchio_map(robot, model).back(q, v, tau)


def acceleration_from_pinocchio(
    robot: AnyRobot, model: PinocchioModel, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> Array:
    """The robot's a (nv) [rad/s^2, m/s^2] at its state q (nq), v (nv), of Pinocchio's there."""
    return pinocchio_map(robot, model).acceleration_back(q, v, a)
