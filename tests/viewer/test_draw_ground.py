"""The ground is drawn as it is: planes tilted, height fields as meshes around where the robot goes."""

import time

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop import viewer
from kinloop.model import Geometry
from kinloop.sim import HeightField, Plane
from kinloop.spatial import Transform
from kinloop.spatial.rotation import axis_rotation, quaternion_rotation
from kinloop.viewer.draw_ground import as_ground, draw_ground, round_step, samples, triangles
from kinloop.viewer.robot_look import look
from kinloop.viewer.viser_scene import Scene

from . import browser
from .recorded_page import messages, nodes

LOW, HIGH, SIZE = np.array([-0.5, -0.5, 0.0]), np.array([3.5, 0.5, 1.0]), 1.0


def hills(x, y):
    return 0.3 * sc.sin(2.0 * x) * sc.cos(y)


class Paper:
    """A scene that only notes what is drawn."""

    def __init__(self):
        self.drawn = {}

    def __getattr__(self, kind):
        return lambda name, *values, **named: self.drawn.update({name: (kind, values, named)})


@pytest.mark.parametrize("normal", [(0, 0, 1), (0.3, 0, 1), (-0.2, 0.5, 1), (1, 0, 0), (0, 0, -1)])
def test_a_plane_lies_where_contact_has_it(normal):
    plane, paper = Plane(normal=normal, height=0.2), Paper()
    draw_ground(paper, plane, LOW, HIGH, SIZE)
    kind, _, named = paper.drawn["/ground"]
    assert kind == "add_grid"
    R = quaternion_rotation(np.array(named["wxyz"]))
    np.testing.assert_allclose(R[:, 2], plane.normal, atol=1e-12)
    for corner in ((0, 0, 0), (5, 0, 0), (-2, 7, 0)):
        distance, _ = plane.surface(np.array(named["position"]) + R @ corner)
        assert abs(distance) < 1e-3
    assert np.linalg.norm(np.array(named["position"]) - 0.5 * (LOW + HIGH)) < 5


def test_only_ground_with_shadows_has_a_layer_for_them():
    paper = Paper()
    for shadows in (True, False):
        draw_ground(paper, Plane(), LOW, HIGH, SIZE, shadows)
        assert (paper.drawn["/ground"][2]["shadow_opacity"] > 0.0) is shadows


def test_level_ground_has_its_lines_at_round_coordinates():
    paper = Paper()
    draw_ground(paper, as_ground(None, 0.7), LOW + 100.3, HIGH + 100.3, SIZE)
    _, _, named = paper.drawn["/ground"]
    np.testing.assert_allclose(named["wxyz"], (1, 0, 0, 0))
    np.testing.assert_allclose(np.mod(named["position"][:2], named["section_size"]), 0, atol=1e-9)
    assert named["position"][2] == pytest.approx(0.7, abs=1e-2)


def test_where_nothing_is_said_the_ground_is_the_first_plane_of_the_world():
    tilted = Geometry("plane", (0.0, 0.0), placement=Transform(axis_rotation((0, 1, 0), 0.3), np.array([0.0, 0, 0.5])))
    plane = as_ground(None, 7.0, (Geometry("box", (1.0, 1.0, 1.0)), tilted))
    np.testing.assert_allclose(plane.normal, (np.sin(0.3), 0, np.cos(0.3)), atol=1e-12)
    assert plane.height == pytest.approx(0.5 * np.cos(0.3))
    assert as_ground(0.1, 7.0, (tilted,)).height == 0.1


def test_shapes_of_the_world_are_drawn_where_they_are(tmp_path):
    b = kl.Builder("beside_a_table")
    b.body("ball", mass=1.0, inertia=(1, 1, 1), joint="free", geometry=(Geometry("sphere", (0.1,)),))
    place = Transform(np.eye(3), np.array([1.0, 2.0, 0.4]))
    b.world_geometry.append(Geometry("box", (0.6, 0.4, 0.8), name="table", placement=place))
    robot, paper = b.build(), Paper()
    assert [s.name for s in look(robot).world] == ["0_table"]
    Scene(paper, robot)
    kind, _, named = paper.drawn["/world/00_0_table"]
    assert (kind, named["position"], named["dimensions"]) == ("add_box", (1.0, 2.0, 0.4), (0.6, 0.4, 0.8))


TABLE = HeightField.table(np.linspace(-1, 1, 5), np.linspace(-1, 1, 3), np.arange(15.0).reshape(5, 3) / 20)


@pytest.mark.parametrize("field", [HeightField(hills), TABLE, HeightField(lambda x, y: 0.1)])
def test_a_height_field_is_a_mesh_on_its_surface_around_the_path(field):
    paper = Paper()
    draw_ground(paper, field, LOW, HIGH, SIZE)
    kind, (vertices, faces), _ = paper.drawn["/ground"]
    assert kind == "add_mesh_simple"
    assert 1_000 < len(vertices) < 60_000
    assert np.all(vertices[:, :2].min(axis=0) <= LOW[:2] - SIZE) and np.all(
        vertices[:, :2].max(axis=0) >= HIGH[:2] + SIZE
    )
    for x in vertices[:: len(vertices) // 50]:
        assert abs(field.surface(x)[0]) < 1e-12
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    assert np.all(np.cross(b - a, c - a)[:, 2] > 0), "every face looks up"
    _, (segments, colors), _ = paper.drawn["/ground/lines"]
    assert segments.shape == colors.shape and segments.shape[1:] == (2, 3)
    ends = segments.reshape(-1, 3)[::97].astype(float)
    above = ends[:, 2] - field.heights(ends[:, 0], ends[:, 1])
    assert np.all((above > 0) & (above < 0.01 * SIZE))


def test_the_mesh_is_fine_where_paths_are_long():
    x, y, _ = samples(np.array([0.0, 0.0, 0.0]), np.array([40.0, 1.0, 1.0]), SIZE)
    assert x[1] - x[0] < 0.2 and len(x) * len(y) < 60_000


def test_ground_is_left_out_where_it_is_not_defined():
    bowl = HeightField(lambda x, y: sc.sqrt(1.0 - x * x))
    x = np.linspace(-2, 2, 9)
    z = bowl.heights(x[:, None], x[None, :])
    vertices, faces = triangles(np.stack([*np.broadcast_arrays(x[:, None], x[None, :]), z], axis=-1))
    assert np.all(np.isfinite(vertices)) and len(faces) == 2 * 4 * 8


@pytest.mark.parametrize("field", [HeightField(hills), TABLE, Plane(normal=(0.3, -0.2, 1), height=0.4)])
def test_heights_and_normals_of_arrays_are_those_of_points(field):
    x, y = np.random.default_rng(0).uniform(-1, 1, (2, 4, 5))
    z, n = field.heights(x, y), field.normals(x, y)
    assert z.shape == (4, 5) and n.shape == (4, 5, 3)
    for k in np.ndindex(4, 5):
        distance, axes = field.surface(np.array([x[k], y[k], z[k]]))
        assert abs(distance) < 1e-12
        np.testing.assert_allclose(axes[:, 0], n[k], atol=1e-12)


def test_an_upright_plane_has_no_heights():
    with pytest.raises(kl.KinloopError, match="is upright; it has no heights"):
        Plane(normal=(1, 0, 0)).heights(0.0, 0.0)


def test_steps_are_round():
    assert [round_step(x) for x in (0.9, 1.8, 6.0, 0.012, 80.0)] == pytest.approx([1.0, 2.0, 5.0, 0.01, 100.0])


def test_what_is_no_ground_is_told(tmp_path):
    robot = kl.robots.load("four_bar")
    with pytest.raises(kl.KinloopError, match="ground must be a height, a Plane or a HeightField, received list"):
        viewer.record(robot, 0.0, robot.neutral(), tmp_path / "x.html", ground=[1])


def coverage(page, url):
    """Part of the picture's upper edge, where no panel lies, that is not white sky, once the ground is drawn."""
    page.open(url)
    seen: list[float] = []
    for _ in range(150):
        time.sleep(0.2)
        dark = page.picture()[1].min(axis=2) < 250
        seen.append(float(np.mean(dark[:10, 300:])))
        if len(set(seen[-4:])) == 1 and len(seen) > 4 and np.mean(dark[-10:]) > 0.01:
            break
    return seen[-1]


@pytest.mark.skipif(browser.find() is None, reason="no Chromium on this machine: nothing to take a picture with")
def test_browser_shows_hills_and_slopes(tmp_path):
    """Ground that rises behind the robot fills the sky; in a page and live."""
    robot = kl.robots.load("double_pendulum")
    q = robot.neutral()
    back = HeightField(lambda x, y: -3.0 + 3.0 * sc.maximum(0.0, y - 2.0))
    grounds = {"level": -3.0, "tilted": Plane(normal=(0.0, -1.0, 1.0), height=-2.5), "hill": back}
    pages = {n: viewer.record(robot, 0.0, q, tmp_path / f"{n}.html", ground=g) for n, g in grounds.items()}
    assert "/ground/lines" in nodes(messages(pages["hill"])[1])
    with browser.Browser(tmp_path, (960, 360)) as page:
        seen = {n: coverage(page, path.as_uri()) for n, path in pages.items()}
        live = viewer.show(robot, port=0, ground=back)
        try:
            seen["live"] = coverage(page, live.url)
        finally:
            live.stop()
    assert seen.pop("level") < 0.1
    assert min(seen.values()) > 0.5, seen
