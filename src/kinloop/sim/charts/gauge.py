"""Loops that stay closed inside a step: Newton on the dependent coordinates, and how good the chart is.

A step moves the independent coordinates exactly; the dependent ones are predicted and then closed by

    K_d(q) dq_d = -phi(q)                                                          (1)

two quadratically convergent rounds of which bring the second-order prediction below rounding. The chart
itself is watched by two numbers. With coordinates scaled by how much each moves (`scales`),

    reach  = max |G_ji| s_i / s_j      how much better the best single swap of coordinates would be   (2)
    volume = prod |det K_d| / typical  how near the loops are to losing rank, in any chart            (3)

By Cramer's rule |G_ji| is the ratio of two minors of K, the one with j swapped for i to det K_d: where
`reach` is 1 no swap helps. docs/simulation.md.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import Cluster, ClusterTree
from kinloop.clusters.closing import close_parts, sample_closed
from kinloop.linear import Factor, determinant, symmetric_product
from kinloop.model.parts import LinearCoupling
from kinloop.spatial.transform import Array

ROUNDS = 2
SAMPLES = 24


def is_linear(cluster: Cluster) -> bool:
    """Whether only gears, belts and other linear couplings tie the cluster: its G is constant."""
    return all(isinstance(p, LinearCoupling) for p in cluster.parts)


def loops(tree: ClusterTree) -> list[Cluster]:
    """Clusters whose G changes with the configuration."""
    return [c for c in tree if c.parts and c.chart.dependent and not is_linear(c)]


def largest(values: list[Any], start: float = 0.0) -> Any:
    """max(start, |values|...) that lets a nan through."""
    out: Any = start
    for x in values:
        if isinstance(x, sc.Symbol) or isinstance(out, sc.Symbol):
            out = sc.maximum(out, sc.abs(x))
        else:
            out = float(np.maximum(out, abs(x)))
    return out


def close_dependents(tree: ClusterTree, q: Array, rounds: int = ROUNDS) -> tuple[Array, Any]:
    """q with its dependent coordinates closed by (1), and the size of the last correction."""
    top = tree.top
    last: Any = 0.0
    for cluster in tree:
        if not cluster.parts or not cluster.chart.dependent:
            continue
        turns = 1 if is_linear(cluster) else rounds
        for turn in range(turns):
            rows = tree.rows(cluster, q)
            step = _dependent_part(cluster, cluster.chart.embed(rows.K, -rows.phi)[1])
            q = _move(tree, cluster, q, step)
            if turn == turns - 1 and not is_linear(cluster):
                last = largest([step[d] for d in cluster.chart.dependent], last)
    return top.normalized(q), last


def closest(tree: ClusterTree, q: Array, rounds: int = ROUNDS) -> tuple[Array, Any]:
    """The closed configuration nearest to q, coordinates in the units of `scales`; and the last correction."""
    q, last = tree.top.normalized(q), 0.0
    for c in tree:
        if not c.parts or not c.chart.dependent:
            continue
        if is_linear(c):
            _, step = c.chart.embed((rows := tree.rows(c, q)).K, -rows.phi)
            q = _move(tree, c, q, _dependent_part(c, step))
            continue
        for _ in range(rounds):
            rows = tree.rows(c, q)
            keep = list(c.chart.rows)
            step = -_least(tree, c, rows.K[keep], rows.phi[keep])
            q = _move(tree, c, q, step)
        last = largest(list(step), last)
    return tree.top.normalized(q), last


def project_position(tree: ClusterTree, q: Array) -> Array:
    return closest(tree, q)[0]


def project_velocity(tree: ClusterTree, q: Array, qd: Array) -> Array:
    """The spanning velocity nearest to qd that the loops allow at q; gears follow their drivers."""
    out = np.array(qd, dtype=np.result_type(q, qd))
    for c in tree:
        dofs = list(c.dofs)
        if not c.parts or not c.chart.dependent:
            continue
        if is_linear(c):
            out[dofs] = tree.jacobian(c, q) @ out[dofs][list(c.chart.independent)]
        else:
            K = tree.rows(c, q).K[list(c.chart.rows)]
            out[dofs] = out[dofs] - _least(tree, c, K, K @ out[dofs])
    return out


def _least(tree: ClusterTree, c: Cluster, K: Array, b: Array) -> Array:
    """The smallest x with K x = b."""
    scale = coordinate_scales(tree)[c.index]
    scaled = K * scale
    return scale * (scaled.T @ Factor(symmetric_product(scaled, scaled)).solve(b))


def _dependent_part(c: Cluster, step: Array | None) -> Array:
    assert step is not None
    step = step.copy()
    step[list(c.chart.independent)] = 0.0
    return step


def _move(tree: ClusterTree, cluster: Cluster, q: Array, step: Array) -> Array:
    """Move the joints of one cluster."""
    top, out, row = tree.top, q.copy(), 0
    if step.dtype == object and out.dtype != object:
        out = out.astype(object)
    for i in cluster.bodies:
        n = top.types[i].nv
        out[top.q_of[i]] = top.types[i].integrate(q[top.q_of[i]], step[row : row + n])
        row += n
    return out


def cluster_volume(cluster: Cluster, K: Array) -> Any:
    """|det K_d| of a cluster, block by block."""
    out: Any = 1.0
    for rows, columns in cluster.chart.blocks:
        out = out * sc.abs(determinant(K[np.ix_(list(rows), list(columns))]))
    return out


class Gauge:
    """Numbers (2) and (3) of a tree's charts; scales and typical volumes come from sample configurations."""

    def __init__(self, tree: ClusterTree, samples: dict[int, list[Array]]) -> None:
        self.tree = tree
        self.typical: dict[int, float] = {}
        self.scale: dict[int, Array] = {}
        self.moving: dict[int, list[tuple[int, int]]] = {}
        for c in loops(tree):
            Ks = samples[c.index]
            self.scale[c.index] = coordinate_scales(tree)[c.index]
            self.moving[c.index] = _moving(c, Ks)
            volumes = [float(cluster_volume(c, K)) for K in Ks]
            self.typical[c.index] = max(float(np.median(volumes)), 1e-3 * max(volumes), 1e-300)

    def __call__(self, q: Array) -> tuple[Any, Any]:
        """(reach, volume), the worst over clusters; (0, 1) for a robot without loops."""
        reach: Any = 0.0
        volume: Any = 1.0
        for c in loops(self.tree):
            K = self.tree.rows(c, q).K
            G, s = c.chart.embed(K)[0], self.scale[c.index]
            independent = c.chart.independent
            ratios = [G[j, a] * float(s[independent[a]] / s[j]) for j, a in self.moving[c.index]]
            reach = largest(ratios, reach)
            volume = sc.minimum(volume, cluster_volume(c, K) / self.typical[c.index])
        return reach, volume


def _moving(c: Cluster, Ks: list[Array]) -> list[tuple[int, int]]:
    """Entries of G that change with the configuration: gears and belts between coordinates say nothing."""
    with np.errstate(all="ignore"):
        G = np.array([c.chart.embed(K)[0] for K in Ks])
        spread = np.abs(G - np.median(G, axis=0))
        constant = np.all(np.isfinite(G), axis=0) & (np.max(spread, axis=0) <= 1e-9 * np.max(np.abs(G), axis=0))
    pairs = [(j, a) for a in range(len(c.chart.independent)) for j in c.chart.dependent]
    return [(j, a) for j, a in pairs if len(Ks) < 2 or not constant[j, a]]


_SAMPLES: WeakKeyDictionary = WeakKeyDictionary()
_SCALES: WeakKeyDictionary = WeakKeyDictionary()


def sample_jacobians(tree: ClusterTree, seed: int = 0) -> dict[int, list[Array]]:
    """K of every loop cluster at closed configurations, spread as widely as its loops allow; found once."""
    top, rng = tree.top, np.random.default_rng(seed)
    if top.mechanism in _SAMPLES:
        return _SAMPLES[top.mechanism]
    out: dict[int, list[Array]] = {}
    for c in loops(tree):
        near = sample_closed(top, c.parts, c.bodies, c.dofs, seed)
        found = list(near)
        for k in range(SAMPLES):
            step = np.zeros(top.n_spanning)
            step[list(c.dofs)] = rng.normal(size=len(c.dofs)) * (0.5, 1.0, 2.0)[k % 3]
            q, error = close_parts(top, c.parts, c.dofs, top.integrate(near[k % len(near)], step))
            if error < 1e-9:
                found.append(q)
        out[c.index] = [tree.rows(c, q).K for q in found]
    _SAMPLES[top.mechanism] = out
    return out


def coordinate_scales(tree: ClusterTree) -> dict[int, Array]:
    """`scales` of every loop cluster; they belong to the mechanism, whatever the charts."""
    mechanism = tree.top.mechanism
    if mechanism not in _SCALES:
        _SCALES[mechanism] = {k: scales(Ks) for k, Ks in sample_jacobians(tree).items()}
    return _SCALES[mechanism]


def scales(Ks: list[Array]) -> Array:
    """How much each coordinate of a cluster moves where all are free to: the unit (2) measures it in."""
    sizes = []
    for K in Ks:
        norm = np.linalg.norm(K, axis=1, keepdims=True)
        _, s, Vt = np.linalg.svd(np.where(norm > 1e-9, K / np.maximum(norm, 1e-300), 0.0))
        rank = int(np.sum(s > 1e-6 * max(s[0], 1e-300))) if len(s) else 0
        sizes.append(np.linalg.norm(Vt[rank:], axis=0))
    typical = np.sqrt(np.mean(np.square(sizes), axis=0))
    return np.maximum(typical, 1e-6 * np.max(typical, initial=1e-300))
