"""What rollouts record: derived quantities in the robot's own coordinates, every so many steps."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.clusters.tangent_frame import TangentFrame
from kinloop.errors import KinloopError
from kinloop.sim import Plane, Simulator, Status
from kinloop.sim.recorder import RecordPlan
from tests.sim.mechanisms import ball, box_on, level, pendulum, started

ALL = ("q", "v", "qd", "energy", "kinetic_energy", "potential_energy", "loop_error")


@pytest.mark.parametrize("integrator", ["semi_implicit", "adaptive"])
def test_records_are_what_the_robot_says_of_recorded_states(integrator):
    robot, q, v = started("rocker_joint")
    sim = Simulator(robot, 1e-3, integrator=integrator)
    run = sim.rollout(q, v * [[1.0], [0.6]], steps=60, record=ALL, every=20)
    assert isinstance(sim.engine.tree.clusters[0].chart, TangentFrame), (
        "states move in other coordinates than the robot's"
    )
    assert run.q.shape == (2, 3, 3) and run.loop_error.shape == (2, 3, 1) and run.energy.shape == (2, 3)
    assert np.array_equal(run.v, run.qd[..., robot.tree.independent_dofs])
    np.testing.assert_allclose(run.qd, robot.spanning_velocity(run.q, run.v), rtol=1e-9)
    np.testing.assert_allclose(run.kinetic_energy, robot.kinetic_energy(run.q, run.v), rtol=1e-9)
    np.testing.assert_allclose(run.potential_energy, robot.potential_energy(run.q), rtol=1e-12)
    np.testing.assert_array_equal(run.energy, run.kinetic_energy + run.potential_energy)
    np.testing.assert_allclose(run.loop_error, robot.loop_error(run.q), atol=1e-15)
    np.testing.assert_array_equal(run.q[:, -1], run.final.q)


def test_every_nth_state_is_one_of_all_states():
    robot, q, v = started("crank_joint")
    sim = Simulator(robot, 1e-3)
    full = sim.rollout(q, v, steps=61, record=("q", "qd"))
    for every in (2, 7, 61):
        part = sim.rollout(q, v, steps=61, record=("q", "qd"), every=every)
        assert len(part.t) == 61 // every
        np.testing.assert_array_equal(part.t, full.t[every - 1 :: every])
        np.testing.assert_array_equal(part.q, full.q[every - 1 :: every])
        np.testing.assert_array_equal(part.qd, full.qd[every - 1 :: every])


def test_springs_store_energy():
    robot = pendulum(stiffness=50.0, rest=0.4)
    run = Simulator(robot, 1e-4).rollout(np.zeros(1), None, steps=100, record=("q", "energy", "potential_energy"))
    spring = 0.5 * 50.0 * (run.q[:, 0] - 0.4) ** 2
    np.testing.assert_allclose(run.potential_energy, robot.potential_energy(run.q) + spring, rtol=1e-14)
    assert np.ptp(run.energy) < 1e-5 * np.max(spring)


def test_a_stopped_row_keeps_its_last_values():
    controls = np.zeros((2, 20, 1))
    controls[1, 7:] = 1e12
    run = Simulator(pendulum(), 1e-3).rollout(np.zeros(1), np.ones(1), controls, record=("q", "energy"))
    assert run.status.tolist() == [Status.RUNNING, Status.DIVERGED]
    assert np.all(run.q[1, 7:] == run.q[1, 6]) and np.all(run.energy[1, 7:] == run.energy[1, 6])
    assert run.stopped[1] == pytest.approx(7e-3) and np.all(np.diff(run.q[0, :, 0]) != 0)


def test_a_row_that_stops_after_steps_in_parts_keeps_its_last_values_too():
    run = Simulator(pendulum(), 1e-3).rollout(np.zeros(1), None, [1e8], steps=12)
    last = round(run.stopped[0] / 1e-3)
    assert run.status[0] == Status.DIVERGED and 1 < last < 12 and run.substeps[0] > 0
    assert np.all(np.diff(run.q[:last, 0]) > 0) and np.all(run.q[last:] == run.final.q) and run.final.q > 1.0


def test_contact_is_recorded_step_by_step():
    sim = box_on(Plane())
    run = sim.rollout(level(0.05), None, steps=30, record=tuple(sim.contact.records), every=10)
    assert run.contact_force.shape == (3, 8, 3) and run.gap.shape == (3, 8) and run.residual.shape == (3, 1)
    assert run.joint_impulse.shape == (3, 0)
    assert run.contact_force[-1, :, 2].sum() == pytest.approx(2.0 * 9.81, rel=1e-6)
    flying = ball(Plane()).rollout(level(1.1), None, steps=3, record=("contact_force", "gap"))
    assert not np.any(flying.contact_force) and np.all(np.diff(flying.gap[:, 0]) < 0)


def test_peaks_are_taken_over_all_steps():
    sim = box_on(Plane())
    options = {"steps": 120, "record": ("contact_force", "gap", "residual", "iterations", "qd", "loop_error")}
    v = np.array([0.3, -2.0, 0.1, 0.0, 0.0, -2.0])
    full, some, none = (sim.rollout(level(0.1), v, **options, every=n) for n in (1, 50, 1000))
    forces = np.linalg.norm(full.contact_force.sum(axis=1), axis=1)
    assert np.max(forces) > 10.0 * np.max(np.linalg.norm(some.contact_force.sum(axis=1), axis=1)), "a blow in between"
    for run in (full, some, none):
        assert run.peaks.keys() == {"turning", "contact_force", "penetration", "residual", "iterations"}
        assert run.peaks["contact_force"][0] == pytest.approx(np.max(forces), rel=1e-12)
        assert run.peaks["penetration"][0] == max(0.0, -np.min(full.gap))
        assert run.peaks["residual"][0] == np.max(full.residual)
        assert run.peaks["iterations"][0] == np.max(full.iterations) >= 5.0
        assert run.peaks["turning"][0] >= np.max(np.abs(full.qd[:, :3])) * (1.0 - 1e-12)
        assert run.peaks["turning"][0] < 1.2 * np.max(np.abs(full.qd[:, :3]))


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "adaptive"])
def test_peaks_of_linkages_are_those_of_every_row(integrator):
    robot, q, v = started("rocker_joint")
    sim = Simulator(robot, 1e-3, integrator=integrator, monitor=True)
    speeds = v * [[1.0], [0.6]]
    full, last = (sim.rollout(q, speeds, steps=100, record=("qd", "loop_error"), every=n) for n in (1, 100))
    assert full.peaks.keys() == {"turning", "loop_error", "imbalance"}
    for run in (full, last):
        np.testing.assert_allclose(run.peaks["loop_error"], full.peaks["loop_error"], rtol=0, atol=3e-16)
        assert np.all(run.peaks["loop_error"] >= np.max(full.loop_error, axis=(1, 2)) - 3e-16)
        assert np.all(run.peaks["loop_error"] < 1e-12)
    fastest = np.max(np.abs(full.qd), axis=(1, 2))
    start = np.max(np.abs(sim.state(q, speeds).qd), axis=1)
    np.testing.assert_allclose(last.peaks["turning"], np.maximum(fastest, start), rtol=1e-2)
    assert np.all(last.peaks["turning"] > 1.02 * np.max(np.abs(last.qd), axis=(1, 2))), "the last state is slower"


def test_peaks_count_in_steps_that_are_taken_in_parts():
    robot, q, v = started("crank_joint", 200.0)
    run = Simulator(robot, 1e-3).rollout(q, v, steps=60, record=("qd",), every=60)
    fine = Simulator(robot, 1e-5).rollout(q, v, steps=6000, record=("qd",))
    assert run.substeps[0] > 100
    np.testing.assert_allclose(run.peaks["turning"][0], np.max(np.abs(fine.qd)), rtol=1e-3)


def test_times_go_on_from_the_state():
    sim = Simulator(pendulum(), 1e-2)
    run = sim.rollout(state=sim.state(np.zeros(1), np.ones(1), t=3.0), steps=6, every=2)
    np.testing.assert_allclose(run.t, [3.02, 3.04, 3.06])
    assert run.final.t[0] == pytest.approx(3.06)


def test_mistakes_are_named():
    sim = Simulator(pendulum(), 1e-3)
    with pytest.raises(KinloopError, match="cannot record 'colour'; this simulator records q, v, qd, energy"):
        RecordPlan(sim, ("colour",))
    with pytest.raises(KinloopError, match="cannot record 'gap'"):
        RecordPlan(sim, ("gap",))
    with pytest.raises(KinloopError, match="every must be at least 1, received 0"):
        RecordPlan(sim, ("q",)).even(0, 1)


def test_nothing_recorded_costs_nothing():
    run = Simulator(pendulum(), 1e-3).rollout(np.zeros(1), np.ones(1), steps=5, record=())
    assert run.records == {} and run.final.q[0, 0] != 0.0
