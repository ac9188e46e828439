"""Points that may touch: they lie on the shapes they stand for, in the frames they are given in."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import KinloopError
from kinloop.model.body import GEOMETRIES, Geometry
from kinloop.sim import ContactPoint, Plane, Simulator, box_corners, capsule_ends
from kinloop.sim.contact.candidates import SHAPE_POINTS, find_candidates, geometry_points
from kinloop.spatial import Transform, axis_rotation
from tests.sim.mechanisms import pendulum

PLACED = Transform(axis_rotation(np.array([1.0, 2.0, 2.0]) / 3, 0.7), np.array([0.1, -0.2, 0.3]))


def local(kind, size):
    """Points of a placed shape, back in the shape's own frame, and their radii."""
    found = geometry_points(Geometry(kind, size, placement=PLACED))
    return np.array([PLACED.R.T @ (p - PLACED.p) for p, _ in found]), np.array([r for _, r in found])


def test_a_sphere_is_itself():
    x, r = local("sphere", (0.3,))
    np.testing.assert_allclose(x, [[0, 0, 0]], atol=1e-15)
    assert r == [0.3]


def test_corners_are_those_of_the_box():
    x, r = local("box", (0.2, 0.4, 0.6))
    np.testing.assert_allclose(np.abs(x), np.tile([0.1, 0.2, 0.3], (8, 1)), atol=1e-15)
    assert len({tuple(np.sign(p)) for p in x}) == 8 and not np.any(r)


def test_a_capsule_ends_in_two_spheres():
    x, r = local("capsule", (0.1, 0.5))
    np.testing.assert_allclose(x, [[0, 0, -0.25], [0, 0, 0.25]], atol=1e-15)
    assert np.all(r == 0.1)


def test_points_of_a_cylinder_lie_on_its_rims():
    x, r = local("cylinder", (0.2, 0.6))
    np.testing.assert_allclose(np.hypot(x[:, 0], x[:, 1]), 0.2, rtol=1e-14)
    np.testing.assert_allclose(np.abs(x[:, 2]), 0.3, rtol=1e-14)
    assert not np.any(r)
    for side in (-1, 1):
        angles = np.sort(np.arctan2(*x[side * x[:, 2] > 0][:, 1::-1].T))
        np.testing.assert_allclose(np.diff(angles), 2 * np.pi / len(angles), rtol=1e-12)


def test_points_of_an_ellipsoid_lie_on_it():
    size = np.array([0.1, 0.2, 0.3])
    x, r = local("ellipsoid", size)
    np.testing.assert_allclose(np.sum((x / size) ** 2, axis=1), 1.0, rtol=1e-14)
    assert len(x) == 6 and not np.any(r)


def test_every_kind_of_shape_is_in_the_table_and_others_are_refused():
    assert set(SHAPE_POINTS) == set(GEOMETRIES)
    with pytest.raises(KinloopError, match="contact knows no points of a 'torus'; it knows sphere, box"):
        geometry_points(SimpleNamespace(kind="torus", size=(1.0,), placement=PLACED))


def test_helpers_give_points_around_their_centre():
    corners = box_corners("base", (0.2, 0.4, 0.6), at=(1.0, 2.0, 3.0))
    np.testing.assert_allclose(np.mean([p.at for p in corners], axis=0), [1.0, 2.0, 3.0])
    assert len({p.name for p in corners}) == 8 and {p.frame for p in corners} == {"base"}
    low, high = capsule_ends("leg", 0.05, 0.4, at=(0, 0, 1.0))
    assert (low.at[2], high.at[2], low.radius) == (0.8, 1.2, 0.05)


def walker(shapes=True):
    b = kl.Builder("walker")
    solid = {"mass": 1.0, "inertia": (1, 1, 1)}
    b.body("trunk", joint="free", **solid)
    ball = Geometry("sphere", (0.1,), placement=PLACED)
    look = Geometry("box", (1.0, 1.0, 1.0), role="visual")
    b.body("shank", "trunk", axis="y", geometry=(ball, look) if shapes else (look,), **solid)
    b.frame("foot", "shank", at=(0, 0, -0.2))
    return b.build()


def test_names_stand_for_frames_and_for_shapes_of_bodies():
    robot = walker()
    (foot,) = find_candidates(robot, ["foot"])
    assert (foot.name, foot.body, foot.radius) == ("foot", 1, 0.0) and foot.at == pytest.approx([0, 0, -0.2])
    (shank,) = find_candidates(robot, ["shank"])
    assert shank.radius == 0.1 and shank.at == pytest.approx(PLACED.p), "its collision shape, not its looks"
    (trunk,) = find_candidates(robot, ["trunk"])
    assert trunk.radius == 0.0 and not np.any(trunk.at), "a body without shapes is its origin"
    (point,) = find_candidates(robot, [ContactPoint("foot", (0.1, 0, 0), 0.02, "toe")])
    assert point.name == "toe" and point.at == pytest.approx([0.1, 0, -0.2]) and point.key == (1, 0.1, 0, -0.2, 0.02)


def test_without_names_shapes_count_and_else_frames():
    assert [c.name for c in find_candidates(walker(), None)] == ["shank"]
    assert [c.name for c in find_candidates(walker(shapes=False), None)] == ["foot"]


def test_mistakes_are_named():
    with pytest.raises(KinloopError, match="no frame named 'fooot'; did you mean 'foot'"):
        find_candidates(walker(), ["fooot"])
    with pytest.raises(KinloopError, match="radius of the contact point on 'foot' must not be negative, received -1"):
        ContactPoint("foot", radius=-1)
    with pytest.raises(KinloopError, match="contact point on 'foot'"):
        ContactPoint("foot", at=(1.0, 2.0))


def test_candidates_come_from_names_shapes_and_points():
    robot = kl.robots.load("mini_cheetah")
    assert len(find_candidates(robot, None)) == len(robot.mechanism.frames)
    assert len(capsule_ends("Floating Base", 0.05, 0.2)) == 2
    with pytest.raises(KinloopError, match="contacts="):
        Simulator(pendulum(), ground=Plane())
    with pytest.raises(KinloopError, match="semi_implicit"):
        Simulator(robot, ground=Plane(), integrator="rk4")
    with pytest.raises(KinloopError, match="friction"):
        Plane(friction=-1.0)
