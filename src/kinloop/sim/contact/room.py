"""How many contacts and pairs of shapes a scene has room for, where its user does not say.

A robot's own shapes are near each other all the time, and it stands on as many of them as its maker drew: pairs that
are near at the neutral configuration and at those of its keyframes are counted, and the points where they are near,
those of searches too. There is room for these, and for as many more as `USUAL`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kinloop.algorithms.trees.kinematics import world_poses
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.contact.near_pairs import near_points, nearness
from kinloop.sim.contact.scene import USUAL, Scene
from kinloop.sim.contact.searched_pairs import SearchedPairs
from kinloop.spatial import Transform

NEAR = 0.005
"""What is nearer than this counts [m]: how far things come in a step of 1 ms at 5 m/s."""
KEYFRAMES = 8
"""Keyframes that are looked at, at most."""
MOST = 48
"""Points that are counted, at most: a robot drawn in the ground does not stand on all of its shapes."""


def with_room(robot: Robot, scene: Scene) -> Scene:
    """The scene, with room for contacts and pairs where its options leave that open."""
    given = scene.options
    if given.contacts is not None and given.pairs is not None:
        return scene
    points = pairs = 0
    search = SearchedPairs(scene) if scene.searched and given.contacts is None else None
    for q in _configurations(robot):
        counted = _counts(robot, scene, q, search)
        points, pairs = max(points, counted[0]), max(pairs, counted[1])
    contacts = USUAL + min(points, MOST) if given.contacts is None else given.contacts
    options = replace(given, contacts=contacts, pairs=USUAL + pairs if given.pairs is None else given.pairs)
    return replace(scene, options=options)


def _configurations(robot: Robot) -> Iterator[Array]:
    yield robot.neutral()
    for frame in robot.mechanism.keyframes[:KEYFRAMES]:
        if len(frame.q) == robot.nq:
            yield np.asarray(frame.q, dtype=float)


def usual_poses(robot: Robot, scene: Scene) -> list[list[Transform]]:
    """Poses of all shapes at the neutral configuration and at keyframes."""
    return [_poses(robot, scene, q) for q in _configurations(robot)]


def _poses(robot: Robot, scene: Scene, q: Array) -> list[Transform]:
    bodies = world_poses(robot.tree.top, q)
    return [bodies[s.body].then(s.placement) if s.body >= 0 else s.placement for s in scene.shapes]


def _counts(robot: Robot, scene: Scene, q: Array, search: SearchedPairs | None) -> tuple[int, int]:
    """Points that are near, and the most pairs of one kind that are."""
    poses = _poses(robot, scene, q)
    still = [0.0] * len(poses)
    near = [
        tuple(pair for pair in c.pairs if nearness(scene.shapes, poses, still, pair, 1.0, NEAR) < 0.0)
        for c in scene.classes
    ]
    most = max(map(len, near), default=0)
    there = [replace(c, pairs=pairs) for c, pairs in zip(scene.classes, near, strict=True) if pairs]
    only = replace(scene, classes=there, options=replace(scene.options, pairs=max(most, 1)))
    points = near_points(only, poses, still, 1.0, NEAR).points
    return int(np.sum(points[:, 0] < 0.0)) + (search.count(poses, NEAR) if search else 0), most
