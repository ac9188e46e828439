"""How every coordinate moves every body: columns of Jacobians in the world, and rows of L^-1 that go with them.

A coordinate of a cluster moves each of the cluster's bodies, with all that it carries, by a twist of its own: a
column. Which columns move a body is known beforehand (`mask`), so that the Jacobian of any two bodies is a sum over
columns, and what moves both cancels. A unit force on one coordinate, propagated inward, is a row of N, the transpose of
D^-1/2 L^-1, and

    z = J N     for the rows J of a contact.                                                                  (1)

A row has entries for the coordinates between the coordinate and the world only, and for those that springs and dampers
of users tie to them, which contacts feel as inertia (`propagation.Soft`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.contact.propagation import Propagated, softened
from kinloop.sim.smooth_motion import SmoothMotion
from kinloop.spatial import Transform


class Column(NamedTuple):
    """A coordinate of a cluster, and the body of the cluster that it moves."""

    coordinate: int
    cluster: int
    within: int
    body: int


class Columns:
    """The columns of all coordinates that move any of some bodies."""

    def __init__(self, tree: ClusterTree, bodies: tuple[int, ...]) -> None:
        carriers = [_carriers(tree, b) for b in bodies]
        pairs = sorted({pair for c in carriers for pair in c.items()})
        self.columns = [
            Column(tree.clusters[k].v.start + j, k, j, i) for k, i in pairs for j in range(tree.clusters[k].m)
        ]
        self.mask = np.zeros((len(bodies) + 1, len(self.columns)))  # the world is last, and nothing moves it
        for row, c in zip(self.mask, carriers, strict=False):
            row[:] = [c.get(column.cluster) == column.body for column in self.columns]

    def moving(self, place: Any) -> Array:
        """For every column, 1 where it moves the body at this place among the bodies, else 0.

        Bodies that a column moves mostly follow each other; then two comparisons cost less than a table that is read.
        """
        out = np.empty(len(self.columns), dtype=object)
        for k, column in enumerate(self.mask.T):
            (on,) = np.nonzero(column)
            if np.array_equal(on, np.arange(on[0], on[0] + len(on))):
                inside = sc.logical_and(float(on[0]) <= place, place <= float(on[-1]))
                out[k] = sc.where(inside, 1.0, 0.0)
            else:
                out[k] = sc.take(column, place)
        return out

    def twists(self, s: SmoothMotion, poses: dict[int, Transform], origin: Array) -> Array:
        """The twist (columns, 6) of every column, in the axes of the world about the origin."""
        out = np.zeros((len(self.columns), 6), dtype=object)
        for k, c in enumerate(self.columns):
            pose = poses[c.body]
            out[k] = Transform(pose.R, pose.p - origin).motion_back(s.art[c.cluster].S[c.body][:, c.within])
        return out

    def rows(self, tree: ClusterTree, s: SmoothMotion) -> dict[int, tuple[Array, list[int]]]:
        """The row of N of every coordinate that moves something, and the coordinates it lies on."""
        out: dict[int, tuple[Array, list[int]]] = {}
        for c in self.columns:
            if c.coordinate not in out:
                row = Propagated.coordinate(tree, s.kin, s.art, c.cluster, c.within).row()
                z, at = softened(s.soft, tree.nv, *row)
                out[c.coordinate] = z[0], at
        return out


def _carriers(tree: ClusterTree, body: int) -> dict[int, int]:
    """For every cluster between a body and the world, the body of it that carries this one."""
    return {tree.cluster_of[i]: i for i in tree.top.support(body)}  # nearer ones last
