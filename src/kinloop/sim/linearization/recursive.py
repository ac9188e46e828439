"""A and B of a step by recursions on the tree: for robots without bending loops, by far the fastest way.

With z = y - moved the change of velocities in a step (`local_maps`), the equations of a step and of its contacts are

    M z = h (tau - bias) + J^T phi,     phi = W lambda,     F(e, lambda) = 0,                                      (1)

bias and J at the middle, e the velocities of the contacts, W their wrenches on the bodies that touch. A joint that is held
or at a stop has its z given, and its line in M is the unit line. The partial derivatives of (1) are those of inverse
dynamics (`trees.derivatives`), with the contacts' forces as external wrenches, and of contacts along the six-vectors of
their bodies (`contact_bodies`). Eliminating the impulses body by body leaves

    d phi = H de0,     H = -W (F_e A + F_lambda)^-1 F_e,     de0 the changes of e without that of the impulses.        (2)

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
from kinloop.sim.actuators import implicit_armature, with_armature
from kinloop.sim.contact.impact import Contact
from kinloop.sim.contact.joint_stops import JointPath
from kinloop.sim.contact.solver import ContactRow
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
from kinloop.sim.linearization.soft_elimination import Elimination
from kinloop.sim.linearization.step_map import spanning_velocity
from kinloop.sim.stepper import StepMethod, System
from kinloop.sim.turning_axes import free_bodies, transport


def serves(tree: ClusterTree, system: System, method: StepMethod) -> bool:
    """Whether this way serves: the semi-implicit step, no loop that bends, contacts that move in all directions.

    Besides no restitution, and stops and dry friction on independent coordinates only.
    """
    if not isinstance(method, SemiImplicit) or system.bends:
        return False
    contact = system.contact
    if contact is None:
        return True
    free, alone = set(free_bodies(tree)), set(tree.independent_dofs)
    floats = all(not free.isdisjoint(tree.top.support(c.body)) for c in contact.candidates)
    inelastic = contact.ground is None or not contact.ground.restitution
    return floats and inelastic and all(j.dof in alone for j in contact.joints)


class Held(NamedTuple):
    """What joints hold: `loose` is 0 where a coordinate is held, else 1; `given` its z there, `slope` that of its velocity.

    Slopes are those along the position at the middle. Of every joint with stops or dry friction: its path and its mode.
    """

    loose: Array
    given: Array
    slope: Array
    paths: list[JointPath]
    modes: list[Any]


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
        extra = implicit_armature(system.drive, q, start, np.zeros(len(start)), u, h)
        self.tree = with_armature(system.tree, extra)
        (self.middle, self.here, self.moved, self.middle_q, self.middle_v, self.here_v, self.moved_v) = to_the_middle(
            system
        )(q, v, [h])
        tree = self.tree
        self.now = moving_robot(tree, self.middle, v, None)
        self.rates = spanning_velocity(tree, self.middle, self.here)
        self.f, self.f_q, self.f_qd, self.f_u = force_slopes(system)(self.middle, self.rates, u)
        self.n = 3 * len(self.contact.candidates)
        self.M = mass_matrix(tree, self.now.kin, self.now.C, np.dtype(object))
        self.rest = h * (self._independent(self.f) - self._bias())
        self.held = self._held(impulses[self.n :])
        self.factor = BranchFactor(self._masked_matrix(), velocity_parents(tree))
        self.bodies = list(self.contact.bodies)
        self.J = {b: body_jacobian(tree, self.now.kin, b) for b in self.bodies}
        self._solve(impulses[: self.n])

    def _held(self, impulses: Array) -> Held:
        """Which joints are held or at stops."""
        tree, h = self.tree, self.h
        loose, given, slope = (np.full(tree.nv, x, dtype=object) for x in (1.0, 0.0, 0.0))
        free = self.moved + BranchFactor(self.M, velocity_parents(tree)).solve(self.rest)
        paths, modes = [], []
        for j, p in zip(self.contact.joints, impulses, strict=True):
            k = tree.independent_dofs.index(j.dof)
            x = self.middle[j.place] - 0.5 * h * self.rates[j.dof] if j.place >= 0 else 0.0
            paths.append(JointPath(free[k], *j.bounds(x, h), j.friction * h))
            modes.append(joint_mode(paths[-1], p, bool(j.friction)))
            target, held = joint_target(paths[-1], modes[-1]), modes[-1] > 0.5
            loose[k], given[k] = sc.where(held, 0.0, 1.0), sc.where(held, target - self.moved[k], 0.0)
            if isinstance(x, sc.Symbol):
                slope[k] = sc.jvp(np.array([target], dtype=object), [x], [1.0])[0]
        return Held(loose, given, slope, paths, modes)

    def _masked_matrix(self) -> Array:
        """M with the unit lines of coordinates that are held."""
        loose = self.held.loose
        out = self.M * np.outer(loose, loose)
        for k in range(len(out)):
            out[k, k] = out[k, k] + (1.0 - loose[k])
        return out

    def _solve(self, impulses: Array) -> None:
        """The impulses of the contacts, the velocities y at the end, and the equations of the contacts."""
        tree, h, loose = self.tree, self.h, self.held.loose
        z = self.factor.solve(loose * (self.rest - self.M @ self.held.given) + self.held.given)
        self.answers = {b: np.stack([self.factor.solve(loose * x) for x in J], axis=1) for b, J in self.J.items()}
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
        A = np.full((self.n, self.n), 0.0, dtype=object)
        for i, (b, w) in enumerate(zip(bodies, wrenches, strict=True)):
            felt = {d: w.T @ (self.J[b] @ answer) for d, answer in self.answers.items()}
            for k, (d, x) in enumerate(zip(bodies, wrenches, strict=True)):
                A[3 * i : 3 * i + 3, 3 * k : 3 * k + 3] = felt[d] @ x
        for x in alone:
            assert ground is not None, "candidates are candidates for touching a ground"
            rows.append(ContactRow(np.zeros((3, 1)), [], x.e, 0.0, ground.friction, True))
        chosen: list[Chosen] = [contact_choice(row, x) for row, x in zip(rows, self._each(impulses), strict=True)]
        return Equations(rows, [], A, chosen, [])

    def _independent(self, f: Array) -> Array:
        """G^T f: forces on the independent coordinates."""
        return join([e.G.T @ f[list(c.dofs)] for c, e in zip(self.tree, self.now.kin.embedding, strict=True)])

    def _bias(self) -> Array:
        """Forces at zero acceleration."""
        tree, kin, none = self.tree, self.now.kin, np.zeros(self.tree.nv)
        joint = join([S.T @ f for S, f in zip(kin.S, transmitted(tree, self.now, none)[1], strict=True)])
        return self._independent(joint + tree.top.armature * spanning_accelerations(tree, kin, none))

    def _changes_of_z(self) -> tuple[Array, Array, Array]:
        """dz along the middle, v and u, impulses held."""
        tree, h, loose, held = self.tree, self.h, self.held.loose, self.held
        a = (self.y - self.here) / h - transport(tree, self.v)
        outside = np.full((len(tree.top), 6), 0.0, dtype=object) if self.n else None
        if outside is not None:
            for candidate, x, p in zip(self.contact.candidates, self.contacts, self._each(self.impulses), strict=True):
                outside[candidate.body] = outside[candidate.body] + (x.wrench @ p) / h
        now = moving_robot(tree, self.middle, self.v, outside)
        found = partials(tree, now, self.middle, self.v, a, outside)
        G = np.stack([spanning_velocity(tree, self.middle, e) for e in np.eye(tree.nv)], axis=1)
        joint_q, joint_v = (np.stack([self._independent(f * line) for line in G.T], axis=1) for f in (self.f_q, self.f_qd))
        along_q, along_v = h * (joint_q - found.dq), h * (joint_v @ self.here_v - found.dv)
        for b, J in self.J.items():
            turned = sum(x.wrench_pose for x, c in zip(self.contacts, self.contact.candidates, strict=True) if c.body == b)
            along_q = along_q + J.T @ (turned @ J)
        along_u = h * np.stack([self._independent(f) for f in self.f_u.T], axis=1) if len(self.u) else None
        given_q = np.diag(held.slope)
        given_v = held.slope[:, None] * (-0.5 * h * self.here_v) - (1.0 - loose)[:, None] * self.moved_v
        out = []
        for along, given in ((along_q, given_q), (along_v, given_v), (along_u, None)):
            if along is None:
                out.append(np.zeros((tree.nv, 0)))
                continue
            out.append(np.stack([self._solved(along[:, k], given, k) for k in range(along.shape[1])], axis=1))
        return out[0], out[1], out[2]

    def _solved(self, right: Array, given: Array | None, k: int) -> Array:
        """dz with M dz = right, where joints that are held have the change `given` of column k."""
        loose = self.held.loose
        if given is None or not self.contact.joints:
            return self.factor.solve(loose * right)
        return self.factor.solve(loose * (right - self.M @ given[:, k]) + given[:, k])

    def linearized(self) -> dict[str, Any]:
        tree, nv = self.tree, self.tree.nv
        z_q, z_v, z_u = self._changes_of_z()
        y_q, y_v, y_u = z_q, z_v + self.moved_v, z_u
        if self.n:
            y_q, y_v, y_u = self._with_impulses(y_q, y_v, y_u)
        y_v = y_v + _product(tree, y_q, self.middle_v)
        y_q = _product(tree, y_q, self.middle_q)
        flies = self._flies()
        ends = to_the_end(self.system)(self.q, self.v, self.y, [sc.where(flies, 1.0, 0.0)], [self.h])
        A, B = [], []
        q_q, v_q, q_v, v_v, q_y, v_y = ends
        for at_q, at_v, at_y in ((q_q, q_v, q_y), (v_q, v_v, v_y)):
            A.append(np.concatenate([at_q + _rows(tree, at_y, y_q), at_v + _rows(tree, at_y, y_v)], axis=1))
            B.append(_rows(tree, at_y, y_u))
        missed = sc.largest(list(self.equations.missed(self.impulses))) if self.n else 0.0
        modes = {"contacts": self.equations.codes[0], "joints": np.array(self.held.modes)}
        out = {"A": np.concatenate(A), "B": np.concatenate(B).reshape(2 * nv, len(self.u)), "missed": np.array([missed])}
        return out | modes

    def _flies(self) -> Any:
        """Whether nothing touches: no contact presses and no joint would leave its range."""
        out: Any = True
        for x in self._each(self.impulses):
            out = sc.logical_and(out, x[0] <= 0.0)
        for path in self.held.paths:
            out = sc.logical_and(out, path.inside)
        return out

    def _with_impulses(self, y_q: Array, y_v: Array, y_u: Array) -> tuple[Array, Array, Array]:
        """dy with the changes of the impulses, by (2)."""
        equations, x = self.equations, self.impulses
        local, K = equations.local(x), Elimination(equations.slopes(x), equations.sizes)
        W = np.full((6 * len(self.bodies), self.n), 0.0, dtype=object)
        at = {b: slice(6 * k, 6 * k + 6) for k, b in enumerate(self.bodies)}
        for k, (c, found) in enumerate(zip(self.contact.candidates, self.contacts, strict=True)):
            W[at[c.body], 3 * k : 3 * k + 3] = found.wrench
        left = K.solve_left(W)
        phi_q, phi_v, phi_u = (np.full((len(W), y.shape[1]), 0.0, dtype=object) for y in (y_q, y_v, y_u))
        for b, m in self.moves.items():
            H: dict[str, Any] = {name: 0.0 for name in ("wrench", "e_pose", "e_X0", "e_V", "e_Y")}
            for k, (c, found) in enumerate(zip(self.contact.candidates, self.contacts, strict=True)):
                if c.body == b:
                    gain = -(left[:, 3 * k : 3 * k + 3] @ local[k].U)
                    H |= {name: H[name] + gain @ getattr(found, name) for name in H if name != "wrench"}
                    H["wrench"] = H["wrench"] + gain @ found.wrench.T
            phi_q = phi_q + H["wrench"] @ (m.J @ y_q + m.X_q) + H["e_pose"] @ m.J + H["e_X0"] @ m.X0_q
            phi_q = phi_q + H["e_V"] @ m.V_q + H["e_Y"] @ m.Y_q
            phi_v = phi_v + H["wrench"] @ (m.J @ y_v) + H["e_X0"] @ (m.J @ self.here_v) + H["e_V"] @ m.J
            phi_v = phi_v + H["e_Y"] @ m.Y_v
            phi_u = phi_u + H["wrench"] @ (m.J @ y_u)
        answer = np.concatenate([self.answers[b] for b in self.bodies], axis=1)
        return y_q + answer @ phi_q, y_v + answer @ phi_v, y_u + answer @ phi_u


def _product(tree: ClusterTree, x: Array, blocks: Array) -> Array:
    """x times a block diagonal matrix."""
    return np.concatenate([x[:, c.v] @ blocks[c.v, c.v] for c in tree], axis=1)


def _rows(tree: ClusterTree, blocks: Array, x: Array) -> Array:
    """A block diagonal matrix times x."""
    return np.concatenate([blocks[c.v, c.v] @ x[c.v] for c in tree])
