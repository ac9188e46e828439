"""A simulator's step and its derivatives as kernels of (q, v, u), which need no Python: one each.

A step is a kernel where nothing has to be searched for between steps and motors have no activations. Its derivatives
are one where, besides, recursions give A and B (`sim.linearization.recursive`). That kernel takes the step, which finds
the impulses of its contacts, and differentiates at that solution. With D and L of (1) in `simulated`,

    J = [D 0; 0 1] [A_q L, A_v, B].                                                                              (1)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import independent_change, tangent_directions
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.linearization.linearize import solution
from kinloop.sim.linearization.step_map import spanning_velocity
from kinloop.sim.linearization.traced import Traced
from kinloop.sim.on_loops import projected
from kinloop.sim.simulator import Simulator
from kinloop.sim.state import RUNNING
from kinloop.sim.stepper import StepMethod, Stepper
from kinloop.sim.watch import BEGINNING


class Ahead(NamedTuple):
    """Where a step leads, whether it was taken whole, the impulses of its contacts, and whether these were found."""

    q: Array
    v: Array
    whole: Any
    impulses: Array
    solved: Any


class StepKernels:
    """The kernels of a simulator's step and of its derivatives, None where there is none.

    Rows that cannot take the step whole are nan.
    """

    def __init__(self, sim: Simulator) -> None:
        self.sim, self.robot, self.tree = sim, sim.robot, sim.robot.tree

    @property
    def takes_steps(self) -> bool:
        """Whether a step is no more than a kernel."""
        system = self.sim.engine.system
        return not system.searched and not self.sim.drive.states and self.robot.kernels.compiles

    @property
    def has_slopes(self) -> bool:
        """Whether its derivatives are, too."""
        return self.takes_steps and self.sim.linearizer.recursive_serves

    def evaluate(self) -> Any:
        """(q', v') of (q, v, u)."""

        def call(q: Array, v: Array, u: Array) -> dict[str, Array]:
            ahead = self._ahead(q, v, u)
            return {"q": _or_nan(ahead.whole, ahead.q), "v": _or_nan(ahead.whole, ahead.v)}

        return self._kernel("array_step", call) if self.takes_steps else None

    def jacobian(self) -> Any:
        """(1): how the numbers (q', v') change with the numbers (q, v, u)."""
        tree, nv = self.tree, self.robot.nv

        def call(q: Array, v: Array, u: Array) -> dict[str, Array]:
            ahead, A, B = self._slopes(q, v, u)
            D, L = motions(tree, ahead.q), rates(tree, q)
            along = np.concatenate([A[:, :nv] @ L, A[:, nv:], B], axis=1)
            J = np.concatenate([D @ along[:nv], along[nv:]])
            return {"jacobian": _or_nan(ahead.whole, J.ravel()).reshape(J.shape)}

        return self._kernel("array_step_jacobian", call) if self.has_slopes else None

    def _kernel(self, name: str, call: Any) -> Any:
        sizes = {"q": self.robot.nq, "v": self.robot.nv, "u": self.sim.nu}
        return self.sim.engine.kernel(name, call, sizes, (self.sim.dt,), "learn")

    def _ahead(self, q: Array, v: Array, u: Array) -> Ahead:
        """The step from a state without memory."""
        sim, system, method = self.sim, self.sim.engine.system, self.sim.method
        assert isinstance(method, StepMethod)
        qd, memory = spanning_velocity(self.tree, q, v), np.zeros(method.memory_size(system))
        if method.has_start(system):
            found, lost = method.starting_memory(system, q, qd, u, sim.dt)
            memory = sc.where(lost, memory, found)
        out = Stepper(system, method)(q, qd, BEGINNING, memory, u, np.ones(1), np.array([sim.dt]))
        after, whole = out["memory_next"], out["status_seen"][0] <= float(RUNNING)
        ahead = projected(system.tree, out["q_next"], out["qd_next"])[self.tree.independent_dofs]
        impulses, solved = (after[solution(system.contact.size)], after[-1] <= 0.0) if system.contact else ([], True)
        return Ahead(out["q_next"], ahead, whole, np.asarray(impulses), solved)

    def _slopes(self, q: Array, v: Array, u: Array) -> tuple[Ahead, Array, Array]:
        """Where the step leads, whole only if the impulses of its contacts were found, and A and B there."""
        ahead, step = self._ahead(q, v, u), self.sim.linearizer.recursion
        found = Traced(step, step.inputs()).function.named(q, v, u, ahead.impulses, [self.sim.dt])
        return ahead._replace(whole=sc.logical_and(ahead.whole, ahead.solved)), found["A"], found["B"]


def motions(tree: ClusterTree, q: Array) -> Array:
    """D (nq, nv): how positions change along independent coordinates."""
    return np.array(tangent_directions(tree, q)).reshape(tree.nv, len(q)).T


def rates(tree: ClusterTree, q: Array) -> Array:
    """L (nv, nq): the independent velocities of rates of positions."""
    return np.array([independent_change(tree, q, e) for e in np.eye(len(q))]).reshape(len(q), tree.nv).T


def _or_nan(good: Any, x: Array) -> Array:
    return np.array([sc.where(good, y, np.nan) for y in x])
