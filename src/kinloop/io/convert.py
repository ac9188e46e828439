"""States from and to Pinocchio's and MuJoCo's orders and conventions, joint by joint, mapped by name.

kinloop's `q` holds every spanning joint and so do theirs; `v` and `tau` are of kinloop's independent
coordinates, theirs are of all joints:

    to them    qd = G v;  tau on the independent joints, zero on the others (which is the same force)
    from them  v = their velocity of the independent joints;  tau = G^T (their forces)

Functions take one state or a batch over leading axes, and return what they are given: q alone, or (q, v),
or (q, v, tau).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinloop.clusters import ClusterTree, grow
from kinloop.errors import ModelError, ShapeError, unknown
from kinloop.model import Joint, Mechanism
from kinloop.model import joints as jt
from kinloop.spatial import quaternion_rotation

Array = np.ndarray


@dataclass(frozen=True)
class Slot:
    """A joint's place in the other library's q and velocity, and the maps of its coordinates.

    `position` maps ours to theirs, `position_back` theirs to ours; `velocity(q)` is the matrix E with
    their velocity = E @ ours (ours: q of this joint), and forces map by E^-T.
    """

    q: slice
    v: slice
    position: Callable[[Array], Array]
    position_back: Callable[[Array], Array]
    velocity: Callable[[Array], Array]


def _same(x: Array) -> Array:
    return x


def _identity(n: int) -> Callable[[Array], Array]:
    return lambda q: np.eye(n)


def to_mujoco(robot: Any, model: Any, q: Any, v: Any = None, tau: Any = None) -> Any:
    """MuJoCo's qpos, qvel and generalized force (as `qfrc_applied`) of a state of the robot."""
    return _Map(robot, _mujoco_slots(model), model.nq, model.nv).to(q, v, tau, np.array(model.qpos0))


def from_mujoco(robot: Any, model: Any, qpos: Any, qvel: Any = None, qfrc: Any = None) -> Any:
    """The robot's q, v and tau of MuJoCo's qpos, qvel and generalized force."""
    return _Map(robot, _mujoco_slots(model), model.nq, model.nv).back(qpos, qvel, qfrc)


def to_pinocchio(robot: Any, model: Any, q: Any, v: Any = None, tau: Any = None) -> Any:
    """Pinocchio's q, v and tau of a state of the robot."""
    import pinocchio

    return _Map(robot, _pinocchio_slots(model), model.nq, model.nv).to(q, v, tau, pinocchio.neutral(model))


def from_pinocchio(robot: Any, model: Any, q: Any, v: Any = None, tau: Any = None) -> Any:
    """The robot's q, v and tau of Pinocchio's."""
    return _Map(robot, _pinocchio_slots(model), model.nq, model.nv).back(q, v, tau)


class _Map:
    """A robot's joints paired with another library's."""

    def __init__(self, robot: Any, slots: Callable[[Joint], Slot], nq: int, nv: int) -> None:
        tree = grow(robot) if isinstance(robot, Mechanism) else getattr(robot, "tree", robot)
        if not isinstance(tree, ClusterTree):
            raise ModelError(f"{type(robot).__name__} is not a robot; give a Robot or a Mechanism")
        self.tree = tree
        self.top = self.tree.top
        self.nq, self.nv = nq, nv
        moving = [(i, j) for i, j in enumerate(self.top.joints) if j.type.nv]
        self.slots = {i: slots(j) for i, j in moving}

    def to(self, q: Any, v: Any, tau: Any, start: Array) -> Any:
        return _rowwise(lambda *state: self._to(start, *state), q, v, tau)

    def _to(self, start: Array, q: Array, v: Array | None, tau: Array | None) -> list[Array]:
        G = self.tree.spanning_jacobian(self._sized(q, self.top.nq, "q"))
        theirs = start.copy()
        for i, slot in self.slots.items():
            theirs[slot.q] = slot.position(q[self.top.q_of[i]])
        out = [theirs]
        for kind, x in (("v", v), ("tau", tau)):
            if x is None:
                continue
            self._sized(x, self.tree.nv, kind)
            spanning = G @ x if kind == "v" else self._on_independent(x)
            moved = np.zeros(self.nv)
            for i, slot in self.slots.items():
                E = slot.velocity(q[self.top.q_of[i]])
                moved[slot.v] = (E if kind == "v" else np.linalg.inv(E).T) @ spanning[self.top.v_of[i]]
            out.append(moved)
        return out

    def _on_independent(self, tau: Array) -> Array:
        spanning = np.zeros(self.top.n_spanning)
        spanning[self.tree.independent_dofs] = tau
        return spanning

    def back(self, q: Any, v: Any, tau: Any) -> Any:
        return _rowwise(self._back, q, v, tau)

    def _back(self, theirs: Array, v: Array | None, tau: Array | None) -> list[Array]:
        self._sized(theirs, self.nq, "q")
        q = self.top.neutral()
        for i, slot in self.slots.items():
            q[self.top.q_of[i]] = slot.position_back(theirs[slot.q])
        out = [q]
        for kind, x in (("v", v), ("tau", tau)):
            if x is None:
                continue
            self._sized(x, self.nv, kind)
            spanning = np.zeros(self.top.n_spanning)
            for i, slot in self.slots.items():
                E = slot.velocity(q[self.top.q_of[i]])
                spanning[self.top.v_of[i]] = (np.linalg.inv(E) if kind == "v" else E.T) @ x[slot.v]
            if kind == "v":
                out.append(spanning[self.tree.independent_dofs])
            else:
                out.append(self.tree.spanning_jacobian(q).T @ spanning)
        return out

    @staticmethod
    def _sized(x: Array, n: int, what: str) -> Array:
        if x.shape != (n,):
            raise ShapeError(f"{what} has {x.shape[-1]} entries; the model it belongs to has {n}")
        return x


def _rowwise(f: Callable[..., list[Array]], q: Any, v: Any, tau: Any) -> Any:
    """Apply to every row of a batch; None stays None. One array alone is not put in a tuple."""
    arrays = [None if x is None else np.asarray(x, dtype=float) for x in (q, v, tau)]
    lead = np.broadcast_shapes(*(x.shape[:-1] for x in arrays if x is not None))
    count = int(np.prod(lead, dtype=int))
    full = [None if x is None else np.broadcast_to(x, (*lead, x.shape[-1])).reshape(count, x.shape[-1]) for x in arrays]
    rows = [f(*(None if x is None else x[k] for x in full)) for k in range(count)]
    parts = [np.array(part).reshape(*lead, len(part[0])) for part in zip(*rows, strict=True)]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _mujoco_slots(model: Any) -> Callable[[Joint], Slot]:
    from kinloop.io.mjcf.mjcf_parts import Names

    names = Names(model)
    index = {names.joint(j): j for j in range(model.njnt)}
    free = [j for j in range(model.njnt) if model.jnt_type[j] == 0]

    def slot(joint: Joint) -> Slot:
        j = index.get(joint.name)
        if j is None and joint.type.is_free and len(free) == 1:
            j = free[0]
        if j is None:
            raise ModelError(f"the MuJoCo model lacks a joint: {unknown('joint', joint.name, index)}")
        a, b, n = int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j]), joint.type.nv
        if model.jnt_type[j] != {jt.Free: 0, jt.Spherical: 1, jt.Prismatic: 2, jt.Revolute: 3}.get(
            type(joint.type), -1
        ):
            raise ModelError(f"joint {joint.name!r} is {joint.type.name} here and of another type in the MuJoCo model")
        velocity = _mujoco_free if joint.type.is_free else _identity(n)
        return Slot(slice(a, a + joint.type.nq), slice(b, b + n), _same, _same, velocity)

    return slot


def _mujoco_free(q: Array) -> Array:
    """MuJoCo: (linear in the world, angular in the body); kinloop: (angular, linear) in the body."""
    zero = np.zeros((3, 3))
    return np.block([[zero, quaternion_rotation(q[3:])], [np.eye(3), zero]])


def _pinocchio_slots(model: Any) -> Callable[[Joint], Slot]:
    names = list(model.names)

    def slot(joint: Joint) -> Slot:
        k = names.index(joint.name) if joint.name in names else 0
        if not k and joint.type.is_free:
            k = next((i for i, j in enumerate(model.joints) if j.shortname() == "JointModelFreeFlyer"), 0)
        if not k:
            raise ModelError(f"the Pinocchio model lacks a joint: {unknown('joint', joint.name, names[1:])}")
        J = model.joints[k]
        position, back, velocity = _PINOCCHIO.get((type(joint.type), J.nq), (None, None, None))
        if position is None or back is None or velocity is None or J.nv != joint.type.nv:
            raise ModelError(f"joint {joint.name!r} is {joint.type.name} here and {J.shortname()} in Pinocchio")
        return Slot(slice(J.idx_q, J.idx_q + J.nq), slice(J.idx_v, J.idx_v + J.nv), position, back, velocity)

    return slot


_SWAP = np.block([[np.zeros((3, 3)), np.eye(3)], [np.eye(3), np.zeros((3, 3))]])


def _turn2(q: Array) -> Array:
    """Pinocchio's planar velocity is in the body's axes, ours along fixed directions."""
    c, s = np.cos(q[2]), np.sin(q[2])
    return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def _unwrap(q: Array) -> Array:
    return np.array([np.arctan2(q[1], q[0])])


_PINOCCHIO: dict[tuple[type, int], tuple[Callable, Callable, Callable]] = {
    (jt.Revolute, 1): (_same, _same, _identity(1)),
    (jt.Revolute, 2): (lambda q: np.array([np.cos(q[0]), np.sin(q[0])]), _unwrap, _identity(1)),
    (jt.Prismatic, 1): (_same, _same, _identity(1)),
    (jt.Helical, 1): (_same, _same, _identity(1)),
    (jt.Universal, 2): (_same, _same, _identity(2)),
    (jt.Spherical, 4): (lambda q: q[[1, 2, 3, 0]], lambda q: q[[3, 0, 1, 2]], _identity(3)),
    (jt.Free, 7): (lambda q: q[[0, 1, 2, 4, 5, 6, 3]], lambda q: q[[0, 1, 2, 6, 3, 4, 5]], lambda q: _SWAP),
    (jt.Planar, 4): (
        lambda q: np.array([q[0], q[1], np.cos(q[2]), np.sin(q[2])]),
        lambda q: np.array([q[0], q[1], np.arctan2(q[3], q[2])]),
        _turn2,
    ),
}
"""Maps of positions and velocities by kinloop's joint type and Pinocchio's number of positions."""
