"""The derivative of a step along one direction, by the graph of the step: for every integrator, loop and joint.

A direction is a batch row of the kernel, so that a whole linearisation is one call: simple and general, and the
witness of `recursive`, which is faster where it serves. The contact problem is differentiated at its solution: with
F(x, lambda) = 0 the equations of the active set, along a direction dx

    F_lambda dlambda = -F_x dx,        d(next) = (next)_x dx + (next)_lambda dlambda.                            (1)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.linearization.soft_elimination import Elimination
from kinloop.sim.linearization.step_map import fresh_step, independent_change, position_change, spanning_velocity
from kinloop.sim.stepper import StepMethod, System


class DirectionalStep:
    """The derivative of the step of a system by a method, as the function of symbols that becomes a kernel.

    `tree` is the robot's own, in whose coordinates v and the directions are.
    """

    def __init__(self, tree: ClusterTree, system: System, method: StepMethod) -> None:
        self.tree, self.system, self.method = tree, system, method

    def inputs(self) -> dict[str, int]:
        """Sizes of the inputs: state, controls, impulses of the solution; the direction, along q, v and u."""
        top, nv, nu = self.tree.top, self.tree.nv, len(self.system.drive.motors)
        rows = self.system.contact.size if self.system.contact else 0
        return {"q": top.nq, "v": nv, "u": nu, "impulses": rows, "h": 1, "dy": nv, "dv": nv, "du": nu}

    def __call__(
        self, q: Array, v: Array, u: Array, impulses: Array, h: Array, dy: Array, dv: Array, du: Array
    ) -> dict[str, Any]:
        """The change of (q', v') (2 nv,), by how much equations are missed [m/s], modes of contacts and joints."""
        tree = self.tree
        qd = spanning_velocity(tree, q, v)
        step = fresh_step(self.system, self.method, q, qd, u, impulses, h[0])
        moving = [*q, *v, *u]
        along = [*position_change(tree, q, dy), *dv, *du]
        missed: Any = 0.0
        contacts, joints = np.zeros(0), np.zeros(0)
        if step.active is not None and step.active.equations is not None:
            x, equations = step.active.impulses, step.active.equations
            F = equations.missed(x)
            right = sc.rolled_jvp(F, [*moving, *x], [*along, *(0.0 for _ in x)])
            dx = Elimination(equations.slopes(x), equations.sizes).solve(-right)
            missed = sc.largest(list(F))
            moving, along = [*moving, *x], [*along, *dx]
            contacts, joints = equations.codes
        end = sc.rolled_jvp(np.concatenate([step.q, step.qd]), moving, along)
        dq, dqd = end[: len(q)], end[len(q) :]
        change = np.concatenate([independent_change(tree, step.q, dq), dqd[tree.independent_dofs]])
        return {"change": change, "missed": np.array([missed]), "contacts": contacts, "joints": joints}
