"""Step kernels: one per choice of charts, and the loop that runs them over many steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.requests import ask
from kinloop.clusters import ClusterTree
from kinloop.constraints import rows_of
from kinloop.kernels import Computed, charts_key
from kinloop.robot import Robot
from kinloop.sim.actuation import Drive, implicit_tree
from kinloop.sim.charts.gauge import Gauge
from kinloop.sim.integrators.stepper import Stepper
from kinloop.spatial.transform import Array

FEEDBACK = ("q", "v", "qd", "watch", "memory")


class Engine:
    """The step of a robot in certain charts, compiled, and what is needed to read its states."""

    def __init__(
        self, robot: Robot, tree: ClusterTree, drive: Drive, samples: dict, dt: float, method: str, contact: Any,
        substeps: int = 1,
    ) -> None:  # fmt: skip
        self.tree, self.independent = tree, np.array(tree.independent_dofs, dtype=int)
        self.charts = charts_key(tree)
        # in the same charts on the robot's own tree: quantities are traced by what is written in their rooms alone
        self.robot = Robot.from_tree(robot.tree.with_charts({c.index: c.chart for c in tree}), robot.backend)
        self.gauge = Gauge(tree, samples)
        implicit = implicit_tree(tree, drive, dt) if method == "semi_implicit" else tree
        self.stepper = Stepper(implicit, tree, drive, self.gauge, dt, method, contact, substeps)
        numbers = (tuple(map(tuple, self.gauge.scale.values())), tuple(self.gauge.typical.values()))
        self._key = (drive.key, numbers, dt, method, substeps, contact.key if contact else None)
        self._step: Computed | None = None
        self._loops: Computed | None = None

    @property
    def step(self) -> Computed:
        """The kernel of one step."""
        if self._step is None:
            self._step = self.kernel("step", self.stepper, self.stepper.inputs())
        return self._step

    @cached_property
    def velocities(self) -> Computed:
        """Spanning velocities for (q, v)."""
        return self.robot.kernels.answer(ask(self.tree.top, "spanning_velocity"))

    def kernel(self, name: str, call: Callable[..., Any], inputs: dict[str, int]) -> Computed:
        """A kernel of this robot in these charts, or the same call on numbers where there is no compiler."""
        return self.robot.kernels.make(name, call, inputs, key=self._key, sources=("sim",))

    def loop_error(self, q: Array) -> Array:
        """max |phi| of every loop and coupling (..., loops)."""
        m, top = self.robot.mechanism, self.tree.top
        parts: list[Any] = [*m.loops, *m.couplings]
        if not parts:
            return np.zeros((*q.shape[:-1], 0))
        if self._loops is None:

            def errors(q: Array) -> dict[str, Any]:
                return {"error": np.array([_largest(rows_of(top, p, q).phi) for p in parts])}

            self._loops = self.kernel("loop_error", errors, {"q": top.nq})
        return self._loops(q)

    def advance(
        self, state: Mapping[str, Array], u: Array, until: Array, steps: int, every: int, keep: tuple[str, ...],
        threads: int | None,
    ) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
        """`steps` steps of all rows under u (B, steps or 1, nu): the last state, and outputs kept (B, n, ...)."""
        state = {name: np.ascontiguousarray(state[name]) for name in FEEDBACK}
        held = u.shape[1] == 1
        out = self.step.iterate(
            *state.values(), np.ascontiguousarray(u[:, 0] if held else u[:, :steps]), until,
            steps=steps, feedback={name: f"{name}_next" for name in FEEDBACK}, stepped=() if held else ("u",),
            every=every if keep else steps, threads=threads,
        )  # fmt: skip
        return {name: out[f"{name}_next"] for name in FEEDBACK}, {name: out[name] for name in keep}


def _largest(phi: Array) -> Any:
    out: Any = 0.0
    for x in phi:
        out = sc.maximum(out, sc.abs(x))
    return out
