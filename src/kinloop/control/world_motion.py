"""Where bodies are and how they move, seen from the world: what tasks and contacts are written with.

Spatial vectors here are in world axes and about the world's origin, so that the column of a joint is the same for
every frame behind it: a point p of a body moves with m + w x p for the column (w, m).
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np

from kinloop.algorithms.trees.centroidal import Carried, carried, independent_columns, reached
from kinloop.algorithms.trees.kinematics import FrameAt, motion, scatter, still
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.spatial import Transform, cross


class WorldMotion:
    """Poses and Jacobians of a robot at q and, where v is given, velocities and what Jacobians change by, dJ/dt v.

    Bodies in `turning` carry frames that someone looks at: a rotor's own angle counts there.
    """

    def __init__(self, tree: ClusterTree, q: Array, v: Array | None = None, turning: Collection[int] = ()) -> None:
        self.tree, self.q, self.v = tree, q, v
        self._kin = still(tree, q, turning) if v is None else motion(tree, q, v, turning)
        self.poses = reached(tree.top, self._kin.T)
        self._jacobians: dict[int, Array] = {}

    def pose(self, frame: FrameAt) -> Transform:
        """The pose of a frame."""
        return self.poses[frame[0]].then(frame[1])

    @cached_property
    def _columns(self) -> list[Array]:
        return [T.motion_back(S) for T, S in zip(self.poses, self._kin.S, strict=True)]

    @cached_property
    def G(self) -> Array:
        """G (n_spanning, nv)."""
        tree = self.tree
        blocks = [e.G for e in self._kin.embedding]
        out = np.zeros((tree.top.n_spanning, tree.nv), dtype=np.result_type(float, *blocks))
        for c, G in zip(tree, blocks, strict=True):
            out[np.ix_(list(c.dofs), range(c.v.start, c.v.stop))] = G
        return out

    @cached_property
    def spanning_bias(self) -> Array:
        """g (n_spanning): qdd = G a + g."""
        return scatter(self.tree, [e.g for e in self._kin.embedding])

    def jacobian(self, body: int) -> Array:
        """(6, nv): twist of a body, as a spatial vector about the world's origin."""
        if body not in self._jacobians:
            support = set(self.tree.top.support(body))
            columns = [C if i in support else np.zeros(C.shape) for i, C in enumerate(self._columns)]
            self._jacobians[body] = independent_columns(self.tree, self._kin, columns, 6)
        return self._jacobians[body]

    def point_jacobian(self, body: int, p: Array) -> Array:
        """(3, nv): velocity of a point of a body that is at p now."""
        J = self.jacobian(body)
        return J[3:] - cross(p, J[:3])

    def point_bias(self, body: int, p: Array) -> Array:
        """The acceleration of a point of a body that is at p now, at zero independent acceleration."""
        twist, rate = self._twists[body], self._biases[body]
        w, velocity = twist[:3], twist[3:] - cross(p, twist[:3])
        return rate[3:] - cross(p, rate[:3]) + cross(w, velocity)

    def angular_bias(self, body: int) -> Array:
        """The angular acceleration of a body at zero independent acceleration."""
        return self._biases[body][:3]

    @cached_property
    def _twists(self) -> list[Array]:
        return [T.motion_back(u) for T, u in zip(self.poses, self._kin.v, strict=True)]

    @cached_property
    def _biases(self) -> list[Array]:
        """Spatial accelerations of bodies at zero independent acceleration."""
        out: list[Array] = []
        for i, parent in enumerate(self.tree.top.parent):
            own = self.poses[i].motion_back(self._kin.c[i])
            out.append(own if parent < 0 else out[parent] + own)
        return out

    @cached_property
    def center_of_mass(self) -> Array:
        """The centre of mass."""
        return self._carried.whole

    @cached_property
    def center_of_mass_jacobian(self) -> Array:
        """(3, nv): the velocity of the centre of mass."""
        columns = [
            pose.R @ (m * S[3:] - cross(h, S[:3]))
            for pose, S, m, h in zip(self.poses, self._kin.S, self._carried.m, self._carried.h, strict=True)
        ]
        return independent_columns(self.tree, self._kin, columns, 3)

    @cached_property
    def center_of_mass_bias(self) -> Array:
        """The acceleration of the centre of mass at zero independent acceleration."""
        top = self.tree.top
        total = sum(top.mass)
        out = np.zeros(3)
        for i, (m, at) in enumerate(zip(top.mass, top.com, strict=True)):
            out = out + (m / total) * self.point_bias(i, self.poses[i].p + self.poses[i].R @ at)
        return out

    @cached_property
    def _carried(self) -> Carried:
        return carried(self.tree.top, self._kin.T, as_parts=True)
