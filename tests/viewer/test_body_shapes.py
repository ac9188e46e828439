"""What bodies look like: their geometry, else solids of the same inertia."""

import numpy as np
import pytest

from kinloop.model import Body, Geometry
from kinloop.spatial.rotation import quaternion_rotation
from kinloop.viewer.body_shapes import Shape, body_meshes, geometry_shapes, half_extent, inertia_shape, rod


def body_shapes(body):
    return geometry_shapes(body.geometry, body_meshes([body]))


def moments(mass, shape):
    """Principal moments of a solid of uniform density, in the order of its own axes."""
    s = shape.size
    if shape.kind == "box":
        a, b, c = s
        return mass / 12 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    if shape.kind == "cylinder":
        across = mass * (3 * s[0] ** 2 + s[1] ** 2) / 12
        return np.array([across, across, mass * s[0] ** 2 / 2])
    return np.full(3, 0.4 * mass * s[0] ** 2)


@pytest.mark.parametrize(
    "kind, inertia",
    [("box", (0.03, 0.05, 0.06)), ("cylinder", (0.05, 0.05, 0.08)), ("cylinder", (0.002, 0.05, 0.05)),
     ("sphere", (0.04, 0.04, 0.04))],
)  # fmt: skip
def test_solid_of_a_body_has_its_inertia(kind, inertia):
    R = quaternion_rotation(np.array([0.5, 0.5, -0.5, 0.5]))
    body = Body("b", 2.0, (0.1, 0.2, 0.3), R @ np.diag(inertia) @ R.T)
    shape = inertia_shape(body)
    assert shape.kind == kind
    turn = shape.placement.R
    np.testing.assert_allclose(turn @ np.diag(moments(2.0, shape)) @ turn.T, body.inertia, atol=1e-12)
    np.testing.assert_allclose(shape.placement.p, body.com)


def test_body_without_mass_has_no_solid():
    assert inertia_shape(Body("b")) is None


def test_moments_no_solid_can_have_are_drawn_all_the_same():
    shape = inertia_shape(Body("b", 1.0, inertia=(0.01, 0.005, 0.2), accept_inertia=True))
    assert np.all(np.isfinite(shape.size)) and min(shape.size) > 0


def test_visual_geometry_is_drawn_before_collision_geometry():
    seen = Geometry("box", (1.0, 2.0, 3.0), role="visual", color=(1, 0, 0, 0.5))
    felt = Geometry("sphere", (1.0,), role="collision")
    body = Body("b", 1.0, inertia=(1, 1, 1), geometry=(felt, seen))
    (shape,) = body_shapes(body)
    assert (shape.kind, shape.color, shape.opacity) == ("box", (255, 0, 0), 0.5)
    (shape,) = body_shapes(Body("b", 1.0, inertia=(1, 1, 1), geometry=(felt,)))
    assert shape.kind == "sphere"


CUBE = "\n".join(
    ["o cube", *(f"v {x} {y} {z}" for x in (0, 1) for y in (0, 2) for z in (0, 3)), "f 1 2 4", "f 1 4 3", "f 5 7 8"]
)


def test_meshes_are_drawn_where_they_can_be_read(tmp_path):
    (tmp_path / "cube.obj").write_text(CUBE)
    (tmp_path / "broken.stl").write_bytes(b"no mesh at all")
    place = {"mass": 1.0, "inertia": (1, 1, 1)}
    found = Geometry("mesh", (2.0, 1.0, 1.0), mesh="cube.obj", path=str(tmp_path / "cube.obj"))
    (shape,) = body_shapes(Body("b", **place, geometry=(found,)))
    centre, half = half_extent(shape)
    np.testing.assert_allclose([centre, half], [[1, 1, 1.5]] * 2)
    for path in (str(tmp_path / "broken.stl"), str(tmp_path / "missing.stl"), None):
        lost = Geometry("mesh", (1.0, 1.0, 1.0), mesh="lost.stl", path=path)
        assert body_shapes(Body("b", **place, geometry=(lost,))) == []


@pytest.mark.parametrize(
    "kind, size, half",
    [("ellipsoid", (1.0, 2.0, 3.0), (1, 2, 3)), ("capsule", (1.0, 4.0), (1, 1, 3)), ("sphere", (2.0,), (2, 2, 2))],
)
def test_extents(kind, size, half):
    np.testing.assert_allclose(half_extent(Shape("s", kind, size))[1], half)


def test_a_mesh_is_read_anew_when_its_file_has_changed(tmp_path):
    path = tmp_path / "cube.obj"
    body = Body("b", 1.0, inertia=(1, 1, 1), geometry=(Geometry("mesh", (1.0, 1.0, 1.0), path=str(path)),))
    assert body_shapes(body) == []
    path.write_text(CUBE)
    assert body_shapes(body)[0].mesh is not None


def test_a_rod_reaches_from_end_to_end():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 5.0])
    shape = rod("r", a, b, 0.1)
    half = shape.placement.R @ np.array([0.0, 0.0, 0.5 * shape.size[1]])
    np.testing.assert_allclose([shape.placement.p - half, shape.placement.p + half], [a, b], atol=1e-12)
