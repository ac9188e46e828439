"""Where a robot is over the ground: its points of contact, how high they are, its free bases lifted and tilted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.errors import KinloopError
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.contact.candidates import Candidate, find_candidates
from kinloop.sim.contact.ground import Ground, Plane
from kinloop.spatial.rotation import quaternion_product, quaternion_rotation

BodyPoses = tuple[Array, Array]
"""Poses of all bodies in the world: rotations (..., bodies, 3, 3) and positions (..., bodies, 3)."""


def can_land(robot: Robot) -> bool:
    """Whether the robot's base is free and it has something to touch the ground with."""
    try:
        return bool(_free_bases(robot)) and bool(find_candidates(robot, None))
    except KinloopError:
        return False


def contact_positions(poses: BodyPoses, candidates: Sequence[Candidate], ground: Ground) -> Array:
    """The points (..., C, 3) in the world with which candidates touch the ground first, for bodies at `poses`."""
    R, p = poses
    centres = np.stack([p[..., c.body, :] + R[..., c.body, :, :] @ c.at for c in candidates], axis=-2)
    down = -ground.normals(centres[..., 0], centres[..., 1])
    return np.asarray(centres + np.array([c.radius for c in candidates])[:, None] * down)


def clearance(poses: BodyPoses, candidates: Sequence[Candidate], ground: Ground) -> float:
    """How high the lowest point of contact is above the ground below it [m]; negative where it is in the ground."""
    x = contact_positions(poses, candidates, ground)
    return float(np.min(x[..., 2] - ground.heights(x[..., 0], x[..., 1])))


def lifted(robot: Robot, q: Array, height: float) -> Array:
    """q with every free base `height` higher [m]."""
    q = q.copy()
    for k in _free_bases(robot):
        q[k + 2] += height
    return q


def tilted(robot: Robot, q: Array, plane: Plane) -> Array:
    """q with every free base turned about the world's origin as far as the plane is tilted."""
    n = np.array(plane.normal)
    turn = np.array([1.0 + n[2], -n[1], n[0], 0.0])
    turn /= np.linalg.norm(turn)
    q = q.copy()
    for k in _free_bases(robot):
        q[k : k + 3] = quaternion_rotation(turn) @ q[k : k + 3]
        q[k + 3 : k + 7] = quaternion_product(turn, q[k + 3 : k + 7])
    return q


def _free_bases(robot: Robot) -> list[int]:
    """Where the positions of free joints to the world begin in q."""
    top = robot.tree.top
    return [top.q_of[i].start for i in top.floating_bases]
