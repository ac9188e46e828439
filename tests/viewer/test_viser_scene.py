"""A robot's nodes in a viser scene."""

import numpy as np
import pytest

import kinloop as kl
from kinloop import viewer
from kinloop.errors import MethodError
from kinloop.model import Geometry
from kinloop.spatial.rotation import quaternion_rotation
from kinloop.viewer.body_shapes import Shape
from kinloop.viewer.solids import tapered
from kinloop.viewer.viser_scene import PARTS, Scene, draw, put
from kinloop.viewer.viser_server import running_server

from .recorded_page import messages, nodes
from .test_draw_ground import Paper


def test_every_kind_of_shape_is_drawn(tmp_path):
    shapes = (
        Geometry("box", (0.1, 0.2, 0.3)), Geometry("sphere", (0.1,)), Geometry("cylinder", (0.1, 0.3)),
        Geometry("capsule", (0.1, 0.3)), Geometry("ellipsoid", (0.1, 0.2, 0.3), color=(0, 1, 0, 0.5)),
        Geometry("plane", (1.0, 1.0)),
    )  # fmt: skip
    b = kl.Builder("shapes")
    b.body("all", joint="free", mass=1.0, inertia=(1, 1, 1), geometry=shapes)
    robot = b.build()
    _, found = messages(viewer.record(robot, 0.0, robot.neutral(), tmp_path / "all.html", show=["frames"]))
    drawn = [n.split("_")[-1] for n in nodes(found) if n.startswith("/robot/00_all/")]
    assert sorted(drawn) == ["box", "capsule", "cylinder", "ellipsoid", "sphere"]


def test_nodes_move_with_the_bodies_and_arrows_with_the_forces():
    robot = kl.robots.load("double_pendulum")
    with running_server() as server:
        scene = Scene(server.scene, robot)
        q = np.array([0.4, -0.2])
        scene.move(q)
        for node, name in zip(scene.bodies, robot.body_names, strict=True):
            T = robot.frame_pose(q, name)
            np.testing.assert_allclose(node.position, T[:3, 3], atol=1e-6)
            np.testing.assert_allclose(quaternion_rotation(np.array(node.wxyz)), T[:3, :3], atol=1e-6)
        points = np.zeros((1, 3))
        scene.push(points, np.array([[0.0, 0.0, 2 * scene.weight]]))
        assert scene.nodes["/forces"].visible
        tail, tip = scene.nodes["/forces"].points[0]
        np.testing.assert_allclose(np.linalg.norm(tip - tail), scene.look.size, rtol=1e-5, err_msg="blows are cut")
        scene.push(points, np.array([[0.0, 0.0, 2e-3 * scene.weight]]))
        assert scene.nodes["/forces"].visible
        scene.push(points, np.array([[0.0, 0.0, 5e-4 * scene.weight]]))
        assert not scene.nodes["/forces"].visible, "too weak to be drawn"
        scene.push(points, np.zeros((1, 3)))
        assert not scene.nodes["/forces"].visible


@pytest.mark.parametrize("is_geometry, side", [(True, "double"), (False, "front")])
def test_only_meshes_of_files_are_drawn_from_both_sides(is_geometry, side):
    paper = Paper()
    draw(paper, "link", Shape("link", "mesh", (1.0, 1.0, 1.0), mesh=tapered(0.1, 0.1, 1.0), is_geometry=is_geometry))
    assert paper.drawn["link"][2]["side"] == side


def test_a_capsule_is_as_thick_and_as_long_as_it_says():
    paper = Paper()
    draw(paper, "capsule", Shape("c", "capsule", (0.1, 0.5)))
    kind, (vertices, _), _ = paper.drawn["capsule"]
    assert kind == "add_mesh_simple"
    np.testing.assert_allclose(np.ptp(vertices, axis=0), (0.2, 0.2, 0.7), atol=1e-2)


def test_shapes_are_drawn_in_their_sizes():
    paper = Paper()
    for kind, size in (("box", (1, 2, 3)), ("sphere", (4,)), ("cylinder", (5, 6)), ("ellipsoid", (7, 8, 9))):
        draw(paper, kind, Shape(kind, kind, size))
    sizes = {name: {k: named.get(k) for k in ("dimensions", "radius", "height", "scale")} for name, (_, _, named) in
             paper.drawn.items()}  # fmt: skip
    found = {name: tuple(x for x in named.values() if x is not None) for name, named in sizes.items()}
    assert found == {"box": ((1, 2, 3),), "sphere": (4,), "cylinder": (5, 6), "ellipsoid": (1.0, (7, 8, 9))}


class Node:
    """A node that counts what it is told."""

    def __init__(self, position, wxyz):
        self.told: list[str] = []
        self.position, self.wxyz = np.array(position), np.array(wxyz)
        self.told.clear()

    def __setattr__(self, name, value):
        self.__dict__[name] = value
        if name != "told":
            self.told.append(name)


def test_what_stays_needs_no_message():
    here, turn = np.array([0.3, -0.2, 0.1]), np.array([0.6, 0.0, 0.8, 0.0])
    node = Node(here, turn)
    put(node, here + 1e-9, turn)
    assert node.told == []
    put(node, -here, turn)
    assert node.told == ["position"] and np.array_equal(node.position, -here)
    put(node, -here, -turn)
    assert node.told == ["position", "wxyz"] and np.array_equal(node.wxyz, -turn)


def test_forces_that_are_none_are_arrows_in_space_that_nobody_sees():
    with running_server() as server:
        scene = Scene(server.scene, kl.robots.load("double_pendulum"))
        scene.push(np.zeros((2, 3)), np.zeros((2, 3)))
        assert scene.nodes["/forces"].points.shape == (1, 2, 3) and not scene.nodes["/forces"].visible


def test_axes_of_frames_are_a_tenth_of_the_robot():
    with running_server() as server:
        scene = Scene(server.scene, kl.robots.load("double_pendulum"), show=["frames"])
        for node in scene.bodies:
            assert node.show_axes and np.isclose(node.axes_length, 0.1 * scene.look.size)
            assert 0.0 < node.axes_radius < node.origin_radius < 0.1 * node.axes_length


def test_arrows_are_thin_and_their_heads_are_thicker_than_their_shafts():
    with running_server() as server:
        scene = Scene(server.scene, kl.robots.load("double_pendulum"))
        scene.push(np.zeros((1, 3)), np.array([[0.0, 0.0, scene.weight]]))
        arrows = scene.nodes["/forces"]
        assert 0.0 < arrows.shaft_radius < 0.5 * arrows.head_radius < 0.25 * arrows.head_length < 0.02 * scene.look.size


def test_parts_are_shown_and_hidden():
    robot = kl.robots.load("double_pendulum")
    q = robot.random_state(0)[0]
    with running_server() as server:
        scene = Scene(server.scene, robot, show=PARTS)
        scene.move(q)
        scene.push(np.ones((2, 3)), np.ones((2, 3)) * scene.weight)
        np.testing.assert_allclose(scene.nodes["/center_of_mass"].position, robot.center_of_mass(q), atol=1e-6)
        np.testing.assert_allclose(scene.nodes["/contacts"].points, np.ones((2, 3)))
        assert len(scene.extras["inertias"]) == len(scene.extras["labels"]) == 2
        assert scene.extras["labels"][0].text == robot.body_names[0]
        for part in PARTS:
            scene.show(part, False)
        assert not scene.shown and not {"/contacts", "/forces"} & set(scene.nodes)
        assert not any(node.visible for nodes in scene.extras.values() for node in nodes)
        scene.push(np.ones((2, 3)), np.ones((2, 3)) * scene.weight)
        assert not scene.nodes["/forces"].visible


def test_a_part_that_does_not_exist_is_named():
    with running_server() as server, pytest.raises(MethodError, match=r"no 'axes' to show; there are frames, inertias"):
        Scene(server.scene, kl.robots.load("double_pendulum"), show=["axes"])


def test_arrows_are_there_from_the_first_frame_on(tmp_path):
    """A page that begins again must not keep the arrows of its end: every frame says what they are."""
    robot = kl.robots.load("double_pendulum")
    Q, points, forces = np.tile(robot.neutral(), (3, 1)), np.zeros((3, 1, 3)), np.zeros((3, 1, 3))
    forces[1:, 0, 2] = 1e3
    _, found = messages(viewer.record(robot, [0.0, 0.1, 0.2], Q, tmp_path / "page.html", points, forces))
    first = [m for t, m in found if m.get("name") == "/forces" and "props" in m and t == 0.0]
    assert len(first) == 1, "they are made before the motion begins, seen or not"
