"""Passive mechanisms: energy, closed loops, order of the methods, charts, singular passages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import KinloopError
from kinloop.sim import Motor, Simulator
from tests.sim.mechanisms import crank_rocker, on_fixed_base, pendulum

RECORD = ("q", "v", "energy", "kinetic_energy", "loop_error")


def drift(r):
    energy = np.atleast_2d(r.energy)
    return float(np.max(np.abs(energy - energy[:, :1])) / np.max(r.kinetic_energy))


def started(independent, speed=20.0):
    """The crank-rocker at the same state, whichever joint is independent."""
    base = crank_rocker("crank_joint")
    q = base.neutral()
    qd = base.spanning_velocity(q, np.array([speed]))
    robot = crank_rocker(independent)
    return robot, q, qd[robot.tree.independent_dofs]


@pytest.mark.parametrize("independent", ["crank_joint", "coupler_joint", "rocker_joint"])
def test_four_bar_turns_fully_with_any_joint_independent(independent):
    robot, q, v = started(independent)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(q, v, steps=10_000, record=RECORD)
    assert r.status.tolist() == [1]
    assert np.ptp(r.q[:, 0]) > 2 * np.pi
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-12


def test_charts_change_the_result_by_rounding_only():
    runs = []
    for independent in ("crank_joint", "rocker_joint"):
        robot, q, v = started(independent)
        runs.append(Simulator(robot, 1e-3, integrator="rk4").rollout(q, v, steps=1000))
    assert runs[1].chart_changes[0] > 0
    assert np.max(np.abs(runs[0].q - runs[1].q)) < 1e-10


@pytest.mark.parametrize(("name", "speed"), [("slider_crank", 8.0), ("rssr", 4.0)])
def test_spatial_linkages_keep_energy(name, speed):
    robot = kl.robots.load(name)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(None, np.array([speed]), steps=10_000, record=RECORD)
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-12


def test_tello_legs_swing_free():
    robot = on_fixed_base("tello")
    v = 0.5 * np.random.default_rng(1).normal(size=robot.nv)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(None, v, steps=10_000, record=RECORD, every=10)
    assert r.status[0] == 1
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-12


@pytest.mark.parametrize("make", [on_fixed_base, kl.robots.load], ids=["chassis held", "car falling"])
def test_wishbones_keep_energy(make):
    robot = make("wishbone")
    v = 0.3 * np.random.default_rng(0).normal(size=robot.nv)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(None, v, steps=10_000, record=RECORD, every=10)
    assert r.status[0] == 1
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-12


def test_energy_has_no_trend_over_a_million_steps():
    robot, q, v = started("crank_joint")
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(q, v, steps=1_000_000, record=RECORD, every=100)
    assert np.max(r.loop_error) <= 1e-12
    assert drift(r) <= 1e-8
    tenths = np.mean(r.energy.reshape(10, -1), axis=1) / np.max(r.kinetic_energy)
    assert np.ptp(tenths) < 1e-9


def test_velocities_stay_on_the_loops():
    robot, q, v = started("crank_joint")
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(q, v, steps=500, record=("q", "qd"))
    for x, qd in zip(r.q[::50], r.qd[::50], strict=True):
        K = robot.tree.constraint_rows(x).K
        assert np.max(np.abs(K @ qd)) <= 1e-11


def test_runge_kutta_has_order_four():
    robot, q, v = started("coupler_joint")
    ends = []
    for dt in (4e-3, 2e-3, 1e-3):
        ends.append(Simulator(robot, dt, integrator="rk4", substeps=1).rollout(q, v, steps=round(0.4 / dt)).q[-1])
    first, second = np.max(np.abs(ends[0] - ends[1])), np.max(np.abs(ends[1] - ends[2]))
    assert 3.5 < np.log2(first / second) < 4.8


def test_adaptive_agrees_with_fine_fixed_steps():
    robot, q, v = started("rocker_joint")
    fine = Simulator(robot, 1e-4, integrator="rk4").rollout(q, v, steps=5000, every=100)
    sim = Simulator(robot, 1e-2, integrator="adaptive", tolerance=1e-12)
    r = sim.rollout(q, v, steps=50, record=RECORD)
    assert np.max(np.abs(r.q - fine.q)) < 1e-9
    assert np.max(r.loop_error) <= 1e-12
    assert drift(r) < 1e-9


def test_parallelogram_passes_its_singular_configuration_on_its_branch():
    robot = kl.robots.load("four_bar")
    q0 = robot.close(np.array([0.5, 0.5, -0.5]))
    for integrator in ("semi_implicit", "rk4"):
        r = Simulator(robot, 1e-3, integrator=integrator).rollout(q0, np.array([5.0]), steps=2000, record=RECORD)
        assert r.status[0] == 1 and r.singular[0]
        assert np.all(np.isfinite(r.q)) and np.max(r.loop_error) <= 1e-12
        # on the parallelogram branch the coupler keeps its direction
        assert np.max(np.abs(np.sin(r.q[:, 0] + r.q[:, 2] - (q0[0] + q0[2])))) < 1e-6
        assert np.ptp(r.q[:, 0]) > 2 * np.pi


@pytest.mark.parametrize("speed", [0.5, 5.0, 20.0])
@pytest.mark.parametrize("independent", [0, 1, 2])
def test_parallelogram_keeps_its_energy_through_singular_configurations(independent, speed):
    base = kl.robots.load("four_bar")
    robot = replace(base.mechanism, independent=(base.joint_names[independent],)).build()
    q0 = base.close(np.array([0.5, 0.5, -0.5]))
    v = base.spanning_velocity(q0, np.array([speed]))[robot.tree.independent_dofs]
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(q0, v, steps=10_000, record=RECORD)
    assert r.status[0] == 1 and r.singular[0]
    assert drift(r) <= 1e-8
    assert np.max(r.loop_error) <= 1e-12
    assert np.max(np.abs(np.sin(r.q[:, 0] + r.q[:, 2] - (q0[0] + q0[2])))) < 1e-6


def test_parallelogram_that_lands_exactly_on_the_singular_configuration():
    robot = kl.robots.load("four_bar")
    dt = 1e-3
    q0 = robot.close(np.array([-0.05, -0.05, 0.05]))
    r = Simulator(robot, dt).rollout(q0, np.array([5.0]), steps=30, record=RECORD)
    assert r.status[0] == 1 and r.singular[0] and np.all(np.isfinite(r.q))
    assert abs(r.q[-1, 0] - 0.1) < 1e-3


def test_batch_rows_are_bitwise_those_of_single_runs():
    robot, q, v = started("rocker_joint")
    sim = Simulator(robot, 1e-3, integrator="rk4")
    speeds = v * np.linspace(0.3, 1.5, 7)[:, None]
    batch = sim.rollout(q, speeds, steps=400, record=("q", "v", "qd"))
    for k in range(len(speeds)):
        one = sim.rollout(q, speeds[k], steps=400, record=("q", "v", "qd"))
        for name in ("q", "v", "qd"):
            assert np.array_equal(batch[name][k], one[name])
        assert np.array_equal(batch.final.q[k], one.final.q[0])


def test_a_diverged_row_is_frozen_and_touches_no_other():
    robot = pendulum()
    sim = Simulator(robot, 1e-3)
    controls = np.zeros((3, 50, 1))
    controls[1, 20:] = 1e12
    r = sim.rollout(np.zeros((3, 1)), np.ones((3, 1)), controls)
    alone = sim.rollout(np.zeros(1), np.ones(1), controls[0])
    assert r.status.tolist() == [1, 4, 1]
    assert np.array_equal(r.q[0], alone.q) and np.array_equal(r.q[2], alone.q)
    assert np.all(np.isfinite(r.q[1])) and np.all(r.q[1, 25:] == r.q[1, -1])
    assert r.stopped[1] < 0.03 and np.isinf(r.stopped[0])


def test_step_is_the_first_of_a_rollout():
    robot, q, v = started("crank_joint")
    sim = Simulator(robot, 1e-3)
    s = sim.step(sim.step(sim.state(q, v)), np.zeros(1))
    r = sim.rollout(q, v, steps=2)
    assert np.max(np.abs(s.q[0] - r.q[-1])) < 1e-12 and s.t[0] == pytest.approx(2e-3)


def test_numpy_path_gives_what_kernels_give():
    robot, q, v = started("crank_joint")
    plain = kl.Robot(robot.mechanism, backend="numpy")
    for integrator in ("semi_implicit", "rk4"):
        a = Simulator(robot, 1e-3, integrator=integrator).rollout(q, v, steps=5)
        b = Simulator(plain, 1e-3, integrator=integrator).rollout(q, v, steps=5)
        assert np.max(np.abs(a.q - b.q)) < 1e-13 and np.max(np.abs(a.v - b.v)) < 1e-12


def test_records_can_be_saved_and_read(tmp_path):
    robot, q, v = started("crank_joint")
    r = Simulator(robot, 1e-3).rollout(q, v, steps=20, record=RECORD, every=5)
    assert r.q.shape == (4, 3) and np.allclose(r.t, [5e-3, 1e-2, 1.5e-2, 2e-2])
    data = kl.sim.load(r.save(tmp_path / "run.npz"))
    assert np.array_equal(data["q"], r.q) and data["status"].tolist() == [1]
    with pytest.raises(KinloopError, match="npz"):
        r.save(tmp_path / "run.csv")


def test_motors_act_on_rotor_or_joint_side():
    b = kl.Builder("geared", gravity=(0, 0, 0))
    b.body("link", axis="z", mass=1.0, inertia=(0.1, 0.1, 0.1), joint_name="joint")
    b.body("rotor", axis="z", mass=0.1, inertia=(1e-3, 1e-3, 1e-3), joint_name="motor")
    b.gear("motor", "joint", 6.0)
    b.independent = ["joint"]
    robot = b.build()
    side = {
        name: Simulator(robot, 1e-3, motors=[name]).rollout(None, None, np.array([torque]), steps=100).v[-1, 0]
        for name, torque in (("joint", 6.0), ("motor", 1.0))
    }
    assert side["joint"] == pytest.approx(side["motor"], rel=1e-12)


def test_stiff_servo_and_damping_are_stable():
    robot = pendulum(damping=1e4, stiffness=0.0)
    r = Simulator(robot, 1e-3).rollout(np.array([1.0]), np.array([5.0]), steps=100)
    assert np.all(np.isfinite(r.q)) and abs(r.v[-1, 0]) < 1e-2
    stiff = Simulator(pendulum(), 1e-3, motors=[Motor("rod_joint", "position", kp=1e7, kd=1e3)])
    r = stiff.rollout(np.array([1.0]), None, np.array([0.3]), steps=300)
    assert abs(r.q[-1, 0] - 0.3) < 1e-4
    speed = Simulator(pendulum(), 1e-3, motors=[Motor("rod_joint", "velocity", kd=1e5)])
    assert speed.rollout(None, None, np.array([2.0]), steps=300).v[-1, 0] == pytest.approx(2.0, abs=1e-3)


def test_spring_keeps_its_energy():
    robot = pendulum(stiffness=50.0, rest=0.4)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(np.zeros(1), None, steps=2000, record=RECORD)
    assert drift(r) < 1e-8


def test_controls_may_be_a_function_of_time_and_state():
    sim = Simulator(pendulum(), 1e-3)
    seen = []

    def control(t, state):
        seen.append(t)
        return -0.1 * state.qd

    r = sim.rollout(np.array([0.5]), None, control, steps=10)
    assert len(seen) == 10 and np.all(np.isfinite(r.q))


def test_mistakes_are_named():
    robot = pendulum()
    with pytest.raises(KinloopError, match="integrator"):
        Simulator(robot, integrator="euler")
    with pytest.raises(KinloopError, match="dt"):
        Simulator(robot, dt=0.0)
    sim = Simulator(robot)
    with pytest.raises(KinloopError, match="steps"):
        sim.rollout(None, None)
    with pytest.raises(KinloopError, match="record"):
        sim.rollout(None, None, steps=1, record=["colour"])
    with pytest.raises(KinloopError, match="coordinate"):
        Simulator(robot, motors=["nothing"])
