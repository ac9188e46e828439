"""Sensors of contact: what is felt in a zone, on a body, between bodies, and at what holds a body on its parent.

A step says of every contact where it is, its normal, the force on the first of the two that touch, and its number
(`contact.impact.Hit`); who touches whom by that number is known beforehand. One loop over the contacts sums what every
sensor feels. What holds a body with all that it carries, at the site of a `force` or `torque` sensor, is what moves
their masses less all forces on them from outside: contacts, springs and pushes of users [Featherstone2008], and what
loops do that hold them too (`loop_loads`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.model import Sensor, Topology
from kinloop.model.sensor import OF_CONTACT
from kinloop.scalar import Array
from kinloop.sim.contact.candidates import Party
from kinloop.sim.contact.impact import Contact
from kinloop.sim.outside import Outside
from kinloop.sim.sensor_zones import meets
from kinloop.spatial import Transform, cross, cross_force


class Felt:
    """What sensors of contact feel of the contacts of a step: of each its sum, a vector of as many numbers."""

    def __init__(self, top: Topology, contact: Contact | None, sensors: tuple[Sensor, ...]) -> None:
        self.top, self.sensors = top, [s for s in sensors if s.kind in OF_CONTACT]
        self.parties = contact.parties(top) if contact is not None and self.sensors else []
        self.shape = contact.touching if contact is not None and self.parties else (0, 0)
        self.signs = np.array([[self._sign(s, pair) for s in self.sensors] for pair in self.parties], dtype=float)

    def _sign(self, s: Sensor, pair: tuple[Party, Party]) -> float:
        """1 where a sensor feels the force on the first that touches, -1 that on the second, 0 none or both."""
        on = [self._is_on(s, party, other) for party, other in (pair, pair[::-1])]
        return float(on[0]) - float(on[1])

    def _is_on(self, s: Sensor, party: Party, other: Party) -> bool:
        match s.kind:
            case "touch":
                return s.link in party.names
            case "contact_force":
                return s.part in other.names and (not s.against or s.against in party.names)
        assert s.frame is not None, "a force is of a frame"
        i = self.top.body_index[s.frame.body]
        return i < 0 or (party.body >= 0 and i in self.top.support(party.body))

    def sums(self, poses: list[Transform], rows: Array) -> dict[str, Array]:
        """Of every sensor, by name, what the contacts `rows` (n, m) do; `poses` are those of the sensors' frames.

        A touch: the sum of normal forces. A contact force: the force. Others: force and moment about their frame's
        origin, in the world.
        """
        sizes = [{"touch": 1, "contact_force": 3}.get(s.kind, 6) for s in self.sensors]
        total: Any = [0.0] * sum(sizes)
        if len(rows) and self.parties:
            given = [[*T.p, *T.R.flat] for T in poses]
            total, _ = sc.scan(self._add, total, rows, given)
        ends = np.cumsum(sizes)
        return {s.name: np.array(total[end - n : end]) for s, n, end in zip(self.sensors, sizes, ends, strict=True)}

    def _add(self, carry: Any, row: Any, shared: Any) -> tuple[list[Any], list[Any]]:
        """One contact more, as a body of `scalar.scan`."""
        x, normal, force, torque = (np.array(row[a:b]) for a, b in ((0, 3), (3, 6), (6, 9), (9, self.shape[1] - 1)))
        signs = sc.take(self.signs, row[self.shape[1] - 1])
        found: list[Any] = []
        for k, s in enumerate(self.sensors):
            given = np.array(shared[12 * k : 12 * k + 12])
            R, p = given[3:].reshape(3, 3), given[:3]
            if s.kind == "touch":
                assert s.zone is not None, "a touch has a zone"
                away = R.T @ (-signs[k] * normal)
                inside = meets(*s.zone, R.T @ (x - p), away)
                felt = sc.where(sc.logical_and(inside, sc.abs(signs[k]) > 0.5), normal @ force, 0.0)
                found.append(felt)
                continue
            pushed = signs[k] * force
            found += pushed.tolist()
            if s.kind != "contact_force":
                found += [*(cross(x - p, pushed) + (signs[k] * torque if len(torque) else 0.0))]
        return [a + b for a, b in zip(carry, found, strict=True)], []


def moving_masses(top: Topology, body: int, poses: list[Transform], motions: list[tuple[Array, Array]]) -> Array:
    """The wrench [moment; force] that moves a body and all that it carries, in world axes about the world's origin.

    `poses` are those of all bodies, `motions` their twists and spatial accelerations in their own frames, with gravity
    as an acceleration of the ground.
    """
    total = np.zeros(6)
    for i, (v, a) in enumerate(motions):
        if body < 0 or body in top.support(i):
            I = top.inertia[i]
            total = total + poses[i].force(I.apply(a) + cross_force(v, I.apply(v)))
    return total


def outside_wrench(top: Topology, outside: Outside, body: int, q: Array, qd: Array, u: Array) -> Array:
    """The wrench of users' forces on a body and all that it carries, in world axes about the world's origin."""

    def inside(i: int) -> bool:
        return i >= 0 and (body < 0 or body in top.support(i))

    total = np.zeros(6)
    for row, g in outside.rows(top, q):
        sign = float(inside(row.second)) - float(inside(row.first))
        if row.wrench is not None and sign:
            total = total - sign * (row.stiffness * row.x + row.damping * (g @ qd)) * row.wrench
    for push, wrench in outside.wrenches(q, qd, u):
        if inside(push.body):
            total = total + wrench
    return total


def outside_on_coordinates(top: Topology, outside: Outside, q: Array, qd: Array) -> Array:
    """What springs and dampers of users do on single coordinates, where they have no wrench."""
    out = np.zeros(len(qd), dtype=np.result_type(float, q, qd))
    for row, g in outside.rows(top, q):
        if row.wrench is None:
            out = out - (row.stiffness * row.x + row.damping * (g @ qd)) * g
    return out
