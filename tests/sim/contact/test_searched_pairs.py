"""Shapes without a formula: hulls, cylinders, ellipsoids rest, slide and stack as bodies do, in any batch."""

from __future__ import annotations

import builtins
import pickle
from functools import cache
from itertools import product

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import MethodError
from kinloop.model import Builder, Geometry, Surface
from kinloop.sim import Collisions, Plane, Status
from kinloop.sim.contact.shapes.box_box import box_box
from kinloop.sim.contact.shapes.convex import ConvexShape
from kinloop.sim.contact.shapes.convex_pairs import proximities_of
from kinloop.spatial import Transform, axis_rotation
from kinloop.spatial.rotation import quaternion_rotation

SIDE = 0.1
CUBE = SIDE * np.array(list(product((-0.5, 0.5), repeat=3)))
G = 9.81


def hull(name="", shift=(0.0, 0.0, 0.0), **more):
    """The hull of a cube, which need not lie about the origin of its shape."""
    placement = Transform(np.eye(3), -np.array(shift))
    return Geometry("mesh", (1, 1, 1), placement, name=name, vertices=CUBE + shift, **more)


def scene(shapes, world=(), mass=1.0):
    b = Builder("scene")
    for k, shape in enumerate(shapes):
        b.body(f"b{k}", mass=mass, inertia=[mass * SIDE**2 / 6] * 3, joint="free", geometry=(shape,))
    b.world_geometry += list(world)
    return b.build()


def placed(robot, places, R=None):
    q = robot.neutral()
    for k, x in enumerate(places):
        q[7 * k : 7 * k + 3] = x
        if R is not None:
            q[7 * k + 3 : 7 * k + 7] = R
    return q


@cache
def stack(kind="mesh", iterations=5):
    """Two cubes on the ground, one on the other: hulls, or boxes."""
    shapes = [hull(), hull(shift=(0.3, 0.0, -0.2))] if kind == "mesh" else [Geometry("box", (SIDE,) * 3)] * 2
    return kl.Simulator(scene(shapes), 2e-3, Plane(0.6), collisions=Collisions(0.6, contacts=10), iterations=iterations)


def start(sim, rows=1, seed=0):
    rng = np.random.default_rng(seed)
    q = np.array([placed(sim.robot, [(0, 0, 0.06), (0.03, 0.01, 0.17)]) for _ in range(rows)])
    return q, 0.5 * rng.normal(size=(rows, 12))


def test_hulls_stand_on_each_other_and_on_the_ground_as_boxes_do():
    q = placed(stack().robot, [(0, 0, 0.05), (0.02, 0.01, 0.15)])
    for kind in ("mesh", "box"):
        run = stack(kind).rollout(q, None, steps=250, record=["q", "contact_force"])
        assert run.status == [Status.RUNNING]
        np.testing.assert_allclose(run.q[-1][[0, 1, 2, 7, 8, 9]], q[[0, 1, 2, 7, 8, 9]], atol=2e-6)
        np.testing.assert_allclose(np.abs(run.contact_force[-1][:, 2]).sum(), 3 * G, rtol=1e-4)


@pytest.mark.parametrize("iterations, close", [(5, 1e-3), (50, 1e-4)])
def test_hulls_fall_on_each_other_as_boxes_do(iterations, close):
    """Corners of a face that turns are over-determined: rounds come to their answer slowly, more of them nearer."""
    ends = {}
    for kind in ("mesh", "box"):
        sim = stack(kind, iterations)
        fall = sim.rollout(*(x[0] for x in start(sim)), steps=60)
        assert fall.status == [Status.RUNNING]
        ends[kind] = fall.q
    np.testing.assert_allclose(ends["mesh"][:30], ends["box"][:30], atol=1e-12)  # until one falls on the other
    np.testing.assert_allclose(ends["mesh"], ends["box"], atol=close)


def test_a_large_face_that_is_tilted_a_little_meets_another_with_all_its_corners():
    """Its corners differ in height by more than a hundredth of half a side, and its tilt is less than a hundredth."""
    tilted = axis_rotation((1.0, 0.0, 0.0), 0.004) @ axis_rotation((0.0, 1.0, 0.0), 0.005)
    cube = ConvexShape("mesh", CUBE)
    for x, y in product((-0.01, 0.01), repeat=2):
        poses = tilted, np.array([x, y, SIDE - 2e-4]), np.eye(3), np.zeros(3)
        corners = np.array([x.point for x in proximities_of(cube, cube, poses, 0.01)])
        boxes = box_box((SIDE,) * 3, Transform(*poses[:2]), (SIDE,) * 3, Transform(*poses[2:]))
        expected = np.array([x.point for x in boxes if x.gap < 1.0], dtype=float)
        assert len(corners) == len(expected) == 4
        for point in expected:
            assert np.min(np.linalg.norm(corners - point, axis=1)) < 1e-4


def test_rows_are_what_they_are_alone_and_go_on_as_if_they_had_not_stopped():
    sim = stack()
    q, v = start(sim, 4)
    record = ["q", "contact_force", "contact_pair", "gap"]
    whole = sim.rollout(q, v, steps=60, record=record, every=3)
    assert np.ptp(whole.q[:, -1], axis=0).max() > 1e-3 and set(np.unique(whole.contact_pair)) >= {-1, 0, 2}
    for k in (0, 3):
        alone = sim.rollout(q[k], v[k], steps=60, record=record, every=3)
        for name in record:
            np.testing.assert_array_equal(getattr(alone, name), getattr(whole, name)[k])
    half = sim.rollout(q, v, steps=30)
    again = pickle.loads(pickle.dumps(sim))
    np.testing.assert_array_equal(again.rollout(state=half.final, steps=30).final.q, whole.final.q)
    state = sim.state(q, v)
    for _ in range(5):
        state = sim.step(state)
    driven = sim.rollout(q, v, lambda t, state: np.zeros((4, sim.nu)), steps=5)
    np.testing.assert_array_equal(state.q, driven.final.q)
    np.testing.assert_array_equal(state.q, sim.rollout(q, v, steps=5, threads=2).final.q)


def test_what_a_kernel_finds_by_itself_is_not_searched_for_between_steps(monkeypatch):
    sim, searched = stack(), []
    search = sim.contact.search.points

    def counted(shapes, h, wanted):
        searched.append(len(shapes))
        return search(shapes, h, wanted)

    monkeypatch.setattr(sim.contact.search, "points", counted)
    q = np.array([placed(sim.robot, [(0, 0, 0.06), (0.03, 0.01, z)]) for z in (2.0, 0.4, 0.25, 3.0)])
    record = ["q", "contact_force", "contact_pair"]
    whole = sim.rollout(q, None, steps=90, record=record, every=4)
    assert whole.contact_pair[2].max() == 2 and whole.contact_pair[[0, 3]].max() < 2
    assert not searched
    for k in (1, 2):
        alone = sim.rollout(q[k], None, steps=90, record=record, every=4)
        for name in record:
            np.testing.assert_array_equal(getattr(alone, name), getattr(whole, name)[k])
    state = sim.state(q)
    for _ in range(90):
        state = sim.step(state)
    np.testing.assert_array_equal(state.q, whole.final.q)


def test_a_row_that_waited_for_a_search_goes_on_by_itself(monkeypatch):
    """Cubes deep in each other are searched for until they are lifted apart; what they do depends on that no more."""
    sim, searched = stack(), []
    search = sim.contact.search.points
    monkeypatch.setattr(sim.contact.search, "points", lambda *a: searched.append(len(a[0])) or search(*a))
    q = np.array([placed(sim.robot, [(0, 0, 0.05), (0.03, 0.01, z)]) for z in (0.1475, 2.0, 0.145)])
    run = sim.rollout(q, None, steps=100, record=["q", "gap"], every=5)
    assert run.gap[2, 0].min() < -4e-3 and run.gap[[0, 2], -1].min() > -1e-4
    # 1, 2, 4, ... steps with searches until they are less deep than what a step finds by itself; one never waits
    assert 5 < searched.count(2) < 20 and 30 < len(searched) < 70
    for k in range(3):
        state = sim.state(q[k])
        for n in range(100):
            state = sim.step(state)
            if n % 5 == 4:
                np.testing.assert_array_equal(state.q[0], run.q[k, n // 5])


def test_a_row_that_takes_its_steps_in_parts_searches_in_every_part():
    sim = stack()
    q, v = start(sim, 3)
    v[1, :3] = 60.0, 20.0, 0.0  # more than 0.1 rad in a step
    run = sim.rollout(q, v, steps=40, record=["q", "gap"], every=4)
    assert run.status.tolist() == [Status.RUNNING] * 3 and run.substeps[1] > 0 and run.peaks["penetration"].max() < 2e-3
    alone = sim.rollout(q[1], v[1], steps=40, record=["q", "gap"], every=4)
    np.testing.assert_array_equal(alone.q, run.q[1])
    np.testing.assert_array_equal(alone.gap, run.gap[1])


@cache
def table():
    """A cylinder, an ellipsoid, a hull and a rough hull over a table that is tilted a little: a box of the world."""
    angle = np.arctan(0.5)
    R = axis_rotation((0.0, 1.0, 0.0), angle)
    shapes = [
        Geometry("cylinder", (0.04, 0.1), surface=Surface(friction=(1.0, 0, 0))),
        hull(surface=Surface(friction=(0.4, 0, 0))),
        hull(surface=Surface(friction=(0.6, 0, 0))),
        Geometry("ellipsoid", (0.06, 0.05, 0.04), surface=Surface(friction=(1.0, 0, 0))),
    ]
    smooth = Surface(friction=(0.0, 0.0, 0.0))
    world = Geometry("box", (2.0, 2.0, 0.2), Transform(R, R @ [0, 0, -0.1]), name="table", surface=smooth)
    step = Geometry("mesh", (1, 1, 1), name="step", vertices=[0.1, 0.5, 0.05] * (CUBE / SIDE), surface=smooth,
                    placement=Transform(np.eye(3), np.array([3.0, 0.0, 0.0])))  # fmt: skip
    sim = kl.Simulator(scene(shapes, [world, step]), 2e-3, collisions=Collisions(contacts=20))
    return sim, R, np.array([np.cos(angle / 2), 0, np.sin(angle / 2), 0])


def test_cylinders_and_hulls_on_an_incline_stick_or_slide_where_friction_says():
    sim, R, turn = table()
    heights = (0.05, 0.05, 0.05, 5.0)
    places = [R @ [0.0, 0.3 * k - 0.45, z] for k, z in enumerate(heights)]
    run = sim.rollout(placed(sim.robot, places, turn), None, steps=100, record=["v", "q"])
    assert run.status == [Status.RUNNING] and run.peaks["penetration"][0] < 1e-5
    speed = G * (R[0, 2] - 0.4 * R[0, 0]) * 0.2
    np.testing.assert_allclose(
        [np.linalg.norm(run.v[-1].reshape(4, 6)[k, 3:]) for k in range(3)], [0, speed, 0], atol=4e-3
    )


def test_hulls_and_ellipsoids_rest_on_hulls_of_the_world():
    sim, _, _ = table()
    places = [(3.0, -0.1, 0.075), (3.0, 0.05, 0.075), (5.0, 0, 5), (3.0, 0.18, 0.065)]
    q = placed(sim.robot, places)
    run = sim.rollout(q, None, steps=100, record=["q", "contact_force", "contact_pair"])
    assert run.status == [Status.RUNNING] and run.peaks["penetration"][0] < 1e-5
    moved = (run.q[-1] - q).reshape(4, 7)[[0, 1, 3], :3]
    np.testing.assert_allclose(moved, 0.0, atol=1e-4)
    names = [sim.contact.scene.pair_names[int(k)] for k in run.contact_pair[-1] if k >= 0]
    assert all("step" in pair for pair in names)
    np.testing.assert_allclose(np.abs(run.contact_force[-1][:, 2]).sum(), 3 * G, rtol=1e-3)


ROLLING = """<mujoco><option timestep="0.0005" integrator="implicitfast" cone="elliptic"/>
  <default><geom solref="0.004 1" friction="0.8 0 0" condim="3"/></default>
  <worldbody><geom type="plane" size="5 5 0.1"/>
    <body pos="0 0 0.1"><freejoint/><geom type="capsule" size="0.1 0.3" zaxis="1 0 0" mass="2"/></body>
    <body pos="0.05 0.03 0.2580716"><freejoint/><geom type="ellipsoid" size="0.12 0.09 0.06" mass="1"/></body>
  </worldbody></mujoco>"""


def test_an_ellipsoid_rolls_off_a_capsule(tmp_path):
    """Witnesses are coal's distances, energy, straight paths, and MuJoCo with hard contacts."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "rolling.xml"
    path.write_text(ROLLING)
    robot = kl.load(path)
    sim = kl.Simulator(robot, 5e-4, collisions=True)
    run = sim.rollout(robot.neutral(), None, steps=600, record=["q", "v"])
    assert run.status == [Status.RUNNING] and np.abs(run.q[:, [0, 7]] - [0.0, 0.05]).max() < 1e-7
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    assert np.diff(energy).max() < 1e-5 and energy[0] - energy[-1] < 0.02
    ellipsoid, capsule = ConvexShape("ellipsoid", (0.12, 0.09, 0.06)), ConvexShape("capsule", (0.1, 0.6))
    along = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]).T
    gaps = []
    for q in run.q[::10]:
        (R, p), (S, x) = ((quaternion_rotation(q[k + 3 : k + 7]), q[k : k + 3]) for k in (7, 0))
        gaps += [c.gap for c in proximities_of(ellipsoid, capsule, (R, p, S @ along, x), 1.0)]
    assert len(gaps) == 60 and np.abs(gaps).max() < 1e-5  # it stays in touch
    model = mujoco.MjModel.from_xml_string(ROLLING)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 600)
    np.testing.assert_allclose(run.q[-1], data.qpos, atol=1e-3)


def test_more_points_than_slots_are_never_silent():
    sim = kl.Simulator(stack().robot, 2e-3, Plane(0.6), collisions=Collisions(0.6, contacts=3))
    run = sim.rollout(placed(sim.robot, [(0, 0, 5.0), (0.02, 0.01, 5.1)]), None, steps=2)
    assert run.status == [Status.CROWDED] and run.peaks["missed"][0] == 1.0


def test_without_coal_the_pairs_are_named(monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name == "coal":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    robot = scene([hull("top"), Geometry("sphere", (0.1,), name="ball")])
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MethodError, match=r"'top' and 'ball': .* pip install 'kinloop\[collision\]'"):
        kl.Simulator(robot, collisions=True)
    one = kl.Simulator(scene([hull()]), ground=Plane(), collisions=True)
    assert one.contact.search is None, "a hull over a plane has a formula"


def test_a_mesh_without_a_file_is_named():
    robot = scene([hull("top"), Geometry("mesh", (1, 1, 1), name="lost", mesh="lost.stl")])
    with pytest.warns(UserWarning, match="not computed: mesh and mesh .*'top' and 'lost'.* mesh and plane"):
        kl.Simulator(robot, ground=Plane(), collisions=True)
