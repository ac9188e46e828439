"""Multipliers where rows depend on each other: the shortest, the nearest, and what cannot be met."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree

from kinloop import scalar as sc
from kinloop.algorithms.constrained.multipliers import null_rows, rank_rows, solve_rows


def semidefinite(n: int, rank: int, seed: int = 0) -> np.ndarray:
    J = np.random.default_rng([seed, n]).normal(size=(n, rank))
    return J @ J.T


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (3, 3), (5, 2), (4, 0)])
def test_as_many_rows_are_independent_as_the_rank_says(n, rank):
    kept, left = rank_rows(semidefinite(n, rank), size=1.0)
    assert len(kept) == rank and sorted(kept + left) == list(range(n))


def test_of_equal_rows_the_first_is_kept():
    J = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert rank_rows(J @ J.T) == ([0, 2], [1])


def test_what_is_nothing_beside_its_size_is_rounding():
    L = np.diag([1.0, 1e-22])
    assert rank_rows(L) == ([0, 1], [])
    assert rank_rows(L, size=np.ones(2)) == ([0], [1])


@pytest.mark.parametrize("seed", range(5))
def test_multipliers_are_the_shortest_that_explain_the_rows(seed):
    L = semidefinite(6, 3, seed)
    r = L @ np.random.default_rng(seed).normal(size=6)
    multipliers, residual, lost = solve_rows(L, r, size=1.0)
    cond = float(np.linalg.cond(L, p=2)) if np.linalg.matrix_rank(L) == 6 else 1e6
    assert lost == 0.0
    assert_agree(multipliers, np.linalg.pinv(L, rcond=1e-10) @ r, cond)
    assert_agree(residual, np.zeros(6), cond, scale=float(np.max(np.abs(r))))


@pytest.mark.parametrize("seed", range(5))
def test_rows_in_conflict_are_met_as_nearly_as_can_be(seed):
    L, r = semidefinite(6, 3, seed), np.random.default_rng(seed).normal(size=6)
    multipliers, residual, _ = solve_rows(L, r, least_squares=True, size=1.0)
    left = r - L @ multipliers
    assert_agree(residual, left, 1e6, scale=1.0)
    assert_agree(L @ left, np.zeros(6), 1e6, scale=float(np.linalg.norm(L)) * float(np.linalg.norm(r)))


def test_on_symbols_the_dependent_rows_are_those_given():
    L = semidefinite(5, 3)
    r = L @ np.arange(1.0, 6.0)
    _, dependent = rank_rows(L, size=1.0)

    def traced(a, b):
        multipliers, residual, lost = solve_rows(a.reshape(5, 5), b, dependent)
        return {"x": multipliers, "r": residual, "lost": np.array([lost])}

    got = sc.trace(traced, {"a": 25, "b": 5})(L.ravel(), r)
    expected = solve_rows(L, r, size=1.0)
    assert_agree(got[0], expected[0], 1e6)
    assert_agree(got[1], expected[1], 1e6, scale=1.0)
    assert got[2][0] == 0.0


def test_null_rows_span_what_redundant_rows_exchange():
    L = semidefinite(5, 3)
    _, dependent = rank_rows(L, size=1.0)
    N = null_rows(L, dependent)
    assert N.shape == (5, 2) and np.linalg.matrix_rank(N) == 2
    assert_agree(L @ N, np.zeros((5, 2)), 1e6, scale=float(np.max(np.abs(L)) * np.max(np.abs(N))))


def test_no_rows_need_no_multipliers():
    multipliers, residual, lost = solve_rows(np.zeros((0, 0)), np.zeros(0))
    assert multipliers.shape == residual.shape == (0,) and lost == 0.0
