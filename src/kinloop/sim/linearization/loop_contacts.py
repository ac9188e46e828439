"""Contacts, stops and dry friction at the middle of a step with bending loops: their equations, solved and linearised.

Rows U = J y + ... of contacts (three each) and joints have impulses x with F(U, x) = 0 (`active_set`). With r what the
impulses have no part in and de0 the change of U that dy has no part in,

    M dy = r + J^T dx,      F_U (J dy + de0) + F_x dx = 0,                                                       (1)
    dy = P r + N L de0,     N = M^-1 J^T,   L = -(F_U J N + F_x)^-1 F_U,   P = (1 + N L J) M^-1.                 (2)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.branch_factor import BranchFactor
from kinloop.algorithms.trees.kinematics import Motion
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.contact.impact import Contact
from kinloop.sim.contact.row_steps import ContactRow, JointRow
from kinloop.sim.linearization.active_set import Equations, JointMode, contact_choice, joint_mode
from kinloop.sim.linearization.contact_bodies import Contacted, body_jacobian, contact_function, contacted
from kinloop.sim.linearization.loop_slopes import Slopes
from kinloop.sim.linearization.touching_bodies import TouchingBody, touching_bodies

Rates = Callable[[Array], tuple[dict[str, Slopes], dict[str, Slopes]]]
"""From y: rates of touching bodies and of joints, `LoopSlopes.rows`."""


class Solved(NamedTuple):
    """Impulses x of all rows, velocities y at the end, wrenches (bodies, 6) and joint forces of the impulses [N s]."""

    x: Array
    y: Array
    wrenches: Array
    forces: Array


class LoopRows:
    """The rows of a contact problem at the middle of a step, from velocities `free` without impulses."""

    def __init__(
        self, contact: Contact, tree: ClusterTree, kin: Motion, q: Array, M: BranchFactor, free: Array, values: Rates,
        impulses: Array, h: Any,
    ) -> None:  # fmt: skip
        self.contact, self.tree, self.kin, self.q, self.M, self.h = contact, tree, kin, q, M, h
        self.n = 3 * len(contact.candidates)
        self.jacobians = {b: body_jacobian(tree, kin, b) for b in contact.bodies}
        ground = contact.ground
        self.functions = [contact_function(ground, c, tree) for c in contact.candidates if ground is not None]
        rates, joints = values(free)
        alone = self._contacts(touching_bodies(tree, kin, q, rates, contact.bodies), np.zeros(self.n))
        J = [x.wrench.T @ self.jacobians[c.body] for c, x in zip(contact.candidates, alone, strict=True)]
        self.J = np.concatenate([*J, *(self._line(j.dof)[None] for j in contact.joints)])
        self.N = np.stack([M.solve(line) for line in self.J], axis=1)
        self.equations = self._equations(alone, joints, impulses)
        x = self.equations.solved(impulses)
        self.flies = self._flies(x, joints)
        self.found = self._solved(x, free, alone)

    def _line(self, dof: int) -> Array:
        """The row of a joint: its line of G."""
        c = self.tree.clusters[self.tree.cluster_of[self.tree.top.body_of[dof]]]
        out = np.full(self.tree.nv, 0.0, dtype=object)
        out[c.v] = self.kin.embedding[c.index].G[c.dofs.index(dof)]
        return out

    def _contacts(self, bodies: dict[int, TouchingBody], x: Array) -> list[Contacted]:
        pairs = enumerate(zip(self.functions, self.contact.candidates, strict=True))
        return [contacted(f, bodies[c.body], x[3 * k : 3 * k + 3], self.h) for k, (f, c) in pairs]

    def _equations(self, alone: list[Contacted], joints: dict[str, Slopes], impulses: Array) -> Equations:
        ground, rows, lines = self.contact.ground, list[ContactRow](), list[JointRow]()
        for x in alone:
            assert ground is not None, "candidates are candidates for touching a ground"
            rows.append(ContactRow(np.zeros((3, 1)), [], x.e, 0.0, ground.friction, True))
        for k, j in enumerate(self.contact.joints):
            u, low, high = (joints[name].value[k] for name in ("rate", "low", "high"))
            lines.append(JointRow(np.zeros(1), [], u, low, high, j.friction * self.h, j.rubs))
        chosen = [contact_choice(row, impulses[3 * k : 3 * k + 3]) for k, row in enumerate(rows)]
        modes = [joint_mode(row, p, row.rubs) for row, p in zip(lines, impulses[self.n :], strict=True)]
        return Equations(rows, lines, self.J, self.N, chosen, modes)

    def _flies(self, x: Array, joints: dict[str, Slopes]) -> Any:
        """Whether nothing touches: no contact presses and no joint would leave its range."""
        out: Any = True
        for k in range(0, self.n, 3):
            out = sc.logical_and(out, x[k] <= 0.0)
        for row in self.equations.joints:
            out = sc.logical_and(out, sc.logical_and(row.low <= row.u, row.u <= row.high))
        return out

    def _solved(self, x: Array, free: Array, alone: list[Contacted]) -> Solved:
        top = self.tree.top
        wrenches = np.full((len(top), 6), 0.0, dtype=object)
        for k, (c, found) in enumerate(zip(self.contact.candidates, alone, strict=True)):
            wrenches[c.body] = wrenches[c.body] + found.wrench @ x[3 * k : 3 * k + 3]
        forces = np.full(top.n_spanning, 0.0, dtype=object)
        for j, p in zip(self.contact.joints, x[self.n :], strict=True):
            forces[j.dof] = forces[j.dof] + p
        return Solved(x, free + self.N @ x, wrenches, forces)

    def slopes(self, values: Rates) -> tuple[Array, Array, Array]:
        """P of (2), and along all local directions N L de0 and what impulses held change of r (nv, kinds x nv)."""
        equations, x, tree = self.equations, self.found.x, self.tree
        rates, joints = values(self.found.y)
        bodies = touching_bodies(tree, self.kin, self.q, rates, self.contact.bodies)
        contacts, (NL, through) = self._contacts(bodies, x), equations.slopes(x).answers()
        gains = [NL[:, k : k + 3] for k in range(0, self.n, 3)] + [NL[:, k : k + 1] for k in range(self.n, len(x))]
        felt, turned = (np.full((tree.nv, len(rates["q"].along) * tree.nv), 0.0, dtype=object) for _ in range(2))
        for b, body in bodies.items():
            own = [k for k, c in enumerate(self.contact.candidates) if c.body == b]
            felt = felt + sum(gains[k] @ contacts[k].e_pose for k in own) @ body.pose
            felt = felt + sum(gains[k] @ contacts[k].wrench.T for k in own) @ body.changes["X"]
            for name in ("X0", "V", "Y"):
                felt = felt + sum(gains[k] @ getattr(contacts[k], f"e_{name}") for k in own) @ body.changes[name]
            turned = turned + self.jacobians[b].T @ (sum(contacts[k].wrench_pose for k in own) @ body.pose)
        for k, mode in enumerate(equations.modes):
            felt = felt + gains[len(self.contact.candidates) + k] @ self._joint_change(k, mode, joints)
        return through @ self.M.inverse(), felt, turned

    def _joint_change(self, k: int, mode: Any, joints: dict[str, Slopes]) -> Array:
        """de0 of a joint: of its rate less the rate that it is held at."""
        dof = self.contact.joints[k].dof
        c = self.tree.clusters[self.tree.cluster_of[self.tree.top.body_of[dof]]]
        rate, low, high = (joints[name].of([k], c.m)[0] for name in ("rate", "low", "high"))
        bound = sc.where(mode > JointMode.AT_UPPER - 0.5, high, low)
        change = rate - sc.where(mode > JointMode.AT_LOWER - 0.5, bound, 0.0)
        count = len(joints["rate"].along)
        out = np.full((1, count * self.tree.nv), 0.0, dtype=object)
        for kind in range(count):
            start = kind * self.tree.nv
            out[0, start + c.v.start : start + c.v.stop] = change[kind * c.m : (kind + 1) * c.m]
        return out
