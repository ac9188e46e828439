"""Records of controls, of the forces of motors, and of accelerations."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.sim import Motor, Simulator, Status
from tests.sim.mechanisms import crank_rocker, pendulum, started

OF_STEPS = ("q", "v", "qd", "controls", "motor_force", "a", "qdd")


@pytest.fixture(scope="module")
def geared() -> Simulator:
    """A four-bar whose crank is driven by a position servo through a gear."""
    motor = Motor("crank_joint", "position", kp=2.0, kd=0.05, gear=3.0)
    return Simulator(crank_rocker("crank_joint"), 1e-3, motors=[motor])


def test_controls_are_those_of_the_step_that_led_there():
    sim, table = Simulator(pendulum(), 1e-3), np.arange(12.0)[:, None]
    for every in (1, 3, 4):
        run = sim.rollout(np.zeros(1), None, table, record=("controls", "motor_force"), every=every)
        np.testing.assert_array_equal(run.controls[:, 0], table[every - 1 :: every, 0])
        np.testing.assert_array_equal(run.motor_force, run.controls)
    seen = sim.rollout(np.zeros(1), None, lambda t, s: [t], steps=12, record=("controls",))
    np.testing.assert_allclose(seen.controls[:, 0], 1e-3 * np.arange(12.0), atol=1e-15)
    many = sim.rollout(np.zeros((2, 1)), None, lambda t, s: [[t], [-t]], steps=12, record=("controls",), every=5)
    np.testing.assert_allclose(many.controls[..., 0], [[4e-3, 9e-3], [-4e-3, -9e-3]], atol=1e-15)
    held = sim.rollout(np.zeros(1), None, [0.7], steps=5, record=("controls",), record_start=True)
    assert np.isnan(held.controls[0]).all() and np.all(held.controls[1:] == 0.7)


@pytest.mark.parametrize("integrator", ["semi_implicit", "adaptive"])
def test_controls_are_recorded_between_steps_too(integrator):
    sim, table = Simulator(pendulum(), 1e-2, integrator=integrator), np.arange(4.0)[:, None]
    run = sim.rollout(np.zeros(1), None, table, times=[0.01, 0.015, 0.02, 0.029, 0.031], record=OF_STEPS)
    assert run.controls[:, 0].tolist() == [0.0, 1.0, 1.0, 2.0, 3.0]
    np.testing.assert_array_equal(run.motor_force, run.controls)


def test_accelerations_are_the_change_of_velocities_in_a_step():
    robot, q, v = started("rocker_joint")
    sim = Simulator(robot, 1e-3)
    run = sim.rollout(q, v, steps=40, record=("q", "v", "a", "qdd"), record_start=True)
    states = [sim.state(q, v)]
    for _ in range(40):
        states.append(sim.step(states[-1]))
    qd = np.concatenate([s.qd for s in states])
    np.testing.assert_allclose(run.qdd[1:], np.diff(qd, axis=0) / 1e-3, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(run.a, run.qdd[:, robot.tree.independent_dofs])
    assert np.isnan(run.a[0]).all()
    middle = 0.5 * (run.v[1:] + run.v[:-1])
    expected = robot.forward_dynamics(robot.close(0.5 * (run.q[1:] + run.q[:-1])), middle, np.zeros(1))
    np.testing.assert_allclose(run.a[1:], expected, rtol=2e-2, atol=2e-2 * np.abs(expected).max())


def test_accelerations_of_the_accurate_integrator_are_those_at_the_record():
    robot, q, v = started("crank_joint")
    sim = Simulator(robot, 1e-3, integrator="adaptive")
    run = sim.rollout(q, v, [0.3], steps=20, record=("q", "v", "a", "qdd"))
    np.testing.assert_allclose(run.a, robot.forward_dynamics(run.q, run.v, np.full((20, 1), 0.3)), rtol=1e-8)
    expected = np.einsum("kij,kj->ki", robot.spanning_jacobian(run.q), run.a) + robot.spanning_bias(run.q, run.v)
    np.testing.assert_allclose(run.qdd, expected, rtol=1e-8)


def test_what_is_recorded_changes_no_bit_of_the_motion(geared):
    q = geared.robot.neutral()
    plain = geared.rollout(q, None, [1.0], steps=60, record=("q", "v"))
    more = geared.rollout(q, None, [1.0], steps=60, record=OF_STEPS)
    np.testing.assert_array_equal(plain.q, more.q)
    np.testing.assert_array_equal(plain.v, more.v)
    np.testing.assert_array_equal(plain.final.memory, more.final.memory)


def test_the_force_of_a_servo_follows_its_law(geared):
    run = geared.rollout(geared.robot.neutral(), None, [1.0], steps=30, record=OF_STEPS, every=10)
    crank = geared.robot.q_index("crank_joint")
    law = 3.0 * (
        2.0 * (1.0 - 3.0 * run.q[:, crank]) - 0.05 * 3.0 * run.qd[:, geared.robot.spanning_index("crank_joint")]
    )
    np.testing.assert_allclose(run.motor_force, law, rtol=1e-10)
    assert run.entries["motor_force"] == run.entries["controls"] == ["crank_joint"]


def test_a_motor_with_a_delay_pushes_as_it_was_told_before():
    motor = Motor("rod_joint", "torque", delay=3e-3)
    sim = Simulator(pendulum(), 1e-3, motors=[motor])
    run = sim.rollout(np.zeros(1), None, np.arange(1.0, 9.0)[:, None], record=("controls", "motor_force"))
    assert run.controls[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert run.motor_force[:, 0].tolist() == [0, 0, 0, 1, 2, 3, 4, 5]


def test_nothing_pushes_a_row_that_has_stopped():
    controls = np.zeros((2, 20, 1))
    controls[1, 7:] = 1e12
    run = Simulator(pendulum(), 1e-3).rollout(np.zeros(1), np.ones(1), controls, record=OF_STEPS)
    assert run.status.tolist() == [Status.RUNNING, Status.DIVERGED]
    assert not run.motor_force[1, 7:].any() and not run.a[1, 7:].any() and not run.qdd[1, 7:].any()
    assert run.a[1, :7].all() and np.all(run.controls[1, 7:] == 1e12)


def test_records_of_steps_are_saved_and_loaded(geared, tmp_path):
    run = geared.rollout(geared.robot.neutral(), None, [1.0], steps=5, record=OF_STEPS)
    again = kl.sim.load(run.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(again.motor_force, run.motor_force)
    assert again.entries == run.entries and again.final.made_by == run.final.made_by
    np.testing.assert_array_equal(again.final.v, run.final.v)
