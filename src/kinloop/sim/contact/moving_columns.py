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

from collections import Counter
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


class Limb(NamedTuple):
    """Clusters that follow each other without a branch: columns of their coordinates, and the bodies that these move.

    Bodies are places among those of `Columns`.
    """

    columns: list[int]
    coordinates: list[int]
    bodies: list[int]


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

        self.limbs = self._limbs(tree)
        self.sparse = [k for k, limb in enumerate(self.limbs) if len(limb.bodies) < len(bodies)]

    def _limbs(self, tree: ClusterTree) -> list[Limb]:
        """The columns by limb; limbs that carry others come before these."""
        used = {c.cluster for c in self.columns}
        above: dict[int, int] = {}
        for k in sorted(used):
            parent = tree.clusters[k].parent
            while parent >= 0 and parent not in used:  # what does not move
                parent = tree.clusters[parent].parent
            above[k] = parent
        children, limb = Counter(above.values()), dict[int, int]()
        for k, parent in above.items():
            limb[k] = limb[parent] if parent >= 0 and children[parent] == 1 else k
        out = []
        for first in dict.fromkeys(limb.values()):
            columns = [k for k, c in enumerate(self.columns) if limb[c.cluster] == first]
            (bodies,) = np.nonzero(self.mask[:, columns].any(axis=1))
            out.append(Limb(columns, sorted({self.columns[k].coordinate for k in columns}), bodies.tolist()))
        return out

    def moving(self, place: Any, columns: list[int]) -> Array:
        """For some columns, 1 where they move the body at this place among the bodies, else 0."""
        found = [_is_among(np.flatnonzero(self.mask[:, k]), place, len(self.mask)) for k in columns]
        return np.array([sc.where(x, 1.0, 0.0) for x in found], dtype=object)

    def carried(self, place: Any, limb: Limb) -> Any:
        """Whether a limb moves the body at this place among the bodies."""
        return _is_among(np.array(limb.bodies), place, len(self.mask))

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


def _is_among(on: Array, place: Any, count: int) -> Any:
    """Whether a place among so many is one of some, in order.

    Mostly these follow each other; then two comparisons cost less than a table that is read.
    """
    if len(on) == on[-1] - on[0] + 1:
        return sc.logical_and(float(on[0]) <= place, place <= float(on[-1]))
    return sc.take(np.isin(np.arange(count), on).astype(float), place) > 0.5


def _carriers(tree: ClusterTree, body: int) -> dict[int, int]:
    """For every cluster between a body and the world, the body of it that carries this one."""
    return {tree.cluster_of[i]: i for i in tree.top.support(body)}  # nearer ones last
