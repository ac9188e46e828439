"""Stacked transforms between and within clusters, as [Chignoli2023, section V-B] writes them.

The algorithms never form these matrices: they keep cluster quantities per body. They are here to look
at, and to test against the paper. `poses` are the bodies' poses in the world; cluster -1 is the world.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.clusters.tree import ClusterTree
from kinloop.scalar import Array
from kinloop.spatial import Transform


def _bodies(tree: ClusterTree, k: int) -> tuple[int, ...]:
    return tree.clusters[k].bodies if k >= 0 else (-1,)


def _relative(poses: Sequence[Transform], i: int, j: int) -> Transform:
    """The pose of body i in body j's frame; its matrix takes motions from j to i."""
    here, there = (poses[x] if x >= 0 else Transform.identity() for x in (i, j))
    return there.inverse().then(here)


def cluster_motion_transform(tree: ClusterTree, poses: Sequence[Transform], l: int, k: int) -> Array:
    """Motions of cluster k's bodies, handed to the bodies of cluster l whose output bodies they are.  (17)"""
    rows, columns = _bodies(tree, l), _bodies(tree, k)
    out = np.zeros((6 * len(rows), 6 * len(columns)))
    for a, (i, output) in enumerate(zip(rows, tree.clusters[l].outputs, strict=True)):
        for b, j in enumerate(columns):
            if output == j:
                out[6 * a : 6 * a + 6, 6 * b : 6 * b + 6] = _relative(poses, i, j).matrix()
    return out


def cluster_force_transform(tree: ClusterTree, poses: Sequence[Transform], k: int, l: int) -> Array:
    """Forces on cluster l's bodies, collected at their output bodies in cluster k.  (18)"""
    rows, columns = _bodies(tree, k), _bodies(tree, l)
    out = np.zeros((6 * len(rows), 6 * len(columns)))
    for b, (j, output) in enumerate(zip(columns, tree.clusters[l].outputs, strict=True)):
        for a, i in enumerate(rows):
            if output == i:
                out[6 * a : 6 * a + 6, 6 * b : 6 * b + 6] = _relative(poses, j, i).force(np.eye(6))
    return out


def remap_motion(tree: ClusterTree, poses: Sequence[Transform], k: int) -> Array:
    """Motions relative to parents, turned into motions relative to output bodies.  (20)"""
    bodies = _bodies(tree, k)
    out = np.eye(6 * len(bodies))
    for a, i in enumerate(bodies):
        for b, j in enumerate(bodies[:a]):
            if j in tree.top.support(i):
                out[6 * a : 6 * a + 6, 6 * b : 6 * b + 6] = _relative(poses, i, j).matrix()
    return out


def remap_force(tree: ClusterTree, poses: Sequence[Transform], k: int) -> Array:
    """Forces exchanged with parents, turned into equivalent forces exchanged with output bodies.  (23)"""
    bodies = _bodies(tree, k)
    out = np.eye(6 * len(bodies))
    for b, j in enumerate(bodies):
        if tree.top.parent[j] in bodies:
            a = bodies.index(tree.top.parent[j])
            out[6 * a : 6 * a + 6, 6 * b : 6 * b + 6] = -_relative(poses, j, bodies[a]).force(np.eye(6))
    return out
