"""Pinocchio's order and convention of coordinates, joint by joint, mapped by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from kinloop.errors import ModelError, unknown
from kinloop.io.convert.coordinate_map import AnyRobot, CoordinateMap, Coordinates, Slot, identity, same, tree_of
from kinloop.model import Joint
from kinloop.model import joints as jt
from kinloop.scalar import Array

PinocchioModel: TypeAlias = Any
"""A `pinocchio.Model`: Pinocchio has no type stubs."""

SCALAR_LAST = [1, 2, 3, 0]
"""Pinocchio's quaternion x y z w in ours, w x y z."""
LINEAR_FIRST = [3, 4, 5, 0, 1, 2]
"""Pinocchio's free velocity, linear then angular, in ours."""
SAME = 1e-9
"""Frames of free joints that differ by more [m, rad] are not the same."""
ORDERS: dict[type[jt.JointType], tuple[list[int], list[int]]] = {
    jt.Spherical: (SCALAR_LAST, [0, 1, 2]),
    jt.Free: ([0, 1, 2, *(3 + k for k in SCALAR_LAST)], LINEAR_FIRST),
}
"""Where Pinocchio's positions and velocities of a joint stand in ours, for types it writes in another order."""


def pinocchio_map(robot: AnyRobot, model: PinocchioModel) -> CoordinateMap:
    """The map between a robot's coordinates and those of a Pinocchio model of it."""
    return CoordinateMap(robot, _slots(model), model.nq, model.nv)


def pinocchio_order(robot: AnyRobot, model: PinocchioModel) -> tuple[Array, Array]:
    """Index arrays i (nq) and j (n_spanning) with Pinocchio's q = q[i] and its velocity = (G v)[j].

    For models whose coordinates differ from ours in order only. A mimic joint has none of its own in Pinocchio.
    """
    top = tree_of(robot).top
    q_from, v_from = np.zeros(model.nq, dtype=int), np.zeros(model.nv, dtype=int)
    for joint, q, v in zip(top.joints, top.q_of, top.v_of, strict=True):
        J = model.joints[_index(model, joint)] if joint.type.nv else None
        if J is None or not J.nq:
            continue
        if (J.nq, J.nv) != (joint.type.nq, joint.type.nv) or (type(joint.type), J.nq) not in WRITTEN:
            raise ModelError(
                f"joint {joint.name!r} is {joint.type.name} here and {J.shortname()} in Pinocchio, "
                "which is more than another order; use to_pinocchio"
            )
        q_order, v_order = ORDERS.get(type(joint.type), (list(range(J.nq)), list(range(J.nv))))
        q_from[J.idx_q : J.idx_q + J.nq] = q.start + np.array(q_order)
        v_from[J.idx_v : J.idx_v + J.nv] = v.start + np.array(v_order)
    return q_from, v_from


def _index(model: PinocchioModel, joint: Joint) -> int:
    """The number of a joint in Pinocchio; a free joint may have another name there."""
    names = list(model.names)
    k = names.index(joint.name) if joint.name in names else 0
    if not k and joint.type.is_free:
        k = next((i for i, j in enumerate(model.joints) if j.shortname() == "JointModelFreeFlyer"), 0)
    if not k:
        raise ModelError(f"the Pinocchio model lacks a joint: {unknown('joint', joint.name, names[1:])}")
    if joint.type.is_free:
        _check_place(model, k, joint)
    return k


def _check_place(model: PinocchioModel, k: int, joint: Joint) -> None:
    """Refuse a free joint that stands elsewhere in Pinocchio: its coordinates would mean another pose."""
    there, here = model.jointPlacements[k], joint.placement
    if not (np.allclose(there.rotation, here.R, atol=SAME) and np.allclose(there.translation, here.p, atol=SAME)):
        raise ModelError(
            f"free joint {joint.name!r} begins in another frame than Pinocchio's {model.names[k]!r}, so that their "
            "coordinates do not mean the same pose; free the same link in both"
        )


def _slots(model: PinocchioModel) -> Callable[[Joint], Slot]:
    def slot(joint: Joint) -> Slot:
        J = model.joints[_index(model, joint)]
        written = WRITTEN.get((type(joint.type), J.nq))
        if written is None or J.nv != joint.type.nv:
            raise ModelError(f"joint {joint.name!r} is {joint.type.name} here and {J.shortname()} in Pinocchio")
        return Slot(slice(J.idx_q, J.idx_q + J.nq), slice(J.idx_v, J.idx_v + J.nv), written)

    return slot


def _reordered(kind: type[jt.JointType]) -> Coordinates:
    q_order, v_order = ORDERS[kind]
    back = np.argsort(q_order)
    E = np.eye(len(v_order))[v_order]
    return Coordinates(lambda q: q[q_order], lambda q: q[back], lambda q: E)


def _planar_velocity(q: Array) -> Array:
    """Pinocchio's planar velocity is in the body's axes, ours along fixed directions."""
    c, s = np.cos(q[2]), np.sin(q[2])
    return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def _planar_drift(q: Array, qd: Array) -> Array:
    """The body's axes turn while it moves."""
    x, y, _ = _planar_velocity(q) @ qd
    return np.array([qd[2] * y, -qd[2] * x, 0.0])


WRITTEN: dict[tuple[type[jt.JointType], int], Coordinates] = {
    (jt.Revolute, 1): Coordinates(same, same, identity(1)),
    (jt.Revolute, 2): Coordinates(
        lambda q: np.array([np.cos(q[0]), np.sin(q[0])]), lambda q: np.array([np.arctan2(q[1], q[0])]), identity(1)
    ),
    (jt.Prismatic, 1): Coordinates(same, same, identity(1)),
    (jt.Helical, 1): Coordinates(same, same, identity(1)),
    (jt.Universal, 2): Coordinates(same, same, identity(2)),
    (jt.Spherical, 4): _reordered(jt.Spherical),
    (jt.Free, 7): _reordered(jt.Free),
    (jt.Planar, 4): Coordinates(
        lambda q: np.array([q[0], q[1], np.cos(q[2]), np.sin(q[2])]),
        lambda q: np.array([q[0], q[1], np.arctan2(q[3], q[2])]),
        _planar_velocity,
        _planar_drift,
    ),
}
"""How Pinocchio writes a joint, by kinloop's joint type and Pinocchio's number of positions."""
