"""A smooth-or-not step of linkages with its accelerations cut out: what remains acts cluster by cluster.

Where loops bend, a step that begins without memory meets the dynamics several times: at stages before its beginning
(`integrators.starting`), where forces are smooth, and at its middle. Between them, everything is local: positions and
velocities of a cluster at a stage follow from those at the start and from the cluster's own accelerations at the stages
before. Here the accelerations a of the stages and the velocities y at the end, in the axes of the middle, are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import Cluster, ClusterTree, Embedding
from kinloop.clusters.newton import SMALL_CORRECTION, Round, corrected
from kinloop.scalar import Array
from kinloop.sim.contact.joint_stops import JointPath, bent_rates, joint_path
from kinloop.sim.integrators.history import Past, carried_on, coasted, combine, over_the_step, updated
from kinloop.sim.integrators.semi_implicit import drift_of, kept_differences, predicted
from kinloop.sim.integrators.starting import Course, course, difference_weights
from kinloop.sim.linearization.loop_frames import NOTHING, Frame
from kinloop.sim.linearization.step_map import spanning_velocity
from kinloop.sim.on_loops import OPEN, coordinates, newton_round, opening, spanning
from kinloop.sim.singularity import is_blind, loop_speed, nearness
from kinloop.sim.smooth_motion import position_rate
from kinloop.sim.stepper import MAX_SPEED, System
from kinloop.sim.transmissions import Setting
from kinloop.sim.turning_axes import transport, turned_by


class Place(NamedTuple):
    """Where the dynamics is met: positions q of all joints, velocities v of the tangent frames there, G and g.

    `a` are the accelerations there, None where they are not known yet.
    """

    q: Array
    v: Array
    embedding: list[Embedding]
    a: Array | None

    def accelerations(self, tree: ClusterTree) -> Array:
        """Spanning accelerations G a + g."""
        assert self.a is not None, "accelerations are asked for where they are known"
        return spanning(tree, self.embedding, self.a) + self.bias(tree)

    def velocities(self, tree: ClusterTree) -> Array:
        """Spanning velocities G v."""
        return spanning(tree, self.embedding, self.v)

    def bias(self, tree: ClusterTree) -> Array:
        """g of all spanning coordinates."""
        out = np.zeros(tree.top.n_spanning, dtype=object)
        for c, e in zip(tree, self.embedding, strict=True):
            out[list(c.dofs)] = e.g
        return out


class Middle(NamedTuple):
    """The middle of a step: what of it does not depend on the dynamics there.

    `here` is the velocity at the start in the axes of the middle, `moved` what it is at the end without forces and
    velocity products, `off` the part of the predicted velocity that the loops do not allow, `drift` what the middle has
    beyond half a step with the old velocity.
    """

    q: Array
    v: Array
    embedding: list[Embedding]
    here: Array
    moved: Array
    off: Array
    drift: Array
    past: Past

    def place(self, tree: ClusterTree, y: Array, h: Any) -> Place:
        """The middle with the accelerations that lead to the velocities y."""
        return Place(self.q, self.v, self.embedding, (y - self.here) / h - transport(tree, self.v))


@dataclass(frozen=True)
class LoopMotion:
    """Steps of a system whose loops bend; `tree` is the robot's own, in whose coordinates v is.

    `frames` are those of loops that the step came to, in their order, each once.
    """

    tree: ClusterTree
    system: System
    frames: dict[tuple[int, ...], Frame] = field(default_factory=dict)

    @property
    def course(self) -> Course:
        """The way back to the stages before the beginning: none where forces are not smooth."""
        if not (self.system.is_smooth and self.system.bends):
            return Course((), {})
        return course(kept_differences(self.system))

    def _saw(self, frame: Frame) -> None:
        self.frames.setdefault(frame.key, frame)

    def _begins(self, q: Array, v: Array) -> Array:
        """Spanning velocities at the start."""
        for c in self.tree:
            if c.bends:
                self._saw(Frame(c.chart, self.tree.rows(c, q).K, self.tree.jacobian(c, q), NOTHING, NOTHING))
        return spanning_velocity(self.tree, q, v)

    def _bases(self, q: Array) -> list[Embedding]:
        """Frames at rest: G of all clusters."""
        tree, out = self.system.tree, list[Embedding]()
        for c in tree:
            none, G = np.zeros(len(c.dofs)), tree.jacobian(c, q)
            if c.bends:
                G = sc.opaque(G)
                self._saw(Frame(c.chart, tree.rows(c, q).K, G, NOTHING, NOTHING))
            out.append(Embedding(G, none, none))
        return out

    def _met(self, base: Sequence[Embedding], q: Array, v: Array, a: Array | None) -> Place:
        """A place, from velocities in its tangent frames."""
        tree, found = self.system.tree, list[Embedding]()
        rates = spanning(tree, base, v)
        for c, e in zip(tree, base, strict=True):
            g = e.g
            if c.parts:
                rows = tree.rows(c, q, rates)
                g = c.chart.embed(rows.K, rows.k)[1]
                assert g is not None, "there is a bias where there is one of the rows"
                if c.bends:
                    self._saw(Frame(c.chart, rows.K, e.G, rows.k, g))
            found.append(Embedding(e.G, rates[list(c.dofs)], g))
        return Place(q, v, found, a)

    def _closed(self, tree: ClusterTree, q: Array, when: Any, rounds: int = 1) -> tuple[Array, Any]:
        """What `on_loops.closed` does, written out."""

        def saw(c: Cluster, found: Round) -> None:
            self._saw(Frame(c.chart, found.K, c.chart.embed(found.K)[0], -found.phi, found.step))

        for c in tree:
            if c.parts and not c.bends:
                q = corrected(tree, c, q).q
        q, size = tree.top.normalized(q), 0.0
        for _ in range(rounds if self.system.bends else 0):
            new, size = newton_round(tree, q, saw)
            q = new if when is True else sc.where(when, new, q)
            when = sc.logical_and(when, size > SMALL_CORRECTION)
        return q, size

    def stages(self, q: Array, v: Array, a: Sequence[Array], h: Any) -> list[Place]:
        """The stages before the beginning whose accelerations are given, and the one after these."""
        tree, top = self.system.tree, self.system.tree.top
        qd, out, rates = self._begins(q, v), list[Place](), list[tuple[Array, Array]]()
        for k, row in enumerate(self.course.rows[: len(a) + 1]):
            x, xd = q, qd
            for weight, (dq, dqd) in zip(row, rates, strict=False):  # later rates do not count
                x, xd = x - (h * weight) * dq, xd - (h * weight) * dqd
            x = top.normalized(x)
            base = self._bases(x)
            met = self._met(base, x, coordinates(tree, base, xd), a[k] if k < len(a) else None)
            out.append(met)
            if met.a is not None:
                rates.append((position_rate(top, x, met.velocities(tree)), met.accelerations(tree)))
        return out

    def middle(self, q: Array, v: Array, a: Sequence[Array], h: Any) -> Middle:
        """The middle, with the accelerations of all stages before known."""
        tree, qd = self.system.tree, self._begins(q, v)
        past = self._past(self.stages(q, v, a, h), qd, h)
        x, qd_mid, way = predicted(tree, self.system, q, qd, past, h, self._closed)
        base = self._bases(x)
        here = turned_by(tree, coordinates(tree, base, qd), coordinates(tree, base, way))
        met = self._met(base, x, coordinates(tree, base, qd_mid), None)
        off = qd_mid - met.velocities(tree)
        drift = drift_of(tree, self.system, past, h, met.embedding, x)
        return Middle(x, met.v, met.embedding, here, here + h * transport(tree, met.v), off, drift, past)

    def _past(self, stages: list[Place], qd: Array, h: Any) -> Past:
        """What `starting_memory` remembers."""
        system, count = self.system, kept_differences(self.system)
        tree, none = system.tree, np.zeros(len(system.drivers))
        if not stages:
            return Past([none] * count, 0.0, np.zeros(0), np.zeros(0))
        met = [stages[k].accelerations(tree)[system.drivers] for k in self.course.used]
        near: Any = 1.0
        for s in stages:
            near = sc.minimum(near, nearness(tree, s.q))
        lost = is_blind(near, loop_speed(tree, qd), h)
        lost = sc.logical_or(lost, sc.logical_not(h * h * sc.squared(np.concatenate(met)) < MAX_SPEED**2))
        weights = difference_weights(list(self.course.used.values()))
        found = [sc.where(lost, none, combine(w, met)) for w in weights]
        known = sc.where(lost, 0.0, float(len(found)))
        return Past([*found, *[none] * (count - len(found))], known, np.zeros(0), np.zeros(0))

    def joint_paths(self, q: Array, v: Array, a: Sequence[Array], y: Array, h: Any) -> list[JointPath]:
        """Where joints with stops or dry friction go in a step that ends with the velocities y."""
        tree, m = self.system.tree, self.middle(q, v, a, h)
        g = Place(m.q, m.v, m.embedding, None).bias(tree)
        was, rates = bent_rates(tree, m.embedding, m.here, y, g, h)
        aside, at = spanning(tree, m.embedding, m.drift), Setting(tree.top, m.q)
        joints = self.system.contact.joints if self.system.contact else []
        return [joint_path(j, tree, m.embedding, at, was, rates, aside, None, h) for j in joints]

    def touching_rates(self, q: Array, v: Array, a: Sequence[Array], y: Array, h: Any) -> dict[str, Array]:
        """What the touching bodies' six-vectors follow from: positions and rates of all joints at the middle.

        X, X0, V and Y are those of `contact_bodies`; X0 has the drift, over the same time, besides.
        """
        tree, m = self.system.tree, self.middle(q, v, a, h)
        rest = Place(m.q, m.v, m.embedding, -transport(tree, m.v))
        rates = {"X": y, "X0": m.here + (2.0 / h) * m.drift, "V": m.v}
        found = {name: spanning(tree, m.embedding, x) for name, x in rates.items()}
        return {"q": m.q, **found, "Y": rest.accelerations(tree)}

    def end(self, q: Array, v: Array, a: Sequence[Array], y: Array, flies: Any, h: Any) -> tuple[Array, Array, Any]:
        """Positions of all joints at the end before loops are closed, spanning velocities there, how far loops may
        stay open.

        `flies` says that nothing touches: then the motion is smooth, where forces are.
        """
        system, tree, top = self.system, self.system.tree, self.system.tree.top
        qd, m = self._begins(q, v), self.middle(q, v, a, h)
        near = nearness(tree, m.q)
        gone = h * y - (0.5 * h) * m.here - m.drift
        v_next = turned_by(tree, y, sc.where(flies, (0.5 * h) * y, gone))
        travel, place = sc.where(flies, (0.5 * h) * v_next, gone), m.place(tree, y, h)
        g = place.bias(tree)
        q_next = top.integrate(m.q, spanning(tree, m.embedding, travel) + (0.125 * h * h) * g)
        qd_next = spanning(tree, m.embedding, v_next) + (0.5 * h) * g
        if system.is_smooth:
            blind = is_blind(near, loop_speed(tree, qd), h)
            own = carried_on(place.accelerations(tree)[system.drivers], m.past.differences, m.past.known, blind)
            differences = updated(own, m.past.differences)
            w = over_the_step(len(differences))
            q_smooth, qd_smooth = coasted(tree, q, qd, differences, m.past.known + 1.0, w, h)
            qd_smooth = qd_smooth - sc.where(blind, 0.0, 1.0) * m.off
            q_next, qd_next = sc.where(flies, q_smooth, q_next), sc.where(flies, qd_smooth, qd_next)
        return q_next, qd_next, OPEN * near * near

    def settled(self, q: Array, qd: Array, slack: Any) -> tuple[Array, Array]:
        """Positions with loops closed, and the spanning velocity that the loops allow there."""
        tree = self.system.tree
        q = self._closed(tree, q, opening(tree, q) > slack, rounds=2)[0]
        base = self._bases(q)
        return q, spanning(tree, base, coordinates(tree, base, qd))
