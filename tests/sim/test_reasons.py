"""Rows that stop say why, in a sentence; those that stop before a singular configuration say that."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.sim import Motor, Simulator, Status
from kinloop.sim.reasons import FAST, FAULTS, REMEDIES, Stop, judge
from kinloop.sim.status import Fault
from tests.sim.mechanisms import parallelograms, pendulum, started, turned


def test_every_fault_and_every_end_has_words():
    assert set(FAULTS) == set(Fault) and set(REMEDIES) == {Status.OPEN, Status.DIVERGED, Status.SINGULAR}


@pytest.mark.parametrize(
    ("fault", "speed", "status"),
    [
        (Fault.OPEN, 1.0, Status.OPEN),
        (Fault.OPEN, 2.0 * FAST, Status.DIVERGED),
        (Fault.ROUGH, 1.0, Status.DIVERGED),
        (Fault.FAST, 1.0, Status.DIVERGED),
        (Fault.BEYOND, 1.0, Status.DIVERGED),
        (Fault.BLIND, 1.0, Status.SINGULAR),
    ],
)
def test_the_end_of_a_row_follows_from_its_last_fault_and_its_speed(fault, speed, status):
    robot, q, _ = started("crank_joint")
    engine = Simulator(robot).engine
    found = judge(engine, Stop(q, np.array([0.1, -speed, 0.2]), fault, 1e-8, "with the step in 9 parts"))
    assert found.status == status and found.near == pytest.approx(float(engine.nearness(q)[0])) and found.near > 0.1
    assert found.why == (
        f"{FAULTS[fault]}, even with the step in 9 parts; fastest is 'coupler_joint' at {speed:.3g} rad/s; "
        f"nearness to a singular configuration is {found.near:.2g}, 1 being far away; {REMEDIES[status]}"
    )


def test_open_loops_where_rounding_hides_the_motion_are_singular():
    robot = parallelograms(1)
    engine = Simulator(robot).engine
    for distance, status in ((1e-6, Status.SINGULAR), (1e-2, Status.OPEN)):
        stop = Stop(*turned(robot, 0.5 * np.pi - distance, 1.0), Fault.OPEN, 1e-8, "")
        assert judge(engine, stop).status == status


def test_rows_that_are_fast_have_diverged_wherever_they_are():
    """At 1000 rad/s and more nothing is said about the singular configuration beside them."""
    robot = parallelograms(1)
    engine = Simulator(robot).engine
    for speed, status in ((999.0, Status.SINGULAR), (1001.0, Status.DIVERGED)):
        stop = Stop(*turned(robot, 0.5 * np.pi - 1e-6, speed), Fault.OPEN, 1e-8, "")
        assert judge(engine, stop).status == status


def test_slides_are_told_from_turns():
    b = kl.Builder("slide")
    b.body("cart", joint="prismatic", axis="x", mass=1.0)
    engine = Simulator(b.build()).engine
    found = judge(engine, Stop(np.zeros(1), np.array([3.0]), Fault.BEYOND, 1e-8, "so"))
    assert "fastest is 'cart_joint' at 3 m/s; look for forces" in found.why, "there is no loop to be singular"


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "adaptive"])
def test_a_row_that_stops_says_when_and_why(integrator):
    controls = np.zeros((2, 20, 1))
    controls[1, 7:] = 1e12
    sim = Simulator(pendulum(), 1e-3, integrator=integrator)
    run = sim.rollout(np.zeros(1), np.ones(1), controls)
    assert run.status.tolist() == [Status.RUNNING, Status.DIVERGED] and run.reasons[0] == ""
    assert run.reasons[1].startswith("stopped at t = 0.007 s, in step 8: ") and run.stopped[1] == pytest.approx(7e-3)
    assert "'rod_joint' at" in run.reasons[1] and "look for forces" in run.reasons[1]
    assert ("39,876 parts" in run.reasons[1]) != (integrator == "adaptive")
    again = sim.rollout(state=run.final, steps=3)
    assert again.status.tolist() == run.status.tolist(), "for the same reason"
    assert again.reasons == ("", "had stopped at t = 0.007 s, before this rollout began")


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_a_row_that_cannot_pass_a_singular_configuration_stops_as_singular(integrator):
    """It moves towards it, from so near that no step is short enough, and remembers no step that could lead it over."""
    robot = parallelograms(1)
    sim = Simulator(robot, 1e-3, integrator=integrator)
    q, qd = turned(robot, 0.5 * np.pi - 3e-6, 1.0)
    run = sim.rollout(state=sim.state(np.stack([q, turned(robot, 1.0, 0.0)[0]]), qd=np.stack([qd, qd])), steps=3)
    assert run.status.tolist() == [Status.SINGULAR, Status.RUNNING]
    assert "a loop loses rank there, and rounding hides how the motion goes on, even with" in run.reasons[0]
    assert 1e-6 < run.nearest[0] < 1e-5 and f"configuration is {run.nearest[0]:.2g}" in run.reasons[0]
    assert run.stopped[0] == 0.0 and np.max(np.abs(run.final.q[0] - q)) < 1e-5, "it stays"


def test_the_adaptive_integrator_does_not_creep_towards_a_singular_configuration():
    robot = parallelograms(1)
    sim = Simulator(robot, 1e-3, integrator="adaptive", motors=[Motor("rocker0_joint", "position", 2000.0, 100.0)])
    q, qd = turned(robot, 1.0, 0.5)
    run = sim.rollout(state=sim.state(q, qd=qd), controls=[0.5 * np.pi], steps=200, record=())
    assert run.status[0] == Status.SINGULAR and run.nearest[0] < 1e-4
    assert run.info["steps"][0] < 10_000, "it stops where steps become a millionth of dt"
