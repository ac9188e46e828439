"""Kernels of a simulation: the same as the interpreted functions, step by step and over many steps."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import MethodError
from kinloop.interpreted import Interpreted
from kinloop.sim import Motor, Simulator
from kinloop.sim.engine import FEEDBACK
from kinloop.sim.singularity import loop_speed, nearness
from kinloop.sim.status import Status
from kinloop.sim.stepper import StepState
from kinloop.sim.watch import Watch
from tests.sim.mechanisms import crank_rocker, parallelograms, pendulum


def engines(integrator="semi_implicit", make=crank_rocker, **options):
    """An engine on kernels and one on numbers."""
    robot = make()
    plain = kl.Robot(robot.mechanism, backend="numpy")
    return [Simulator(r, 1e-3, integrator=integrator, **options).engine for r in (robot, plain)]


def begin(sim, v):
    batch = sim.batch(sim.state(None, v))
    return batch.state, batch.dt


@pytest.mark.sample(2)
@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
@pytest.mark.parametrize("motors", [None, [Motor("crank_joint", "position", kp=2.0, kd=0.1)]], ids=["smooth", "servo"])
def test_interpreted_steps_are_those_of_the_kernel(integrator, motors):
    compiled, plain = engines(integrator, motors=motors)
    assert isinstance(plain.step, Interpreted) and not isinstance(compiled.step, Interpreted)
    assert list(plain.step.outputs) == list(compiled.step.outputs)
    sim = Simulator(crank_rocker(), 1e-3, integrator=integrator, motors=motors)
    state, h = begin(sim, np.array([[3.0], [-5.0]]))
    u, until = np.array([[[0.3]], [[0.1]]]), np.full((2, 1), 9.0)
    (a, kept), (b, also) = (e.advance(state, u, until, h, 4, 2, ("q_seen",), None) for e in (compiled, plain))
    for name, x, y in zip(StepState._fields, a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-10, err_msg=name)
    assert kept["q_seen"].shape == also["q_seen"].shape == (2, 2, 3)
    np.testing.assert_allclose(kept["q_seen"], also["q_seen"], rtol=0, atol=1e-13)
    np.testing.assert_array_equal(kept["q_seen"][:, -1], a.q)


def test_many_steps_at_once_are_single_steps():
    sim = Simulator(pendulum(damping=0.1), 1e-3)
    engine, (state, h) = sim.engine, begin(sim, np.array([[1.0], [-2.0]]))
    u = np.random.default_rng(0).normal(size=(2, 6, 1))
    until = np.full((2, 1), 100.0)
    together = engine.advance(state, u, until, h, 6, 1, (), None)[0]
    for k in range(6):
        state = engine.advance(state, u[:, [k]], until, h, 1, 1, (), None)[0]
    for a, b in zip(together, state, strict=True):
        np.testing.assert_array_equal(a, b)


def test_rows_go_as_far_as_they_may():
    sim = Simulator(pendulum(), 1e-3)
    engine, (state, h) = sim.engine, begin(sim, np.ones((3, 1)))
    until = np.array([[2.0], [5.0], [0.0]])
    after = engine.advance(state, np.zeros((3, 1, 1)), until, h, 5, 1, (), None)[0]
    watch = Watch.of(after.watch)
    assert watch.steps.tolist() == [2.0, 5.0, 0.0] and np.all(watch.status == Status.RUNNING)
    assert np.array_equal(after.q[2], state.q[2])


def test_steps_have_the_length_they_are_asked_for():
    sim = Simulator(crank_rocker(), 1e-3)
    state, _ = begin(sim, np.array([[3.0], [3.0]]))
    until = np.array([[4.0], [4.0]])
    for dt in (1e-3, 5e-4):
        other = Simulator(crank_rocker(), dt)
        start = other.state(None, np.array([3.0]))
        memory = np.tile(other.engine.start(start.q, start.qd, np.zeros((1, 1)), np.array([[dt]]))[0], (2, 1))
        after = sim.engine.advance(state._replace(memory=memory), np.zeros((2, 1, 1)), until, dt, 4, 1, (), None)[0]
        np.testing.assert_array_equal(after.q[1], other.rollout(state=start, steps=4).final.q[0])


def test_feedback_is_what_a_step_gives_to_the_next():
    outputs = Simulator(pendulum(), 1e-3).engine.step.outputs
    assert list(FEEDBACK) == ["q", "qd", "watch", "memory"] and set(FEEDBACK.values()) <= set(outputs)


@pytest.mark.parametrize("which", [0, 1], ids=["kernel", "numpy"])
def test_an_engine_reads_states_as_its_robot_does(which):
    engine = engines()[which]
    robot = engine.robot
    q = np.stack([robot.neutral(), robot.close(robot.neutral() + 0.1)])
    v = np.array([[0.5], [2.0]])
    qd, energies = engine.reading(q, robot.spanning_velocity(q, v))
    np.testing.assert_allclose(qd, robot.spanning_velocity(q, v), rtol=1e-12)
    np.testing.assert_allclose(energies[:, 0], robot.kinetic_energy(q, v), rtol=1e-12)
    np.testing.assert_allclose(energies[:, 1], robot.potential_energy(q), rtol=1e-12)


@pytest.mark.parametrize("which", [0, 1], ids=["kernel", "numpy"])
def test_projection_closes_loops_and_stays(which):
    engine = engines("adaptive")[which]
    robot = engine.robot
    q, qd = robot.neutral() + 1e-3, robot.spanning_velocity(robot.neutral(), np.ones(1)) + 1e-2
    on, qd_on, there = engine.projection(q, qd)
    assert np.max(robot.loop_error(on)) < 1e-11 < np.max(robot.loop_error(q))
    again, qd_again, _ = engine.projection(on, qd_on)
    np.testing.assert_allclose(again, on, rtol=0, atol=1e-11)
    np.testing.assert_allclose(qd_again, qd_on, rtol=0, atol=1e-11)
    near, speed = nearness(engine.tree, on), loop_speed(engine.tree, qd_on)
    np.testing.assert_allclose(there[[0, 1, 3]], [float(near), float(speed), np.max(np.abs(qd_on))], rtol=1e-9)
    np.testing.assert_allclose(there[2], np.max(robot.loop_error(on)), rtol=0, atol=1e-15)
    dq, dqd, at = engine.rate(on, qd_on, np.zeros(1))
    assert at[0] == pytest.approx(float(near), rel=1e-9)
    np.testing.assert_allclose(dq, qd_on, rtol=1e-9)
    K, k = robot.loop_jacobian(on, qd_on[robot.tree.independent_dofs])
    np.testing.assert_allclose(K @ dqd, k, rtol=1e-8, atol=1e-10)


def test_velocities_are_read_at_singular_configurations_too():
    sim = Simulator(parallelograms(2), 1e-3)
    names = sim.robot.joint_names
    q = np.array([np.pi / 2 if n.startswith("rocker") else -np.pi / 2 for n in names])
    assert float(nearness(sim.engine.tree, q)) < 1e-12
    qd, energies = sim.engine.reading(q, np.array([1.0 if n.startswith("rocker") else -1.0 for n in names]))
    assert np.all(np.isfinite(qd)) and np.all(np.isfinite(energies))


def test_an_integrator_without_steps_has_no_step_kernel():
    with pytest.raises(MethodError, match="the adaptive integrator has no single step; use rollout"):
        _ = engines("adaptive")[0].step
