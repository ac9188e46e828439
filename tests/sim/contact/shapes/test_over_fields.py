"""Convex shapes over height fields, beside the distances of all triangles, and where fields are flat."""

import coal
import numpy as np
import pytest

from kinloop.sim import HeightField
from kinloop.sim.contact.shapes import Heights
from kinloop.sim.contact.shapes.convex import ConvexShape
from kinloop.sim.contact.shapes.over_fields import Field
from kinloop.spatial import axis_rotation
from tests.sim.contact.shapes.random_pairs import rotations
from tests.sim.contact.shapes.test_height_fields import LENGTHS, triangle_distance, triangles

IDENTITY = np.eye(3), np.zeros(3)


def met(shape, R, p, field, reach=0.1, pose=IDENTITY):
    return field.proximities(shape, (pose[0] @ R, pose[0] @ p + pose[1], *pose), reach)


def distance(shape, R, p, corners):
    """Of a shape from a triangle, by coal; a triangle is a hull that is thinner than rounding."""
    points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for x in corners:
        points.append(x)
    for face in ((0, 1, 2), (0, 2, 1)):
        faces.append(coal.Triangle(*face))
    request = coal.DistanceRequest()
    request.gjk_tolerance, request.gjk_max_iterations = 1e-12, 1000
    poses = coal.Transform3s(R, p), coal.Transform3s(*IDENTITY)
    return coal.distance(shape.coal, poses[0], coal.Convex(points, faces), poses[1], request, coal.DistanceResult())


def check_apart(seed, count, most):
    """The nearest of all points is as far as the nearest triangle; rough fields have many that stick out."""
    rng = np.random.default_rng(seed)
    kinds = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "mesh")
    for k in range(count):
        heights = Heights(LENGTHS, most * rng.normal(size=(6, 9)))
        field, kind = Field(heights, 1.0), kinds[k % 6]
        size = {"sphere": 1, "capsule": 2, "box": 3, "cylinder": 2, "ellipsoid": 3}
        given = rng.uniform(0.05, 0.25, size[kind]) if kind in size else 0.1 * rng.normal(size=(12, 3))
        shape, R = ConvexShape(kind, given), rotations(rng, 1)[0]
        p = np.array([*(0.4 * (rng.uniform(size=2) - 0.5) * LENGTHS), 0.5])
        all_of_them = triangles(heights)
        p[2] -= min(distance(shape, R, p, t) for t in all_of_them) * rng.uniform(0.6, 1.0)
        apart = min(distance(shape, R, p, t) for t in all_of_them)
        found = met(shape, R, p, field, apart + 0.01)
        assert min(x.gap for x in found) == pytest.approx(apart, abs=1e-6), (seed, k, kind)
        for x in found:
            assert abs(np.linalg.norm(x.normal) - 1.0) < 1e-9
            below = x.point - 0.5 * x.gap * x.normal
            assert min(triangle_distance(below, t) for t in all_of_them) < 1e-6


def test_gaps_are_distances_from_the_nearest_triangle():
    check_apart(0, 30, 0.04)


@pytest.mark.slow
def test_gaps_of_many_are_distances():
    for seed in range(1, 9):
        check_apart(seed, 60, (0.01, 0.04, 0.1)[seed % 3])


@pytest.mark.parametrize("depth", [0.005, -1e-4, -0.01])
def test_on_level_ground_nothing_is_felt_but_the_ground(depth):
    """Nor where shapes are below it: there are no walls between cells."""
    rng = np.random.default_rng(0)
    fields = Field(Heights(LENGTHS, np.full((7, 11), 0.2)), 1.0), Field(HeightField(lambda x, y: 0.2 + 0.0 * x * y))
    box, can, ball = (ConvexShape(*x) for x in (("box", [0.3, 0.2, 0.1]), ("cylinder", [0.1, 0.1]), ("sphere", [0.1])))
    for k in range(12):
        turn, at = axis_rotation((0, 0, 1), rng.uniform(0, 3)), rng.uniform(-0.1, 0.1, 2)
        for shape, height, count in ((box, 0.05, 4), (can, 0.05, 4), (ball, 0.1, 1)):
            found = met(shape, turn, np.array([*at, 0.2 + height + depth]), fields[k % 2])
            assert len(found) == count
            np.testing.assert_allclose([x.gap for x in found], depth, atol=1e-9)
            np.testing.assert_allclose([x.normal for x in found], np.tile([0, 0, 1], (count, 1)), atol=1e-9)


def test_poses_of_a_field_turn_everything():
    rng = np.random.default_rng(1)
    field, box = Field(Heights(LENGTHS, 0.03 * rng.normal(size=(6, 9))), 1.0), ConvexShape("box", [0.2, 0.2, 0.1])
    pose = rotations(rng, 1)[0], rng.normal(size=3)
    R, p = rotations(rng, 1)[0], np.array([0.05, 0.1, 0.15])
    here, there = met(box, R, p, field), met(box, R, p, field, pose=pose)
    assert len(here) == len(there) > 0
    for x, y in zip(here, there, strict=True):
        assert x.gap == pytest.approx(y.gap, abs=1e-6)
        np.testing.assert_allclose(pose[0] @ x.normal, y.normal, atol=1e-5)


def test_a_ridge_and_a_peak_hold_what_lies_on_them():
    roof = Heights(LENGTHS, np.tile(0.2 - 0.5 * np.abs(np.linspace(-0.6, 0.6, 9)), (5, 1)))
    peak = np.zeros((5, 5))
    peak[2, 2] = 0.2
    box = ConvexShape("box", [0.2, 0.2, 0.1])
    for gap in (1e-3, -1e-3):
        found = met(box, np.eye(3), np.array([0.0, 0.0, 0.25 + gap]), Field(roof, 1.0), 0.01)
        top = [x for x in found if x.normal[2] > 0.999999]
        assert min(x.gap for x in top) == pytest.approx(gap, abs=1e-8) and np.ptp([x.point[1] for x in top]) > 0.15
        (found,) = met(box, np.eye(3), np.array([0.05, 0.0, 0.25 + gap]), Field(Heights(LENGTHS, peak), 1.0), 0.01)
        assert found.gap == pytest.approx(gap, abs=1e-8) and found.normal == pytest.approx([0, 0, 1], abs=1e-7)
    assert met(box, np.eye(3), np.array([2.0, 0.0, 0.0]), Field(roof, 1.0)) == [], "beside a field there is nothing"
    assert met(box, np.eye(3), np.array([0.0, 0.0, -2.0]), Field(roof, 1.0)) == [], "nor below it"
