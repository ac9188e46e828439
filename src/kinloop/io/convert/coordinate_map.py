"""A robot's joints paired with another library's: the map of positions, velocities, accelerations and forces.

kinloop's `q` holds every spanning joint and so do theirs; `v` and `tau` are of kinloop's independent
coordinates, theirs are of all joints:

    to them    qd = G v;  tau on the independent joints, zero on the others (which is the same force)
    from them  v = their velocity of the independent joints;  tau = G^T (their forces)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from kinloop.clusters import ClusterTree, grow
from kinloop.errors import ModelError, ShapeError
from kinloop.model import Joint, Mechanism
from kinloop.scalar import Array


class HasTree(Protocol):
    """A robot, as far as its coordinates are concerned."""

    @property
    def tree(self) -> ClusterTree: ...


AnyRobot = Mechanism | ClusterTree | HasTree


def tree_of(robot: AnyRobot) -> ClusterTree:
    """The tree of clusters of a robot or mechanism."""
    tree = grow(robot) if isinstance(robot, Mechanism) else getattr(robot, "tree", robot)
    if not isinstance(tree, ClusterTree):
        raise ModelError(f"{type(robot).__name__} is not a robot; give a Robot or a Mechanism")
    return tree


def same(x: Array) -> Array:
    return x


def identity(n: int) -> Callable[[Array], Array]:
    return lambda q: np.eye(n)


def no_drift(q: Array, qd: Array) -> Array:
    return np.zeros(len(qd))


@dataclass(frozen=True)
class Coordinates:
    """How another library writes the coordinates of one joint.

    `position` maps ours to theirs, `position_back` theirs to ours; `velocity(q)` is the matrix E with
    their velocity = E @ ours (q is ours), and forces map by E^-T. Where E changes along the motion,
    their acceleration = E @ ours + drift(q, qd).
    """

    position: Callable[[Array], Array]
    position_back: Callable[[Array], Array]
    velocity: Callable[[Array], Array]
    drift: Callable[[Array, Array], Array] = no_drift


@dataclass(frozen=True)
class Slot:
    """A joint's place in the other library's q and velocity, and how its coordinates are written there."""

    q: slice
    v: slice
    written: Coordinates


class CoordinateMap:
    """The joints of a robot paired with another library's of nq positions and nv velocities."""

    def __init__(self, robot: AnyRobot, slot_of: Callable[[Joint], Slot], nq: int, nv: int) -> None:
        self.tree = tree_of(robot)
        self.top = self.tree.top
        self.nq, self.nv = nq, nv
        self.slots = {i: slot_of(j) for i, j in enumerate(self.top.joints) if j.type.nv}

    def to(self, start: Array, q: ArrayLike, v: ArrayLike | None, tau: ArrayLike | None) -> Array | tuple[Array, ...]:
        """Their q, velocity and force; joints that only they have stay at their position `start`."""
        return by_rows(lambda *state: self._to(start, *state), q, v, tau)

    def _to(self, start: Array, q: Array, v: Array | None = None, tau: Array | None = None) -> list[Array]:
        G = self.tree.spanning_jacobian(sized(q, self.top.nq, "q"))
        theirs = start.copy()
        for i, slot in self.slots.items():
            theirs[slot.q] = slot.written.position(q[self.top.q_of[i]])
        out = [theirs]
        if v is not None:
            out.append(self._velocity_to(q, G @ sized(v, self.tree.nv, "v")))
        if tau is not None:
            spanning = np.zeros(self.top.n_spanning)
            spanning[self.tree.independent_dofs] = sized(tau, self.tree.nv, "tau")
            out.append(self._force_to(q, spanning))
        return out

    def _velocity_to(self, q: Array, qd: Array) -> Array:
        theirs = np.zeros(self.nv)
        for i, slot in self.slots.items():
            theirs[slot.v] = slot.written.velocity(q[self.top.q_of[i]]) @ qd[self.top.v_of[i]]
        return theirs

    def _force_to(self, q: Array, spanning: Array) -> Array:
        theirs = np.zeros(self.nv)
        for i, slot in self.slots.items():
            E = slot.written.velocity(q[self.top.q_of[i]])
            theirs[slot.v] = np.linalg.inv(E).T @ spanning[self.top.v_of[i]]
        return theirs

    def back(self, q: ArrayLike, v: ArrayLike | None, tau: ArrayLike | None) -> Array | tuple[Array, ...]:
        """Our q, v and tau of theirs."""
        return by_rows(self._back, q, v, tau)

    def _back(self, theirs: Array, v: Array | None = None, tau: Array | None = None) -> list[Array]:
        sized(theirs, self.nq, "q")
        q = self.top.neutral()
        for i, slot in self.slots.items():
            q[self.top.q_of[i]] = slot.written.position_back(theirs[slot.q])
        out = [q]
        if v is not None:
            qd = self._velocity_back(q, sized(v, self.nv, "v"))
            out.append(qd[self.tree.independent_dofs])
        if tau is not None:
            out.append(self.tree.spanning_jacobian(q).T @ self._force_back(q, sized(tau, self.nv, "tau")))
        return out

    def _velocity_back(self, q: Array, theirs: Array) -> Array:
        qd = np.zeros(self.top.n_spanning)
        for i, slot in self.slots.items():
            qd[self.top.v_of[i]] = np.linalg.inv(slot.written.velocity(q[self.top.q_of[i]])) @ theirs[slot.v]
        return qd

    def _force_back(self, q: Array, theirs: Array) -> Array:
        spanning = np.zeros(self.top.n_spanning)
        for i, slot in self.slots.items():
            spanning[self.top.v_of[i]] = slot.written.velocity(q[self.top.q_of[i]]).T @ theirs[slot.v]
        return spanning

    def acceleration_back(self, q: ArrayLike, v: ArrayLike, theirs: ArrayLike) -> Array:
        """Our acceleration of the independent coordinates for theirs of all joints, at our q and v."""

        def back(q: Array, v: Array, theirs: Array) -> list[Array]:
            qd = self.tree.spanning_jacobian(q) @ v
            return [self.spanning_acceleration(q, qd, theirs)[self.tree.independent_dofs]]

        out = by_rows(back, q, v, theirs)
        assert isinstance(out, np.ndarray)
        return out

    def spanning_acceleration(self, q: Array, qd: Array, theirs: Array) -> Array:
        """Our accelerations of all joints for theirs, at our q and spanning velocity."""
        sized(q, self.top.nq, "q")
        sized(theirs, self.nv, "acceleration")
        less = np.zeros(self.nv)
        for i, slot in self.slots.items():
            less[slot.v] = slot.written.drift(q[self.top.q_of[i]], qd[self.top.v_of[i]])
        return self._velocity_back(q, theirs - less)


def sized(x: Array, n: int, what: str) -> Array:
    """`x`, if it has n entries."""
    if x.shape != (n,):
        raise ShapeError(f"{what} has {x.shape[-1]} entries; the model it belongs to has {n}")
    return x


def by_rows(f: Callable[..., list[Array]], *inputs: ArrayLike | None) -> Array | tuple[Array, ...]:
    """Apply to every batch row; None stays None. One array alone is not put in a tuple."""
    arrays = [None if x is None else np.asarray(x, dtype=float) for x in inputs]
    lead = np.broadcast_shapes(*(x.shape[:-1] for x in arrays if x is not None))
    count = int(np.prod(lead, dtype=int))
    full = [None if x is None else np.broadcast_to(x, (*lead, x.shape[-1])).reshape(count, x.shape[-1]) for x in arrays]
    rows = [f(*(None if x is None else x[k] for x in full)) for k in range(count)]
    parts = [np.array(part).reshape(*lead, len(part[0])) for part in zip(*rows, strict=True)]
    return parts[0] if len(parts) == 1 else tuple(parts)
