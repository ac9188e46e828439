"""Positions: a step along closed loops, the nearest closed one, the step between two, how far loops are open.

Loops are closed by Newton's rounds (`kinloop.clusters.newton`). Where these do not lead to rounding, and where q was
no configuration to begin with, the first number of the result is infinite: whoever asked searches on numbers
(`kinloop.clusters.closing`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import scatter
from kinloop.clusters import ClusterTree
from kinloop.clusters.following import ASTRAY, longest
from kinloop.clusters.newton import newton
from kinloop.clusters.state_faults import faults
from kinloop.scalar import Array


def integrate(tree: ClusterTree, q: Array, v: Array, dt: Array, judged: bool = True, long: float = np.inf) -> Array:
    """The configuration reached from q by the velocity v in time dt (1,): independents exactly, dependents by Newton.

    `judged` says whether faults of q (`state_faults`) count as well. Another assembly of the loops (`following`) is not
    vouched for, nor is a step in which a joint of a loop moves by more than `long`.
    """
    top, dy = tree.top, v * dt[0]
    step = scatter(tree, [tree.jacobian(c, q) @ dy[c.v] for c in tree])
    far = longest(tree, step)
    end, well = newton(tree, top.integrate(q, step), begin=q, near=ASTRAY * far)
    well = sc.logical_and(well, far <= long) if long < np.inf else well
    for fault in faults(tree, q) if judged else ():
        well = sc.logical_and(well, fault <= 1.0)
    return _vouched(top.normalized(end), well)


def close(tree: ClusterTree, q: Array) -> Array:
    """The closed configuration nearest to q, for a tree in the frames of `framing.shortest`."""
    end, well = newton(tree, tree.top.normalized(q))
    return _vouched(tree.top.normalized(end), well)


def difference(tree: ClusterTree, q0: Array, q1: Array) -> Array:
    """The independent step that leads from q0 to q1."""
    return tree.top.difference(q0, q1)[tree.independent_dofs]


def loop_error(tree: ClusterTree, q: Array) -> Array:
    """max |phi| of every loop and coupling [m, rad]."""
    return np.array([sc.largest(list(p.rows(tree.top, q).phi)) for p in tree.top.mechanism.closures])


def loop_jacobian(tree: ClusterTree, q: Array, v: Array) -> dict[str, Array]:
    """K and k of the rows that charts keep, K qdd = k."""
    rows = tree.constraint_rows(q, tree.spanning_motion(q, v)[1])
    return {"K": rows.K, "k": rows.k}


def loop_rows(tree: ClusterTree, number: int, q: Array) -> dict[str, Array]:
    """phi, K and k at rest of one loop or coupling, by its place among the closures."""
    rows = tree.top.mechanism.closures[number].rows(tree.top, q)
    return {"phi": rows.phi, "K": rows.K, "k": rows.k}


def _vouched(q: Array, well: Any) -> Array:
    """q, its first number infinite unless all is well."""
    return np.array([sc.where(well, q[0], np.inf), *q[1:]]) if len(q) else q
