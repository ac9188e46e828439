"""What a force of a user may depend on: time, and the state of the robot with poses and velocities of its frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinloop.algorithms.trees.kinematics import find_frame, joint_pose
from kinloop.clusters import ClusterTree
from kinloop.model.frame import WORLD
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import Transform
from kinloop.spatial.transform import cross


class BodyPlaces:
    """Poses of bodies in the world at one configuration, each computed when first asked for."""

    def __init__(self, top: Topology, q: Array) -> None:
        self.top, self.q = top, q
        self._poses: dict[int, Transform] = {-1: Transform.identity()}

    def pose(self, body: int) -> Transform:
        """The pose of a body; -1 is the world."""
        if body not in self._poses:
            own = joint_pose(self.top, body, self.q, turning=(body,))
            parent = self.top.parent[body]
            self._poses[body] = own if parent < 0 else self.pose(parent).then(own)
        return self._poses[body]

    def subspace(self, body: int) -> Array:
        """Motions (6, nv) of a body's own joint, in the body's frame."""
        return self.top.types[body].subspace(self.q[self.top.q_of[body]])

    def on_joints(self, bodies: Sequence[int], wrench: Array) -> Array:
        """Forces (n_spanning,) on the joints of these bodies of a wrench in world axes about the world's origin."""
        dtype = np.result_type(float, self.q, wrench)
        out = np.zeros(self.top.n_spanning, dtype=dtype)
        for i in bodies:
            out[self.top.v_of[i]] = self.subspace(i).T @ self.pose(i).force_back(wrench)
        return out

    def twist(self, body: int, qd: Array) -> Array:
        """The velocity of a body as a spatial vector in world axes about the world's origin."""
        out = np.zeros(6)
        for i in self.top.support(body):
            out = out + self.pose(i).motion_back(self.subspace(i) @ qd[self.top.v_of[i]])
        return out


class ForceState:
    """The state that a force function is asked at; numbers while it is tried, symbols while it is traced.

    `t` is the time [s], `q` and `qd` are positions and velocities of all joints, `v` those of the robot's independent
    coordinates, `u` what the force's own controls say (`ExternalForce.inputs`).
    """

    def __init__(self, tree: ClusterTree, q: Array, qd: Array, t: Any, u: Array) -> None:
        self.t, self.q, self.qd, self.u = t, q, qd, u
        self._tree, self._places = tree, BodyPlaces(tree.top, q)

    @property
    def v(self) -> Array:
        """Velocities of the independent coordinates (nv) [rad/s, m/s]."""
        return self.qd[self._tree.independent_dofs]

    def pose(self, frame: str) -> Transform:
        """The pose of a body or frame in the world: `R` takes its coordinates to the world's, `p` is its origin."""
        if frame == WORLD:
            return Transform.identity()
        body, placement = find_frame(self._tree.top, frame)
        return self._places.pose(body).then(placement)

    def twist(self, frame: str) -> Array:
        """The velocity (6,) of a body or frame, [omega; v of its origin], in world axes [rad/s, m/s]."""
        if frame == WORLD:
            return np.zeros(6)
        body, _ = find_frame(self._tree.top, frame)
        about = self._places.twist(body, self.qd)
        return np.concatenate([about[:3], about[3:] + cross(about[:3], self.pose(frame).p)])
