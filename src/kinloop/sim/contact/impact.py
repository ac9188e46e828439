"""The contact problem of one step: gaps and velocities of all candidates, their impulses, and where these lead.

All candidates are in every kernel; those that do not touch get no impulse because (2) of `solver` says so.
Everything is evaluated at the middle of the step. The bound on the normal velocity u_n after it comes from
the gap before it, gap = gap_middle - h/2 u_n(v),

    gap + h u_n >= 0   for gap >= 0,      u_n >= min(-gap / h, g h / 2 + sqrt(0.02 g |gap|))   below     (1)

and a step with contact moves by h times its last velocity, one without by the mean of both. So nothing
passes the surface in a step, resting contacts neither sink nor hop, and what is below the surface comes up
with the speed of a fall of half a step and of a hundredth of its depth; there is nothing to tune. Where that asks for
what is impossible (a hand on a fixed base that reaches into the ground, a stop in the way), no impulses do it: then
nothing is lifted, in that step and until nothing is below, only kept from going deeper (`small_steps`).
Restitution scales the inelastic impulses, at the time of the first touch within the step, by

    min(1 + e, 1 + 2 T / |w|^2),      T the kinetic energy that they take, |w|^2 = lambda . A lambda                (2)

With the Delassus matrix A symmetric 1 + e is Newton's law at contacts that press, and creates no energy; the other is
where all energy comes back, which in a step of finite length may be a little less. docs/decisions/contact.md.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import Motion
from kinloop.clusters import ClusterTree
from kinloop.model import Topology
from kinloop.scalar import Array
from kinloop.sim.contact.candidates import GROUND, Candidate, Party
from kinloop.sim.contact.contact_block import TINY
from kinloop.sim.contact.ground import Ground
from kinloop.sim.contact.joint_limits import JointLimit
from kinloop.sim.contact.joint_stops import JointPath, joint_paths, solve_with_joints, steps_over
from kinloop.sim.contact.propagation import Propagated, response, softened
from kinloop.sim.contact.restitution import Bounce, rebound
from kinloop.sim.contact.row_steps import ContactRow
from kinloop.sim.contact.small_steps import JAMMED
from kinloop.sim.contact.solver import Impulses, shared
from kinloop.sim.contact.touch import Touch, gravity_of, lowest_rate, recorded, touch
from kinloop.sim.on_loops import spanning
from kinloop.sim.smooth_motion import SmoothMotion
from kinloop.sim.turning_axes import free_bodies, turned_by
from kinloop.spatial import Transform
from kinloop.spatial.transform import cross

NEARBY = 10.0
"""Contacts count where one that is so much faster [m/s] would touch in the step: 1 cm at dt = 1 ms."""

BELOW = 1e-5
"""What is deeper than this [m] is still below the surface."""


Solve = Callable[..., tuple[Impulses, list[Any]]]
"""What finds impulses: `joint_stops.solve_with_joints`, or what is called alike."""


class Hit(NamedTuple):
    """What a step with contact leads to: velocities `v` at its end, the way `travel` from its middle to its end.

    `memory` is for the next step: impulses [N s, N m s] to begin its search with, and 1 where contacts are jammed, else
    0. `flying` says whether there are no impulses; `records` can be recorded. One of them, `touching`, is for sensors:
    of every contact the place, the normal towards the first of its `Contact.parties`, the force on that, a torque where
    contacts have any, and its number. `change` is what impulses do to velocities, `when` the part of the step before
    a blow that gives something back, and `throws` says that the step is too long for that blow (`restitution`).
    """

    v: Array
    travel: Array
    memory: Array
    flying: Any
    records: dict[str, Any]
    change: Array
    when: Any
    throws: Any = False


class Contact:
    """Contacts of a robot with the ground, and the stops and dry friction of its joints.

    `rounds` is the number of sweeps that the solver usually takes.
    """

    def __init__(
        self, ground: Ground | None, candidates: list[Candidate], joints: list[JointLimit], rounds: int
    ) -> None:
        self.ground, self.candidates, self.joints, self.rounds = ground, candidates, joints, rounds
        self.bodies = tuple(sorted({c.body for c in candidates}))
        self.solve: Solve = solve_with_joints

    def begun(self, q: Array, qd: Array) -> Contact:
        """The same in a step that begins at positions q with spanning velocities qd."""
        return self

    def solved_by(self, solve: Solve) -> Contact:
        """The same contacts, their impulses found by something else than the solver's sweeps."""
        out = copy(self)
        out.solve = solve
        return out

    @property
    def size(self) -> int:
        """Number of impulses: three per candidate, one per joint."""
        return 3 * len(self.candidates) + len(self.joints)

    @property
    def memory_size(self) -> int:
        """Numbers that a step hands to the next: the impulses, and whether contacts are jammed."""
        return self.size + 1

    def steps_over(
        self, tree: ClusterTree, s: SmoothMotion, q: Array, qd: Array, end: Array, end_qd: Array, h: Any
    ) -> Any:
        """Whether a step steps over a stop (`joint_stops.steps_over`)."""
        return steps_over(self.joints, tree, s, q, qd, end, end_qd, h)

    @property
    def records(self) -> dict[str, tuple[int, ...]]:
        """What a step can record, and its shape."""
        n = len(self.candidates)
        shapes: dict[str, tuple[int, ...]] = {
            "contact_force": (n, 3),
            "gap": (n,),
            "joint_impulse": (len(self.joints),),
        }
        return shapes | {"residual": (1,), "iterations": (1,)}

    @property
    def touching(self) -> tuple[int, int]:
        """How many contacts there may be in a step, and how many numbers it tells of each (`Hit`)."""
        return len(self.candidates), 10

    def parties(self, top: Topology) -> list[tuple[Party, Party]]:
        """Who touches whom, by the number of a contact in the output `touching` of a step."""
        return [(c.party(top), GROUND) for c in self.candidates]

    flies = False
    """Whether single free bodies may touch each other (`start_geometry`)."""

    crowds = False
    """Whether there may be more contacts than it has room for."""

    @property
    def rubs(self) -> bool:
        """Whether a joint has dry friction, which acts at all times."""
        return any(j.rubs for j in self.joints)

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        ground = self.ground.key if self.ground is not None else None
        return ground, tuple(c.key for c in self.candidates), tuple(j.key for j in self.joints), self.rounds

    def __call__(
        self, tree: ClusterTree, s: SmoothMotion, q: Array, v: Array, v_free: Array, drift: Array, memory: Array, h: Any
    ) -> Hit:
        """Impulses at the middle q of a step that leads from v to v_free without them; `memory` of the step before.

        The middle was reached by h/2 v and, where accelerations of the steps before are known, by a `drift` besides.
        """
        start, jammed = memory[:-1], memory[-1] > 0.0
        touches, before, after = self._approach(tree, s, v, v_free, drift, h)
        bounce = self._bounce(tree, touches, before, after, h)
        contacts = self._rows(tree, s, touches, before, after, bounce, jammed, h)
        paths = [p.allowing_rest(jammed) for p in joint_paths(self.joints, tree, s, q, v, v_free, drift, h)]
        found, stops = self.solve(
            self.joints, paths, tree, s, contacts, self._touching(touches, after, h), self.rounds, start
        )
        vain = found.residual > JAMMED
        begin = self._memory(found, stops, touches, vain, jammed)
        forces = shared(contacts, found.contacts)
        change = response(tree, s.kin, s.art, found.w, s.soft)
        factor = rebound(tree, s, q, v + bounce.when * (v_free - v), change, found.w, bounce)
        factor = sc.where(vain, harmless(_power(contacts, paths, found, stops), found.w), factor)
        impulses, stops = ([x * factor for x in xs] for xs in (forces, stops))
        change = factor * change
        flying = _flying(impulses, paths)
        records = recorded(touches, impulses, stops, found, h)
        return ended(tree, v, v_free, drift, change, bounce, flying, begin, records, h)

    def _rows(
        self, tree: ClusterTree, s: SmoothMotion, touches: list[Touch], before: list[Array], after: list[Array],
        bounce: Bounce, jammed: Any, h: Any,
    ) -> list[ContactRow]:  # fmt: skip
        """The rows of all candidates for the solver."""
        out, floating = [], set(free_bodies(tree))
        for t, u0, u1 in zip(touches, before, after, strict=True):
            bound = bounce.bound(lowest_rate(gravity_of(tree.top), t.gap, h), t.gap, u0, u1, h)
            bound = sc.where(jammed, sc.minimum(bound, 0.0), bound)
            z, at = softened(s.soft, tree.nv, *Propagated.wrench(tree, s.kin, s.art, t.body, t.wrench).row())
            assert self.ground is not None, "candidates are candidates for touching a ground"
            floats = not floating.isdisjoint(tree.top.support(t.body))
            out.append(ContactRow(z, at, bounce.at(u0, u1), bound, self.ground.friction, floats))
        return out

    def _memory(self, found: Impulses, stops: list[Any], touches: list[Touch], vain: Any, jammed: Any) -> Array:
        """What the next step begins with: these impulses, unless the solver looked in vain for them."""
        below: Any = False
        for t in touches:
            below = sc.logical_or(below, t.gap < -BELOW)
        begin = np.concatenate([*found.contacts, np.array(stops)])
        stays = sc.logical_or(sc.logical_or(vain, found.rests), sc.logical_and(jammed, below))
        return np.array([*(sc.where(vain, 0.0, x) for x in begin), sc.where(stays, 1.0, 0.0)])

    def _approach(
        self, tree: ClusterTree, s: SmoothMotion, v: Array, v_free: Array, drift: Array, h: Any
    ) -> tuple[list[Touch], list[Array], list[Array]]:
        """Candidates with their gaps at the start of the step, and their velocities there and at its free end.

        J is known at the middle. What the points' accelerations have beyond J dv/dt is how their paths bend;
        half of it belongs to either end of the step. Gaps are such that h times the velocity at the end leads to the
        gap at the end: on the way from the middle a path bends by 1/8, in h times the velocity by 1/2, so 3/8 is
        taken from the gap.
        """
        touches = self.touches(tree, s.kin)
        start, end, aside = (
            [t.wrench.T @ x for t, x in zip(touches, self._twists(tree, s.kin, y, touches), strict=True)]
            for y in (v, v_free, drift)
        )
        before, after, moved = [], [], []
        for c, t, u0, u1, x in zip(self.candidates, touches, start, end, aside, strict=True):
            twist, inside = s.kin.v[c.body], t.wrench[3:]  # the axes of the contact, in the body
            w = twist[:3]
            swing = inside.T @ cross(w, twist[3:] + cross(w, np.asarray(c.at)))
            fall = t.axes.T @ tree.top.mechanism.gravity  # the ground accelerates instead, in `acc`
            bend = u0 + h * (t.wrench.T @ s.acc[c.body] + swing + fall) - u1
            before.append(u0 - 0.5 * bend)
            after.append(u1 + 0.5 * bend)
            moved.append(t._replace(gap=t.gap - (0.5 * h) * u0[0] - x[0] - (0.375 * h) * bend[0]))
        return moved, before, after

    def touches(self, tree: ClusterTree, kin: Motion) -> list[Touch]:
        """All candidates at a configuration."""
        pose: dict[int, Transform] = {}
        for b in self.bodies:
            for i in tree.top.support(b):
                if i not in pose:
                    parent = tree.top.parent[i]
                    pose[i] = kin.T[i] if parent < 0 else pose[parent].then(kin.T[i])
        out = []
        for c in self.candidates:
            assert self.ground is not None, "candidates are candidates for touching a ground"
            out.append(touch(self.ground, c, pose[c.body]))
        return out

    def _twists(self, tree: ClusterTree, kin: Motion, v: Array, touches: list[Touch]) -> list[Array]:
        """Velocities of the touching bodies for independent velocities v."""
        top, rates = tree.top, spanning(tree, kin.embedding, v)
        twist: dict[int, Array] = {}
        for b in self.bodies:
            for i in top.support(b):
                if i not in twist:
                    own = kin.S[i] @ rates[top.v_of[i]]
                    twist[i] = own if top.parent[i] < 0 else kin.T[i].motion(twist[top.parent[i]]) + own
        return [twist[t.body] for t in touches]

    def _touching(self, touches: list[Touch], after: list[Array], h: Any) -> Any:
        """Whether some candidate may touch the ground in this step."""
        out: Any = False
        for t, u in zip(touches, after, strict=True):
            out = sc.logical_or(out, t.gap + h * u[0] < h * NEARBY)
        return out

    def _bounce(
        self, tree: ClusterTree, touches: list[Touch], before: list[Array], after: list[Array], h: Any
    ) -> Bounce:
        """Whether something hits the ground in this step faster than it would fall in one, and when first."""
        if self.ground is None or not self.ground.restitution:
            return Bounce(0.0, 0.0, False)
        slow = h * gravity_of(tree.top)
        when: Any = 1.0
        hit: Any = False
        for t, u0, u1 in zip(touches, before, after, strict=True):
            mean = 0.5 * (u0[0] + u1[0])
            hits = sc.logical_and(t.gap + h * mean < 0.0, u0[0] < -slow)
            time = sc.maximum(t.gap, 0.0) / sc.where(hits, -h * mean, 1.0)
            when = sc.where(hits, sc.minimum(when, time), when)
            hit = sc.logical_or(hit, hits)
        return Bounce(sc.where(hit, self.ground.restitution, 0.0), sc.where(hit, when, 0.0), hit)


def ended(
    tree: ClusterTree, v: Array, v_free: Array, drift: Array, change: Array, bounce: Bounce, flying: Any,
    memory: Array, records: dict[str, Any], h: Any, straight: bool = False,
) -> Hit:  # fmt: skip
    """Where a step leads in which impulses `change` the velocities; `flying` says that there are none.

    Free bodies that go `straight` do not turn with the velocity that they travel with.
    """
    v_there = v_free + change
    # from the middle: h/2 v_next in flight, else h v_next from where the step began
    gone = h * v_there - (0.5 * h) * v - drift
    if bounce.hit is not False:
        gone = gone - (h * bounce.when) * change
    way = sc.where(flying, (0.5 * h) * v_there, gone)
    v_next = turned_by(tree, v_there, way)
    travel = sc.where(flying, way if straight else (0.5 * h) * v_next, gone)
    return Hit(v_next, travel, memory, flying, records, change, bounce.when)


def _power(contacts: list[ContactRow], paths: list[JointPath], found: Impulses, stops: list[Any]) -> Any:
    """lambda . u: what impulses do at the free velocities [J]."""
    power: Any = 0.0
    for row, impulse in zip(contacts, found.contacts, strict=True):
        power = power + impulse @ row.u
    for path, stop in zip(paths, stops, strict=True):
        power = power + stop * path.rate
    return power


def harmless(power: Any, w: Array) -> Any:
    """What part to take of impulses that were looked for in vain: all, or as many as take most energy.

    A part x of impulses lambda changes the energy by x lambda . u + x^2 / 2 |w|^2; `power` is lambda . u.
    """
    square = w @ w
    most = sc.maximum(-power, 0.0) / (square + TINY)
    return sc.where(power + 0.5 * square > 0.0, most, 1.0)


def _flying(impulses: list[Array], paths: list[JointPath]) -> Any:
    """Whether no contact presses and no joint would leave its range: the motion is smooth in this step."""
    out: Any = True
    for x in impulses:
        out = sc.logical_and(out, x[0] <= 0.0)
    for p in paths:
        out = sc.logical_and(out, p.inside)
    return out
