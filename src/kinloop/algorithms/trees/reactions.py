"""Bearing loads: the wrench that every tree joint and every loop joint transmits.

With the motion known, the spanning tree with its loops cut would need the joint forces H qdd + c. What
the actuators do not give, the loops must: K^T lambda = H qdd + c - tau_spanning. Redundant rows leave
lambda open; the shortest one is taken. Each row is a unit wrench between the loop's two bodies; with
these on, Newton's law from the leaves inward gives what each tree joint transmits.
[Chignoli2023, (22)-(31)]; derivation: docs/algorithms/reactions.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinloop.algorithms.trees.body_forces import body_bias
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_rnea import joint_wrenches
from kinloop.algorithms.trees.kinematics import body_accelerations, motion, spanning_accelerations, world_poses
from kinloop.clusters import Cluster, ClusterTree
from kinloop.linear import join, shortest_solution, solve
from kinloop.model import LoopClosure, Topology
from kinloop.scalar import Array
from kinloop.spatial import Transform


class Reactions:
    """Wrenches [N m, N] by name, of one state or with the leading axes of a batch; named when they are asked for.

    `joints`: on the child, through its tree joint, in the child's frame. `loops`: on the successor,
    through the loop, in the successor's frame (its predecessor feels the opposite). `transmissions`:
    for couplings and loop functions, the generalised forces they put on the joints they name.
    """

    __slots__ = ("__dict__", "_found", "_tree")  # a dict of names only where some are asked for

    def __init__(self, tree: ClusterTree, found: Array | Sequence[Array]) -> None:
        """`found` is what `reactions` returns, for one state or a batch."""
        self._tree, self._found = tree, found

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter((self.joints, self.loops, self.transmissions))

    def __getstate__(self) -> dict[str, Any]:
        return {"joints": self.joints, "loops": self.loops, "transmissions": self.transmissions}

    @cached_property
    def joints(self) -> dict[str, Array]:
        return dict(zip(self._tree.once(_names).joints, _in_front(self._found[0], 2), strict=True))

    @cached_property
    def loops(self) -> dict[str, Array]:
        return dict(zip(self._tree.once(_names).loops, _in_front(self._found[1], 2), strict=True))

    @cached_property
    def transmissions(self) -> dict[str, dict[str, Array]]:
        forces = _in_front(self._found[2], 1)
        parts = self._tree.once(_names).transmissions
        return {part: {name: forces[k] for k, name in numbered} for part, numbered in parts}


def _in_front(x: Array, axis: int) -> Array:
    """An array with an axis, counted from its end, in front of all others."""
    first = x.ndim - axis
    return x.transpose(first, *(k for k in range(x.ndim) if k != first))


class _Names(NamedTuple):
    """Names of the rows of `reactions`; for each transmission its coordinates, with the places of their forces."""

    joints: list[str]
    loops: list[str]
    transmissions: list[tuple[str, list[tuple[int, str]]]]


def _names(tree: ClusterTree) -> _Names:
    top = tree.top
    parts, transmissions, at = [p for c in tree for p in c.parts], [], 0
    for part in parts:
        if part.ends is None:
            coordinates = [top.coordinates[d] for d in part.rows(top, top.neutral()).dofs]
            transmissions.append((part.name, list(enumerate(coordinates, at))))
            at += len(coordinates)
    return _Names([j.name for j in top.joints], [p.name for p in parts if p.ends is not None], transmissions)


def reactions(
    tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None
) -> tuple[Array, Array, Array]:
    """Wrenches in the motion under tau at the independent joints: of joints and of loops, a row for each, and what
    transmissions put on coordinates, one after the other."""
    top, a = tree.top, cluster_aba(tree, q, v, tau, f_ext)
    kin = motion(tree, q, v, turning=range(len(top)))
    acc = body_accelerations(tree, kin, a)
    p = body_bias(top, kin.v, q, None)
    net = [I.apply(x) + b for I, x, b in zip(top.inertia, acc, p, strict=True)]
    if f_ext is not None:
        net = [f - x for f, x in zip(net, f_ext, strict=True)]
    cut = joint_wrenches(tree, kin, net)
    missing = join([S.T @ f for S, f in zip(kin.S, cut, strict=True)])
    missing = missing + top.armature * spanning_accelerations(tree, kin, a)
    missing[tree.independent_dofs] = missing[tree.independent_dofs] - tau
    loops: list[Array] = []
    transmissions: list[Array] = []
    poses = world_poses(top, q)
    for c in tree:
        for part, multipliers in _multipliers(tree, c, q, missing[list(c.dofs)]):
            if part.ends is None:
                transmissions.append(part.rows(top, q).K.T @ multipliers)
                continue
            wrench, given = _on_bodies(top, poses, part, loop_wrench(top, poses, q, part, multipliers))
            loops.append(wrench)
            net = [f - given[i] if i in given else f for i, f in enumerate(net)]
    return _stacked(joint_wrenches(tree, kin, net)), _stacked(loops), join(transmissions)


def _stacked(wrenches: Sequence[Array]) -> Array:
    return np.array(wrenches) if wrenches else np.zeros((0, 6))


def _multipliers(tree: ClusterTree, c: Cluster, q: Array, missing: Array) -> list[tuple[LoopClosure, Array]]:
    """The shortest multipliers of each closure of a cluster that explain its missing joint forces.

    Only the chart's dependent columns of K^T lambda are solved for; the others follow, since the motion is known.
    """
    if not c.parts:
        return []
    K, chart = tree.rows(c, q).K, c.chart
    if len(chart.rows) < len(K):
        multipliers = shortest_solution(K[:, list(chart.dependent)].T, missing[list(chart.dependent)])
    else:
        multipliers, left = np.zeros(len(K), dtype=np.result_type(K, missing)), missing
        for rows, columns in reversed(chart.blocks):
            r, own = list(rows), list(columns)
            multipliers[r] = solve(K[np.ix_(r, own)].T, left[own].reshape(-1, 1))[:, 0]
            left = left - K[r].T @ multipliers[r]
    sizes = [len(part.rows(tree.top, q).phi) for part in c.parts]
    return list(zip(c.parts, np.split(multipliers, np.cumsum(sizes)[:-1]), strict=True))


def loop_wrench(top: Topology, poses: Sequence[Transform], q: Array, part: LoopClosure, multipliers: Array) -> Array:
    """The wrench of a loop on its successor, in world axes about the world's origin; `poses` are those of all bodies.

    The predecessor feels the opposite.
    """
    basis, ends = part.wrench_basis(top, q), part.ends
    assert basis is not None and ends is not None
    nca, _, _ = top.paths(*(top.body_index[end] for end in ends))
    W: Array = (poses[nca].force(basis) if nca >= 0 else basis) @ multipliers
    return W


def _on_bodies(
    top: Topology, poses: Sequence[Transform], part: LoopClosure, W: Array
) -> tuple[Array, dict[int, Array]]:
    """A loop's wrench on its successor, and what it gives each of its bodies, by number; the world left out."""
    assert part.ends is not None
    i, j = (top.body_index[end] for end in part.ends)
    given: dict[int, Array] = {}
    if j >= 0:
        given[j] = poses[j].force_back(W)
    if i >= 0:
        given[i] = -poses[i].force_back(W)
    return given.get(j, W), given
