"""The spanning tree by numbers: parents, paths, and where each joint sits in q and in the velocities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from kinloop.model.joints import JointType, Revolute
from kinloop.model.mechanism import Mechanism, coordinate_names
from kinloop.model.parts import WORLD, Body, LinearCoupling, LoopJoint, Rod
from kinloop.spatial import Inertia, Transform, rigid_inertia


class Topology:
    """Index tables of a mechanism. Body i is carried by joint i; parent -1 is the world."""

    def __init__(self, mechanism: Mechanism) -> None:
        m = self.mechanism = mechanism
        self.joints = m.joints
        self.bodies: tuple[Body, ...] = m.bodies
        self.body_index = {b.name: i for i, b in enumerate(self.bodies)} | {WORLD: -1}
        self.joint_index = {j.name: i for i, j in enumerate(self.joints)}
        self.parent = tuple(self.body_index[j.parent] for j in self.joints)
        self.types: tuple[JointType, ...] = tuple(j.type for j in self.joints)
        self.placement: tuple[Transform, ...] = tuple(j.placement for j in self.joints)
        self.mass = tuple(b.mass for b in self.bodies)
        self.com = tuple(b.com for b in self.bodies)
        self.inertia: tuple[Inertia, ...] = tuple(rigid_inertia(b.mass, b.com, b.inertia) for b in self.bodies)
        self.ratios = {c.name: c.matrix for c in m.couplings if isinstance(c, LinearCoupling)}
        nq = np.cumsum([0, *(t.nq for t in self.types)])
        nv = np.cumsum([0, *(t.nv for t in self.types)])
        self.q_of = tuple(slice(int(a), int(b)) for a, b in pairwise(nq))
        self.v_of = tuple(slice(int(a), int(b)) for a, b in pairwise(nv))
        self.body_of = tuple(i for i, t in enumerate(self.types) for _ in range(t.nv))
        self.nq, self.n_spanning = int(nq[-1]), int(nv[-1])
        self.armature = np.array([j.armature for j in self.joints for _ in range(j.type.nv)])
        self.coordinates = tuple(name for j in self.joints for name in coordinate_names(j))
        self.open: tuple[str, ...] = ()  # figures left open, see model/parameters.py
        self.spins_unseen = tuple(self._spins_unseen(i) for i in range(len(self)))

    def __len__(self) -> int:
        return len(self.bodies)

    def support(self, i: int) -> list[int]:
        """Bodies from the world down to and including i."""
        path: list[int] = []
        while i >= 0:
            path.append(i)
            i = self.parent[i]
        return path[::-1]

    def paths(self, i: int, j: int) -> tuple[int, list[int], list[int]]:
        """The nearest common ancestor of two bodies, and the bodies from below it down to each."""
        a, b = self.support(i), self.support(j)
        k = 0
        while k < min(len(a), len(b)) and a[k] == b[k]:
            k += 1
        return (a[k - 1] if k else -1), a[k:], b[k:]

    def neutral(self) -> np.ndarray:
        """Every joint at its home: where the mechanism is drawn, else the neutral position of its type."""
        homes = [j.type.neutral() if j.home is None else np.array(j.home) for j in self.joints]
        return np.concatenate(homes or [np.zeros(0)])

    def random(self, rng: np.random.Generator) -> np.ndarray:
        return np.concatenate([t.random(rng) for t in self.types] or [np.zeros(0)])

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q after the spanning step `step` (velocity times time), joint by joint on its own manifold."""
        parts = [t.integrate(q[a], step[b]) for t, a, b in zip(self.types, self.q_of, self.v_of, strict=True)]
        return np.concatenate(parts or [np.zeros(0)])

    def moved(self, bodies: Sequence[int], q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q with the joints of some bodies moved by a spanning step and normalized, the others as they are."""
        out = np.array(q, dtype=float)
        for i in bodies:
            kind, a = self.types[i], self.q_of[i]
            out[a] = kind.normalized(kind.integrate(out[a], step[self.v_of[i]]))
        return out

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        parts = [t.difference(q0[a], q1[a]) for t, a in zip(self.types, self.q_of, strict=True)]
        return np.concatenate(parts or [np.zeros(0)])

    def normalized(self, q: np.ndarray) -> np.ndarray:
        parts = [t.normalized(q[a]) for t, a in zip(self.types, self.q_of, strict=True)]
        return np.concatenate(parts or [np.zeros(0)])

    def _spins_unseen(self, i: int) -> bool:
        """A body symmetric about its own revolute axis that carries nothing: its angle changes nothing."""
        kind, body = self.types[i], self.bodies[i]
        if not isinstance(kind, Revolute) or i in self.parent:
            return False
        for loop in self.mechanism.loops:
            if isinstance(loop, LoopJoint | Rod) and body.name in (loop.predecessor, loop.successor):
                return False
        axis = np.array(kind.axis)
        turn = np.eye(3) - np.outer(axis, axis)
        I = body.inertia
        across = np.trace(turn @ I @ turn) / 2
        symmetric = across * turn + (axis @ I @ axis) * np.outer(axis, axis)
        scale = float(np.max(np.abs(I))) + 1e-300
        return bool(np.max(np.abs(I - symmetric)) <= 1e-12 * scale and np.max(np.abs(turn @ body.com)) <= 1e-15)
