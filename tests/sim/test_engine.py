"""Kernels of a simulation: the same as the interpreted functions, step by step and over many steps."""

from __future__ import annotations

import numpy as np
import pytest
from kinloop.sim.charts.recharting import rechart

import kinloop as kl
from kinloop.errors import MethodError
from kinloop.kernels import Interpreted, charts_key
from kinloop.sim import Motor, Simulator
from kinloop.sim.engine import FEEDBACK, Engine
from kinloop.sim.status import Status
from kinloop.sim.stepper import StepState
from kinloop.sim.watch import Watch
from tests.sim.mechanisms import crank_rocker, pendulum


def engines(integrator="semi_implicit", make=crank_rocker, **options):
    """An engine on kernels and one on numbers."""
    robot = make()
    plain = kl.Robot(robot.mechanism, backend="numpy")
    return [Simulator(r, 1e-3, integrator=integrator, **options).engine() for r in (robot, plain)]


def begin(sim, v):
    return sim.batch(sim.state(None, v)).state


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
def test_interpreted_steps_are_those_of_the_kernel(integrator):
    compiled, plain = engines(integrator, motors=[Motor("crank_joint", "position", kp=2.0, kd=0.1)])
    assert isinstance(plain.step, Interpreted) and not isinstance(compiled.step, Interpreted)
    assert list(plain.step.outputs) == list(compiled.step.outputs)
    sim = Simulator(crank_rocker(), 1e-3, integrator=integrator)
    state = begin(sim, np.array([[3.0], [-5.0]]))
    u, until = np.array([[[0.3]], [[0.1]]]), np.full((2, 1), 9.0)
    (a, kept), (b, also) = (e.advance(state, u, until, 4, 2, ("q_seen",), None) for e in (compiled, plain))
    for name, x, y in zip(StepState._fields, a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-11, err_msg=name)
    assert kept["q_seen"].shape == also["q_seen"].shape == (2, 2, 3)
    np.testing.assert_allclose(kept["q_seen"], also["q_seen"], rtol=0, atol=1e-13)
    np.testing.assert_array_equal(kept["q_seen"][:, -1], a.q)


def test_many_steps_at_once_are_single_steps():
    sim = Simulator(pendulum(damping=0.1), 1e-3)
    engine, state = sim.engine(), begin(sim, np.array([[1.0], [-2.0]]))
    u = np.random.default_rng(0).normal(size=(2, 6, 1))
    until = np.full((2, 1), 100.0)
    together = engine.advance(state, u, until, 6, 1, (), None)[0]
    for k in range(6):
        state = engine.advance(state, u[:, [k]], until, 1, 1, (), None)[0]
    for a, b in zip(together, state, strict=True):
        np.testing.assert_array_equal(a, b)


def test_rows_go_as_far_as_they_may():
    sim = Simulator(pendulum(), 1e-3)
    engine, state = sim.engine(), begin(sim, np.ones((3, 1)))
    until = np.array([[2.0], [5.0], [0.0]])
    after = engine.advance(state, np.zeros((3, 1, 1)), until, 5, 1, (), None)[0]
    watch = Watch.of(after.watch)
    assert watch.steps.tolist() == [2.0, 5.0, 0.0] and np.all(watch.status == Status.RUNNING)
    assert np.array_equal(after.q[2], state.q[2])


def test_feedback_is_what_a_step_gives_to_the_next():
    outputs = Simulator(pendulum(), 1e-3).engine().step.outputs
    assert list(FEEDBACK) == ["q", "v", "qd", "watch", "memory"] and set(FEEDBACK.values()) <= set(outputs)


@pytest.mark.parametrize("which", [0, 1], ids=["kernel", "numpy"])
def test_an_engine_reads_states_as_its_robot_does(which):
    engine = engines()[which]
    robot = engine.robot
    q = np.stack([robot.neutral(), robot.neutral() + 1e-3])
    v = np.array([[0.5], [2.0]])
    np.testing.assert_allclose(engine.velocities(q, v), robot.spanning_velocity(q, v), rtol=1e-13)
    np.testing.assert_allclose(engine.loop_error(q), robot.loop_error(q), rtol=1e-9, atol=1e-15)
    assert engine.loop_error(q)[1, 0] > 1e-5


@pytest.mark.parametrize("which", [0, 1], ids=["kernel", "numpy"])
def test_projection_closes_loops_and_stays(which):
    engine = engines("adaptive")[which]
    robot = engine.robot
    q, qd = robot.neutral() + 1e-3, robot.spanning_velocity(robot.neutral(), np.ones(1)) + 1e-2
    on, qd_on, gauge = engine.projection(q, qd)
    assert np.max(robot.loop_error(on)) < 1e-9 < np.max(robot.loop_error(q))
    again, qd_again, _ = engine.projection(on, qd_on)
    np.testing.assert_allclose(again, on, rtol=0, atol=1e-9)
    np.testing.assert_allclose(qd_again, qd_on, rtol=0, atol=1e-8)
    np.testing.assert_allclose(gauge, [float(x) for x in engine.gauge(on)], rtol=1e-9)
    dq, dqd = engine.rate(on, qd_on, np.zeros(1))
    np.testing.assert_allclose(dq, qd_on, rtol=1e-7)
    K, k = robot.loop_jacobian(on, qd_on[engine.independent])
    np.testing.assert_allclose(K @ dqd, k, rtol=1e-6, atol=1e-9)


def test_charts_are_told_apart():
    trees = [crank_rocker(name).tree for name in ("crank_joint", "rocker_joint")]
    assert charts_key(trees[0]) != charts_key(trees[1])
    q = crank_rocker().neutral()
    assert charts_key(rechart(trees[0], q)) == charts_key(rechart(trees[1], q)), "the best charts are the best"


def test_an_integrator_without_steps_has_no_step_kernel():
    with pytest.raises(MethodError, match="the adaptive integrator has no single step; use rollout"):
        _ = engines("adaptive")[0].step


def test_robots_without_loops_have_no_loop_errors():
    engine = Simulator(pendulum(), 1e-3).engine()
    assert isinstance(engine, Engine) and engine.loop_error(np.zeros((4, 2, 1))).shape == (4, 2, 0)
