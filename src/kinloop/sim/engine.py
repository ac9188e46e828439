"""Step kernels: one per choice of charts, and the loop that runs them over many steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from kinloop import compiler
from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.compute import function_digests
from kinloop.model.facts import facts
from kinloop.robot import Robot
from kinloop.sim.actuation import Drive, implicit_tree
from kinloop.sim.charts.gauge import Gauge
from kinloop.sim.integrators.stepper import Stepper
from kinloop.spatial.transform import Array

FEEDBACK = ("q", "v", "qd", "watch", "memory")


def charts_key(tree: ClusterTree) -> tuple:
    """What tells the charts of two trees apart."""
    return tuple((c.chart.rows, c.chart.dependent, c.chart.blocks) for c in tree if c.parts)


class Engine:
    """The step of a robot in certain charts, compiled, and what is needed to read its states."""

    def __init__(
        self, robot: Robot, tree: ClusterTree, drive: Drive, samples: dict, dt: float, method: str, contact: Any,
        substeps: int = 1,
    ) -> None:  # fmt: skip
        self.tree, self.independent = tree, np.array(tree.independent_dofs, dtype=int)
        self.charts = charts_key(tree)
        self.robot = Robot(robot.mechanism, robot.backend, _tree=tree)
        self.gauge = Gauge(tree, samples)
        implicit = implicit_tree(tree, drive, dt) if method == "semi_implicit" else tree
        self.stepper = Stepper(implicit, tree, drive, self.gauge, dt, method, contact, substeps)
        self._base = (facts(robot.mechanism), function_digests(tree), self.charts)
        numbers = (tuple(map(tuple, self.gauge.scale.values())), tuple(self.gauge.typical.values()))
        self._key = (*self._base, drive.key, numbers, dt, method, substeps, contact.key if contact else None)
        self._step: Any = None
        self._loops: Any = None

    @property
    def step(self) -> Any:
        """The kernel of one step."""
        if self._step is None:
            self._step = self.kernel("step", self.stepper, self.stepper.inputs())
        return self._step

    @cached_property
    def velocities(self) -> Any:
        """Spanning velocities for (q, v): a kernel, where there is a compiler."""
        if self.robot.backend != "kernel" or not compiler.available():
            return self.robot.spanning_velocity
        return self.robot.compile("spanning_velocity")

    def kernel(self, name: str, call: Any, inputs: dict[str, int]) -> Any:
        """A kernel of this robot in these charts, or the same call on numbers where there is no compiler."""
        key = (name, *self._key)
        if self.robot.backend != "kernel" or not compiler.available():
            return Interpreted(call, inputs)
        return compiler.load_or_compile(key, lambda: sc.trace(call, inputs), name=name)

    def loop_error(self, q: Array) -> Array:
        """max |phi| of every loop and coupling (..., loops)."""
        top, parts = self.tree.top, self.robot.mechanism.closures
        if not parts:
            return np.zeros((*q.shape[:-1], 0))
        if self._loops is None:

            def errors(q: Array) -> dict[str, Any]:
                return {"error": np.array([_largest(p.rows(top, q).phi) for p in parts])}

            self._loops = self.kernel("loop_error", errors, {"q": top.nq})
        return self._loops(q)

    def advance(
        self, state: Mapping[str, Array], u: Array, until: Array, steps: int, every: int, keep: tuple[str, ...],
        threads: int | None,
    ) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
        """`steps` steps of all rows under u (B, steps or 1, nu): the last state, and outputs kept (B, n, ...)."""
        state = {name: np.ascontiguousarray(state[name]) for name in FEEDBACK}
        if isinstance(self.step, Interpreted):
            return self._interpreted(state, u, until, steps, every, keep)
        held = u.shape[1] == 1
        out = self.step.iterate(
            *state.values(), np.ascontiguousarray(u[:, 0] if held else u[:, :steps]), until,
            steps=steps, feedback={name: f"{name}_next" for name in FEEDBACK}, stepped=() if held else ("u",),
            every=every if keep else steps, threads=threads,
        )  # fmt: skip
        return {name: out[f"{name}_next"] for name in FEEDBACK}, {name: out[name] for name in keep}

    def _interpreted(
        self, state: dict[str, Array], u: Array, until: Array, steps: int, every: int, keep: tuple[str, ...]
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        kept: dict[str, list[Array]] = {name: [] for name in keep}
        for k in range(steps):
            row = u[:, min(k, u.shape[1] - 1)]
            out = dict(zip(self.step.outputs, self.step(*state.values(), row, until), strict=True))
            state = {name: out[f"{name}_next"] for name in FEEDBACK}
            if (k + 1) % every == 0:
                for name in keep:
                    kept[name].append(out[name])
        return state, {name: np.stack(x, axis=1) for name, x in kept.items() if x}


def _largest(phi: Array) -> Any:
    out: Any = 0.0
    for x in phi:
        out = sc.maximum(out, sc.abs(x))
    return out


class Interpreted:
    """The same call as a kernel's, row by row on numbers: for machines without llvmlite, and for debuggers."""

    def __init__(self, call: Any, inputs: dict[str, int]) -> None:
        self.call = call
        probe = sc.trace(call, inputs)
        self.outputs = {name: out.shape for name, out in probe.outputs.items()}

    def __call__(self, *args: Array, threads: int | None = None) -> Any:
        lead = np.broadcast_shapes(*(np.shape(a)[:-1] for a in args))
        spread = [np.broadcast_to(a, (*lead, np.shape(a)[-1])) for a in args]
        out = [np.empty((*lead, *shape)) for shape in self.outputs.values()]
        with np.errstate(all="ignore"):
            for k in np.ndindex(lead):
                for x, name in zip(out, (row := self.call(*(a[k] for a in spread))), strict=True):
                    x[k] = row[name]
        return out[0] if len(out) == 1 else tuple(out)
