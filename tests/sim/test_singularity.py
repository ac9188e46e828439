"""Singular configurations: told from near misses, and passed on the right branch by every integrator."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.sim import Simulator, Status
from kinloop.sim.singularity import MOST_LOST, is_blind, loop_speed, lost_part, nearness, passes
from tests.sim.mechanisms import crank_rocker, parallelograms, pendulum, three_rockers, turned

ANGLES, SPEEDS = (-1.2, -0.4, 0.3, 1.1), (1.0, 3.0, 8.0)


def flagged(f, h=0.1, first=-2.0, last=2.0):
    """Whether a motion with the nearness f(t) is seen to pass a singular configuration, in steps of h."""
    r = [f(t) for t in np.arange(first, last, h)]
    return any(passes(*three) for three in zip(r, r[1:], r[2:], strict=False))


@pytest.mark.parametrize("phase", np.linspace(0.0, 1.0, 11))
def test_zeros_are_passed_at_every_phase(phase):
    assert flagged(lambda t: abs(t - 0.1 * phase))
    assert flagged(lambda t: abs(3.0 * t - 0.3 * phase) * (1.0 + 0.02 * t))
    assert passes(0.3, 0.1, 0.1, 1.0) and passes(0.3, 0.1, 0.3, 2.0) and not passes(0.3, 0.1, 0.3, 1.0)


@pytest.mark.parametrize("phase", np.linspace(0.0, 1.0, 11))
@pytest.mark.parametrize("distance", [0.03, 0.1, 1.0])
def test_near_misses_and_returns_are_none(phase, distance):
    """Hyperbolas pass by at a distance; a motion that turns back or stands still never passes."""
    assert not flagged(lambda t: np.hypot(t - 0.1 * phase, distance))
    assert not flagged(lambda t: distance + (t - 0.1 * phase) ** 2)
    assert not flagged(lambda t: distance) and not flagged(lambda t: 0.0)


def test_passing_nearer_than_a_seventh_of_a_step_counts_as_passing_through():
    """Steps are of length 0.1."""
    phases = np.linspace(0.0, 1.0, 51)
    assert any(flagged(lambda t, p=p: np.hypot(t - 0.1 * p, 0.1 / 8)) for p in phases)
    assert not any(flagged(lambda t, p=p: np.hypot(t - 0.1 * p, 0.1 / 6.5)) for p in phases)
    assert passes(0.3, 0.1, 0.1099) and not passes(0.3, 0.1, 0.1101), "5 percent more than what leads to zero"


def test_accelerations_are_lost_near_a_singular_configuration_only():
    assert is_blind(1e-4, 0.0101, 1e-3) and not is_blind(1e-4, 0.0099, 1e-3), (
        "w h of 1e7 times the cube of the nearness"
    )
    assert is_blind(1e-5, 1.0, 1e-3) and not is_blind(1e-2, 10.0, 1e-3)
    assert not is_blind(1e-5, 0.0, 1e-3), "what stands still has no velocity products"
    assert is_blind(2e-4, 100.0, 1e-3) and not is_blind(2e-4, 1e-3, 1e-3)


@pytest.mark.parametrize("near", [1e-6, 1e-4, 1e-3, 0.1])
def test_a_step_is_blind_where_it_loses_too_much_of_its_velocity(near):
    for h, speed in ((1e-3, 1.0), (1e-9, 400.0), (0.1, 1e4)):
        assert is_blind(near, speed, h) == (lost_part(near, speed, h) > MOST_LOST)
    assert lost_part(near, 2.0, 1e-3) == pytest.approx(8.0 * lost_part(2.0 * near, 2.0, 1e-3)), "a cube"
    assert lost_part(0.0, 1.0, 1e-3) == np.inf


def test_robots_without_loops_are_far_from_anything():
    tree = Simulator(pendulum()).engine.tree
    assert nearness(tree, np.zeros(1)) == 1.0 and loop_speed(tree, np.ones(1)) == 0.0


def through(n, integrator, dt, time=2.0):
    """Chains that turn through their in-line configurations, at several phases and speeds."""
    robot = parallelograms(n)
    sim = Simulator(robot, dt, integrator=integrator)
    Q, D = map(np.array, zip(*(turned(robot, a, w) for a in ANGLES for w in SPEEDS), strict=True))
    run = sim.rollout(
        state=sim.state(Q, qd=D), steps=round(time / dt), record=("q", "energy", "kinetic_energy", "loop_error")
    )
    begin = np.sum(sim.engine.reading(Q, D)[1], axis=1)
    error = np.max(np.abs(run.energy - begin[:, None]), axis=1) / np.max(run.kinetic_energy, axis=1)
    rockers = [k for k, name in enumerate(robot.joint_names) if name.startswith("rocker")]
    branch = np.max(np.ptp(np.unwrap(run.q[..., rockers], axis=2), axis=2), axis=1)
    swept = run.q[..., rockers[0]]
    crossed = np.ptp(np.floor(swept / np.pi + 0.5), axis=1) > 0
    return run, error, branch, crossed


@pytest.mark.parametrize(
    ("integrator", "dt", "bound"),
    [
        ("semi_implicit", 1e-3, 1e-7), ("semi_implicit", 1e-2, 1e-5), ("rk4", 1e-3, 1e-6), ("rk4", 1e-2, 1e-5),
        ("adaptive", 1e-3, 1e-8), ("adaptive", 1e-2, 1e-8),
    ],
)  # fmt: skip
@pytest.mark.parametrize("n", [1, 2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 10))])
@pytest.mark.sample(3)
def test_chains_of_parallelograms_pass_on_the_right_branch(n, integrator, dt, bound):
    run, error, branch, crossed = through(n, integrator, dt)
    assert np.all(run.status == 1) and np.sum(crossed) >= 8
    assert np.max(branch) < 1e-9, "all rockers stay parallel"
    assert np.max(run.loop_error) < 1e-11
    assert np.all(run.singular[crossed])
    assert np.all(error[run.substeps == 0] < bound), error
    # a step in parts begins without a memory, as the plain leapfrog
    assert np.all(error < max(bound, 1e-4 if integrator == "semi_implicit" else 1e-5)), error


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "adaptive"])
def test_rows_that_stay_away_are_not_flagged(integrator):
    robot = parallelograms(2)
    sim = Simulator(robot, 1e-3, integrator=integrator)
    Q, D = map(np.array, zip(*(turned(robot, a, 0.0) for a in (2.4, 2.9, np.pi, 3.6)), strict=True))
    run = sim.rollout(state=sim.state(Q, qd=D), steps=1500)
    assert np.all(run.status == 1) and not np.any(run.singular) and np.min(run.nearest) > 0.3
    turning = Simulator(crank_rocker(), 1e-3, integrator=integrator).rollout(None, np.array([20.0]), steps=1000)
    assert not np.any(turning.singular) and turning.nearest[0] > 0.3


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "adaptive"])
def test_rows_that_begin_near_a_singular_configuration_and_rest_are_not_flagged(integrator):
    """Nothing is passed by staying."""
    robot = kl.robots.load("four_bar")
    q = robot.neutral()
    run = Simulator(robot, 1e-3, integrator=integrator).rollout(q, None, steps=20)
    assert np.max(np.abs(run.q - q)) < 1e-9 and 0.0 < run.nearest[0] < 0.2
    assert not run.singular[0]


def test_samples_on_the_way_are_no_copies():
    """What is recorded moves at every step, over singular configurations too."""
    for integrator in ("semi_implicit", "rk4"):
        run, *_ = through(2, integrator, 1e-2)
        steps = np.linalg.norm(np.diff(run.q, axis=1), axis=2)
        speed = np.sqrt(run.kinetic_energy)
        slow = np.minimum(speed[:, 1:], speed[:, :-1]) < 0.05 * np.max(speed, axis=1, keepdims=True)
        assert np.all((steps > 1e-6) | slow)


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "adaptive"])
@pytest.mark.parametrize("noise", [0.0, 1e-8, 5e-7])
@pytest.mark.sample(4)
def test_loops_that_redundant_rows_should_hold_are_not_left_open(integrator, noise):
    """In line rows lose rank, and what rows hold that follow from others only to a few digits is another mechanism."""
    robot = three_rockers(noise)
    q = robot.close(np.array([0.5, -0.5, 0.5, 0.5]))
    run = Simulator(robot, 1e-3, integrator=integrator).rollout(q, None, steps=1000, record=["q", "loop_error"])
    assert np.max(run.loop_error) <= 1e-5
    if noise:
        assert run.status[0] == Status.OPEN and 0.46 < run.stopped[0] < 0.47, "the rockers are level at 0.463 s"
        assert "loops do not close" in run.reasons[0]
    elif run.status[0] == Status.RUNNING:
        assert np.max(np.abs(run.q[:, [0, 2]] - run.q[:, [2, 3]])) < 1e-9, "rockers stay parallel"
    else:
        assert integrator == "adaptive" and run.status[0] == Status.SINGULAR
