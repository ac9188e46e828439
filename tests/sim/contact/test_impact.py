"""Contact in steps: friction, restitution, rest, energy, standing, drops."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.algorithms.trees.kinematics import motion
from kinloop.robots.solid_inertias import box
from kinloop.sim import ContactPoint, Motor, Plane, Simulator, Status, box_corners
from kinloop.sim.contact.restitution import Bounce
from kinloop.sim.contact.solver import ROUGH
from kinloop.sim.on_loops import closed_twice
from tests.sim.mechanisms import SIZE, ball, box_on, free_box, leg, leg_states, level, pendulum

G = 9.81


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
    q, _ = closed_twice(sim.engine.tree, q)
    q[2] -= min(robot.frame_pose(q, f)[2, 3] for f in feet)
    return sim, q, pose


def test_touches_say_how_points_move_relative_to_the_ground():
    """Gaps are heights above the ground; wrenches turn twists into velocities of the lowest point of a sphere."""
    robot = leg()
    plane = Plane(normal=(0.1, -0.2, 1.0), height=0.05)
    contact = Simulator(robot, ground=plane, contacts=[ContactPoint("foot", (0.02, 0.01, 0), 0.03), "trunk"]).contact
    q, v = robot.random_state(0)
    kin = motion(robot.tree, q, v, turning=contact.bodies)
    n = np.array(plane.normal)
    for c, touch in zip(contact.candidates, contact.touches(robot.tree, kin), strict=True):
        name = robot.body_names[c.body]

        def centre(x, name=name, c=c):
            T = robot.frame_pose(x, name)
            return T[:3, 3] + T[:3, :3] @ c.at

        assert touch.gap == pytest.approx(n @ centre(q) - plane.height - c.radius, abs=1e-14)
        h = 1e-6
        moving = (centre(robot.integrate(q, v, h)) - centre(robot.integrate(q, v, -h))) / (2 * h)
        T, twist = robot.frame_pose(q, name), robot.frame_velocity(q, v, name)
        lowest = moving + np.cross(T[:3, :3] @ twist[:3], -c.radius * n)
        np.testing.assert_allclose(touch.wrench.T @ twist, touch.axes.T @ lowest, atol=1e-8)


@pytest.mark.parametrize("case", ["bouncing ball", "sliding box"])
def test_forces_of_contact_change_the_momentum(case):
    """What is recorded as force, with gravity, is what changes the momentum."""
    if case == "bouncing ball":
        sim, q, mass = ball(Plane(0.0, 0.5, normal=(0.1, 0.0, 1.0))), level(0.3), 1.0
    else:
        sim, q, mass = box_on(Plane(0.3)), level(0.051), 2.0
    run = sim.rollout(q, np.array([0, 0, 0, 1.0, 0.5, -0.5]), steps=400, record=("q", "v", "contact_force"))
    momentum = sim.robot.momentum(run.q, run.v)[:, 3:]
    pushed = sim.dt * (run.contact_force.sum(axis=1)[1:] - [0, 0, mass * G])
    assert np.max(run.contact_force) > 10.0
    np.testing.assert_allclose(np.diff(momentum, axis=0), pushed, atol=1e-7)


@pytest.mark.parametrize("e", [0.0, 0.5])
@pytest.mark.parametrize("joint", [{}, {"damping": 0.1}])
def test_a_spinning_body_keeps_its_momentum_in_steps_with_impacts(e, joint):
    """Its velocity is written in axes that turn as far as the body does, which is not what half a step turns it by."""
    b = kl.Builder("box_with_a_wheel")
    b.body("box", joint="free", **box(2.0, *SIZE))
    b.body("wheel", "box", axis="x", mass=0.1, inertia=(1e-3, 1e-3, 1e-3), **joint)
    sim = Simulator(b.build(), 1e-3, ground=Plane(0.5, e), contacts=box_corners("box", SIZE))
    q, v = np.array([*level(0.25), 0.0]), np.array([4.0, 10.0, -3.0, 0.5, -0.2, -1.0, 2.0])
    run = sim.rollout(q, v, steps=300, record=("q", "v", "contact_force"))
    gained = np.diff(sim.robot.momentum(run.q, run.v)[:, 3:], axis=0)
    pushed = sim.dt * (run.contact_force.sum(axis=1)[1:] - [0, 0, 2.1 * G])
    hit = np.any(run.contact_force[1:, :, 2] > 0.0, axis=1)
    assert np.count_nonzero(hit) > 2 and np.max(np.abs(gained)) > 0.1
    np.testing.assert_allclose(gained[hit], pushed[hit], atol=1e-6)


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_impulses_of_stops_change_the_momentum_of_what_they_stop(e):
    """A ball lands with a weight inside, which rests on a stop: the stop's impulse, with gravity, lifts the weight."""
    b = kl.Builder("ball_with_a_weight")
    b.body("ball", joint="free", mass=1.0, inertia=(0.004, 0.004, 0.004))
    b.body("weight", "ball", joint="prismatic", axis="z", mass=0.5, inertia=(1e-3, 1e-3, 1e-3), lower=0.0, upper=1.0)
    sim = Simulator(b.build(), 1e-3, ground=Plane(0.0, e), contacts=[ContactPoint("ball", radius=0.1)])
    v = np.array([0, 0, 0, 0, 0, -2.0, 0.0])
    run = sim.rollout(np.array([*level(0.11), 0.0]), v, steps=20, record=("v", "joint_impulse"))
    speed = np.concatenate([[-2.0], run.v[:, 5] + run.v[:, 6]])
    assert np.max(run.joint_impulse) > 0.9 * 0.5 * (1.0 + e) * 2.0
    np.testing.assert_allclose(0.5 * np.diff(speed), run.joint_impulse[:, 0] - 0.5 * G * sim.dt, atol=1e-9)


@pytest.mark.parametrize("e", [0.4, 1.0])
def test_an_impact_returns_the_part_e_of_the_normal_velocity(e):
    run = ball(Plane(0.0, e)).rollout(level(0.1015), np.array([0, 0, 0, 0.3, 0, -2.0]), steps=1)
    at_touch = 2.0 + 0.75e-3 * G  # three quarters into the step
    assert run.v[0, 5] == pytest.approx(e * at_touch, abs=0.01) and run.v[0, 3] == pytest.approx(0.3, abs=1e-12)


def test_without_restitution_what_falls_stops_at_the_surface():
    run = ball(Plane(0.0)).rollout(level(0.1015), np.array([0, 0, 0, 0.3, 0, -2.0]), steps=3)
    np.testing.assert_allclose(run.q[:, 2], 0.1, atol=1e-12)
    np.testing.assert_allclose(run.v[1:, 5], 0.0, atol=1e-9)


def test_what_is_below_the_surface_comes_up_slowly():
    depth = 0.01
    run = ball(Plane()).rollout(level(0.1 - depth), None, steps=400, record=("q", "v", "gap"))
    assert np.max(run.v[:, 5]) < np.sqrt(0.02 * G * depth) + 2 * G * 1e-3
    assert np.all(np.diff(run.gap[:, 0]) > -1e-9) and abs(run.gap[-1, 0]) < 1e-6


def test_corners_of_a_spinning_box_do_not_pass_the_surface():
    """They accelerate by 100 m/s^2 towards the centre; gaps at the end of a step are known to 0.01 mm all the same."""
    v = np.array([0, 30.0, 0, 0, 0, -1.0])
    run = box_on(Plane(0.0)).rollout(level(0.25), v, steps=150, record=("gap", "contact_force"))
    assert np.max(run.contact_force) > 100.0 and np.min(run.gap) > -1e-5


def test_bounces_interpolate_to_the_time_of_the_touch():
    before, after = np.array([-2.0, 0.0, 1.0]), np.array([-3.0, 1.0, 1.0])
    none = Bounce(0.0, 0.0, False)
    assert none.at(before, after) is after and none.bound(0.7, 0.1, before, after, 1e-3) == 0.7
    hit = Bounce(0.5, 0.25, True)
    np.testing.assert_allclose(hit.at(before, after), [-2.25, 0.25, 1.0])
    h = 1e-3
    left = 1e-3 + 0.25 * h * (-2.0 - 0.125)
    assert hit.bound(0.7, 1e-3, before, after, h) == pytest.approx(min(-left / h, 0.0))


def test_sizes_and_keys_tell_contacts_apart():
    two, three = (Simulator(free_box(), ground=Plane(), contacts=box_corners("box", SIZE)[:n]).contact for n in (2, 3))
    assert (two.size, three.size) == (6, 9) and two.key != three.key and two.bodies == (0,)
    stops = Simulator(pendulum(upper=1.0)).contact
    assert stops.size == 1 and stops.ground is None and stops.bodies == ()


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


@pytest.mark.parametrize("knee", [{}, {"friction": 0.1}])
def test_legs_that_land_on_their_stops_are_solved(knee):
    """Knees run into their stops as feet land: in 22 and 32 of 64,000 steps sweeps went in circles, by up to 36 m/s."""
    robot = leg(**knee)
    sim = Simulator(robot, 1e-3, ground=Plane(), contacts=["foot"])
    run = sim.rollout(*leg_states(robot, 64), steps=1000, record=["energy", "residual"])
    assert np.all(run.status == Status.RUNNING) and not any(run.reasons)
    assert np.max(run.residual) <= ROUGH
    assert np.max(np.diff(run.energy, axis=1)) < 2e-3, "1.2 J where impulses were not found"


def test_fingers_that_nothing_can_lift_rest():
    """On a fixed base they reach 15 mm into the ground, stops in the way."""
    b = kl.Builder("finger")
    link = {"mass": 0.05, "com": (0.02, 0, 0), "inertia": (1e-5, 1e-5, 1e-5)}
    b.body("palm", joint="fixed", **link)
    b.body("near", "palm", axis="x", lower=-0.3, upper=0.3, **link)
    b.body("far", "near", axis="y", at=(0.04, 0, 0), lower=-0.2, upper=0.2, **link)
    robot = b.build()
    points = [ContactPoint("far", (0.03, 0, -0.05)), ContactPoint("near", (0, 0, -0.04))]
    sim = Simulator(robot, 1e-3, ground=Plane(height=-0.025), contacts=points)
    run = sim.rollout(None, None, steps=100, record=("residual", "kinetic_energy"))
    assert run.status.tolist() == [Status.RUNNING] and np.max(run.residual) <= ROUGH
    assert np.max(run.kinetic_energy) < 1e-3
