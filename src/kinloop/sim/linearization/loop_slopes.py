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
from kinloop.scalar import Array
from kinloop.scalar.tracing import kept_objects
from kinloop.sim.actuators import joint_forces
from kinloop.sim.implicit_motors import implicit
from kinloop.sim.linearization.loop_frames import Frame, outputs, read, told
from kinloop.sim.linearization.loop_motion import LoopMotion, Place
from kinloop.sim.linearization.step_map import position_change, spanning_velocity
from kinloop.sim.on_loops import spanning, with_followers
from kinloop.sim.smooth_motion import position_rate

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
        with_slopes = self._with_slopes(call, sizes, ["q", "v", *self.kinds])

        def evaluated(*given: Any) -> tuple[dict[str, Slopes], dict[str, Slopes]]:
            made = with_slopes(*given)[1]
            return {n: x for n, x in made.items() if n not in STOPS}, {n: made[n] for n in STOPS if count}

        return self._traced(call, sizes)[0], evaluated

    @staticmethod
    def row_values(function: sc.Function, *given: Any) -> tuple[dict[str, Slopes], dict[str, Slopes]]:
        """What `rows` says, without slopes."""
        out = {name: Slopes(x, {}) for name, x in function.named(*given).items()}
        return {n: x for n, x in out.items() if n not in STOPS}, {n: out[n] for n in STOPS}

    def end_slopes(self) -> Callable[..., dict[str, Array]]:
        """(q, v, a of all stages, y, flies, h) -> slopes of (q', v') (2 nv, k) along each kind.

        First those of positions and velocities with loops still open, along each kind; then how (q', v') change with
        these, along one spanning coordinate of every cluster at a time.
        """
        touching, kinds = self.motion.system.contact is not None, ["q", "v", *self.kinds, "y"]

        def call(q: Array, v: Array, *more: Array) -> dict[str, Array]:
            *a, y, flies, h = more
            x, xd, slack = self.motion.end(q, v, a, y, flies[0] > 0.5 if touching else True, h[0])
            return {"q": x, "qd": xd, "slack": np.array([slack])}

        opened = self._with_slopes(call, self._sizes(len(self.kinds), "y", "flies", "h"), kinds)

        def evaluated(*given: Any) -> dict[str, Array]:
            values, slopes = opened(*given)
            settled = self._settled()(values["q"], values["qd"], values["slack"])
            return {kind: self._joined(settled, slopes["q"].along[kind], slopes["qd"].along[kind]) for kind in kinds}

        return evaluated

    def _settled(self) -> Callable[..., dict[str, Array]]:
        """(q, qd, slack) -> slopes of (q', v') (2 nv, k) along steps of all coordinates q, and along qd."""
        tree, n = self.tree, self.tree.top.n_spanning
        sizes = {"q": tree.top.nq, "qd": n, "slack": 1}
        function, frames = self._traced(lambda q, qd, slack: _named(self.motion.settled(q, qd, slack[0])), sizes)
        q, own = function.graph.inputs("q", sizes["q"]), self.motion.tree.independent_dofs
        with kept_objects():
            out: dict[str, list[Array]] = {"q": [], "qd": []}
            for e in _directions([list(c.dofs) for c in tree], n):
                for kind, step in (("q", position_rate(tree.top, q, e)), ("qd", e)):
                    along = told(frames, sc.Tangents(function.graph.inputs(kind, sizes[kind]), step))
                    dq = spanning_change(tree.top, function.outputs["q"], along.of(function.outputs["q"]))
                    out[kind].append(np.concatenate([dq[own], along.of(function.outputs["qd"])[own]]))
        return sc.Function(sizes, {k: np.stack(x, axis=1) for k, x in out.items()}, function.graph).named

    def _joined(self, settled: dict[str, Array], dq: Array, dqd: Array) -> Array:
        """Slopes of (q', v') (2 nv, k), from those of open loops."""
        nv = self.tree.nv
        out = np.full((2 * nv, dq.shape[1]), 0.0, dtype=object)
        for c in self.tree:
            dofs, n = list(c.dofs), len(c.dofs)
            for rows in (c.v, slice(nv + c.v.start, nv + c.v.stop)):
                parts = [settled[k][rows][:, :n] @ x[dofs][:, : c.m] for k, x in (("q", dq), ("qd", dqd))]
                out[rows, : c.m] = parts[0] + parts[1]
        return out

    def _outputs(self, met: Place, f: Array) -> dict[str, Array]:
        tree = self.tree
        G = [met.embedding[c.index].G.reshape(-1) for c in self.bending]
        out = {"q": met.q, "qd": met.velocities(tree), "qdd": met.accelerations(tree), "f": f}
        return out | {"G": np.concatenate([*G, np.zeros(0)])}

    def _traced(self, call: Callable[..., dict[str, Array]], sizes: dict[str, int]) -> tuple[sc.Function, list[Frame]]:
        """A function written out, and the frames that it comes to; of a motion that came to none before."""
        frames = self.motion.frames

        def whole(*given: Array) -> dict[str, Array]:
            frames.clear()
            return call(*given) | outputs(frames.values())

        function = sc.unrolled(sc.trace(whole, sizes))
        here = read(frames.values(), function.outputs)
        kept = {name: x for name, x in function.outputs.items() if " of frame " not in name}
        return sc.Function(sizes, kept, function.graph), here

    def _with_slopes(
        self, call: Callable[..., dict[str, Array]], sizes: dict[str, int], kinds: list[str]
    ) -> Callable[..., tuple[dict[str, Array], dict[str, Slopes]]]:
        """What a function gives, and all of it with slopes along every kind."""
        function, frames = self._traced(call, sizes)
        with kept_objects():
            found = self._along(function, frames, kinds)
        along = {f"{n}_{kind}": s.along[kind] for n, s in found.items() for kind in kinds}
        whole = sc.Function(sizes, function.outputs | along, function.graph)

        def evaluated(*given: Any) -> tuple[dict[str, Array], dict[str, Slopes]]:
            out = whole.named(*given)
            return out, {n: Slopes(out[n], {kind: out[f"{n}_{kind}"] for kind in kinds}) for n in found}

        return evaluated

    def _local(self, call: Callable[..., Any], sizes: dict[str, int], kinds: list[str]) -> Callable[..., LocalStage]:
        def with_controls(*given: Array) -> dict[str, Array]:
            found: dict[str, Array] = call(*given)
            f, u = found["f"], given[list(sizes).index("u")]
            along = np.stack([sc.jvp(f, [x], [1.0]) for x in u], axis=1) if len(u) else np.zeros((len(f), 0))
            return found | {"of_controls": along}

        evaluate = self._with_slopes(with_controls, sizes, kinds)

        def evaluated(*given: Any) -> LocalStage:
            values, slopes = evaluate(*given)
            parts = {name: slopes[name] for name in LocalStage._fields if name != "of_controls"}
            return LocalStage(**parts, of_controls=values["of_controls"])

        return evaluated

    def _along(self, function: sc.Function, frames: list[Frame], kinds: Sequence[str]) -> dict[str, Slopes]:
        """Slopes of all vectors along directions of every kind; changes of positions as steps of all coordinates."""
        graph, sizes = function.graph, function.inputs
        q = graph.inputs("q", sizes["q"])
        out = {name: Slopes(value, {}) for name, value in function.outputs.items() if value.ndim == 1}
        for kind in kinds:
            inputs = graph.inputs(kind, sizes[kind])
            columns = []
            for e in _directions([list(range(c.v.start, c.v.stop)) for c in self.tree], self.tree.nv):
                step = position_change(self.motion.tree, q, e) if kind == "q" else e
                along = told(frames, sc.Tangents(inputs, step))
                columns.append({n: along.of(x.value) for n, x in out.items()})
            for name, x in out.items():
                changes = [column[name] for column in columns]
                if name == "q":
                    changes = [spanning_change(self.tree.top, x.value, dq) for dq in changes]
                x.along[kind] = np.stack(changes, axis=1)
        return out


def _named(found: tuple[Array, Array]) -> dict[str, Array]:
    return {"q": found[0], "qd": found[1]}


def _directions(own: Sequence[Sequence[int]], size: int) -> list[Array]:
    """One coordinate of every cluster at a time."""
    out = []
    for k in range(max(map(len, own), default=0)):
        e = np.zeros(size)
        e[[places[k] for places in own if k < len(places)]] = 1.0
        out.append(e)
    return out
