"""Steps of damped least squares between limits: beside dense optima, found by trying every set of active limits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kinloop.control.damped_least_squares import Bounded, Rows, damped_step


def enumerated(rows, D, limits):
    """The least value of |J x - e|^2 + x^T D x between limits, by brute force over all sets of active ones."""
    H, g = rows.J.T @ rows.J + np.diag(D), rows.J.T @ rows.e
    best, at = np.inf, None
    for states in itertools.product((-1, 0, 1), repeat=len(limits.low)):
        active = [i for i, s in enumerate(states) if s]
        A = limits.A[active]
        b = np.array([limits.high[i] if states[i] > 0 else limits.low[i] for i in active])
        if not np.isfinite(b).all():
            continue
        K = np.block([[H, A.T], [A, np.zeros((len(A), len(A)))]])
        x = np.linalg.lstsq(K, np.concatenate([g, b]), rcond=None)[0][: len(g)]
        moved = limits.A @ x
        value = float(np.sum((rows.J @ x - rows.e) ** 2) + x @ (D * x))
        if np.all(moved >= limits.low - 1e-9) and np.all(moved <= limits.high + 1e-9) and value < best:
            best, at = value, x
    return best, at


@pytest.mark.parametrize("seed", range(12))
def test_a_step_is_the_best_between_limits(seed):
    rng = np.random.default_rng(seed)
    n, m, k = 5, int(rng.integers(2, 7)), 4
    rows = Rows(rng.normal(size=(m, n)), 3.0 * rng.normal(size=m))
    A = np.concatenate([np.eye(n)[:2], rng.normal(size=(k - 2, n))])
    limits = Bounded(A, -rng.uniform(0.0, 1.0, k), rng.uniform(0.0, 1.0, k))
    limits.low[0], limits.high[1] = -np.inf, np.inf
    if seed % 3 == 0:
        limits.high[0] = limits.low[2] = 0.0  # begins at limits
    D = np.full(n, 1e-3)
    step = damped_step([rows], [D], limits, [0.0] * k)
    best, x = enumerated(rows, D, limits)
    value = float(np.sum((rows.J @ step.dv - rows.e) ** 2) + step.dv @ (D * step.dv))
    assert value == pytest.approx(best, rel=1e-7)
    np.testing.assert_allclose(step.dv, x, atol=1e-6)
    moved = limits.A @ step.dv
    assert np.all(moved <= limits.high + 1e-9) and np.all(moved >= limits.low - 1e-9)
    assert list(step.active) == [float(a >= h - 1e-8) - float(a <= l + 1e-8) for a, l, h in zip(moved, *limits[1:])]


def test_levels_behind_others_change_nothing_before_them():
    rng = np.random.default_rng(1)
    first, second = Rows(rng.normal(size=(3, 6)), rng.normal(size=3)), Rows(np.eye(6), rng.normal(size=6))
    none, D = Bounded(np.zeros((0, 6)), np.zeros(0), np.zeros(0)), [np.full(6, 1e-12)] * 2
    alone = damped_step([first], D[:1], none, []).dv
    both = damped_step([first, second], D, none, []).dv
    np.testing.assert_allclose(first.J @ both, first.J @ alone, atol=1e-10)
    # the best of what is left: in the null space of the first rows
    N = np.linalg.svd(first.J)[2][3:].T
    wanted = alone + N @ (N.T @ (second.e - alone))
    np.testing.assert_allclose(both, wanted, atol=1e-7)


def test_contradicting_rows_of_the_first_level_leave_the_second_its_freedom():
    first = Rows(np.array([[1.0, 0, 0], [1.0, 0, 0]]), np.array([1.0, -1.0]))
    second = Rows(np.eye(3), np.array([5.0, 2.0, 3.0]))
    none = Bounded(np.zeros((0, 3)), np.zeros(0), np.zeros(0))
    found = damped_step([first, second], [np.full(3, 1e-12)] * 2, none, []).dv
    np.testing.assert_allclose(found, [0.0, 2.0, 3.0], atol=1e-7)


def test_a_step_from_outside_leads_back_to_the_limit():
    rows = Rows(np.eye(2), np.array([4.0, 0.3]))
    limits = Bounded(np.eye(2), np.array([-1.0, -1.0]), np.array([-0.25, 1.0]))
    step = damped_step([rows], [np.full(2, 1e-9)], limits, [0.0, 0.0])
    np.testing.assert_allclose(step.dv, [-0.25, 0.3], atol=1e-8)
