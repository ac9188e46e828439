"""Where shapes of a scene are, and how fast they move: which of them are near, in a step and between steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import Motion
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.contact.scene_shapes import Shape
from kinloop.sim.contact.start_geometry import Start
from kinloop.spatial import Transform


def shape_motion(
    shapes: Sequence[Shape], poses: dict[int, Transform], kin: Motion
) -> tuple[list[Transform], list[Any]]:
    """Poses of shapes in the world, and how fast they move [m/s] at most; `poses` are those of bodies."""
    out, speeds, at = [], [], _speeds(kin, poses)
    for shape in shapes:
        out.append(poses[shape.body].then(shape.placement) if shape.body >= 0 else shape.placement)
        reach = float(np.linalg.norm(shape.placement.p)) + shape.bound
        speeds.append(at[shape.body][0] + reach * at[shape.body][1] if shape.body >= 0 else 0.0)
    return out, speeds


def searched_shapes(
    shapes: Sequence[Shape], tree: ClusterTree, kin: Motion, start: Start, single: Collection[int]
) -> Array:
    """Where shapes are that take part in searches, a row each: position and rotation at the middle of a step, then
    those at its beginning of single bodies, and the speed."""
    poses = poses_of(tree, kin, {s.body for s in shapes if s.body >= 0})
    there, speeds = shape_motion(shapes, poses, kin)
    begun, _ = shape_motion(shapes, poses | start.poses(tree, [i for i in single if i in poses], 0.0), kin)
    each = zip(there, begun, speeds, strict=True)
    return np.array([[*a.p, *a.R.flat, *b.p, *b.R.flat, speed] for a, b, speed in each], dtype=object)


def poses_of(tree: ClusterTree, kin: Motion, bodies: set[int]) -> dict[int, Transform]:
    """Poses in the world of some bodies and of all that carry them."""
    poses: dict[int, Transform] = {}
    for b in sorted(bodies):
        for i in tree.top.support(b):
            if i not in poses:
                parent = tree.top.parent[i]
                poses[i] = kin.T[i] if parent < 0 else poses[parent].then(kin.T[i])
    return poses


def _speeds(kin: Motion, poses: dict[int, Transform]) -> dict[int, tuple[Any, Any]]:
    """How fast the origins of bodies move [m/s], and how fast they turn [rad/s]."""
    return {i: (sc.sqrt(kin.v[i][3:] @ kin.v[i][3:]), sc.sqrt(kin.v[i][:3] @ kin.v[i][:3])) for i in poses}
