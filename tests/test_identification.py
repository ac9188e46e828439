"""What forces can show of a robot's numbers, and fitting them: exact without noise, possible bodies with it."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import ModelError
from kinloop.identification import fit, is_possible, of_second_moments, second_moments
from tests.helpers import relative


def motion(robot: kl.Robot, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    drawn = [robot.random_state(rng) for _ in range(n)]
    q, v = np.array([x for x, _ in drawn]), np.array([x for _, x in drawn])
    return q, v, rng.normal(size=v.shape)


@pytest.fixture(scope="module")
def leg() -> kl.Robot:
    return kl.robots.load("mit_humanoid_leg")


def test_a_pendulum_shows_what_every_book_says():
    b = kl.Builder("pendulum")
    b.body("bob", axis="y", mass=2.0, com=(0.1, 0.2, -0.5), inertia=(0.1, 0.2, 0.3))
    robot = b.build()
    base = robot.base_parameters()
    names = set(base.names)
    assert names == {"bob.mx", "bob.mz", "bob.yy", "bob_joint.damping", "bob_joint.friction"}
    row = base.combination[base.names.index("bob.yy")]
    hidden = {name for name, x in zip(robot.parameter_names, row, strict=True) if x}
    assert hidden == {"bob.yy", "bob_joint.armature"}


def test_combinations_say_the_same_as_all_numbers_and_are_found_exactly(leg):
    rng = np.random.default_rng(2)
    q, v, a = motion(leg, rng, 60)
    base, pi = leg.base_parameters(), leg.inertial_parameters()
    tau = leg.inverse_dynamics(q, v, a)
    Y = leg.regressor(q, v, a)[..., base.kept]
    assert relative(Y @ (base.combination @ pi), tau) <= 1e-12
    rows = Y.reshape(-1, len(base.kept))
    assert (
        np.linalg.matrix_rank(rows)
        == len(base.kept)
        == np.linalg.matrix_rank(leg.regressor(q, v, a).reshape(-1, len(pi)))
    )
    found = np.linalg.lstsq(rows, tau.ravel(), rcond=None)[0]
    assert relative(found, base.combination @ pi) <= 1e-10


def test_second_moments_are_the_numbers_of_a_body():
    pi = np.array([2.0, 0.2, -0.1, 0.3, 0.5, 0.01, 0.6, -0.02, 0.03, 0.4])
    np.testing.assert_allclose(of_second_moments(second_moments(pi)), pi, rtol=0, atol=1e-15)
    assert is_possible(pi)
    assert not is_possible([2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.3])  # a moment larger than the sum of the others
    assert not is_possible([-1.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1])


def test_noise_gives_bodies_that_can_exist_and_predict(leg):
    rng = np.random.default_rng(5)
    q, v, a = motion(leg, rng, 300)
    tau, bodies = leg.inverse_dynamics(q, v, a), len(leg.body_names)
    pi = leg.inertial_parameters()
    start = pi * np.append(np.repeat(rng.uniform(0.5, 2.0, bodies), 10), np.ones(len(pi) - 10 * bodies))
    found = fit(leg, q, v, a, tau + 0.2 * rng.normal(size=tau.shape), noise=0.2, start=start)
    assert all(is_possible(x) for x in found[: 10 * bodies].reshape(-1, 10))
    assert np.all(found[10 * bodies :] >= 0.0)
    q, v, a = motion(leg, rng, 100)
    Y, truth = leg.regressor(q, v, a), leg.inverse_dynamics(q, v, a)
    before, after = (np.sqrt(np.mean((Y @ x - truth) ** 2)) for x in (start, found))
    assert after <= 0.1 * before and after <= 0.1
    leg.with_inertial_parameters(found)


def test_without_noise_the_fit_predicts_exactly():
    robot, rng = kl.robots.load("four_bar"), np.random.default_rng(1)
    q, v, a = motion(robot, rng, 40)
    tau, pi = robot.inverse_dynamics(q, v, a), robot.inertial_parameters()
    found = fit(robot, q, v, a, tau, noise=1e-6, start=1.3 * pi)
    assert relative(robot.regressor(q, v, a) @ found, tau) <= 1e-6


def test_noise_must_be_a_number_above_zero(leg):
    with pytest.raises(ModelError, match="must be positive"):
        fit(leg, leg.neutral(), np.zeros(5), np.zeros(5), np.zeros(5), noise=0.0)
