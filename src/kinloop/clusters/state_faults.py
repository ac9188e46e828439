"""What keeps positions from being a configuration: open loops, quaternions that are not unit, singular charts.

`faults` runs on numbers and on symbols and gives how far each of these is from what is allowed, as parts of it: above
1 is too much, and so is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters.closing import TOLERANCE
from kinloop.clusters.tree import Cluster, ClusterTree
from kinloop.linear import largest_inverse_pivot
from kinloop.scalar import Array

UNIT = 1e-6
"""How far entries of a unit quaternion may be from those of the normalized one: beyond rounding of single precision."""

SINGULAR = 1e-12
"""A pivot of a chart's rows, weighted to size 1, below which no digits of the motion are left."""


def faults(tree: ClusterTree, q: Array) -> Array:
    """(2,): open loops and quaternions, and singular charts, each in parts of what is allowed."""
    worst: Any = 0.0
    for closure in tree.top.mechanism.closures:
        worst = sc.largest([x * (1.0 / TOLERANCE) for x in closure.rows(tree.top, q).phi], worst)
    for kind, at in zip(tree.top.types, tree.top.q_of, strict=True):
        if kind.nq != kind.nv:
            worst = sc.largest([x * (1.0 / UNIT) for x in kind.normalized(q[at]) - q[at]], worst)
    singular: Any = 0.0
    for c in tree.loop_clusters:
        singular = sc.largest([SINGULAR * chart_gain(tree, c, q)], singular)
    return np.array([worst, singular])


def chart_gain(tree: ClusterTree, c: Cluster, q: Array) -> Any:
    """1 / the smallest pivot of the rows that give a cluster's dependent velocities: infinite at a dead centre."""
    assert c.equations is not None
    K = tree.rows(c, q).K * c.equations.weights[:, None]
    return sc.largest([largest_inverse_pivot(K[np.ix_(rows, columns)]) for rows, columns in c.chart.blocks])


def has_faults(tree: ClusterTree) -> bool:
    """Whether any q of a tree can be at fault: it has closures, or joints with more positions than velocities."""
    return bool(tree.top.mechanism.closures) or tree.top.nq != tree.top.n_spanning
