"""Handles: the bodies through which a cluster feels its surroundings, and how forces and motions pass through them.

Inside a cluster forces and inertias are propagated inward along its joints, body by body, to its roots. From there,

- a cluster with one root has that root as its handle: the root's joint, with its transform X and its velocity-product
  acceleration c, lies between the handle and the output body;
- the roots of any other cluster share nothing but their output bodies: these are its handles.

Output bodies would do for every cluster. But what remains of an inertia when the cluster's own freedom is taken out
has zeros in the root's frame (for a hinge, a whole row and column), and a trace saves all that would be done with
them on the way through the root's joint. Derivation: docs/algorithms/cluster_aba.md.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinloop.algorithms.trees.kinematics import Motion
from kinloop.clusters import Cluster
from kinloop.linear import total
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import Inertia, total_inertia

Blocks = dict[tuple[int, int], Array]
"""Blocks of inertia (6, 6) between two different bodies, the smaller number first."""


class Handles:
    """The handles of one cluster in a given motion."""

    def __init__(self, top: Topology, cluster: Cluster, kin: Motion) -> None:
        self.cluster, self.T, self.c, self.parent = cluster, kin.T, kin.c, top.parent
        self.inside = frozenset(cluster.bodies)
        roots = [i for i in cluster.bodies if top.parent[i] not in self.inside]
        self.root = roots[0] if len(roots) == 1 else None

    def propagate(self, forces: Mapping[int, Array]) -> dict[int, Array]:
        """Forces on bodies of the cluster, propagated inward rigidly and summed at the handles."""
        parts: dict[int, list[Array]] = {i: [f] for i, f in forces.items()}
        handles: dict[int, list[Array]] = {}
        for i in reversed(self.cluster.bodies):
            if i not in parts:
                continue
            f, parent = total(parts[i]), self.parent[i]
            if i == self.root:
                handles.setdefault(i, []).append(f)
            else:
                target = parts if parent in self.inside else handles
                target.setdefault(parent, []).append(self.T[i].force(f))
        return {s: total(fs) for s, fs in handles.items()}

    def propagate_inertia(self, I: Mapping[int, Inertia], B: Blocks) -> tuple[dict[int, Inertia], Blocks]:
        """Inertias of the cluster's bodies and blocks between them, propagated inward and summed at the handles."""
        parts = {i: [x] for i, x in I.items()}
        handles: dict[int, list[Inertia]] = {}
        blocks = dict(B)
        for i in reversed(self.cluster.bodies):
            x, parent = total_inertia(parts[i]), self.parent[i]
            if i == self.root:
                handles.setdefault(i, []).append(x)
                continue
            target = parts if parent in self.inside else handles
            target.setdefault(parent, []).append(x.seen_from(self.T[i]))
            for pair in [p for p in blocks if i in p]:
                block = blocks.pop(pair)
                other = pair[1] if pair[0] == i else pair[0]
                block = self.T[i].force(
                    block if pair[0] == i else block.T
                )  # rows now at the parent, columns at `other`
                if other == parent:
                    target[parent].append(_both_ways(block))
                else:
                    add_block(blocks, parent, other, block)
        return {s: total_inertia(xs) for s, xs in handles.items()}, blocks

    def to_parent(self, forces: Mapping[int, Array]) -> dict[int, Array]:
        """Forces at the handles as forces on the output bodies."""
        if self.root is None:
            return dict(forces)
        return {self.parent[s]: self.T[s].force(f) for s, f in forces.items()}

    def inertia_to_parent(self, I: Mapping[int, Inertia]) -> dict[int, Inertia]:
        """Inertias at the handles as the output bodies feel them."""
        if self.root is None:
            return dict(I)
        return {self.parent[s]: x.seen_from(self.T[s]) for s, x in I.items()}

    def from_parent(self, motions: Mapping[int, Array]) -> dict[int, Array]:
        """Motions of the handles, from those of the output bodies, less velocity products (see `bias`).

        Nobody moves the handles of a cluster on the world: it feels the world by `moved_by_world`.
        """
        if self.cluster.parent < 0:
            return {}
        if self.root is not None:
            output = self.parent[self.root]
            return {self.root: self.T[self.root].motion(motions[output])} if output in motions else {}
        return {s: motions[s] for s in self.cluster.outputs if s in motions}

    def accelerations(self, a: Mapping[int, Array]) -> dict[int, Array]:
        """Accelerations of the handles, from those of the output bodies."""
        bias = self.bias()
        return {s: x + bias[s] if s in bias else x for s, x in self.from_parent(a).items()}

    def bias(self) -> dict[int, Array]:
        """Velocity-product acceleration of the handles relative to the output bodies, where they differ."""
        return {} if self.root is None else {self.root: self.c[self.root]}

    def relative_bias(self) -> dict[int, Array]:
        """C_i: velocity-product acceleration of every body of the cluster relative to the handles."""
        C: dict[int, Array] = {}
        for i in self.cluster.bodies:
            if self.parent[i] in C:
                C[i] = self.T[i].motion(C[self.parent[i]]) + self.c[i]
            else:
                C[i] = np.zeros(6) if i == self.root else self.c[i]
        return C

    def moved_by_world(self, ground: Array) -> dict[int, Array]:
        """What the acceleration of the world gives the bodies of a cluster on the world."""
        bias = self.bias()
        moved: dict[int, Array] = {}
        for i in self.cluster.bodies:
            moved[i] = self.T[i].motion(moved.get(self.parent[i], ground))
            if i in bias:
                moved[i] = moved[i] + bias[i]
        return moved


def add_block(blocks: Blocks, i: int, j: int, block: Array) -> None:
    """Add a block between two different bodies i (rows) and j (columns)."""
    pair, block = ((i, j), block) if i < j else ((j, i), block.T)
    blocks[pair] = blocks[pair] + block if pair in blocks else block


def _both_ways(block: Array) -> Inertia:
    """A block between a body and itself, B + B^T, as part of its inertia."""
    both = block + block.T
    return Inertia(both[:3, :3], both[:3, 3:], both[3:, 3:])
