"""Contact: friction, restitution, rest, energy, standing, drops, stops."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.errors import KinloopError
from kinloop.sim import ContactPoint, HeightField, Motor, Plane, Simulator, box_corners, capsule_ends
from kinloop.sim.charts.gauge import close_dependents
from kinloop.sim.contact.candidates import find_candidates
from kinloop.sim.contact import joint_stops as stops
from kinloop.sim.contact.solver import ContactRow, solve_impulses
from tests.sim.mechanisms import free_box, pendulum

SIZE = (0.2, 0.3, 0.1)
G = 9.81


def box_on(ground, dt=1e-3, **options):
    return Simulator(free_box(2.0, *SIZE), dt, ground=ground, contacts=box_corners("box", SIZE), **options)


def level(height=0.05):
    return np.array([0, 0, height, 1, 0, 0, 0], dtype=float)


def ball(ground):
    b = kl.Builder("ball")
    b.body("ball", joint="free", mass=1.0, inertia=(0.004, 0.004, 0.004))
    return Simulator(b.build(), 1e-3, ground=ground, contacts=[ContactPoint("ball", radius=0.1)])


def cheetah(**options):
    robot = kl.robots.load("mini_cheetah")
    joints = [n for n in robot.independent_names if "Floating" not in n]
    feet = [f for f in robot.frame_names if f.endswith("foot_contact")]
    motors = [Motor(j, "position", kp=60.0, kd=1.0) for j in joints]
    sim = Simulator(robot, 1e-3, ground=Plane(0.8), contacts=feet, motors=motors, **options)
    pose = np.array([{"a": 0.0, "h": -0.8, "k": 1.6}[j[3]] for j in joints])
    q = robot.neutral()
    for j, x in zip(joints, pose, strict=True):
        q[robot.tree.top.q_of[robot.tree.top.joint_index[j]]] = x
    q, _ = close_dependents(robot.tree, q)
    q[2] -= min(robot.frame_pose(q, f)[2, 3] for f in feet)
    return sim, q, pose


@pytest.mark.parametrize("friction", [0.2, 0.5])
def test_box_slides_and_stops_where_friction_says(friction):
    v = np.array([0, 0, 0, 1.0, 0, 0])
    r = box_on(Plane(friction)).rollout(level(), v, steps=900, record=("q", "v", "gap", "residual"))
    assert r.q[-1, 0] == pytest.approx(1.0 / (2 * friction * G), abs=1e-3)
    assert np.max(np.abs(r.v[-1])) < 1e-9
    assert np.min(r.gap) > -1e-6
    assert np.max(r.residual) < 1e-4


def test_box_holds_on_a_slope_below_the_cone_and_slides_above_it():
    for angle, holds in ((0.3, True), (0.5, False)):
        normal = (np.sin(angle), 0.0, np.cos(angle))
        c, s = np.cos(angle / 2), np.sin(angle / 2)
        q = np.array([0.05 * normal[0], 0, 0.05 * normal[2], c, 0, s, 0])
        r = box_on(Plane(np.tan(0.4), normal=normal)).rollout(q, None, steps=500)
        moved = np.linalg.norm(r.q[-1, :3] - q[:3])
        expected = 0.5 * G * (np.sin(angle) - np.tan(0.4) * np.cos(angle)) * 0.5**2
        assert moved < 1e-6 if holds else abs(moved - expected) < 0.01 * expected


def test_box_dropped_on_a_corner_comes_to_rest_without_sinking():
    q = level(0.4)
    q[3:] = np.array([0.8, 0.3, 0.4, 0.2]) / np.linalg.norm([0.8, 0.3, 0.4, 0.2])
    r = box_on(Plane(0.6)).rollout(q, None, steps=3000, record=("q", "v", "gap", "energy"))
    assert np.max(np.abs(r.v[-1])) < 1e-6
    assert np.min(r.gap[-500:]) > -1e-6
    assert np.max(np.diff(r.energy)) < 1e-4


@pytest.mark.parametrize("e", [0.3, 0.5, 0.8])
def test_bouncing_ball_keeps_its_apex_by_e_squared(e):
    z = ball(Plane(0.5, e)).rollout(level(1.1), None, steps=1500).q[:, 2] - 0.1
    apex = [b for a, b, c in zip(z, z[1:], z[2:], strict=False) if a < b >= c]
    assert apex[0] == pytest.approx(e**2, rel=5e-3)
    assert apex[1] == pytest.approx(e**4, rel=2e-2)
    assert np.min(z) > -1e-5


def test_ball_with_restitution_comes_to_rest():
    r = ball(Plane(0.5, 0.5)).rollout(level(0.3), None, steps=4000, record=("q", "v", "gap"))
    assert np.max(np.abs(r.v[-1])) < 1e-9 and abs(r.gap[-1, 0]) < 1e-9


def test_sliding_ball_starts_to_roll():
    # a sphere that slides at v rolls at v / (1 + I / m r^2) once friction has spun it up
    r = ball(Plane(0.3)).rollout(level(0.1), np.array([0, 0, 0, 1.0, 0, 0]), steps=600, record=("qd", "q"))
    assert np.linalg.norm(r.qd[-1, 3:]) == pytest.approx(1.0 / (1.0 + 0.004 / 0.01), rel=2e-3)


def test_tumbling_robot_creates_no_energy():
    robot = kl.robots.load("mini_cheetah")
    sim = Simulator(robot, 1e-3, ground=Plane(0.7), motors=[])
    q, v = robot.random_state(4)
    q[:3] = 0, 0, 0.8
    r = sim.rollout(q, 3 * v, steps=3000, record=("energy", "gap"))
    assert r.status[0] == 1
    assert np.max(r.energy - np.minimum.accumulate(r.energy)) < 1e-3 * (r.energy[0] + 9 * G * 0.5)


@pytest.mark.slow
def test_tumbling_robot_creates_no_energy_in_a_hundred_thousand_steps():
    robot = kl.robots.load("mini_cheetah")
    sim = Simulator(robot, 1e-3, ground=Plane(0.7), motors=[])
    q, v = robot.random_state(4)
    q[:3] = 0, 0, 0.8
    r = sim.rollout(q, 3 * v, steps=100_000, record=("energy", "gap"), every=10)
    assert r.status[0] == 1
    assert np.max(r.energy) <= r.energy[0] * (1 + 1e-4)
    assert np.min(r.gap[1000:]) > -1e-4


def test_quadruped_stands():
    sim, q, pose = cheetah()
    r = sim.rollout(q, None, pose, steps=5000, record=("q", "v", "gap", "contact_force", "residual"), every=10)
    weight = G * sum(sim.robot.tree.top.mass)
    assert r.contact_force[-1, :, 2].sum() == pytest.approx(weight, rel=1e-3)
    assert np.all(r.q[:, 2] > 0.25) and np.max(np.abs(r.v[-1])) < 1e-2
    assert np.min(r.gap) > -1e-6 and np.max(r.residual) < 1e-6


@pytest.mark.slow
def test_quadruped_stands_for_a_minute():
    sim, q, pose = cheetah()
    r = sim.rollout(q, None, pose, steps=60_000, record=("q", "v", "gap"), every=100)
    assert np.all(r.q[:, 2] > 0.25) and np.min(r.gap) > -1e-6
    assert np.linalg.norm(r.q[-1, :2] - r.q[100, :2]) < 1e-3


def drops(n, steps, seed=0):
    robot = kl.robots.load("mini_cheetah")
    sim = Simulator(robot, 1e-3, ground=Plane(0.8), motors=[Motor(j, "velocity", kd=0.5) for j in _legs(robot)])
    rng = np.random.default_rng(seed)
    Q = np.array([robot.random_state(rng)[0] for _ in range(n)])
    turn = rng.normal(size=(n, 4))
    Q[:, :3], Q[:, 3:7] = (0, 0, 0.7), turn / np.linalg.norm(turn, axis=1, keepdims=True)
    V = 2.0 * rng.normal(size=(n, robot.nv))
    return sim.rollout(Q, V, np.zeros(sim.nu), steps=steps, record=("gap", "energy"), every=steps // 20)


def _legs(robot):
    return [n for n in robot.independent_names if "Floating" not in n]


def check_drops(r):
    assert np.all(r.status == 1)
    assert np.min(r.gap[:, -2:]) > -1e-3
    assert np.all(r.energy[:, -1] < r.energy[:, 0])


def test_random_drops_settle():
    check_drops(drops(64, 2500))


@pytest.mark.slow
def test_ten_thousand_random_drops_settle():
    for seed in range(20):
        check_drops(drops(500, 3000, seed))


def test_batches_with_contact_are_bitwise_single_runs():
    sim = box_on(Plane(0.6, 0.4))
    V = np.random.default_rng(0).normal(size=(5, 6))
    many = sim.rollout(level(0.2), V, steps=300, record=("q", "contact_force"))
    for k in range(5):
        one = sim.rollout(level(0.2), V[k], steps=300, record=("q", "contact_force"))
        assert np.array_equal(many.q[k], one.q) and np.array_equal(many.contact_force[k], one.contact_force)


def test_numpy_path_with_contact_gives_what_kernels_give():
    sim = box_on(Plane(0.6))
    plain = Simulator(
        kl.Robot(sim.robot.mechanism, backend="numpy"), 1e-3, ground=sim.ground, contacts=box_corners("box", SIZE)
    )
    v = np.array([0.3, 0.1, 0.2, 0.5, 0, -0.4])
    a, b = (s.rollout(level(), v, steps=4, record=("q", "v", "contact_force")) for s in (sim, plain))
    assert np.max(np.abs(a.q - b.q)) < 1e-12 and np.max(np.abs(a.v - b.v)) < 1e-9


def test_ground_may_be_a_function_or_a_table():
    hills = HeightField(lambda x, y: 0.1 * sc.sin(3.0 * x), friction=0.0)
    x = np.linspace(-1, 1, 9)
    ramp = HeightField.table(x, x, 0.2 * np.repeat(x[:, None], 9, axis=1), friction=0.0)
    for ground in (hills, ramp):
        b = kl.Builder("ball")
        b.body("ball", joint="free", mass=1.0, inertia=(0.004, 0.004, 0.004))
        sim = Simulator(b.build(), 1e-3, ground=ground, contacts=[ContactPoint("ball")])
        gap, axes = ground.surface(np.array([0.3, 0.1, 0.5]))
        assert np.allclose(axes.T @ axes, np.eye(3)) and gap > 0
        q = level(0.0)
        q[2] = 1e-6
        r = sim.rollout(q, None, steps=300, record=("q", "gap", "energy"))
        assert r.q[-1, 0] < -0.05 and np.min(r.gap) > -1e-4
        assert np.max(r.energy) < r.energy[0] + 1e-3


def test_joint_stops_hold():
    robot = pendulum(lower=-0.5, upper=0.5)
    r = Simulator(robot, 1e-3).rollout(np.zeros(1), np.array([8.0]), steps=2000, record=("q", "v", "energy"))
    assert np.max(np.abs(r.q)) <= 0.5 + 1e-6
    assert np.max(r.q) > 0.49 and np.max(np.diff(r.energy)) < 1e-3


def leg(**knee):
    """A body on one leg whose knee has stops, and maybe dry friction."""
    b = kl.Builder("leg")
    b.body("trunk", joint="free", mass=3.0, inertia=(0.05, 0.05, 0.05))
    b.body("thigh", "trunk", axis="y", mass=0.5, com=(0, 0, -0.1), inertia=(2e-3, 2e-3, 1e-4), lower=-2.0, upper=2.0)
    b.body("shank", "thigh", axis="y", at=(0, 0, -0.2), mass=0.3, com=(0, 0, -0.1), inertia=(1e-3, 1e-3, 1e-4),
           joint_name="knee", lower=0.1, upper=1.4, **knee)  # fmt: skip
    b.frame("foot", "shank", at=(0, 0, -0.2))
    return b.build()


def leg_states(robot, n):
    """Legs above the ground, every other one with its knee running into a stop."""
    rng = np.random.default_rng(0)
    Q = np.tile(robot.neutral(), (n, 1))
    Q[:, 2], Q[:, 8] = rng.uniform(0.4, 0.5, n), rng.uniform(0.5, 0.9, n)
    V = 0.3 * rng.normal(size=(n, robot.nv))
    V[::2, 7] = 9.0
    return Q, V


@pytest.mark.parametrize("knee", [{}, {"friction": 0.2}])
def test_stops_that_only_some_rows_reach_change_nothing_for_the_others(knee):
    robot = leg(**knee)
    sim = Simulator(robot, 1e-3, ground=Plane(0.7), contacts=["foot"])
    Q, V = leg_states(robot, 9)
    many = sim.rollout(Q, V, steps=300, record=("q", "v", "joint_impulse"))
    assert np.all(many.status == 1)
    assert np.max(many.q[..., 8]) < 1.4 + 1e-5 and np.min(many.q[..., 8]) > 0.1 - 1e-5
    stopped = np.abs(many.joint_impulse[..., 1]) > 3e-4  # more than dry friction
    assert np.any(stopped) and not np.all(np.any(stopped[:, :120], axis=1))
    for k in range(9):
        one = sim.rollout(Q[k], V[k], steps=300, record=("q", "v"))
        assert np.array_equal(many.q[k], one.q) and np.array_equal(many.v[k], one.v)


def test_stops_left_out_where_far_are_not_missed(monkeypatch):
    robot = leg()
    Q, V = leg_states(robot, 2)
    Q[0, 8] = 1.38
    runs = []
    for near in (stops.NEAR_STOP, 1e20):
        monkeypatch.setattr(stops, "NEAR_STOP", near)
        sim = Simulator(kl.Robot(robot.mechanism, backend="numpy"), 1e-3, ground=Plane(0.7), contacts=["foot"])
        runs.append(sim.rollout(Q, V, steps=6, record=("q", "joint_impulse")))
    assert np.any(runs[0].joint_impulse[0]) and not np.any(runs[0].joint_impulse[1])
    assert np.max(np.abs(runs[0].q - runs[1].q)) < 1e-12


def test_dry_friction_stops_a_joint_in_finite_time():
    robot = pendulum(friction=1.0)
    r = Simulator(robot, 1e-3).rollout(np.array([0.2]), None, steps=100)
    assert (
        np.max(np.abs(r.v)) < 1e-15 and np.max(np.abs(r.q - 0.2)) < 1e-15
    )  # m g l / 2 sin(0.2) = 0.49 N m does not move it
    r = Simulator(robot, 1e-3).rollout(np.array([1.2]), None, steps=3000)
    assert np.max(np.abs(r.v[-100:])) < 1e-12 and abs(r.q[-1, 0]) < 0.45


def test_solver_meets_the_laws_of_contact():
    rng = np.random.default_rng(3)
    for _ in range(20):
        Z = rng.normal(size=(9, 12))
        u = rng.normal(size=9)
        rows = [ContactRow(Z[3 * k : 3 * k + 3], list(range(12)), u[3 * k : 3 * k + 3], 0.0, 0.5) for k in range(3)]
        impulses, _, _, w, residual = solve_impulses(rows, [], 12, 300)
        after = (u + Z @ w).reshape(3, 3)
        assert residual < 1e-8
        for x, y in zip(impulses, after, strict=True):
            assert x[0] >= 0 and y[0] > -1e-7 and abs(x[0] * y[0]) < 1e-6
            pull, slip = np.linalg.norm(x[1:]), np.linalg.norm(y[1:])
            assert pull <= 0.5 * x[0] + 1e-9
            if slip > 1e-5 and x[0] > 1e-9:
                assert pull == pytest.approx(0.5 * x[0], rel=1e-5)
                assert x[1:] @ y[1:] == pytest.approx(-pull * slip, rel=1e-4)


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
