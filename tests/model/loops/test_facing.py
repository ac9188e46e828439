"""A loop that fits back to front, or a turn of the screw away, must not be taken for what it is not."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import mechanisms

from kinloop.algorithms.trees.kinematics import world_poses
from kinloop.clusters import close, grow, random_closed
from kinloop.model import WORLD, Builder, LoopJoint
from kinloop.model.random import LOOP_JOINTS
from kinloop.model.topology import Topology
from kinloop.spatial import Transform


def loop_frames(top: Topology, loop: LoopJoint, q) -> Transform:
    """The pose of the successor's loop frame in the predecessor's, from the poses of the bodies."""
    poses = dict(zip([b.name for b in top.bodies], world_poses(top, q), strict=True)) | {WORLD: Transform.identity()}
    P = poses[loop.predecessor].then(loop.predecessor_placement)
    return P.inverse().then(poses[loop.successor].then(loop.successor_placement))


def stands_as_its_joint_allows(loop: LoopJoint, T: Transform) -> bool:
    axis = np.array(getattr(loop.type, "axis", (0, 0, 1)))
    if loop.type.name in ("fixed", "prismatic"):
        return bool(np.allclose(T.R, np.eye(3), atol=1e-9))
    if loop.type.name in ("revolute", "helical", "cylindrical", "planar"):
        return bool(np.allclose(T.R @ axis, axis, atol=1e-9))
    return True


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", LOOP_JOINTS)
def test_closed_loops_are_assembled_the_right_way_round(kind):
    for r in mechanisms(6, seed=50, kind=f"loop_{kind}"):
        for _ in range(2):
            q = random_closed(r.tree, r.rng)
            for loop in r.mechanism.loops:
                assert stands_as_its_joint_allows(loop, loop_frames(r.tree.top, loop, q)), r.name


def back_to_front(kind: str) -> tuple[Topology, LoopJoint]:
    """A body on a ball at the origin, held to the world by a loop joint about z."""
    b = Builder("ball")
    b.body("ball", mass=1.0, inertia=(1, 1, 1), joint="spherical")
    b.loop("hold", WORLD, "ball", kind, **({} if kind == "fixed" else {"axis": "z"}))
    m = b.mechanism()
    return Topology.of(m), m.loops[0]


@pytest.mark.parametrize("kind", ["fixed", "prismatic", "revolute", "cylindrical", "planar"])
def test_back_to_front_is_not_closed(kind):
    top, loop = back_to_front(kind)
    upright, over = np.array([1.0, 0, 0, 0]), np.array([0.0, 1.0, 0, 0])
    assert np.max(np.abs(loop.rows(top, upright).phi)) == 0.0
    assert np.max(np.abs(loop.rows(top, over).phi)) >= 1.0


def test_the_residual_grows_with_the_angle_up_to_the_far_pole():
    top, loop = back_to_front("revolute")
    sizes = []
    for angle in np.linspace(0.0, np.pi, 40):
        q = np.array([np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0])
        sizes.append(np.linalg.norm(loop.rows(top, q).phi))
    assert np.all(np.diff(sizes) > 0) and sizes[-1] == pytest.approx(2.0)


def test_closing_turns_a_body_over_rather_than_accept_it_back_to_front():
    b = Builder("wrist", gravity=(0, 0, 0))
    b.body("a", mass=1.0, inertia=(1, 1, 1), joint="spherical")
    b.body("b", "a", mass=1.0, inertia=(1, 1, 1), joint="revolute", axis="x")
    b.loop("hold", WORLD, "b", "fixed")
    tree = grow(b.mechanism())
    q = close(tree, np.array([0.1, 1.0, 0.05, 0.02, 0.3]))
    T = loop_frames(tree.top, tree.top.mechanism.loops[0], q)
    np.testing.assert_allclose(T.R, np.eye(3), atol=1e-9)


def test_a_screw_stays_closed_over_many_turns():
    b = Builder("screw")
    pitch = 0.05
    b.body("nut", mass=1.0, inertia=(1, 1, 1), joint="cylindrical", axis="z")
    b.loop("thread", WORLD, "nut", "helical", axis="z", pitch=pitch)
    m = b.mechanism()
    top = Topology.of(m)
    for angle in np.linspace(-20.0, 20.0, 31):
        assert np.max(np.abs(m.loops[0].rows(top, np.array([angle, pitch * angle])).phi)) < 1e-14
        off = m.loops[0].rows(top, np.array([angle, pitch * angle + 1e-3])).phi
        assert np.max(np.abs(off)) == pytest.approx(1e-3, rel=1e-9)
