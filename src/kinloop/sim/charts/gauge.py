"""How good a chart is, in two numbers.

A step moves the independent coordinates exactly and closes the dependent ones by Newton's rounds on K_d,
(1) of `kinloop.clusters.closing`: K_d must stay well away from singular. With coordinates scaled by how much
each moves (`LoopSamples.scales`),

    reach  = max |G_ji| s_i / s_j      how much better the best single swap of coordinates would be   (2)
    volume = prod |det K_d| / typical  how near the loops are to losing rank, in any chart            (3)

By Cramer's rule |G_ji| is the ratio of two minors of K, the one with j swapped for i to det K_d: where
`reach` is 1 no swap helps. docs/simulation.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import Cluster, ClusterTree
from kinloop.linear import determinant
from kinloop.scalar import Array
from kinloop.sim.charts.thresholds import LEAST_TYPICAL, TINY, UNCHANGED


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
        for c in tree.loop_clusters:
            Ks = samples[c.index]
            self.scale[c.index] = tree.samples.scales[c.index]
            self.moving[c.index] = _moving(c, Ks)
            volumes = [float(cluster_volume(c, K)) for K in Ks]
            self.typical[c.index] = max(float(np.median(volumes)), LEAST_TYPICAL * max(volumes), TINY)

    def __call__(self, q: Array) -> tuple[Any, Any]:
        """(reach, volume), the worst over clusters; (0, 1) for a robot without loops."""
        reach: Any = 0.0
        volume: Any = 1.0
        for c in self.tree.loop_clusters:
            K = self.tree.rows(c, q).K
            G, s = c.chart.embed(K)[0], self.scale[c.index]
            independent = c.chart.independent
            ratios = [G[j, a] * float(s[independent[a]] / s[j]) for j, a in self.moving[c.index]]
            reach = sc.largest(ratios, reach)
            volume = sc.minimum(volume, cluster_volume(c, K) / self.typical[c.index])
        return reach, volume


def _moving(c: Cluster, Ks: list[Array]) -> list[tuple[int, int]]:
    """Entries (j, a) of G that change with the configuration; those of gears and belts do not, and say nothing."""
    with np.errstate(all="ignore"):
        G = np.array([c.chart.embed(K)[0] for K in Ks])
        spread = np.abs(G - np.median(G, axis=0))
        small = np.max(spread, axis=0) <= UNCHANGED * np.max(np.abs(G), axis=0)
        constant = np.all(np.isfinite(G), axis=0) & small
    pairs = [(j, a) for a in range(len(c.chart.independent)) for j in c.chart.dependent]
    return [(j, a) for j, a in pairs if len(Ks) < 2 or not constant[j, a]]
