"""The factorisation L D L^T: what it solves, and what its rules do with small pivots."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree

from kinloop import scalar as sc
from kinloop.linear import Factor, floored, guarded


def positive(n, rank=None, seed=0):
    B = np.random.default_rng(seed).normal(size=(n, n if rank is None else rank))
    return B @ B.T


def traced(f, A):
    """f(A) computed through a trace whose inputs are the entries of A."""
    return sc.trace(lambda a: f(a.reshape(A.shape)), {"a": A.size})(A.ravel())


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_it_solves_as_numpy_does(n):
    A, rng = positive(n), np.random.default_rng(1)
    cond = float(np.linalg.cond(A)) if n else 1.0
    for B in (rng.normal(size=n), rng.normal(size=(n, 3))):
        expected = np.linalg.solve(A, B)
        assert_agree(Factor(A).solve(B), expected, cond)
        if n:
            assert_agree(traced(lambda a, B=B: Factor(a).solve(B), A), expected, cond)


def test_its_parts_multiply_to_the_matrix():
    A = positive(4)
    f = Factor(A)
    assert_agree(f.matrix(), A)
    assert_agree(np.tril(f.L), f.L)
    assert_agree(np.diag(f.L), np.ones(4))
    assert_agree(f.forward(A), np.linalg.solve(f.L, A), cond=float(np.linalg.cond(A)))
    assert_agree(f.backward(A), np.linalg.solve(f.L.T, A), cond=float(np.linalg.cond(A)))
    assert_agree(f.log_determinant(), np.linalg.slogdet(A)[1], scale=1.0)
    assert Factor(np.zeros((0, 0))).matrix().shape == (0, 0)


def test_by_the_plain_rule_a_singular_matrix_has_no_finite_solution():
    with np.errstate(all="ignore"):
        assert not np.any(np.isfinite(Factor(np.zeros((2, 2))).solve(np.ones(2))))
    assert Factor(positive(3)).lost == 0.0


def test_by_the_guarded_rule_dependent_rows_are_given_up_and_counted():
    A = positive(5, rank=3)
    x = np.array([1.0, -2.0, 0.5, 0.3, 2.0])
    f = Factor(A, guarded(1e-9))
    y = f.solve(A @ x)
    assert f.lost == 2.0 and list(y[3:]) == [0.0, 0.0]
    assert_agree(A @ y, A @ x, cond=1e5)
    assert_agree(f.unmet(A @ x), np.zeros(5), cond=1e5, scale=1.0)
    unmet = f.unmet(A @ x + np.array([0, 0, 0, 1.0, 0]))
    assert_agree(unmet[:4], [0.0, 0.0, 0.0, 1.0], cond=1e5)
    assert_agree(traced(lambda a: Factor(a, guarded(1e-9)).solve(A @ x), A), y, cond=1e5)
    assert traced(lambda a: np.array([Factor(a, guarded(1e-9)).lost]), A)[0] == 2.0


def test_by_the_floored_rule_no_pivot_falls_below_its_part_and_weak_ones_are_counted():
    A = np.diag([4.0, 1e-3, 1e-12])
    f = Factor(A, floored([1.0, 1.0, 1.0], 1e-8, weak=1e-2))
    assert f.d == [4.0, 1e-3, 1e-8] and f.lost == 2.0
    assert Factor(A, floored([1.0, 1.0, 1.0], 1e-8)).lost == 0.0
    assert traced(lambda a: np.array([Factor(a, floored([1.0] * 3, 1e-8, weak=1e-2)).lost]), A)[0] == 2.0
    assert_agree(traced(lambda a: np.array(Factor(a, floored([1.0] * 3, 1e-8)).d), A), f.d)
