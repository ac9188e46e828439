"""Columns of free bases that are known without solving.

A robot on a free base moves the same way wherever the base is, however it is turned, but for gravity, and however fast
it goes straight on. Along a change of the base's pose, or of its linear velocity, nothing but its linear acceleration
changes, written in its own axes: with g gravity there, w the angular velocity,

    da = g x dtheta - w x dv.                                                                                      (1)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.derivatives import Moving
from kinloop.algorithms.trees.kinematics import world_acceleration
from kinloop.clusters import Cluster, ClusterTree
from kinloop.scalar import Array
from kinloop.sim.linearization.loop_slopes import LocalStage
from kinloop.sim.turning_axes import free_bodies
from kinloop.spatial import cross

LINEAR = slice(3, 6)
"""Linear velocities among those of a free joint."""


def free_bases(tree: ClusterTree) -> list[Cluster]:
    """Clusters that are free bodies next to the world."""
    free = free_bodies(tree)
    return [c for c in tree if c.parent < 0 and c.bodies[0] in free]


def answers(tree: ClusterTree, now: Moving, local: LocalStage, kinds: Sequence[str]) -> dict[int, dict[str, Array]]:
    """By (1), of free bases at a place: changes (6, 6) of the accelerations along their own directions of every kind.

    They count along changes of poses and linear velocities only; accelerations that are held and change all the same,
    as those of the middle do with the velocity at the start, are taken off. A base with forces that depend on where
    it is or how fast it goes has none.
    """
    out: dict[int, dict[str, Array]] = {}
    for c in free_bases(tree):
        dofs, i = list(c.dofs), c.bodies[0]
        if any(isinstance(x, sc.Symbol) or x != 0.0 for x in local.f.of(dofs, c.m).flat):
            continue
        w, g = now.kin.v[i][:3], -now.kin.T[i].motion(world_acceleration(tree.top))[3:]
        out[c.index] = {}
        for kind in kinds:
            dq, dqd, dqdd = (x.along[kind][dofs][:, : c.m] for x in (local.q, local.qd, local.qdd))
            change = np.full((6, c.m), 0.0, dtype=object)
            for k in range(c.m):
                change[LINEAR, k] = cross(g, dq[:3, k]) - cross(w, dqd[LINEAR, k]) - dqdd[LINEAR, k]
            out[c.index][kind] = change
    return out
