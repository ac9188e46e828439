"""Constrained motion of cluster trees in O(n + m): multipliers taken out as early as a joint allows.

The rows of a subtree act on the bodies of cluster k through chi and on each other through L:

    sum_i chi(i)^T a_i + L lambda = t                                                              (1)

Past the cluster's joint (`passes`, (1)-(3)) some rows E have an invertible L_EE. Their multipliers,
lambda_E = L_EE^-1 (t_E - chi_E^T a - L_EO lambda_O), are put back into the rest of the problem:

    I_a += chi_E L_EE^-1 chi_E^T,   p_a -= chi_E L_EE^-1 t_E,                                      (2)
    chi_O -= chi_E L_EE^-1 L_EO,   L_OO -= L_OE L_EE^-1 L_EO,   t_O -= L_OE L_EE^-1 t_E            (3)

so that at most six rows pass any body of a chain. Rows that come without an L are first reflected so that
as few as possible move the joint (`reflections`). A constraint between two branches waits, gathering L, until
both ends have met (`early_rows`). What reaches the world is solved there, and the outward pass gives the
multipliers back (`early_multipliers`). Derivation: docs/algorithms/pv_early.md, after [Sathya2023, (56)-(68)].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.constraint_wrenches import ConstraintWrenches, constrained_bodies, wrenches_of
from kinloop.algorithms.constrained.early_choices import WEAK, Choice, Decisions, EarlyPlan
from kinloop.algorithms.constrained.early_multipliers import Eliminated, Swept, WorldRows, multipliers_and_motion
from kinloop.algorithms.constrained.early_rows import Gathered, Key, RowStore
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.multipliers import SINGULAR
from kinloop.algorithms.constrained.passes import Solution
from kinloop.algorithms.constrained.reflections import Reflection, reflect, reflected
from kinloop.algorithms.trees.articulated import Arriving, Articulated, articulate_cluster
from kinloop.algorithms.trees.body_forces import body_bias
from kinloop.algorithms.trees.cluster_aba import bias_to_parent, joint_force, moved_by_world
from kinloop.algorithms.trees.kinematics import Motion, motion
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, floored, gram, total
from kinloop.scalar import Array


def pv_early(
    tree: ClusterTree,
    q: Array,
    v: Array,
    tau: Array,
    placed: Sequence[Placed],
    f_ext: Array | None = None,
    plan: EarlyPlan | None = None,
) -> Solution:
    """Accelerations and multipliers; on symbols `plan` says what is eliminated where."""
    return solve_early(tree, q, v, tau, placed, f_ext, Decisions(plan))


def solve_early(
    tree: ClusterTree, q: Array, v: Array, tau: Array, placed: Sequence[Placed], f_ext: Array | None, decide: Decisions
) -> Solution:
    """The same, with decisions that are remembered."""
    turning = constrained_bodies(placed)
    kin = motion(tree, q, v, turning)
    constraints = [wrenches_of(tree, kin, q, p) for p in placed]
    p = body_bias(tree.top, kin.v, q, f_ext, turning)
    swept = Sweep(tree, kin, constraints, decide, tau, p).inward()
    return multipliers_and_motion(swept, decide)


class Met(NamedTuple):
    """Rows as a cluster's joint meets them: u (m, R) what it feels, after the reflections `turns` of closed rows."""

    u: Array
    chi: dict[int, Array]
    t: Array
    turns: list[Reflection]


class Sweep:
    """The inward pass: inertias, bias forces and rows on their way to the world."""

    def __init__(
        self,
        tree: ClusterTree,
        kin: Motion,
        constraints: list[ConstraintWrenches],
        decide: Decisions,
        tau: Array,
        p: list[Array],
    ) -> None:
        self.tree, self.top, self.kin, self.decide, self.tau = tree, tree.top, kin, decide, tau
        self.symbolic = sc.is_symbolic(tau, *p, *(f for w in constraints for f in w.ends.values()))
        self.constraints, self.store = constraints, RowStore(tree, constraints, self.symbolic)
        self.arriving = Arriving(tree.top.inertia)
        self.p_A: list[list[Array]] = [[x] for x in p]
        self.art: dict[int, Articulated] = {}
        self.u: dict[int, Array] = {}
        self.eliminated: dict[int, Eliminated] = {}
        self.at_world: dict[int, WorldRows] = {}
        self.lost: Any = 0.0

    def inward(self) -> Swept:
        """All clusters, the last first."""
        for cluster in reversed(self.tree.clusters):
            art = articulate_cluster(self.top, cluster, self.kin, *self.arriving.take(cluster))
            g = self.store.gather(cluster.index)
            u, g = self._meet(art, g)
            if cluster.parent < 0:
                self._reach_world(art, u, g)
            else:
                self._pass(art, u, g)
        return Swept(
            self.tree, self.kin, self.store, self.art, self.u, self.eliminated, self.at_world, len(self.constraints),
            self.lost,
        )  # fmt: skip

    def _meet(self, art: Articulated, g: Gathered) -> tuple[Array, Gathered]:
        """u (m, R): what the cluster's joint feels of every row; and t less what its bias reads on joints."""
        cluster, e = art.cluster, self.kin.embedding[art.cluster.index]
        u, t = self.store.zeros(cluster.m, len(g.t)), g.t.copy()
        for i, f in g.chi.items():
            u = u + art.S[i].T @ f
        for key, span in g.blocks:
            if isinstance(key, int):
                for row, d in enumerate(cluster.dofs):
                    if d in self.constraints[key].joints:
                        force = self.constraints[key].joints[d]
                        u[:, span] = u[:, span] + np.multiply.outer(e.G[row], force)
                        t[span] = t[span] - force * e.g[row]
        return u, g._replace(t=t)

    def _pass(self, art: Articulated, u: Array, g: Gathered) -> None:
        """Eliminate what can be; hand inertia, bias force and the other rows to the parent cluster."""
        k, n, R = art.cluster.index, g.closed, len(g.t)
        met, choice = Met(u, g.chi, g.t, []), None
        if n and g.fresh and art.cluster.m:
            choice = self.decide.fresh(k, u[:, :n].T, self.store.size(art, g, n), _inverse(art))
            met = self._reflect(choice, met, n)
        left = art.transmitted(met.chi, met.u) if R else {}
        L = _coupled(art, met.u, g.L)
        if choice is None:
            choice = self.decide.coupled(k, L[:n, :n], self.store.sizes(art, g)[:n])
        E = list(choice.rows)
        O = [j for j in range(R) if j not in E]
        factor = Factor(L[np.ix_(E, E)], floored(choice.sizes, SINGULAR, 0.0 if choice.square else WEAK))
        self.lost = self.lost + factor.lost
        art = _stiffened(art, left, E, factor)
        self.art[k] = art
        self.u[k], C = self._drive(art)
        t = met.t - _bias(met.chi, C, R) - (met.u.T @ art.D.solve(self.u[k]) if art.cluster.m else 0.0)
        onward = self._hand_on(art, g, L, t, left, E, O, factor)
        left_E = {s: f[:, E] for s, f in left.items()}
        self.eliminated[k] = Eliminated(
            g.blocks, n, met.turns, met.u, E, O, onward, factor, t[E], left_E, L[np.ix_(E, O)]
        )
        self.arriving.add(art)

    def _reflect(self, choice: Choice, met: Met, n: int) -> Met:
        """The n closed rows reflected so that as few of them as possible move the joint."""
        u, chi, t, _ = met
        if choice.square:
            self.lost = self.lost + sc.where(u[0, :n] @ u[0, :n] < WEAK * choice.square, 1.0, 0.0)
        if len(choice.columns) == n:
            return met
        turns, turned = reflect(u[:, :n].T.copy(), choice.columns)
        u = np.concatenate([turned.T, u[:, n:]], axis=1)
        chi = {i: np.concatenate([reflected(turns, f[:, :n].T).T, f[:, n:]], axis=1) for i, f in chi.items()}
        t = np.concatenate([reflected(turns, t[:n]), t[n:]])
        if self.symbolic:
            u[:, len(choice.columns) : n] = 0.0
        return Met(u, chi, t, turns)

    def _drive(self, art: Articulated) -> tuple[Array, dict[int, Array]]:
        """u and C of a cluster, by (3) of `cluster_aba`; what its bias asks of the output bodies is added there."""
        p = {i: total(self.p_A[i]) for i in art.cluster.bodies}
        u, C = joint_force(self.top, self.kin, art, p, self.tau)
        if art.cluster.parent >= 0:
            for i, f in bias_to_parent(art, p, C, u).items():
                self.p_A[i].append(f)
        return u, C

    def _hand_on(
        self,
        art: Articulated,
        g: Gathered,
        L: Array,
        t: Array,
        left: dict[int, Array],
        E: list[int],
        O: list[int],
        factor: Factor,
    ) -> list[tuple[Key, list[int]]]:
        """(2) for the bias force, (3), and the rows that go on."""
        k, parent = art.cluster.index, art.cluster.parent
        if E:
            w = factor.solve(t[E])
            for i, f in art.handles.to_parent({s: -(f[:, E] @ w) for s, f in left.items()}).items():
                self.p_A[i].append(f)
            coupled = L[np.ix_(E, O)]
            if any(isinstance(e, sc.Symbol) or e != 0.0 for e in coupled.flat):
                gain = factor.solve(coupled)
                left = {s: _with(f, O, f[:, O] - f[:, E] @ gain) for s, f in left.items()}
                t = _with(t.reshape(1, -1), O, (t[O] - gain.T @ t[E]).reshape(1, -1))[0]
                L = L.copy()
                L[np.ix_(O, O)] = L[np.ix_(O, O)] - gram(coupled, gain)
        for s, c in art.handles.bias().items():
            if s in left:
                t = t - left[s].T @ c
        onward = self.store.onward(k, g, O)
        self.store.hand(parent, onward, art.handles.to_parent(left), t)
        self.store.couple(k, parent, onward, L, g.closed)
        return onward

    def _reach_world(self, art: Articulated, u: Array, g: Gathered) -> None:
        """Rows at a cluster on the world: (1) past its joint, with the world's acceleration in t."""
        k = art.cluster.index
        self.art[k] = art
        u_k, C = self._drive(art)
        self.u[k], moved = moved_by_world(self.top, art, u_k)
        t = g.t - _bias(g.chi, {i: C[i] + x for i, x in moved.items()}, len(g.t))
        L = _coupled(art, u, g.L)
        if art.cluster.m:
            t = t - u.T @ art.D.solve(self.u[k])
        none, rows = np.zeros(0), list(range(len(t)))
        onward = [(key, list(range(s.start, s.stop))) for key, s in g.blocks]
        self.eliminated[k] = Eliminated(g.blocks, g.closed, [], u, [], rows, onward, None, none, {}, none)
        self.at_world[k] = WorldRows(g.blocks, L, t, self.store.sizes(art, g))


def _inverse(art: Articulated) -> Array:
    """The diagonal of D^-1 as a column."""
    return np.array(art.D.inverse).reshape(-1, 1)


def _coupled(art: Articulated, u: Array, L: Array) -> Array:
    """L + u^T D^-1 u: how rows act on each other past a cluster's joint."""
    if not art.cluster.m:
        return L
    forward = art.D.forward(u)
    return L + gram(forward, _inverse(art) * forward)


def _stiffened(art: Articulated, left: dict[int, Array], E: list[int], factor: Factor) -> Articulated:
    """(2) for the inertia."""
    if not E:
        return art
    half = {s: factor.forward(f[:, E].T) for s, f in left.items()}
    scaled = {s: np.array(factor.inverse).reshape(-1, 1) * h for s, h in half.items()}
    I_a, B_a = dict(art.I_a), dict(art.B_a)
    at = sorted(half)
    for n, s in enumerate(at):
        I_a[s] = I_a[s].minus_product(-scaled[s].T, half[s].T)
        for x in at[n + 1 :]:
            product = scaled[s].T @ half[x]
            B_a[s, x] = B_a[s, x] + product if (s, x) in B_a else product
    return replace(art, I_a=I_a, B_a=B_a)


def _with(f: Array, columns: list[int], new: Array) -> Array:
    out = f.copy()
    out[:, columns] = new
    return out


def _bias(chi: dict[int, Array], C: dict[int, Array], R: int) -> Array:
    """sum_i chi(i)^T C_i: what the rows read of velocity products."""
    out = np.zeros(R)
    for i, f in chi.items():
        out = out + f.T @ C[i]
    return out
