"""The leapfrog: exact where it must be, of high order in smooth motion, of second where forces are implicit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.sim import Plane, Simulator
from kinloop.sim.integrators.semi_implicit import ORDER_ELSE, SemiImplicit, order
from kinloop.sim.stepper import Stepper
from tests.sim.mechanisms import RECORD, box_on, drift, free_box, level, on_fixed_base, pendulum, started

G = 9.81


def test_flight_is_a_parabola():
    sim, h, n = Simulator(free_box(), 1e-2), 1e-2, 50
    v = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    run = sim.rollout(level(0.0), v, steps=n)
    t = run.t[:, None]
    exact = t * v[3:] - 0.5 * G * t * t * [0.0, 0.0, 1.0]
    assert t[-1] == pytest.approx(n * h)
    np.testing.assert_allclose(run.q[:, :3], exact, atol=1e-13)


def test_the_centre_of_a_tumbling_body_flies_on_a_parabola_too():
    run = Simulator(free_box(), 1e-3).rollout(level(0.0), np.array([3.0, -2.0, 1.0, 1.0, 2.0, 3.0]), steps=300)
    exact = run.t[:, None] * [1.0, 2.0, 3.0] - 0.5 * G * run.t[:, None] ** 2 * [0.0, 0.0, 1.0]
    np.testing.assert_allclose(run.q[:, :3], exact, atol=2e-5)


def ends(make, q, v, steps=(4e-3, 2e-3, 1e-3), time=0.4):
    return [Simulator(make, h).rollout(q, v, steps=round(time / h)).q[-1] for h in steps]


@pytest.mark.parametrize("case", ["spring", "tumbling"])
def test_springs_and_the_first_steps_of_trees_are_of_second_order(case):
    """A step without a memory is the plain leapfrog, and its error stays in all that follows (see test_history)."""
    if case == "spring":
        found = ends(pendulum(stiffness=3.0), np.array([1.0]), np.array([2.0]))
    else:
        found = ends(free_box(), level(0.0), np.array([3.0, -2.0, 1.0, 0.5, 0.0, 0.0]))
    first, second = np.max(np.abs(found[0] - found[1])), np.max(np.abs(found[1] - found[2]))
    assert 1.7 < np.log2(first / second) < 2.5


def test_a_torque_free_body_keeps_its_angular_momentum():
    robot = free_box()
    run = Simulator(robot, 1e-3).rollout(level(0.0), np.array([3.0, -2.0, 4.0, 0.0, 0.0, 0.0]), steps=2000, every=50)
    L = np.array([robot.momentum(q, v) for q, v in zip(run.q, run.v, strict=True)])
    c = run.q[:, :3]
    spin = L[:, :3] - np.cross(c, L[:, 3:])
    assert np.max(np.abs(spin - spin[0])) < 1e-10 * np.linalg.norm(spin[0])


def test_loops_stay_closed_to_rounding():
    robot, q, v = started("crank_joint")
    run = Simulator(robot, 1e-3).rollout(q, v, steps=10_000, record=RECORD, every=10)
    assert np.max(run.loop_error) < 1e-13 and drift(run) < 5e-6


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "speed"), [("four_bar", 2.0), ("slider_crank", 8.0), ("rssr", 4.0), ("tello", 0.5)])
def test_passive_linkages_keep_their_energy(name, speed):
    robot = on_fixed_base(name)
    v = speed * (np.ones(1) if robot.nv == 1 else np.random.default_rng(1).normal(size=robot.nv))
    sim = Simulator(robot, 1e-3)
    run = sim.rollout(None, v, steps=10_000, record=RECORD, every=10)
    assert run.status.tolist() == [1] and run.substeps.tolist() == [0]
    begin = sim.state(None, v)
    start = np.sum(sim.engine.reading(begin.q[0], begin.qd[0])[1])
    assert np.max(np.abs(run.energy - start)) < 1e-6 * np.max(run.kinetic_energy)
    assert np.max(run.loop_error) < 1e-12


@pytest.mark.parametrize(("name", "speed"), [("slider_crank", 8.0), ("rssr", 4.0)])
def test_energy_has_no_trend_over_a_million_steps(name, speed):
    run = Simulator(kl.robots.load(name), 1e-3).rollout(None, np.array([speed]), steps=10**6, record=RECORD, every=1000)
    tenths = np.mean(np.reshape(run.energy, (10, 100)), axis=1) / np.max(run.kinetic_energy)
    assert run.status.tolist() == [1] and np.ptp(tenths) < 1e-7, tenths


def test_loops_are_predicted_to_second_order():
    """So that after one round of Newton the second one has next to nothing left to correct."""
    robot, q, v = started("crank_joint")
    sim = Simulator(robot, 1e-3)
    for state in (sim.state(q, v), sim.rollout(q, v, steps=6).final):
        x, qd, memory = state.q[0], state.qd[0], state.memory[0]
        moved = SemiImplicit().step(sim.engine.system, x, qd, memory, np.zeros(1), sim.dt)
        assert moved.correction < 1e-9 and np.max(robot.loop_error(moved.q)) < 1e-14


def test_it_remembers_its_acceleration_and_its_impulses():
    robot = pendulum()
    sim = Simulator(robot, 1e-3)
    assert sim.engine.system.is_smooth
    # accelerations and their differences, how many are known, the step length and the control
    assert SemiImplicit().memory_size(sim.engine.system) == (ORDER_ELSE - 1) + 3 == sim.state().memory.shape[1]
    start = replace(sim.state(np.array([0.3]), np.array([1.0])), pace=np.array([[1, 0]]))
    end = sim.step(start)
    assert end.memory[0, 0] == pytest.approx((end.qd[0, 0] - 1.0) / sim.dt, rel=1e-12)
    box = box_on(Plane())
    own = (ORDER_ELSE - 1) * 6 + 2 + 6
    assert SemiImplicit().memory_size(box.engine.system) == own + 3 * 8 + 1
    rest = box.rollout(level(0.05), None, steps=20).final
    impulse = rest.memory[0, own:-1].reshape(8, 3)[:, 0].sum()
    assert impulse == pytest.approx(2.0 * G * box.dt, rel=1e-6), "what bears the weight over one step"


def test_first_guesses_change_little():
    robot, q, v = started("crank_joint")
    sim = Simulator(robot, 1e-3)
    warm = sim.rollout(q, v, steps=50).final
    cold = sim.state(warm.q, qd=warm.qd)
    a, b = sim.step(warm), sim.step(cold)
    assert 0 < np.max(np.abs(a.qd - b.qd)) < 1e-2 * np.max(np.abs(a.qd))


def test_where_forces_are_implicit_only_the_last_acceleration_is_kept():
    sim = Simulator(pendulum(damping=2.0), 1e-2)
    system = sim.engine.system
    assert not system.is_smooth and SemiImplicit().memory_size(system) == 1 + 3
    armature = system.tree.top.armature.copy()
    sim.step(sim.state(np.array([0.3]), np.array([1.0])))
    assert np.array_equal(system.tree.top.armature, armature), "inertia of implicit forces is the step's own"


def test_contact_that_is_far_changes_nothing():
    free, over = Simulator(free_box(), 1e-3, limits=False), box_on(Plane())
    v = np.array([3.0, -2.0, 1.0, 0.5, 0.0, 1.0])
    a, b = (sim.rollout(level(1.0), v, steps=200) for sim in (free, over))
    np.testing.assert_allclose(a.q, b.q, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("name", "most"), [("four_bar", 612), ("six_bar", 1476), ("tello", 8142)])
def test_a_step_and_a_beginning_cost_what_they_are_measured_at(name, most):
    """In operations. A beginning counts its evaluations of the dynamics: six in linkages, two in robots."""
    sim = Simulator(kl.robots.load(name), 1e-3, limits=False)
    system, stepper = sim.engine.system, Stepper(sim.engine.system, SemiImplicit())
    sizes = stepper.inputs()
    step = sc.trace(stepper, sizes).operations["total"]
    assert step <= most

    def start(q, qd, u, h):
        return {"memory": SemiImplicit().starting_memory(system, q, qd, u, h[0])[0]}

    beginning = sc.trace(start, {name: sizes[name] for name in ("q", "qd", "u", "h")}).operations["total"]
    assert beginning < (1.6 if order(system) == ORDER_ELSE else 3.8) * step
