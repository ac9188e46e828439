"""Slopes of what a step with bending loops does cluster by cluster (`loop_motion`), by the graph.

A cluster's motion at a stage depends on its own coordinates, velocities and accelerations of earlier stages alone. So
one direction in every cluster at a time tells the slopes of all: as many directions as the largest cluster has
coordinates, for each kind of input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import spanning_change
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.scalar.tracing import kept_objects
from kinloop.sim.actuators import joint_forces
from kinloop.sim.implicit_motors import implicit
from kinloop.sim.linearization.loop_motion import LoopMotion, Place
from kinloop.sim.linearization.step_map import position_change, spanning_velocity
from kinloop.sim.on_loops import spanning, with_followers

STOPS = ("rate", "low", "high")
"""What is known of a joint with stops or dry friction: of a `JointPath`."""


class Slopes(NamedTuple):
    """A vector over spanning coordinates or numbers of G, and its slopes (n, k) along directions of each kind."""

    value: Array
    along: dict[str, Array]

    def of(self, rows: Sequence[int], m: int) -> Array:
        """Slopes of some entries along the m directions of their cluster, kind after kind."""
        parts = [x[list(rows)][:, :m] for x in self.along.values()]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(rows), 0))


class LocalStage(NamedTuple):
    """What a place where the dynamics is met does with its inputs: positions, rates, accelerations, forces, G.

    `of_controls` (n, nu) is how forces change with controls, `G` has the numbers of G of all clusters that bend.
    """

    q: Slopes
    qd: Slopes
    qdd: Slopes
    f: Slopes
    G: Slopes
    of_controls: Array


class LoopSlopes:
    """The functions of a `LoopMotion` and their slopes, each traced once."""

    def __init__(self, motion: LoopMotion) -> None:
        self.motion, self.tree = motion, motion.system.tree
        self.kinds = [f"a{k}" for k in range(len(motion.course.rows))]
        self.bending = [c for c in self.tree if c.bends]

    def _sizes(self, count: int, *more: str) -> dict[str, int]:
        tree, nu = self.tree, len(self.motion.system.drive.motors)
        sizes = {"q": tree.top.nq, "v": tree.nv} | dict.fromkeys(self.kinds[:count], tree.nv)
        return sizes | {name: {"u": nu, "h": 1, "flies": 1}.get(name, tree.nv) for name in more}

    def stage(self, k: int) -> sc.Function:
        """(q, v, a of the stages before, u, h) -> positions and velocities at stage k, forces there."""

        def call(q: Array, v: Array, *more: Array) -> dict[str, Array]:
            *a, u, h = more
            met = self.motion.stages(q, v, a, h[0])[-1]
            f = joint_forces(self.motion.system.drive, met.q, met.velocities(self.tree), u)
            return {"q": met.q, "v": met.v, "f": f}

        return sc.unrolled(sc.trace(call, self._sizes(k, "u", "h")))

    @cached_property
    def middle(self) -> sc.Function:
        """(q, v, a of all stages, u, h) -> positions and velocities at the middle, and what leads there and on."""

        def call(q: Array, v: Array, *more: Array) -> dict[str, Array]:
            *a, u, h = more
            m = self.motion.middle(q, v, a, h[0])
            extra, f = self._forces(m, q, v, u, h[0])
            return {"q": m.q, "v": m.v, "here": m.here, "moved": m.moved, "extra": extra, "f": f}

        return sc.unrolled(sc.trace(call, self._sizes(len(self.kinds), "u", "h")))

    def _forces(self, m: Any, q: Array, v: Array, u: Array, h: Any) -> tuple[Array, Array]:
        """What an implicit step adds to armatures, and forces at the middle."""
        tree, drive = self.tree, self.motion.system.drive
        before = with_followers(tree, m.past.differences[0])
        extra, linear = implicit(drive, q, spanning_velocity(self.motion.tree, q, v), before, u, h)
        return extra, joint_forces(drive, m.q, spanning(tree, m.embedding, m.here), u, linear, h)

    def stage_slopes(self, k: int) -> Callable[..., LocalStage]:
        """(q, v, a of the stages up to this one, u, h) -> a `LocalStage`."""

        def call(q: Array, v: Array, *more: Array) -> dict[str, Array]:
            *a, u, h = more
            met = self.motion.stages(q, v, a, h[0])[k]
            return self._outputs(met, joint_forces(self.motion.system.drive, met.q, met.velocities(self.tree), u))

        return self._local(call, self._sizes(k + 1, "u", "h"), ["q", "v", *self.kinds[:k]])

    def middle_slopes(self) -> Callable[..., LocalStage]:
        """(q, v, a of all stages, y, u, h) -> a `LocalStage`, y held."""

        def call(q: Array, v: Array, *more: Array) -> dict[str, Array]:
            *a, y, u, h = more
            m = self.motion.middle(q, v, a, h[0])
            return self._outputs(m.place(self.tree, y, h[0]), self._forces(m, q, v, u, h[0])[1])

        return self._local(call, self._sizes(len(self.kinds), "y", "u", "h"), ["q", "v", *self.kinds])

    def rows(self) -> tuple[sc.Function, Callable[..., tuple[dict[str, Slopes], dict[str, Slopes]]]]:
        """(q, v, a of all stages, y, h) -> what contacts and joints follow from at the middle; the same with slopes.

        First `LoopMotion.touching_rates`, then of every joint its rate, and the bounds on it.
        """
        count = len(self.motion.system.contact.joints) if self.motion.system.contact else 0

        def call(q: Array, v: Array, *more: Array) -> dict[str, Array]:
            *a, y, h = more
            paths = self.motion.joint_paths(q, v, a, y, h[0])
            joints = {name: np.array([getattr(p, name) for p in paths], dtype=object) for name in STOPS}
            return self.motion.touching_rates(q, v, a, y, h[0]) | joints

        sizes = self._sizes(len(self.kinds), "y", "h")
        function, kinds = sc.unrolled(sc.trace(call, sizes)), ["q", "v", *self.kinds]
        with kept_objects():
            found = self._along(function, kinds)
        along = {f"{n}_{kind}": s.along[kind] for n, s in found.items() for kind in kinds}
        whole = sc.Function(sizes, function.outputs | along, function.graph)

        def evaluated(*given: Any) -> tuple[dict[str, Slopes], dict[str, Slopes]]:
            out = whole.named(*given)
            made = {n: Slopes(out[n], {kind: out[f"{n}_{kind}"] for kind in kinds}) for n in found}
            return {n: made[n] for n in found if n not in STOPS}, {n: made[n] for n in STOPS if count}

        return function, evaluated

    @staticmethod
    def row_values(function: sc.Function, *given: Any) -> tuple[dict[str, Slopes], dict[str, Slopes]]:
        """What `rows` says, without slopes."""
        out = {name: Slopes(x, {}) for name, x in function.named(*given).items()}
        return {n: x for n, x in out.items() if n not in STOPS}, {n: out[n] for n in STOPS}

    def end_slopes(self) -> sc.Function:
        """(q, v, a of all stages, y, flies, h) -> slopes of (q', v') (2 nv, k) along each kind."""
        tree = self.motion.tree

        def call(q: Array, v: Array, *more: Array) -> dict[str, Array]:
            *a, y, flies, h = more
            touching = self.motion.system.contact is not None
            x, xd = self.motion.end(q, v, a, y, flies[0] > 0.5 if touching else True, h[0])
            return {"q": x, "qd": xd}

        sizes = self._sizes(len(self.kinds), "y", "flies", "h")
        function, kinds = sc.unrolled(sc.trace(call, sizes)), ["q", "v", *self.kinds, "y"]
        with kept_objects():
            found = self._along(function, kinds)
            own = tree.independent_dofs
            out = {kind: np.concatenate([found["q"].along[kind][own], found["qd"].along[kind][own]]) for kind in kinds}
        return sc.Function(sizes, out, function.graph)

    def _outputs(self, met: Place, f: Array) -> dict[str, Array]:
        tree = self.tree
        G = [met.embedding[c.index].G.reshape(-1) for c in self.bending]
        out = {"q": met.q, "qd": met.velocities(tree), "qdd": met.accelerations(tree), "f": f}
        return out | {"G": np.concatenate([*G, np.zeros(0)])}

    def _local(self, call: Callable[..., Any], sizes: dict[str, int], kinds: list[str]) -> Callable[..., LocalStage]:
        function = sc.unrolled(sc.trace(call, sizes))
        with kept_objects():
            found = self._along(function, kinds)
            f, u = function.outputs["f"], function.graph.inputs("u", sizes["u"])
            of_controls = np.stack([sc.jvp(f, [x], [1.0]) for x in u], axis=1) if len(u) else np.zeros((len(f), 0))
        names = list(found)
        outputs = {f"{n}_{kind}": found[n].along[kind] for n in names for kind in kinds}
        values = {n: function.outputs[n] for n in names} | outputs | {"of_controls": of_controls}
        whole = sc.Function(sizes, values, function.graph)

        def evaluated(*given: Any) -> LocalStage:
            out = whole.named(*given)
            parts = {n: Slopes(out[n], {kind: out[f"{n}_{kind}"] for kind in kinds}) for n in names}
            return LocalStage(**parts, of_controls=out["of_controls"])

        return evaluated

    def _along(self, function: sc.Function, kinds: Sequence[str]) -> dict[str, Slopes]:
        """Slopes of all outputs along directions of every kind; changes of positions as steps of all coordinates."""
        graph, sizes = function.graph, function.inputs
        q = graph.inputs("q", sizes["q"])
        out = {name: Slopes(value, {}) for name, value in function.outputs.items()}
        for kind in kinds:
            inputs = graph.inputs(kind, sizes[kind])
            columns = []
            for e in _directions(self.tree):
                step = position_change(self.motion.tree, q, e) if kind == "q" else e
                columns.append({n: sc.jvp(x, inputs, step) for n, x in function.outputs.items()})
            for name, value in function.outputs.items():
                changes = [x[name] for x in columns]
                if name == "q":
                    changes = [spanning_change(self.tree.top, value, x) for x in changes]
                out[name].along[kind] = np.stack(changes, axis=1)
        return out


def _directions(tree: ClusterTree) -> list[Array]:
    """One coordinate of every cluster at a time."""
    out = []
    for k in range(max((c.m for c in tree), default=0)):
        e = np.zeros(tree.nv)
        e[[c.v.start + k for c in tree if k < c.m]] = 1.0
        out.append(e)
    return out
