"""A robot over the ground: heights of its points of contact, bases lifted and tilted."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.sim import ContactPoint, HeightField, Plane
from kinloop.sim.contact.candidates import find_candidates
from kinloop.sim.contact.standing import can_land, clearance, contact_positions, lifted, tilted
from kinloop.spatial.rotation import quaternion_rotation


@pytest.fixture(scope="module")
def robot():
    return kl.Robot(kl.robots.mechanism("mini_cheetah"), backend="numpy")


def poses(robot, q):
    T = np.array([robot.frame_pose(q, name) for name in robot.body_names])
    return T[:, :3, :3], T[:, :3, 3]


def test_only_a_free_base_with_something_to_touch_lands(robot):
    assert can_land(robot)
    assert not can_land(kl.robots.load("four_bar"))
    b = kl.Builder("ball")
    b.body("ball", joint="free", mass=1.0, inertia=(1, 1, 1))
    assert not can_land(b.build())


def test_a_sphere_touches_with_its_surface(robot):
    q = robot.neutral()
    point, ball = find_candidates(
        robot, [ContactPoint(robot.body_names[0]), ContactPoint(robot.body_names[0], radius=0.1)]
    )
    plane = Plane(normal=(0.3, 0.0, 1.0))
    x = contact_positions(poses(robot, q), [point, ball], plane)
    np.testing.assert_allclose(x[1] - x[0], -0.1 * np.array(plane.normal), atol=1e-12)


def test_a_sphere_touches_uneven_ground_along_the_normal_below_its_centre(robot):
    centre = np.array([0.4, -0.7, 1.5])
    q = robot.neutral()
    q[:3] = centre
    (ball,) = find_candidates(robot, [ContactPoint(robot.body_names[0], radius=0.1)])
    ground = HeightField(lambda x, y: 0.3 * x * x + 0.2 * y * y * y)
    normal = np.array([-0.6 * 0.4, -0.6 * 0.7**2, 1.0])
    (x,) = contact_positions(poses(robot, q), [ball], ground)
    np.testing.assert_allclose(x, centre - 0.1 * normal / np.linalg.norm(normal), atol=1e-12)
    height = 0.3 * x[0] ** 2 + 0.2 * x[1] ** 3
    assert clearance(poses(robot, q), [ball], ground) == pytest.approx(x[2] - height, abs=1e-12)


@pytest.mark.parametrize("ground", [Plane(height=0.2), HeightField(lambda x, y: 0.1 + 0.0 * x)])
def test_a_lifted_robot_is_as_much_higher(robot, ground):
    q, feet = robot.neutral(), find_candidates(robot, None)
    before = clearance(poses(robot, q), feet, ground)
    assert clearance(poses(robot, lifted(robot, q, 0.3)), feet, ground) == pytest.approx(before + 0.3)
    assert q[2] == robot.neutral()[2], "the argument stays as it was"


def test_a_tilted_robot_stands_upright_on_the_slope(robot):
    plane = Plane(normal=(-0.2, 0.3, 1.0))
    q, feet = lifted(robot, robot.neutral(), 0.5), find_candidates(robot, None)
    turned = tilted(robot, q, plane)
    np.testing.assert_allclose(quaternion_rotation(turned[3:7])[:, 2], plane.normal, atol=1e-12)

    def distances(q, plane):
        return [plane.surface(x)[0] for x in contact_positions(poses(robot, q), feet, plane)]

    np.testing.assert_allclose(distances(turned, plane), distances(q, Plane()), atol=1e-12)
