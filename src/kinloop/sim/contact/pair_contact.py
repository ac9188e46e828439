"""Contact of any two bodies: the contact problem of a step for points that are found while a kernel runs.

What `impact` says of gaps, bounds and restitution holds here too. Points that are near (`near_pairs`) fill a fixed
number of slots, and everything that belongs to one contact is done in loops over the slots: its axes, Jacobian,
velocities and rows z (`contact_frame`), what the solver needs (`slot_solver`), and the forces in the end. Impulses of
the step before are found again by the pair and the place they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.model import Topology
from kinloop.scalar import Array
from kinloop.sim.contact.candidates import Party
from kinloop.sim.contact.contact_frame import (
    ContactMotion,
    Measured,
    Tables,
    body_velocities,
    in_world,
    measured,
    torque,
)
from kinloop.sim.contact.impact import Contact, Hit, ended, harmless
from kinloop.sim.contact.joint_limits import JointLimit
from kinloop.sim.contact.joint_stops import JointPath, joint_paths, split_rows
from kinloop.sim.contact.moving_columns import Columns
from kinloop.sim.contact.near_pairs import NEARBY, Near, looked_at, near_points
from kinloop.sim.contact.propagation import response
from kinloop.sim.contact.restitution import Bounce, rebound
from kinloop.sim.contact.row_steps import ContactPlan, ContactRow, Packer
from kinloop.sim.contact.scene import Scene
from kinloop.sim.contact.searched_pairs import SearchedPairs
from kinloop.sim.contact.shape_poses import poses_of, shape_motion
from kinloop.sim.contact.slot_solver import USUAL, Found, Slots, solve_slots
from kinloop.sim.contact.small_steps import JAMMED
from kinloop.sim.contact.sparse_rows import Part
from kinloop.sim.contact.start_geometry import Start, between_single, lever_shifts, single_bodies
from kinloop.sim.contact.touch import gravity_of, lowest_rate
from kinloop.sim.contact.turning_friction import TurningPlan, TurningRow
from kinloop.sim.smooth_motion import SmoothMotion
from kinloop.spatial import Transform

PLACE = 4
"""Numbers of a contact that a step hands on besides its impulse: where it is, one more than the number of its pair."""

EMPTY = 1e30
"""The gap of a slot without a contact [m]."""


class PairContact(Contact):
    """Contacts of all bodies of a scene with each other, and the stops and dry friction of joints.

    `usual` are poses of all shapes at configurations that the model names.
    """

    crowds = True

    def __init__(
        self, tree: ClusterTree, scene: Scene, joints: list[JointLimit], rounds: int,
        usual: Sequence[list[Transform]] = (),
    ) -> None:  # fmt: skip
        super().__init__(None, [], joints, rounds)
        self.scene, self.slots, self.rows = scene, scene.room.contacts, scene.rows
        self.handed = self.slots * (PLACE + self.rows)
        self.bodies = tuple(sorted({s.body for s in scene.shapes if s.body >= 0}))
        self.columns = Columns(tree, self.bodies)
        free = between_single(tree, scene)
        self.search = SearchedPairs(scene, usual, free[-len(scene.searched) :]) if scene.searched else None
        self.searched: Array | None = None
        self.flies = any(free)
        self.start: Start | None = None

    @property
    def inputs(self) -> dict[str, int]:
        """What a step is told of pairs that are searched for between steps, an input of its kernel and its size."""
        return {"searched": self.search.size} if self.search else {}

    def told(self, searched: Array) -> PairContact:
        """The same with what the search for a step found, as that input has it."""
        out = copy(self)
        out.searched = searched
        return out

    def begun(self, q: Array, qd: Array) -> PairContact:
        out = copy(self) if self.flies else self
        out.start = Start(q, qd) if self.flies else None
        return out

    @property
    def memory_size(self) -> int:
        """Numbers that a step hands to the next: impulses, whose and where; those of joints; whether there is a jam."""
        return self.handed + len(self.joints) + 1

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        parted = (tuple(self.search.partings.items()),) if self.search else ()
        return "pairs", self.scene.key, tuple(j.key for j in self.joints), self.rounds, *parted

    @property
    def records(self) -> dict[str, tuple[int, ...]]:
        """What a step can record, and its shape."""
        n = self.slots
        shapes: dict[str, tuple[int, ...]] = {"contact_force": (n, 3), "contact_point": (n, 3), "gap": (n,)}
        shapes |= {"contact_torque": (n, 3)} if self.rows > 3 else {}
        shapes |= {"contact_pair": (n,), "joint_impulse": (len(self.joints),)}
        return shapes | {"residual": (1,), "iterations": (1,)}

    @property
    def touching(self) -> tuple[int, int]:
        """How many contacts there may be in a step, and how many numbers it tells of each."""
        return self.slots, 13 if self.rows > 3 else 10

    def parties(self, top: Topology) -> list[tuple[Party, Party]]:
        """Who touches whom, by the number of a pair."""
        each = [Party(s.body, frozenset((s.link, s.name))) for s in self.scene.shapes]
        return [(each[x.a], each[x.b]) for x in self.scene.pairs]

    def __call__(
        self, tree: ClusterTree, s: SmoothMotion, q: Array, v: Array, v_free: Array, drift: Array, memory: Array, h: Any
    ) -> Hit:
        """Impulses at the middle q of a step that leads from v to v_free without them; `memory` of the step before."""
        jammed = memory[-1] > 0.0
        carry, rows, count, near = self.filled_slots(tree, s, v, v_free, drift, memory, h)
        bounce = self.first_hit(carry)
        slots = self._slots(tree, rows, count, bounce, jammed, h)
        paths = [p.allowing_rest(jammed) for p in joint_paths(self.joints, tree, s, q, v, v_free, drift, h)]
        found, stops = self._solve(tree, s, slots, paths, memory[self.handed : -1], count > 0.0)
        vain = found.residual > JAMMED
        power, presses, impulses = self._read(tree.nv, rows, slots, found, count)
        change = response(tree, s.kin, s.art, found.w, s.soft)
        factor = rebound(tree, s, q, v + bounce.when * (v_free - v), change, found.w, bounce)
        for path, stop in zip(paths, stops, strict=True):
            power = power + stop * path.rate
        factor = sc.where(vain, harmless(power, found.w), factor)
        flying = sc.logical_not(presses)
        for p in paths:
            flying = sc.logical_and(flying, p.inside)
        still = sc.logical_or(found.rests, sc.logical_and(jammed, carry[2]))
        told, pressing = self._told(rows, impulses, count, factor, vain, h)
        kept = [*told[:, -self.rows - PLACE :].flat, *(sc.where(vain, 0.0, x) for x in stops)]
        kept.append(sc.where(sc.logical_or(vain, still), 1.0, 0.0))
        records = self._records(tree.nv, rows, count, told, [factor * x for x in stops], found, near)
        records["pressing"] = pressing
        hit = ended(tree, v, v_free, drift, factor * change, bounce, flying, np.array(kept), records, h, True)
        return hit._replace(throws=self._throws(tree.nv, rows, count, bounce, factor * found.w, h))

    def filled_slots(
        self, tree: ClusterTree, s: SmoothMotion, v: Array, v_free: Array, drift: Array, memory: Array, h: Any
    ) -> tuple[Any, Array, Any, Near]:
        """What `Tables.contact` carried and left of every slot, how many slots are filled, and what was near."""
        motion = ContactMotion(v, v_free, drift, h)
        poses = poses_of(tree, s.kin, {c.body for c in self.columns.columns} | set(self.bodies))
        near = self._near(poses, s, h)
        chosen, count = sc.nearest(list(near.points[:, 0]), self.slots)
        near = near._replace(missed=near.missed + sc.maximum(count - float(self.slots), 0.0))
        count = sc.minimum(count, float(self.slots))
        before = np.asarray(memory[: self.handed]).reshape(self.slots, -1)
        tables = Tables(tree, s, self.scene, self.bodies, self.columns, poses, motion, near.points, before)
        nothing: Any = [False, 1.0, False]
        table, first = chosen.reshape(-1, 1), nothing
        if self.start is not None:
            if self.scene.options.restitution:
                first, _ = sc.scan(tables.touch, nothing, table, tables.groups, count, USUAL)
            tables = self._from_start(tree, s, tables, poses, near, first)
        carry, rows = sc.scan(tables.contact, nothing, table, tables.groups, count, USUAL, range(-5, 0))
        return (carry if first is nothing else [*first[:2], carry[2]]), rows, count, near

    def _near(self, poses: dict[int, Transform], s: SmoothMotion, h: Any) -> Near:
        """The points that are near."""
        moving = shape_motion(self.scene.shapes, poses, s.kin)
        if self.search is None:
            return near_points(self.scene, *moving, h, NEARBY)
        found = self.search.meeting(*moving, h)
        near = near_points(self.scene, *moving, h, NEARBY, found.after)
        return self.search.added(near, self.searched, found)

    def _from_start(
        self, tree: ClusterTree, s: SmoothMotion, tables: Tables, middle: dict[int, Transform], near: Near, first: Any
    ) -> Tables:
        """The same with single bodies where they are when the step begins, or at the first touch if something hits."""
        assert self.start is not None, "a step begins"
        hit, when, h = first[0], first[1], tables.motion.h
        when = 0.0 if hit is False else sc.where(hit, when, 0.0)
        poses = self.start.poses(
            tree, [i for i in single_bodies(tree) if i in middle], when * h if hit is not False else 0.0
        )
        moving = shape_motion(self.scene.shapes, middle | poses, s.kin)
        points = looked_at(self.scene, near.chosen, *moving, h, NEARBY)
        if self.search is not None:
            begun = self.search.begun(self.searched, near.meeting, *moving, h, when)
            points = np.concatenate([points, begun])
        given = {
            "shifts": lever_shifts(tree, self.bodies, poses, middle),
            "velocities": body_velocities(tree, s, self.bodies, middle, tables.motion.v, tables.origin),
            "others": points,
            "when": np.array([when]),
        }
        return tables.with_start(between_single(tree, self.scene), given)

    def first_hit(self, carry: Any) -> Bounce:
        """Restitution in force, by whether something hits and when first."""
        e = self.scene.options.restitution
        if not e:
            return Bounce(0.0, 0.0, False)
        hit, when, _ = carry
        return Bounce(sc.where(hit, e, 0.0), sc.where(hit, when, 0.0), hit)

    def _throws(self, n: int, rows: Array, count: Any, bounce: Bounce, w: Array, h: Any) -> Any:
        """Whether a blow throws a body too far into another; w are its impulses in the rows of joints."""
        if bounce.hit is False:
            return False

        def body(carry: Any, row: Any, shared: Any) -> tuple[Any, Any]:
            m, blow = measured(row, n, self.rows), Bounce(0.0, shared[0], shared[1])
            throws = blow.throws(m.gap, m.before, m.after, m.z[0] @ np.array(shared[3:]), shared[2])
            return [sc.logical_or(carry[0], throws)], []

        (throws,), _ = sc.scan(body, [False], rows, (bounce.when, bounce.hit, h, *w), count, USUAL, ())
        return throws

    def _slots(self, tree: ClusterTree, rows: Array, count: Any, bounce: Bounce, jammed: Any, h: Any) -> Slots:
        """The contacts as the solver takes them."""
        n, gravity, plans = tree.nv, gravity_of(tree.top), list[ContactPlan]()

        def body(carry: Any, row: Any, shared: Any) -> tuple[Any, Any]:
            m = measured(row, n, self.rows)
            hits = Bounce(0.0, shared[2], shared[3]) if bounce.hit is not False else bounce
            bound = hits.bound(lowest_rate(gravity, m.gap, shared[1]), m.gap, m.before, m.after, shared[1])
            bound = sc.where(shared[0], sc.minimum(bound, 0.0), bound)
            pack = Packer(row)
            plan = self._plan(m, hits.at(m.before, m.after), bound, pack)
            plans.append(plan)
            x = plan.begin(m.start)
            w, energy = plan.pushed(np.array(carry[:-1]), x), carry[-1] + plan.energy(x)
            return [*w, energy], [*pack.values, *x]

        shared = jammed, h, bounce.when, bounce.hit
        end, table = sc.scan(body, [0.0] * (n + 1), rows, shared, count, USUAL, range(-self.rows, 0))
        return Slots(plans[-1], rows, table, count, table[:, -self.rows :], end[:-1], end[-1])

    def _plan(self, m: Measured, u: Array, bound: Any, pack: Packer) -> ContactPlan:
        """The step of a contact with velocities u along its rows."""
        at, limbs = list(range(m.z.shape[1])), self.columns
        coordinates = [limbs.limbs[k].coordinates for k in limbs.sparse]
        sparse = tuple(Part(x, absent) for x, absent in zip(coordinates, m.absent, strict=True))
        if self.rows == 3:
            return ContactPlan(ContactRow(m.z, at, u, bound, m.friction[0], sparse=sparse), pack)
        mu, limits = m.friction[0], m.friction[1:]
        return TurningPlan(TurningRow(m.z, at, u, bound, mu, sparse=sparse, limits=limits), pack)

    def _solve(
        self, tree: ClusterTree, s: SmoothMotion, slots: Slots, paths: list[JointPath], start: Array, touching: Any
    ) -> tuple[Found, list[Any]]:
        """Impulses of contacts and joints, and those of all joints in order."""
        rows = split_rows(self.joints, paths, tree, s, start)
        found = solve_slots(slots, rows.dry, rows.start, rows.stops, self.rounds, True if rows.dry else touching)
        return found, rows.in_order(found)

    def _read(self, n: int, rows: Array, slots: Slots, found: Found, count: Any) -> tuple[Any, Any, Array]:
        """Power at free velocities, whether something presses, impulses in the world: the smallest, then as found.

        The smallest are forces and, where there are any, torques. Of empty slots nothing is said.
        """
        plan = slots.plan
        assert plan is not None, "rows of a table have a plan"

        def body(carry: Any, row: Any, shared: Any) -> tuple[Any, Any]:
            own = rows.shape[1]
            m, given, x = measured(row[:own], n, self.rows), row[: -self.rows], np.array(row[-self.rows :])
            least = [*(m.axes @ plan.smallest(x[:3], given))]
            least += [*torque(m.axes, x)] if self.rows > 3 else []
            power = carry[0] + plan.power(x, given)
            return [power, sc.logical_or(carry[1], x[0] > 0.0)], [*least, *in_world(m.axes, x)]

        tables = [rows, slots.table, found.contacts]
        (power, presses), left = sc.scan(body, [0.0, False], tables, (), count, USUAL, ())
        return power, presses, left

    def _told(self, rows: Array, impulses: Array, count: Any, factor: Any, vain: Any, h: Any) -> tuple[Array, Array]:
        """Of all slots forces, and what the next step begins with: whose impulses these are, unless found in vain.

        And the sum of all forces, and how deep the deepest contact is.
        """

        def body(carry: Any, row: Any, shared: Any) -> tuple[Any, Any]:
            factor, vain, per_step = shared
            x, gap, named = row[own - 5 : own - 2], row[own - 2], row[own - 1]
            forces = (factor * np.array(row[own : own + least])) * per_step
            kept = [sc.where(vain, 0.0, y) for y in (*x, named, *row[own + least :])]
            pressing = [a + b for a, b in zip(carry[:3], forces[:3], strict=True)]
            return [*pressing, sc.maximum(carry[3], -gap)], [*forces, *kept]

        own, least = rows.shape[1], impulses.shape[1] - self.rows
        shared = factor, vain, 1.0 / h
        pressing, told = sc.scan(body, [0.0, 0.0, 0.0, -EMPTY], [rows, impulses], shared, count, USUAL)
        return told, np.array(pressing)

    def _records(
        self, n: int, rows: Array, count: Any, told: Array, stops: list[Any], found: Found, near: Near
    ) -> dict[str, Any]:
        """What can be recorded of all slots: the force on the first body of a pair, where, the gap, and which pair."""
        there = [float(k) < count for k in range(self.slots)]
        empty = {"gap": EMPTY, "contact_pair": -1.0}
        named = {"gap": rows[:, -2], "contact_pair": rows[:, -1] - 1.0}
        out = {
            name: np.array([sc.where(t, x, empty[name]) for t, x in zip(there, values, strict=True)])
            for name, values in named.items()
        }
        forces, points = told[:, : -self.rows - PLACE], rows[:, -5:-2]
        touching = [
            [*x, *(sc.where(t, y, 0.0) for y in measured(row, n, self.rows).axes[:, 0]), *f, pair]
            for x, row, f, t, pair in zip(points, rows, forces, there, out["contact_pair"], strict=True)
        ]
        return out | {
            "touching": touching,
            "contact_force": forces[:, :3],
            "contact_torque": forces[:, 3:],
            "contact_point": points,
            "joint_impulse": np.array(stops),
            "residual": np.array([found.residual]),
            "iterations": np.array([found.rounds]),
            "missed": np.array([near.missed]),
            "waits": near.waits,
        }
