"""A and B of a step by recursions on the tree: for robots without bending loops, by far the fastest way.

With z = y - moved the change of velocities in a step (`local_maps`), the equations of a step and of its contacts are

    M z = h (tau - bias) + J^T phi,     phi = W lambda,     F(e, lambda) = 0,                                      (1)

bias and J at the middle, e the velocities of the contacts, W their wrenches on the bodies that touch. A joint that is
held or at a stop has its z given, and its line in M is the unit line. The partial derivatives of (1) are those of
inverse dynamics (`trees.derivatives`), with the contacts' forces as external wrenches, and of contacts along the
six-vectors of their bodies (`contact_bodies`). Eliminating the impulses contact by contact (`row_chain`) leaves

    d phi = H de0,     H = -W (F_e A + F_lambda)^-1 F_e,     de0 the changes of e without those of the impulses.    (2)

Where wrenches have more numbers than velocities, d phi is followed by what it does to z.

Derivation: docs/algorithms/linearization.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.branch_factor import BranchFactor, velocity_parents
from kinloop.algorithms.trees.cluster_crba import mass_matrix
from kinloop.algorithms.trees.derivatives import moving_robot, partials, transmitted
from kinloop.algorithms.trees.kinematics import spanning_accelerations
from kinloop.clusters import ClusterTree
from kinloop.linear import join
from kinloop.scalar import Array
from kinloop.sim.contact.impact import Contact
from kinloop.sim.contact.joint_stops import JointPath
from kinloop.sim.contact.row_steps import ContactRow
from kinloop.sim.implicit_motors import implicit, with_armature
from kinloop.sim.integrators.semi_implicit import SemiImplicit
from kinloop.sim.linearization.active_set import Chosen, Equations, contact_choice, joint_mode, joint_target
from kinloop.sim.linearization.contact_bodies import (
    Contacted,
    Moves,
    body_jacobian,
    contact_function,
    contacted,
    moves,
)
from kinloop.sim.linearization.local_maps import force_slopes, to_the_end, to_the_middle
from kinloop.sim.linearization.step_map import spanning_velocity
from kinloop.sim.stepper import StepMethod, System
from kinloop.sim.turning_axes import free_bodies, transport


def serves(tree: ClusterTree, system: System, method: StepMethod) -> bool:
    """Whether recursions serve: the semi-implicit step, no force of users, contacts that move freely.

    Besides no contact between bodies, no restitution, and forces at joints that depend on the motion of their own
    coordinate alone.
    """
    if not isinstance(method, SemiImplicit) or system.outside or not system.drive.is_plain:
        return False
    contact = system.contact
    if contact is None or contact.crowds:
        return contact is None
    free = set(free_bodies(tree))
    floats = all(not free.isdisjoint(tree.top.support(c.body)) for c in contact.candidates)
    inelastic = contact.ground is None or not contact.ground.restitution
    return floats and inelastic and all(j.dof >= 0 for j in contact.joints)


def is_simple(tree: ClusterTree, system: System) -> bool:
    """Whether this recursion serves, where one does: no loop bends, and stops are on independent coordinates only."""
    alone = set(tree.independent_dofs)
    return not system.bends and all(j.dof in alone for j in (system.contact.joints if system.contact else ()))


class Held(NamedTuple):
    """What joints hold: `loose` is 0 where a coordinate is held, else 1, `given` its z there.

    `slope` is that of its velocity along the position at the middle, `rubbed` the impulses of dry friction that is used
    up. Of every joint with stops or dry friction: its path and its mode.
    """

    loose: Array
    given: Array
    slope: Array
    rubbed: Array
    paths: list[JointPath]
    modes: list[Any]


class Columns(NamedTuple):
    """Columns along the positions at the middle, along v and along u."""

    q: Array
    v: Array
    u: Array


class RecursiveStep:
    """A and B of the step of a system, as the function of symbols that becomes a kernel."""

    def __init__(self, system: System) -> None:
        contact, top = system.contact, system.tree.top
        bodies = contact.bodies if contact else ()
        seen = tuple(spins and i not in bodies for i, spins in enumerate(top.spins_unseen))
        self.system = replace(system, tree=system.tree.with_topology(replace(top, spins_unseen=seen)))

    def inputs(self) -> dict[str, int]:
        """Sizes of the inputs: state, controls, impulses of the solution, step length."""
        tree, contact = self.system.tree, self.system.contact
        rows = contact.size if contact else 0
        return {"q": tree.top.nq, "v": tree.nv, "u": len(self.system.drive.motors), "impulses": rows, "h": 1}

    def __call__(self, q: Array, v: Array, u: Array, impulses: Array, h: Array) -> dict[str, Any]:
        """A (2 nv, 2 nv), B (2 nv, nu), by how much equations are missed [m/s], modes of contacts and joints."""
        return _Step(self.system, q, v, u, impulses, h[0]).linearized()


class _Step:
    """One step: what its derivatives are made of."""

    def __init__(self, system: System, q: Array, v: Array, u: Array, impulses: Array, h: Any) -> None:
        self.system, self.q, self.v, self.u, self.h = system, q, v, u, h
        self.contact = system.contact or Contact(None, [], [], 1)
        start = spanning_velocity(system.tree, q, v)
        extra = implicit(system.drive, q, start, np.zeros(len(start)), u, h).armature
        self.tree = with_armature(system.tree, extra)
        (self.middle, self.here, self.moved, self.middle_q, self.middle_v, self.here_v, self.moved_v) = to_the_middle(
            system
        )(q, v, [h])
        tree = self.tree
        self.now = moving_robot(tree, self.middle, v, None)
        self.rates = spanning_velocity(tree, self.middle, self.here)
        self.f, self.f_q, self.f_qd, self.f_u = force_slopes(system)(self.middle, self.rates, u, [h])
        self.n = 3 * len(self.contact.candidates)
        self.M = mass_matrix(tree, self.now.kin, self.now.C, np.dtype(object))
        self.rest = h * (self._independent(self.f) - self._bias())
        self.held = self._held(impulses[self.n :])
        self.factor = BranchFactor(self._masked_matrix(), velocity_parents(tree))
        self.bodies = list(self.contact.bodies)
        self.place = {b: slice(6 * k, 6 * k + 6) for k, b in enumerate(self.bodies)}
        self.in_wrenches = 0 < 6 * len(self.bodies) < tree.nv
        self.J = {b: body_jacobian(tree, self.now.kin, b) for b in self.bodies}
        self._solve(impulses[: self.n])

    def _held(self, impulses: Array) -> Held:
        """Which joints are held or at stops."""
        tree, h = self.tree, self.h
        loose, given, slope, rubbed = (np.full(tree.nv, x, dtype=object) for x in (1.0, 0.0, 0.0, 0.0))
        free = self.moved + BranchFactor(self.M, velocity_parents(tree)).solve(self.rest)
        paths, modes = [], []
        for j, p in zip(self.contact.joints, impulses, strict=True):
            k = tree.independent_dofs.index(j.dof)
            x = self.middle[j.place] - 0.5 * h * self.rates[j.dof] if j.place >= 0 else 0.0
            paths.append(JointPath(free[k], *j.bounds(x, h), j.friction * h, {j.dof: 1.0}))
            modes.append(joint_mode(paths[-1], p, bool(j.friction)))
            target, held = joint_target(paths[-1], modes[-1]), modes[-1] > 0.5
            loose[k], given[k] = sc.where(held, 0.0, 1.0), sc.where(held, target - self.moved[k], 0.0)
            rubbed[k] = sc.where(held, 0.0, p) if j.friction else 0.0
            if isinstance(x, sc.Symbol):
                slope[k] = sc.jvp(np.array([target], dtype=object), [x], [1.0])[0]
        return Held(loose, given, slope, rubbed, paths, modes)

    def _masked_matrix(self) -> Array:
        """M with the unit lines of coordinates that are held."""
        loose = self.held.loose
        out: Array = self.M * np.outer(loose, loose)
        for k in range(len(out)):
            out[k, k] = out[k, k] + (1.0 - loose[k])
        return out

    def _solve(self, impulses: Array) -> None:
        """The impulses of the contacts, the velocities y at the end, and the equations of the contacts."""
        tree, loose = self.tree, self.held.loose
        z = self.factor.solve(loose * (self.rest + self.held.rubbed - self.M @ self.held.given) + self.held.given)
        self.answers = {b: np.stack([self.factor.solve(loose * x) for x in J], axis=1) for b, J in self.J.items()}
        self.answer = np.concatenate([np.zeros((tree.nv, 0)), *self.answers.values()], axis=1)
        ground = self.contact.ground
        self.functions = [contact_function(ground, c, tree) for c in self.contact.candidates if ground is not None]
        free = moves(tree, self.middle, self.v, self.here, self.moved + z, self.bodies)
        alone = self._contacts(free, np.zeros(self.n))
        self.equations = self._equations(alone, impulses)
        self.impulses = self.equations.solved(impulses) if self.n else impulses
        for c, (candidate, x) in enumerate(zip(self.contact.candidates, self._each(self.impulses), strict=True)):
            z = z + self.answers[candidate.body] @ (alone[c].wrench @ x)
        self.y = self.moved + z
        self.moves = moves(tree, self.middle, self.v, self.here, self.y, self.bodies)
        self.contacts = self._contacts(self.moves, self.impulses)

    @staticmethod
    def _each(impulses: Array) -> list[Array]:
        return [impulses[k : k + 3] for k in range(0, len(impulses), 3)]

    def _contacts(self, at: dict[int, Moves], impulses: Array) -> list[Contacted]:
        pairs = zip(self.functions, self.contact.candidates, self._each(impulses), strict=True)
        return [contacted(f, at[c.body], x, self.h) for f, c, x in pairs]

    def _equations(self, alone: list[Contacted], impulses: Array) -> Equations:
        """The equations of contacts that move with e and no impulses, by what they do with `impulses`."""
        ground, bodies, rows = self.contact.ground, [c.body for c in self.contact.candidates], []
        wrenches = [x.wrench for x in alone]
        for x in alone:
            assert ground is not None, "candidates are candidates for touching a ground"
            rows.append(ContactRow(np.zeros((3, 1)), [], x.e, 0.0, ground.friction, True))
        chosen: list[Chosen] = [contact_choice(row, x) for row, x in zip(rows, self._each(impulses), strict=True)]
        return Equations(rows, [], *self._space(bodies, wrenches), chosen, [])

    def _space(self, bodies: list[int], wrenches: list[Array]) -> tuple[Array, Array]:
        """R and Z of the rows, in the smaller space: of velocities, or of wrenches on all bodies that touch."""
        if not self.in_wrenches:
            none = np.zeros((0, self.tree.nv))
            R = [w.T @ self.J[b] for b, w in zip(bodies, wrenches, strict=True)]
            Z = [self.answers[b] @ w for b, w in zip(bodies, wrenches, strict=True)]
            return np.concatenate([none, *R]), np.concatenate([none.T, *Z], axis=1)
        moved = {b: self.J[b] @ self.answer for b in self.bodies}
        Z = np.full((self.answer.shape[1], self.n), 0.0, dtype=object)
        for k, (b, w) in enumerate(zip(bodies, wrenches, strict=True)):
            Z[self.place[b], 3 * k : 3 * k + 3] = w
        return np.concatenate([w.T @ moved[b] for b, w in zip(bodies, wrenches, strict=True)]), Z

    def _independent(self, f: Array) -> Array:
        """G^T f: forces on the independent coordinates."""
        return join([e.G.T @ f[list(c.dofs)] for c, e in zip(self.tree, self.now.kin.embedding, strict=True)])

    def _bias(self) -> Array:
        """Forces at zero acceleration."""
        tree, kin, none = self.tree, self.now.kin, np.zeros(self.tree.nv)
        joint = join([S.T @ f for S, f in zip(kin.S, transmitted(tree, self.now, none)[1], strict=True)])
        return self._independent(joint + tree.top.armature * spanning_accelerations(tree, kin, none))

    def linearized(self) -> dict[str, Any]:
        """A and B cluster by cluster, column by column, so that what is at work stays small."""
        tree, nv, nu = self.tree, self.tree.nv, len(self.u)
        right, felt = self._right_sides(), self._felt()
        flies = [sc.where(self._flies(), 1.0, 0.0)]
        q_q, v_q, q_v, v_v, q_y, v_y = to_the_end(self.system)(self.q, self.v, self.y, flies, [self.h])
        A, B = np.full((2 * nv, 2 * nv), 0.0, dtype=object), np.full((2 * nv, nu), 0.0, dtype=object)

        def led(y: Array) -> Array:
            """(q', v') for changes y (nv, columns)."""
            parts = [block[c.v, c.v] @ y[c.v] for block in (q_y, v_y) for c in tree]
            return np.concatenate(parts)

        for c in tree:
            at = range(c.v.start, c.v.stop)
            y_q = np.stack([self._column(right.q, felt.q, k) for k in at], axis=1) if c.m else np.zeros((nv, 0))
            y_v = [self._column(right.v, felt.v, k) + self.moved_v[:, k] for k in at]
            A[:, c.v] = led(y_q @ self.middle_q[c.v, c.v])
            A[:nv, c.v], A[nv:, c.v] = A[:nv, c.v] + q_q[:, c.v], A[nv:, c.v] + v_q[:, c.v]
            along_v = slice(nv + c.v.start, nv + c.v.stop)
            A[:, along_v] = led((np.stack(y_v, axis=1) if c.m else np.zeros((nv, 0))) + y_q @ self.middle_v[c.v, c.v])
            A[:nv, along_v], A[nv:, along_v] = A[:nv, along_v] + q_v[:, c.v], A[nv:, along_v] + v_v[:, c.v]
        for k in range(nu):
            B[:, k] = led(self._column(right.u, None, k)[:, None])[:, 0]
        missed = sc.largest(list(self.equations.missed(self.impulses))) if self.n else 0.0
        modes = {"contacts": self.equations.codes[0], "joints": np.array(self.held.modes)}
        return {"A": A, "B": B, "missed": np.array([missed])} | modes

    def _right_sides(self) -> Columns:
        """What M dz is along the middle, v and u, impulses held."""
        tree, h, held = self.tree, self.h, self.held
        a = (self.y - self.here) / h - transport(tree, self.v)
        outside = np.full((len(tree.top), 6), 0.0, dtype=object) if self.n else None
        if outside is not None:
            for candidate, x, p in zip(self.contact.candidates, self.contacts, self._each(self.impulses), strict=True):
                outside[candidate.body] = outside[candidate.body] + (x.wrench @ p) / h
        now = moving_robot(tree, self.middle, self.v, outside)
        found = partials(tree, now, self.middle, self.v, a, outside)
        G = np.stack([spanning_velocity(tree, self.middle, e) for e in np.eye(tree.nv)], axis=1)
        joint_q, joint_v = (np.stack([self._independent(f * x) for x in G.T], axis=1) for f in (self.f_q, self.f_qd))
        along_q, along_v = h * (joint_q - found.dq), h * (joint_v @ self.here_v - found.dv)
        for b, J in self.J.items():
            along_q = along_q + J.T @ (sum(x.wrench_pose for _, x in self._of(b)) @ J)
        along_u = h * np.stack([self._independent(f) for f in self.f_u.T], axis=1) if len(self.u) else np.zeros((0, 0))
        stopped = held.slope[:, None] * (-0.5 * h * self.here_v) - (1.0 - held.loose)[:, None] * self.moved_v
        given = np.diag(held.slope), stopped
        if self.contact.joints:
            along_q, along_v = (
                held.loose[:, None] * (x - self.M @ y) + y for x, y in zip((along_q, along_v), given, strict=True)
            )
            along_u = held.loose[:, None] * along_u if len(self.u) else along_u
        return Columns(along_q, along_v, along_u)

    def _of(self, body: int) -> list[tuple[int, Contacted]]:
        """The contacts of a body, by number."""
        return [(k, x) for k, x in enumerate(self.contacts) if self.contact.candidates[k].body == body]

    def _column(self, right: Array, felt: Array | None, k: int) -> Array:
        """dz along a direction, with the changes of the impulses by (2)."""
        if not self.n:
            return self.factor.solve(right[:, k])
        y: Array = self.P @ right[:, k]
        return y if felt is None or not np.any(felt[:, k] != 0.0) else y + self._answered(felt[:, k])

    def _answered(self, x: Array) -> Array:
        """dz of what is given in the space of the rows."""
        return self.answer @ x if self.in_wrenches else x

    def _felt(self) -> Columns:
        """What (2) makes of the changes of e that do not come from dz: d phi, or its dz, along the middle and v."""
        nv = self.tree.nv
        size = 6 * len(self.bodies) if self.in_wrenches else nv
        phi_q, phi_v = (np.full((size, nv), 0.0, dtype=object) for _ in range(2))
        if not self.n:
            return Columns(phi_q, phi_v, phi_v)
        gain, through = self.equations.slopes(self.impulses).answers()
        for b, m in self.moves.items():
            J_moved, J_here = m.J @ self.moved_v, m.J @ self.here_v
            for k, x in self._of(b):
                here = gain[:, 3 * k : 3 * k + 3]
                e_q = x.wrench.T @ m.X_q + x.e_pose @ m.J + x.e_X0 @ m.X0_q + x.e_V @ m.V_q + x.e_Y @ m.Y_q
                e_v = x.wrench.T @ J_moved + x.e_X0 @ J_here + x.e_V @ m.J + x.e_Y @ m.Y_v
                phi_q, phi_v = phi_q + here @ e_q, phi_v + here @ e_v
        self.P = self._closed(gain, through)
        return Columns(phi_q, phi_v, phi_v)

    def _closed(self, gain: Array, through: Array) -> Array:
        """P with dz = P r for forces r: what contacts leave of M^-1."""
        inverse = self.factor.inverse()
        if not self.in_wrenches:
            return through @ inverse
        wrenches = np.full((len(gain), 6 * len(self.bodies)), 0.0, dtype=object)
        for k, (c, x) in enumerate(zip(self.contact.candidates, self.contacts, strict=True)):
            at = self.place[c.body]
            wrenches[:, at] = wrenches[:, at] + gain[:, 3 * k : 3 * k + 3] @ x.wrench.T
        reach = self.answer.T  # how far dz of unit forces, and of coordinates that are held, moves the bodies
        if self.contact.joints:
            reach = reach + np.concatenate([self.J[b] for b in self.bodies]) * (1.0 - self.held.loose)
        out: Array = inverse + self.answer @ (wrenches @ reach)
        return out

    def _flies(self) -> Any:
        """Whether nothing touches: no contact presses and no joint would leave its range."""
        out: Any = True
        for x in self._each(self.impulses):
            out = sc.logical_and(out, x[0] <= 0.0)
        for path in self.held.paths:
            out = sc.logical_and(out, path.inside)
        return out
