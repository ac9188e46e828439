"""A and B of a step by recursions on the tree, where loops bend.

The dynamics is met at some places: stages before the beginning, where forces are smooth, then the middle. At each the
residual R of inverse dynamics is zero (`stage_columns`), and everything else is local to clusters (`loop_motion`). With
a_k the accelerations of the stages and y the velocities at the end in the axes of the middle, along any direction x

    M_k da_k = -(R_x dx + sum_j<k R_aj da_j),      (M / h) dy = -(R_x dx + sum_j R_aj da_j),                       (1)
    d(q', v') = E_x dx + sum_j E_aj da_j + E_y dy,                                                                 (2)

E local to clusters. Derivation: docs/algorithms/linearization.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.branch_factor import BranchFactor, velocity_parents
from kinloop.algorithms.trees.cluster_crba import mass_matrix
from kinloop.algorithms.trees.derivatives import Moving, moving_robot, transmitted
from kinloop.algorithms.trees.kinematics import spanning_accelerations
from kinloop.clusters import ClusterTree
from kinloop.linear import join
from kinloop.scalar import Array
from kinloop.sim.implicit_motors import with_armature
from kinloop.sim.linearization.chained_columns import Chain, Met
from kinloop.sim.linearization.free_bases import answers
from kinloop.sim.linearization.loop_contacts import LoopRows
from kinloop.sim.linearization.loop_motion import LoopMotion
from kinloop.sim.linearization.loop_slopes import LocalStage, LoopSlopes, Slopes
from kinloop.sim.linearization.stage_columns import residual_columns
from kinloop.sim.stepper import System
from kinloop.sim.turning_axes import transport


class RecursiveLoopStep:
    """A and B of the step of a system whose loops bend, as the function of symbols that becomes a kernel.

    `tree` is the robot's own, in whose coordinates v is.
    """

    def __init__(self, tree: ClusterTree, system: System) -> None:
        top, bodies = system.tree.top, system.contact.bodies if system.contact else ()
        seen = tuple(spins and i not in bodies for i, spins in enumerate(top.spins_unseen))
        self.system = replace(system, tree=system.tree.with_topology(replace(top, spins_unseen=seen)))
        self.tree, self.local = self.system.tree, LoopSlopes(LoopMotion(tree, self.system))

    def inputs(self) -> dict[str, int]:
        """Sizes of the inputs: state, controls, impulses of the solution, step length."""
        rows = self.system.contact.size if self.system.contact else 0
        return {"q": self.tree.top.nq, "v": self.tree.nv, "u": len(self.system.drive.motors), "impulses": rows, "h": 1}

    def __call__(self, q: Array, v: Array, u: Array, impulses: Array, h: Array) -> dict[str, Any]:
        """A (2 nv, 2 nv), B (2 nv, nu), by how much equations are missed [m/s], modes of contacts and joints."""
        a, met = list[Array](), list[Met]()
        for k in range(len(self.local.kinds)):
            new, found = self._stage(k, q, v, u, h, a)
            a, met = [*a, new], [*met, found]
        middle = _Middle(self, q, v, u, impulses, h, a)
        flies = [sc.where(middle.rows.flies, 1.0, 0.0)] if middle.rows else [1.0]
        ends = self.local.end_slopes()(q, v, *a, middle.y, flies, h)
        A, B = Chain(self.tree, [*self.local.kinds, "y"], [*met, middle.met()], ends).columns()
        return {"A": A, "B": B} | middle.reported()

    def _stage(self, k: int, q: Array, v: Array, u: Array, h: Array, before: list[Array]) -> tuple[Array, Met]:
        """The accelerations of a stage before the beginning, and how they change."""
        local, tree = self.local, self.tree
        x, xd, f = local.stage(k)(q, v, *before, u, h)
        now = moving_robot(tree, x, xd, None)
        M = factored(tree, now)
        a = M.solve(rest(tree, now, f))
        found = local.stage_slopes(k)(q, v, *before, a, u, h)
        kinds = ["q", "v", *local.kinds[:k]]
        slopes, free = residual_columns(tree, now, x, a, found, kinds), answers(tree, now, found, kinds)
        return a, Met(M, slopes, along_controls(tree, now, found), {}, free)


class _Middle:
    """The middle of a step: velocities y at its end, with contacts, and how these change."""

    def __init__(
        self, step: RecursiveLoopStep, q: Array, v: Array, u: Array, impulses: Array, h: Array, a: list[Array]
    ) -> None:
        self.step, self.h, self.given = step, h[0], (q, v, *a)
        local = step.local
        self.q, self.v, self.here, moved, extra, f = local.middle(q, v, *a, u, h)
        self.u, self.tree = u, with_armature(step.tree, extra)
        now = moving_robot(self.tree, self.q, self.v, None)
        self.M = factored(self.tree, now)
        self.y = moved + h[0] * self.M.solve(rest(self.tree, now, f))
        self.rows: LoopRows | None = None
        contact = step.system.contact
        if contact and contact.size:
            values, self.row_slopes = local.rows()

            def rates(y: Array) -> tuple[dict[str, Slopes], dict[str, Slopes]]:
                return local.row_values(values, *self.given, y, h)

            self.rows = LoopRows(contact, self.tree, now.kin, self.q, self.M, self.y, rates, impulses, h[0])
            self.y = self.rows.found.y

    def met(self) -> Met:
        """How y changes: slopes of the residual times h."""
        tree, h, rows, local = self.tree, self.h, self.rows, self.step.local
        kinds = ["q", "v", *local.kinds]
        pushed = rows.found.wrenches / h if rows and rows.n else None
        now = moving_robot(tree, self.q, self.v, pushed)
        a = (self.y - self.here) / h - transport(tree, self.v)
        found = local.middle_slopes()(*self.given, self.y, self.u, [h])
        if rows:
            found = found._replace(f=found.f._replace(value=found.f.value + rows.found.forces / h))
        slopes = {k: h * x for k, x in residual_columns(tree, now, self.q, a, found, kinds).items()}
        controls = h * along_controls(tree, now, found)
        if rows is None:
            free = {c: {kind: h * x for kind, x in of.items()} for c, of in answers(tree, now, found, kinds).items()}
            return Met(self.M, slopes, controls, {}, free)
        P, felt, turned = rows.slopes(lambda y: self.row_slopes(*self.given, y, [h]))
        parts = {kind: slice(k * tree.nv, (k + 1) * tree.nv) for k, kind in enumerate(kinds)}
        slopes = {kind: slopes[kind] - turned[:, at] for kind, at in parts.items()}
        return Met(P, slopes, controls, {kind: felt[:, at] for kind, at in parts.items()}, {})

    def reported(self) -> dict[str, Array]:
        """By how much the equations of contacts are missed, and the active set."""
        if self.rows is None:
            return {"missed": np.zeros(1), "contacts": np.zeros(0), "joints": np.zeros(0)}
        contacts, joints = self.rows.equations.codes
        missed = sc.largest(list(self.rows.equations.missed(self.rows.found.x)))
        return {"missed": np.array([missed]), "contacts": contacts, "joints": joints}


def factored(tree: ClusterTree, now: Moving) -> BranchFactor:
    """The mass matrix, factored."""
    return BranchFactor(mass_matrix(tree, now.kin, now.C, np.dtype(object)), velocity_parents(tree))


def rest(tree: ClusterTree, now: Moving, f: Array) -> Array:
    """G^T (f - S^T F - armature g): forces that accelerate."""
    kin, none = now.kin, np.zeros(tree.nv)
    joint = join([S.T @ x for S, x in zip(kin.S, transmitted(tree, now, none)[1], strict=True)])
    return independent(tree, now, f - joint - tree.top.armature * spanning_accelerations(tree, kin, none))


def along_controls(tree: ClusterTree, now: Moving, found: LocalStage) -> Array:
    """Slopes (nv, nu) of the residual along controls."""
    forces = [-independent(tree, now, x) for x in found.of_controls.T]
    return np.stack(forces, axis=1).astype(object) if forces else np.zeros((tree.nv, 0))


def independent(tree: ClusterTree, now: Moving, f: Array) -> Array:
    """G^T f."""
    return join([e.G.T @ f[list(c.dofs)] for c, e in zip(tree, now.kin.embedding, strict=True)])
