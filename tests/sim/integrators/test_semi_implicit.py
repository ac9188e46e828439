"""The leapfrog: exact where it must be, of second order elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.sim import Plane, Simulator
from kinloop.sim.actuators import make_drive
from kinloop.sim.integrators.semi_implicit import SemiImplicit
from kinloop.sim.stepper import System
from tests.sim.mechanisms import RECORD, box_on, drift, free_box, level, pendulum, started

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
    np.testing.assert_allclose(run.q[:, :3], exact, atol=2e-4)


def ends(make, q, v, steps=(4e-3, 2e-3, 1e-3), time=0.4):
    return [Simulator(make, h).rollout(q, v, steps=round(time / h)).q[-1] for h in steps]


@pytest.mark.parametrize("case", ["pendulum", "four-bar", "tumbling"])
def test_smooth_motion_is_of_second_order(case):
    if case == "pendulum":
        found = ends(pendulum(), np.array([1.0]), np.array([2.0]))
    elif case == "four-bar":
        robot, q, v = started("crank_joint", 5.0)
        found = ends(robot, q, v)
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
    assert np.max(np.abs(spin - spin[0])) < 1e-4 * np.linalg.norm(spin[0])


def test_loops_stay_closed_to_rounding():
    robot, q, v = started("crank_joint")
    run = Simulator(robot, 1e-3).rollout(q, v, steps=1000, record=RECORD, every=10)
    assert np.max(run.loop_error) < 1e-12 and drift(run) < 1e-2


def test_loops_are_predicted_to_second_order():
    """So that after one round of Newton the second one has next to nothing left to correct."""
    robot, q, v = started("crank_joint")
    system = System(robot.tree, make_drive(robot.tree, None), None, 4e-3)
    moved = SemiImplicit().step(system, q, v, robot.spanning_velocity(q, v), np.zeros(1), np.zeros(1))
    assert moved.correction < 1e-9 and np.max(robot.loop_error(moved.q)) < 1e-14


def test_it_remembers_its_acceleration_and_its_impulses():
    robot = pendulum()
    sim = Simulator(robot, 1e-3)
    system = System(robot.tree, sim.drive, None, sim.dt)
    assert SemiImplicit().memory_size(system) == 1 == sim.state().memory.shape[1]
    start = sim.state(np.array([0.3]), np.array([1.0]))
    end = sim.step(start)
    assert end.memory[0, 0] == pytest.approx((end.qd[0, 0] - 1.0) / sim.dt, rel=1e-12)
    box = box_on(Plane())
    assert SemiImplicit().memory_size(System(box.robot.tree, box.drive, box.contact, box.dt)) == 6 + 3 * 8
    rest = box.rollout(level(0.05), None, steps=20).final
    impulse = rest.memory[0, 6:].reshape(8, 3)[:, 0].sum()
    assert impulse == pytest.approx(2.0 * G * box.dt, rel=1e-6), "what bears the weight over one step"


def test_first_guesses_change_little():
    robot, q, v = started("crank_joint")
    sim = Simulator(robot, 1e-3)
    warm = sim.rollout(q, v, steps=50).final
    cold = sim.state(warm.q, qd=warm.qd)
    a, b = sim.step(warm), sim.step(cold)
    assert 0 < np.max(np.abs(a.qd - b.qd)) < 1e-2 * np.max(np.abs(a.qd))


def test_implicit_forces_add_inertia_to_the_prepared_system_only():
    robot = pendulum(damping=2.0)
    system = Simulator(robot, 1e-2).engine().system
    prepared = SemiImplicit().prepared(system)
    assert prepared.tree.top.armature - system.tree.top.armature == pytest.approx([2e-2])
    assert prepared.drive is system.drive and prepared.dt == system.dt
