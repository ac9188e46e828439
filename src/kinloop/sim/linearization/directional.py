"""The derivative of a step along one direction, by the graph of the step: for every integrator, loop and joint.

A direction is a batch row of the kernel, so that a whole linearisation is one call: simple and general, and the
witness of `recursive`, which is faster where it serves. The contact problem is differentiated at its solution: with
F(x, lambda) = 0 the equations of the active set, along a direction dx

    F_lambda dlambda = -F_x dx,        d(next) = (next)_x dx + (next)_lambda dlambda.                            (1)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import independent_change
from kinloop.clusters import ClusterTree
from kinloop.model.parameters import parameter_size, with_parameters
from kinloop.scalar import Array
from kinloop.sim.linearization.step_map import fresh_step, position_change, spanning_velocity
from kinloop.sim.stepper import StepMethod, System


class DirectionalStep:
    """The derivative of the step of a system by a method, as the function of symbols that becomes a kernel.

    `tree` is the robot's own, in whose coordinates v and the directions are. `parameters` are names of numbers of the
    robot (`kinloop.model.parameters`) whose changes are directions too.
    """

    def __init__(self, tree: ClusterTree, system: System, method: StepMethod, parameters: tuple[str, ...] = ()) -> None:
        self.tree, self.system, self.method, self.parameters = tree, system, method, parameters
        self.sizes = [parameter_size(tree.top, name) for name in parameters]

    def inputs(self) -> dict[str, int]:
        """Sizes of the inputs: state, controls, impulses of the solution; the direction, along q, v and u; time."""
        top, nv, nu = self.tree.top, self.tree.nv, self.system.nu
        rows = self.system.contact.size if self.system.contact else 0
        sizes = {"q": top.nq, "v": nv, "u": nu, "impulses": rows, "h": 1, "dy": nv, "dv": nv, "du": nu}
        return sizes | {"p": sum(self.sizes), "dp": sum(self.sizes)} | self.system.clock

    def __call__(
        self, q: Array, v: Array, u: Array, impulses: Array, h: Array, dy: Array, dv: Array, du: Array,
        p: Array, dp: Array, *clock: Array,
    ) -> dict[str, Any]:  # fmt: skip
        """The change of (q', v') (2 nv,), by how much equations are missed [m/s], modes of contacts and joints."""
        tree, system = self._opened(self.tree, p), replace(self.system, tree=self._opened(self.system.tree, p))
        system = system.at(*clock)
        qd = spanning_velocity(tree, q, v)
        step = fresh_step(system, self.method, q, qd, u, impulses, h[0])
        moving = [*q, *v, *u, *p]
        along = [*position_change(tree, q, dy), *dv, *du, *dp]
        missed: Any = 0.0
        contacts, joints = np.zeros(0), np.zeros(0)
        if step.active is not None and step.active.equations is not None:
            x, equations = step.active.impulses, step.active.equations
            F = equations.missed(x)
            right = sc.rolled_jvp(F, [*moving, *x], [*along, *(0.0 for _ in x)])
            dx = equations.slopes(x).solve(-right)
            missed = sc.largest(list(F))
            moving, along = [*moving, *x], [*along, *dx]
            contacts, joints = equations.codes
        end = sc.rolled_jvp(np.concatenate([step.q, step.qd]), moving, along)
        dq, dqd = end[: len(q)], end[len(q) :]
        change = np.concatenate([independent_change(tree, step.q, dq), dqd[tree.independent_dofs]])
        return {"change": change, "missed": np.array([missed]), "contacts": contacts, "joints": joints}

    def _opened(self, tree: ClusterTree, p: Array) -> ClusterTree:
        """The tree with the numbers p of its parameters."""
        if not self.parameters:
            return tree
        parts = np.split(p, np.cumsum(self.sizes)[:-1])
        return tree.with_topology(with_parameters(tree.top, dict(zip(self.parameters, parts, strict=True))))
