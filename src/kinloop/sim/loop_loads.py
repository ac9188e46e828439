"""What loops do to the bodies they hold: the part of a force sensor that reaches a body by another way than its parent.

The motion in a step is known. With all loops cut, joints of the spanning tree would need forces H qdd + c to move so;
motors, springs, stops and friction gave f in the step, contacts and users' forces J^T F. Loops gave the rest,

    K^T lambda = H qdd + c - f - J^T F                                                                            (1)

cluster by cluster. Where rows are redundant the shortest multipliers are taken, as in `reactions`.
docs/algorithms/reactions.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kinloop.algorithms.trees.reactions import loop_wrench
from kinloop.clusters import Cluster, ClusterTree
from kinloop.linear import shortest_solution
from kinloop.model import Frame, Sensor, cut_loops
from kinloop.scalar import Array
from kinloop.sim.transmissions import Setting


class LoopLoads:
    """The loops that hold bodies of force sensors besides their parents, and what they do in a step."""

    def __init__(self, tree: ClusterTree, sensors: Sequence[Sensor]) -> None:
        self.tree = tree
        self.cut = {s.name: cut_loops(tree.top.mechanism, s) for s in sensors}
        asked = {name for names in self.cut.values() for name in names}
        self.clusters = [c for c in tree if any(p.name in asked for p in c.parts)]
        self.bodies = [i for c in self.clusters for i in c.bodies]
        self.felt = tuple(self._felt(i) for i in self.bodies)

    def _felt(self, i: int) -> Sensor:
        """What sums the contacts on a body and all that it carries, about its origin."""
        name = self.tree.top.bodies[i].name
        return Sensor(f"on {name}", "force", frame=Frame(name, name))

    def wrenches(self, at: Setting, needed: Mapping[int, Array], given: Array, qdd: Array) -> dict[str, Array]:
        """The wrench of every such loop on its successor, in world axes about the world's origin, by name.

        `needed` are wrenches that bodies need with all that they carry, beyond contacts and users' forces, in the
        same axes; `given` are the mean forces f of (1) on the spanning coordinates, qdd their accelerations.
        """
        top = self.tree.top
        missing = top.armature * qdd - given
        for i in self.bodies:
            S = top.types[i].subspace(at.q[top.q_of[i]])
            missing[top.v_of[i]] = missing[top.v_of[i]] + S.T @ at.body(i).force_back(needed[i])
        return {name: W for c in self.clusters for name, W in self._of_cluster(c, at, missing[list(c.dofs)]).items()}

    def _of_cluster(self, c: Cluster, at: Setting, missing: Array) -> dict[str, Array]:
        """(1) for one cluster: the wrenches of its loops by name."""
        top, rows = self.tree.top, [part.rows(self.tree.top, at.q) for part in c.parts]
        K = self.tree.rows(c, at.q).K
        found = shortest_solution(K.T, missing, rank=len(c.dofs) - c.m)
        parts = np.split(found, np.cumsum([len(r.phi) for r in rows])[:-1])
        poses = [at.body(i) for i in range(len(top))]
        return {
            part.name: loop_wrench(top, poses, at.q, part, x)
            for part, x in zip(c.parts, parts, strict=True)
            if part.ends is not None
        }

    def on_body(self, s: Sensor, wrenches: Mapping[str, Array]) -> Array:
        """What loops do to the body of a sensor and all that it carries, in world axes about the world's origin."""
        top, total = self.tree.top, np.zeros(6)
        assert s.frame is not None, "a force is of a frame"
        i = top.body_index[s.frame.body]
        for part in top.mechanism.loops:
            if part.name in self.cut.get(s.name, ()):
                assert part.ends is not None
                j = top.body_index[part.ends[1]]
                total = total + wrenches[part.name] if j >= 0 and i in top.support(j) else total - wrenches[part.name]
        return total
