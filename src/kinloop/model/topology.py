"""The spanning tree by numbers: parents, paths, and where each joint sits in q and in the velocities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from kinloop.model.body import Body
from kinloop.model.frame import WORLD
from kinloop.model.joint import Joint, coordinate_names
from kinloop.model.joints import JointType
from kinloop.model.mechanism import Mechanism
from kinloop.scalar import Array
from kinloop.spatial import Inertia, Transform, rigid_inertia

SYMMETRIC = 1e-12
"""Relative difference from the inertia of a body of revolution that is rounding."""

CENTRED = 1e-15
"""Distance [m] of a centre of mass from an axis that is rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class Topology:
    """Index tables of a mechanism, and the numbers its dynamics needs. Body i moves on joint i; parent -1 is the world.

    `mass`, `com`, `inertia`, `placement`, `armature` and `ratios` are the mechanism's own numbers, or symbols where
    `open` names parameters (`kinloop.model.parameters`). `spins_unseen` tells of every body whether its own
    angle changes nothing.
    """

    mechanism: Mechanism
    joints: tuple[Joint, ...]
    bodies: tuple[Body, ...]
    body_index: Mapping[str, int]
    joint_index: Mapping[str, int]
    parent: tuple[int, ...]
    types: tuple[JointType, ...]
    q_of: tuple[slice, ...]
    v_of: tuple[slice, ...]
    body_of: tuple[int, ...]
    nq: int
    n_spanning: int
    coordinates: tuple[str, ...]
    mass: tuple[Any, ...]
    com: tuple[Array, ...]
    inertia: tuple[Inertia, ...]
    placement: tuple[Transform, ...]
    armature: Array
    ratios: Mapping[str, Array]
    spins_unseen: tuple[bool, ...]
    open: tuple[str, ...] = ()

    @staticmethod
    def of(m: Mechanism) -> Topology:
        """The tables of a mechanism, with its own numbers."""
        body_index = {b.name: i for i, b in enumerate(m.bodies)} | {WORLD: -1}
        types = tuple(j.type for j in m.joints)
        nq = np.cumsum([0, *(t.nq for t in types)])
        nv = np.cumsum([0, *(t.nv for t in types)])
        held = {*m.parents, *(end for c in m.closures for end in c.ends or ())}
        return Topology(
            mechanism=m,
            joints=m.joints,
            bodies=m.bodies,
            body_index=body_index,
            joint_index={j.name: i for i, j in enumerate(m.joints)},
            parent=tuple(body_index[j.parent] for j in m.joints),
            types=types,
            q_of=tuple(slice(int(a), int(b)) for a, b in pairwise(nq)),
            v_of=tuple(slice(int(a), int(b)) for a, b in pairwise(nv)),
            body_of=tuple(i for i, t in enumerate(types) for _ in range(t.nv)),
            nq=int(nq[-1]),
            n_spanning=int(nv[-1]),
            coordinates=tuple(name for j in m.joints for name in coordinate_names(j)),
            mass=tuple(b.mass for b in m.bodies),
            com=tuple(b.com for b in m.bodies),
            inertia=tuple(rigid_inertia(b.mass, b.com, b.inertia) for b in m.bodies),
            placement=tuple(j.placement for j in m.joints),
            armature=np.array([j.armature for j in m.joints for _ in range(j.type.nv)]),
            ratios={c.name: c.ratios for c in m.closures if c.ratios is not None},
            spins_unseen=tuple(
                b.name not in held and _spins_unseen(j, b) for j, b in zip(m.joints, m.bodies, strict=True)
            ),
        )

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
        a: list[int] = []
        b: list[int] = []
        while i != j:  # parents come before their children: the later of the two is no ancestor of the other
            if i > j:
                a.append(i)
                i = self.parent[i]
            else:
                b.append(j)
                j = self.parent[j]
        return i, a[::-1], b[::-1]

    def of_bodies(self, bodies: Sequence[int]) -> Topology:
        """The tables of some bodies alone, numbered from 0 in their order; all others are the world to them."""
        number = {i: k for k, i in enumerate(bodies)}
        joints, types = tuple(self.joints[i] for i in bodies), tuple(self.types[i] for i in bodies)
        nq = np.cumsum([0, *(t.nq for t in types)]).tolist()
        nv = np.cumsum([0, *(t.nv for t in types)]).tolist()
        dofs = [d for i in bodies for d in range(self.v_of[i].start, self.v_of[i].stop)]
        return replace(
            self,
            joints=joints,
            bodies=tuple(self.bodies[i] for i in bodies),
            body_index=_Inside({self.bodies[i].name: k for k, i in enumerate(bodies)}),
            joint_index={j.name: k for k, j in enumerate(joints)},
            parent=tuple(number.get(self.parent[i], -1) for i in bodies),
            types=types,
            q_of=tuple(slice(a, b) for a, b in pairwise(nq)),
            v_of=tuple(slice(a, b) for a, b in pairwise(nv)),
            body_of=tuple(number[self.body_of[d]] for d in dofs),
            nq=nq[-1],
            n_spanning=nv[-1],
            coordinates=tuple(self.coordinates[d] for d in dofs),
            mass=tuple(self.mass[i] for i in bodies),
            com=tuple(self.com[i] for i in bodies),
            inertia=tuple(self.inertia[i] for i in bodies),
            placement=tuple(self.placement[i] for i in bodies),
            armature=self.armature[dofs],
            spins_unseen=tuple(self.spins_unseen[i] for i in bodies),
        )

    def places(self, joints: Sequence[str]) -> tuple[list[int], list[int]]:
        """Where the named joints sit, one after the other, in q and in the spanning velocity."""
        index = [self.joint_index[name] for name in joints]
        positions = [k for i in index for k in range(self.q_of[i].start, self.q_of[i].stop)]
        return positions, [k for i in index for k in range(self.v_of[i].start, self.v_of[i].stop)]

    def plain_places(self) -> tuple[int, ...]:
        """Place in q of every spanning velocity whose joint has as many positions as velocities, else -1."""
        out: list[int] = []
        for t, a in zip(self.types, self.q_of, strict=True):
            out += list(range(a.start, a.stop)) if t.nq == t.nv else [-1] * t.nv
        return tuple(out)

    @property
    def floating_bases(self) -> list[int]:
        """Bodies that move freely in the world."""
        return [i for i, t in enumerate(self.types) if t.is_free and self.parent[i] < 0]

    def neutral(self) -> Array:
        """Every joint at its home: where the mechanism is drawn, else the neutral position of its type."""
        homes = [j.type.neutral() if j.home is None else np.array(j.home) for j in self.joints]
        return np.concatenate(homes or [np.zeros(0)])

    def random(self, rng: np.random.Generator) -> Array:
        return np.concatenate([t.random(rng) for t in self.types] or [np.zeros(0)])

    def integrate(self, q: Array, step: Array) -> Array:
        """q after the spanning step `step` (velocity times time), joint by joint on its own manifold."""
        parts = [t.integrate(q[a], step[b]) for t, a, b in zip(self.types, self.q_of, self.v_of, strict=True)]
        return np.concatenate(parts or [np.zeros(0)])

    def moved(self, bodies: Sequence[int], q: Array, step: Array) -> Array:
        """q with the joints of some bodies moved by a spanning step and normalized, the others as they are."""
        out = np.array(q, dtype=float)
        for i in bodies:
            kind, a = self.types[i], self.q_of[i]
            out[a] = kind.normalized(kind.integrate(out[a], step[self.v_of[i]]))
        return out

    def difference(self, q0: Array, q1: Array) -> Array:
        parts = [t.difference(q0[a], q1[a]) for t, a in zip(self.types, self.q_of, strict=True)]
        return np.concatenate(parts or [np.zeros(0)])

    def normalized(self, q: Array) -> Array:
        parts = [t.normalized(q[a]) for t, a in zip(self.types, self.q_of, strict=True)]
        return np.concatenate(parts or [np.zeros(0)])


class _Inside(dict[str, int]):
    """Numbers of bodies by name; any other body is the world."""

    def __missing__(self, name: str) -> int:
        return -1


def _spins_unseen(joint: Joint, body: Body) -> bool:
    """A body symmetric about its own axis of rotation: where nothing else holds it, its angle changes nothing."""
    spin = joint.type.spin_axis
    if spin is None:
        return False
    axis = np.array(spin)
    turn = np.eye(3) - np.outer(axis, axis)
    if np.max(np.abs(turn @ body.com)) > CENTRED:
        return False
    I = body.inertia
    across = np.trace(turn @ I @ turn) / 2
    symmetric = across * turn + (axis @ I @ axis) * np.outer(axis, axis)
    scale = float(np.max(np.abs(I))) + 1e-300
    return bool(np.max(np.abs(I - symmetric)) <= SYMMETRIC * scale)
