"""Constrained motion of cluster trees in O(n + m): multipliers taken out as early as a joint allows.

The rows of a subtree act on the bodies of cluster k through chi and on each other through L:

    sum_i chi(i)^T a_i + L lambda = t                                                              (1)

Past the cluster's joint (`constrained`, (1)-(3)) some rows E have an invertible L_EE. Their multipliers,
lambda_E = L_EE^-1 (t_E - chi_E^T a - L_EO lambda_O), are put back into the rest of the problem:

    I_a += chi_E L_EE^-1 chi_E^T,   p_a -= chi_E L_EE^-1 t_E,                                      (2)
    chi_O -= chi_E L_EE^-1 L_EO,   L_OO -= L_OE L_EE^-1 L_EO,   t_O -= L_OE L_EE^-1 t_E            (3)

so that at most six rows pass any body of a chain. Rows that come without an L are first reflected so that
as few as possible move the joint (`elimination`). A constraint between two branches waits, gathering L, until
both ends have met. Derivation: docs/algorithms/pv_early.md, after [Sathya2023, (56)-(68)].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.constraint_wrenches import Held, hold, placed_bodies
from kinloop.algorithms.constrained.early_rows import Gathered, Key, RowStore
from kinloop.algorithms.constrained.elimination import SINGULAR, WEAK, Decisions, Reflection, reflect
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.multipliers import null_rows, solve_rows
from kinloop.algorithms.constrained.passes import Solution, below_seats, force_bias, grounded, leave, world_acceleration
from kinloop.algorithms.constrained.pv import join
from kinloop.algorithms.trees.articulated import Articulated, _free, _hand_over
from kinloop.algorithms.trees.cluster_aba import _inward, _outward
from kinloop.algorithms.trees.kinematics import Motion, motion
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor, floored, gram
from kinloop.scalar import Array
from kinloop.spatial import Inertia, total_inertia


class Step(NamedTuple):
    """What the outward pass needs of a cluster: rows in order, their u, what was eliminated and how."""

    blocks: list[tuple[Key, slice]]
    closed: int
    turns: list[Reflection]
    u: Array
    E: list[int]
    O: list[int]
    onward: list[tuple[Key, list[int]]]
    factor: Any
    t_E: Array
    left_E: dict[int, Array]
    L_EO: Array


def pv_early(
    tree: ClusterTree,
    q: Array,
    v: Array,
    tau: Array,
    placed: Sequence[Placed],
    f_ext: Array | None = None,
    plan: dict[Any, Any] | None = None,
) -> Solution:
    """Accelerations and multipliers; on symbols `plan` says what is eliminated where."""
    return solve_early(tree, q, v, tau, placed, f_ext, Decisions(plan))


def solve_early(
    tree: ClusterTree, q: Array, v: Array, tau: Array, placed: Sequence[Placed], f_ext: Array | None, decide: Decisions
) -> Solution:
    turning = placed_bodies(placed)
    kin = motion(tree, q, v, turning)
    held = [hold(tree, kin, q, p) for p in placed]
    sweep = _Sweep(tree, kin, held, decide, tau, force_bias(tree.top, kin, q, f_ext, turning))
    sweep.inward()
    found, residual, lost = sweep.last()
    a, multipliers = sweep.outward(found)
    return Solution(a, sweep.shortest(multipliers), residual, lost)


class _Sweep:
    """The three passes and what they share."""

    def __init__(
        self, tree: ClusterTree, kin: Motion, held: list[Held], decide: Decisions, tau: Array, p: list[Array]
    ) -> None:
        self.tree, self.top, self.kin, self.held, self.decide, self.tau = tree, tree.top, kin, held, decide, tau
        symbolic = sc.is_symbolic(tau, *p, *(f for h in held for f in h.ends.values()))
        self.store, self.symbolic = RowStore(tree, held, symbolic), symbolic
        self.waiting: list[list[Inertia]] = [[I] for I in tree.top.inertia]
        self.cross: dict[tuple[int, int], Array] = {}
        self.p_A: list[list[Array]] = [[x] for x in p]
        self.art: dict[int, Articulated] = {}
        self.u: dict[int, Array] = {}
        self.steps: dict[int, Step] = {}
        self.lost: Any = 0.0
        self.null: list[dict[Key, Array]] = []

    # --- inward

    def inward(self) -> None:
        for k in reversed(range(len(self.tree))):
            cluster = self.tree.clusters[k]
            I = {i: total_inertia(self.waiting[i]) for i in cluster.bodies}
            B = {pair: self.cross.pop(pair) for pair in list(self.cross) if pair[0] in I}
            art = _free(self.tree, cluster, self.kin, I, B)
            g = self.store.gather(k)
            u, g = self.meet(art, g)
            if cluster.parent < 0:
                self.at_world(k, art, u, g)
            else:
                self.pass_on(k, art, u, g)

    def meet(self, art: Articulated, g: Gathered) -> tuple[Array, Gathered]:
        """u (m, R): what the cluster's joint feels of every row."""
        cluster, e = art.cluster, self.kin.embedding[art.cluster.index]
        u, t = self.store.zeros(cluster.m, len(g.t)), g.t.copy()
        for i, f in g.chi.items():
            u = u + art.S[i].T @ f
        for key, span in g.blocks:
            if isinstance(key, int):
                for row, d in enumerate(cluster.dofs):
                    if d in self.held[key].joints:
                        force = self.held[key].joints[d]
                        u[:, span] = u[:, span] + np.multiply.outer(e.G[row], force)
                        t[span] = t[span] - force * e.g[row]
        return u, g._replace(t=t)

    def pass_on(self, k: int, art: Articulated, u: Array, g: Gathered) -> None:
        """Reflect, eliminate what can be, hand inertia, bias and the other rows to the parent cluster."""
        n, R = g.closed, len(g.t)
        turns: list[Reflection] = []
        chi, t = g.chi, g.t
        half = np.array(art.D.inverse).reshape(-1, 1)
        if n and g.fresh and art.cluster.m:
            choice = self.decide.fresh(k, u[:, :n].T, self.store.size(art, g, n), half)
            if choice.square:
                self.lost = self.lost + sc.where(u[0, :n] @ u[0, :n] < WEAK * choice.square, 1.0, 0.0)
            if len(choice.columns) < n:
                turns, turned = reflect(u[:, :n].T.copy(), choice.columns)
                u = np.concatenate([turned.T, u[:, n:]], axis=1)
                chi = {i: np.concatenate([_turn(turns, f[:, :n].T).T, f[:, n:]], axis=1) for i, f in chi.items()}
                t = np.concatenate([_turn(turns, t[:n]), t[n:]])
                if self.symbolic:
                    u[:, len(choice.columns) : n] = 0.0
        left = leave(self.top, art, self.kin, chi, u) if R else {}
        forward = art.D.forward(u) if art.cluster.m else u
        L = g.L + gram(forward, half * forward) if art.cluster.m else g.L
        if not (n and g.fresh and art.cluster.m):
            choice = self.decide.carried(k, L[:n, :n], self.store.sizes(art, g)[:n])
        E = list(choice.rows)
        O = [j for j in range(R) if j not in E]
        factor = Factor(L[np.ix_(E, E)], floored(choice.sizes, SINGULAR, 0.0 if choice.square else WEAK))
        self.lost = self.lost + factor.lost
        art = self.stiffen(art, left, E, factor)
        self.art[k] = art
        self.u[k], C = _inward(self.top, art, self.kin, self.p_A, self.tau)
        t = t - _bias(chi, C, R) - (u.T @ art.D.solve(self.u[k]) if art.cluster.m else 0.0)
        onward = self.hand_rows(art, g, L, t, left, E, O, factor)
        left_E = {s: f[:, E] for s, f in left.items()}
        self.steps[k] = Step(g.blocks, n, turns, u, E, O, onward, factor, t[E], left_E, L[np.ix_(E, O)])
        _hand_over(self.top, art, self.kin, self.waiting, self.cross)

    def stiffen(self, art: Articulated, left: dict[int, Array], E: list[int], factor: Factor) -> Articulated:
        """(2) for the inertia."""
        if not E:
            return art
        half = {s: factor.forward(f[:, E].T) for s, f in left.items()}
        scaled = {s: np.array(factor.inverse).reshape(-1, 1) * h for s, h in half.items()}
        I_a, B_a = dict(art.I_a), dict(art.B_a)
        seats = sorted(half)
        for n, s in enumerate(seats):
            I_a[s] = I_a[s].minus_product(-scaled[s].T, half[s].T)
            for x in seats[n + 1 :]:
                product = scaled[s].T @ half[x]
                B_a[s, x] = B_a[s, x] + product if (s, x) in B_a else product
        return replace(art, I_a=I_a, B_a=B_a)

    def hand_rows(
        self, art: Articulated, g: Gathered, L: Array, t: Array, left: dict, E: list[int], O: list[int], factor: Any
    ) -> list[tuple[Key, list[int]]]:
        """(2) for the bias force, (3), and the rows that go on."""
        k, parent = art.cluster.index, art.cluster.parent
        if E:
            w = factor.solve(t[E])
            for i, f in below_seats(self.top, art, self.kin, {s: -(f[:, E] @ w) for s, f in left.items()}).items():
                self.p_A[i].append(f)
            coupled = L[np.ix_(E, O)]
            if any(isinstance(e, sc.Symbol) or e != 0.0 for e in coupled.flat):
                gain = factor.solve(coupled)
                left = {s: _with(f, O, f[:, O] - f[:, E] @ gain) for s, f in left.items()}
                t = _with(t.reshape(1, -1), O, (t[O] - gain.T @ t[E]).reshape(1, -1))[0]
                L = L.copy()
                L[np.ix_(O, O)] = L[np.ix_(O, O)] - gram(coupled, gain)
        if art.lone:
            for s, f in left.items():
                t = t - f.T @ self.kin.c[s]
        onward = self.store.onward(k, g, O)
        self.store.hand(k, parent, onward, below_seats(self.top, art, self.kin, left), t)
        self.store.couple(k, parent, onward, L, g.closed)
        return onward

    # --- at the world, and outward

    def at_world(self, k: int, art: Articulated, u: Array, g: Gathered) -> None:
        self.art[k] = art
        u_k, C = _inward(self.top, art, self.kin, self.p_A, self.tau)
        self.u[k], C = grounded(self.top, art, self.kin, u_k, C)
        t = g.t - _bias(g.chi, C, len(g.t))
        L = g.L
        if art.cluster.m:
            forward = art.D.forward(u)
            L = L + gram(forward, np.array(art.D.inverse).reshape(-1, 1) * forward)
            t = t - u.T @ art.D.solve(self.u[k])
        size = self.store.sizes(art, g)
        none = np.zeros(0)
        onward = [(key, list(range(s.start, s.stop))) for key, s in g.blocks]
        self.steps[k] = Step(g.blocks, g.closed, [], u, [], list(range(len(t))), onward, (L, t, size), none, {}, none)

    def last(self) -> tuple[dict[Key, Array], Array, Any]:
        """Multipliers of all rows that reach the world, by the block they are in."""
        steps = [self.steps[a.cluster.index] for a in self.art.values() if a.cluster.parent < 0]
        sizes = {key: s.stop - s.start for step in steps for key, s in step.blocks}
        ends = np.cumsum([0, *sizes.values()])
        place = {key: list(range(int(a), int(b))) for key, a, b in zip(sizes, ends[:-1], ends[1:], strict=True)}
        n = int(ends[-1])
        L, t, size = self.store.zeros(n, n), self.store.zeros(n), np.zeros(n)
        for step in steps:
            there = [j for key, _ in step.blocks for j in place[key]]
            L[np.ix_(there, there)] = L[np.ix_(there, there)] + step.factor[0]
            t[there] = t[there] + step.factor[1]
            size[there] = size[there] + step.factor[2]
        dependent = self.decide.last(L, size) if n else []
        found, left, lost = solve_rows(L, t, dependent)
        self.null = [{key: x[rows] for key, rows in place.items()} for x in null_rows(L, dependent).T]
        residual = self.spread({key: left[rows] for key, rows in place.items()})
        return {key: found[rows] for key, rows in place.items()}, residual, self.lost + lost

    def spread(self, found: dict[Key, Array]) -> Array:
        """Rows at the world as rows of the constraints: nothing moves, nothing is asked for."""
        for k in range(len(self.tree)):
            found = self.split(k, found, None)
        return join([found[c] for c in range(len(self.held))])

    def split(self, k: int, found: dict[Key, Array], acc: list[Array] | None) -> dict[Key, Array]:
        """Multipliers of the rows that came into cluster k, from those that left it; with u @ lambda under ("u", k)."""
        s = self.steps[k]
        x = self.store.zeros(sum(b.stop - b.start for _, b in s.blocks))
        for key, rows in s.onward:
            x[rows] = found[key]
        if s.E:
            r = -(s.L_EO @ x[s.O]) if s.O else self.store.zeros(len(s.E))
            if acc is not None:
                r = r + s.t_E
                for seat, f in s.left_E.items():
                    r = r - f.T @ self.seat_acceleration(k, seat, acc)
            x[s.E] = s.factor.solve(r)
        out = dict(found)
        out["u", k] = s.u @ x
        x[: s.closed] = _turn(s.turns[::-1], x[: s.closed])
        out |= {key: x[span] for key, span in s.blocks}
        return out

    def seat_acceleration(self, k: int, seat: int, acc: list[Array]) -> Array:
        if not self.art[k].lone:
            return acc[seat]
        return self.kin.T[seat].motion(acc[self.top.parent[seat]]) + self.kin.c[seat]

    def outward(self, found: dict[Key, Array]) -> tuple[Array, Array]:
        ground = world_acceleration(self.top)
        acc: list[Array] = [ground] * len(self.top)
        y: list[Array] = []
        for k in range(len(self.tree)):
            a = self.art[k]
            found = self.split(k, found, acc)
            u = self.u[k] + found["u", k]
            y.append(a.D.solve(u) if a.cluster.parent < 0 else _outward(self.top, a, self.kin, u, {}, acc, ground))
            qdd = self.kin.embedding[k].G @ y[k]
            row = 0
            for i in a.cluster.bodies:
                n = self.top.types[i].nv
                before = ground if self.top.parent[i] < 0 else acc[self.top.parent[i]]
                acc[i] = self.kin.T[i].motion(before) + self.kin.c[i] + self.kin.S[i] @ qdd[row : row + n]
                row += n
        return (np.concatenate(y) if y else np.zeros(0)), join([found[c] for c in range(len(self.held))])

    def shortest(self, multipliers: Array) -> Array:
        """The multipliers less what redundant rows can exchange among themselves."""
        if not self.null:
            return multipliers
        N = np.stack([self.spread(x) for x in self.null], axis=1)
        return multipliers - N @ Factor(gram(N, N)).solve(N.T @ multipliers)


def _turn(turns: Sequence[Reflection], x: Array) -> Array:
    for r in turns:
        x = r.apply(x)
    return x


def _with(f: Array, columns: list[int], new: Array) -> Array:
    out = f.copy()
    out[:, columns] = new
    return out


def _bias(chi: dict[int, Array], C: dict[int, Array], R: int) -> Array:
    out: Any = np.zeros(R)
    for i, f in chi.items():
        out = out + f.T @ C[i]
    return out
