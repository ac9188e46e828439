"""What bodies look like: solids of the same inertia, poses from a kernel of their own."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.model import Body, Geometry
from kinloop.spatial.rotation import quaternion_rotation
from kinloop.viewer.appearance import Shape, body_shapes, half_extent, inertia_shape
from kinloop.viewer.looks import LOOP, PALETTE, PLAIN, bar_ends, look
from kinloop.viewer.poses import Poses, between, quaternions


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


def test_geometry_is_drawn_before_inertia_and_visual_before_collision():
    seen = Geometry("box", (1.0, 2.0, 3.0), role="visual", color=(1, 0, 0, 0.5))
    felt = Geometry("sphere", (1.0,), role="collision")
    body = Body("b", 1.0, inertia=(1, 1, 1), geometry=(felt, seen))
    (shape,) = body_shapes(body)
    assert (shape.kind, shape.color, shape.opacity) == ("box", (255, 0, 0), 0.5)
    (shape,) = body_shapes(Body("b", 1.0, inertia=(1, 1, 1), geometry=(felt,)))
    assert shape.kind == "sphere"


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
def test_poses_are_those_of_the_bodies(backend):
    robot = kl.Robot(kl.robots.mechanism("planar_leg_linkage"), backend)
    Q = np.array([robot.random_state(k)[0] for k in range(6)])
    R, p = Poses(robot)(Q)
    for i, name in enumerate(robot.body_names):
        for k, q in enumerate(Q):
            T = robot.frame_pose(q, name)
            np.testing.assert_allclose(R[k, i], T[:3, :3], atol=1e-14)
            np.testing.assert_allclose(p[k, i], T[:3, 3], atol=1e-14)


def test_quaternions_of_rotations():
    rng = np.random.default_rng(0)
    q = rng.normal(size=(200, 4))
    q[:4] = np.eye(4)
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    R = np.array([quaternion_rotation(x) for x in q])
    np.testing.assert_allclose(np.abs(np.sum(quaternions(R) * q, axis=1)), 1.0, atol=1e-12)


def test_what_lies_between_two_points_points_along_z():
    a, b = np.array([[0.0, 0, 0], [1, 2, 3]]), np.array([[2.0, 0, 0], [1, 2, 7]])
    R, middle = between(a, b)
    np.testing.assert_allclose(R[..., 2], [[1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(middle, [[1, 0, 0], [1, 2, 5]])
    np.testing.assert_allclose(np.linalg.det(R), 1.0)


def test_clusters_with_loops_have_colours_and_loop_joints_are_marked():
    robot = kl.robots.load("tello")
    picture = look(robot)
    tied = [color for c, color in zip(robot.tree, picture.colors, strict=True) if c.parts]
    assert len(set(tied)) == len(tied) == 6
    assert picture.colors[robot.tree.cluster_of[0]] == PLAIN
    marked = look(kl.robots.load("four_bar"))
    assert [s.name for own in marked.shapes for s in own if s.color == LOOP] == ["loop_pin"]


@pytest.mark.parametrize("name", ["tello", "rssr"])
def test_rods_keep_their_length(name):
    robot = kl.robots.load(name)
    picture = look(robot)
    poses = Poses(robot)
    lengths = []
    for k in range(5):
        q = robot.random_state(k)[0]
        lengths.append([np.linalg.norm(b - a) for a, b in bar_ends(picture, q, *poses(q))])
    assert picture.bars
    np.testing.assert_allclose(lengths, np.broadcast_to(lengths[0], np.shape(lengths)), atol=1e-9)


def test_the_rod_along_the_shin_ends_on_the_foot():
    """The foot's end of the rod, drawn in the shin's frame, must be a point fixed in the foot."""
    robot = kl.robots.load("tello")
    picture, poses = look(robot), Poses(robot)
    k = next(k for k, bar in enumerate(picture.bars) if bar.name == "left-knee-ankle-differential_rod")
    foot = robot.body_names.index("left-foot")
    points = []
    for seed in range(4):
        q = robot.random_state(seed)[0]
        R, p = poses(q)
        points.append(R[foot].T @ (bar_ends(picture, q, R, p)[k][1] - p[foot]))
    np.testing.assert_allclose(points, np.broadcast_to(points[0], (4, 3)), atol=1e-9)


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
        (shape,) = body_shapes(Body("b", **place, geometry=(lost,)))
        assert shape.name == "inertia"


def test_tied_bodies_take_the_colour_of_their_cluster_and_lone_ones_keep_their_own():
    red = (Geometry("sphere", (0.1,), color=(1, 0, 0, 1)),)
    b = kl.Builder("pair")
    ball = {"mass": 1.0, "inertia": (1, 1, 1), "geometry": red}
    b.body("base", joint="free", **ball)
    b.gear(b.body("rotor", "base", axis="z", **ball), b.body("link", "base", axis="z", **ball), 6.0)
    picture = look(b.build())
    assert [own[0].color for own in picture.shapes] == [(255, 0, 0), PALETTE[0], PALETTE[0]]


@pytest.mark.parametrize(
    "kind, size, half",
    [("ellipsoid", (1.0, 2.0, 3.0), (1, 2, 3)), ("capsule", (1.0, 4.0), (1, 1, 3)), ("sphere", (2.0,), (2, 2, 2))],
)
def test_extents(kind, size, half):
    np.testing.assert_allclose(half_extent(Shape("s", kind, size))[1], half)
