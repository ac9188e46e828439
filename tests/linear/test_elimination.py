"""Small systems and determinants on numbers and on symbols, with pivots chosen while the kernel runs."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree

from kinloop import scalar as sc
from kinloop.linear import determinant, solve


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_solve_is_numpys_on_numbers_and_on_symbols(n):
    rng = np.random.default_rng(n)
    for _ in range(5):
        A, B = rng.normal(size=(n, n)), rng.normal(size=(n, 3))
        expected = np.linalg.solve(A, B)
        assert_agree(solve(A, B), expected, cond=float(np.linalg.cond(A)))
        traced = sc.trace(lambda a, b: solve(a.reshape(n, n), b.reshape(n, 3)), {"a": n * n, "b": 3 * n})
        assert_agree(traced(A.ravel(), B.ravel()), expected, cond=float(np.linalg.cond(A)))


@pytest.mark.parametrize("n", [3, 4, 5])
def test_traced_elimination_pivots_while_it_runs(n):
    """One trace, matrices whose leading entries are zero in every order: no fixed order of pivots serves all."""
    traced = sc.trace(lambda a, b: solve(a.reshape(n, n), b.reshape(n, 1)), {"a": n * n, "b": n})
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = np.eye(n)[rng.permutation(n)] * rng.uniform(1, 2, n) + 1e-9 * rng.normal(size=(n, n))
        b = rng.normal(size=n)
        assert_agree(traced(A.ravel(), b), np.linalg.solve(A, b).reshape(n, 1), cond=10.0)


def test_a_singular_solve_gives_no_finite_answer():
    for n in (1, 2, 3):
        with np.errstate(all="ignore"):
            assert not np.any(np.isfinite(solve(np.zeros((n, n)), np.ones((n, 1)))))


def test_known_entries_fold_out_of_a_traced_solve():
    x = sc.Graph().inputs("x", 1)[0]
    A = np.array([[2.0, 0.0], [0.0, 4.0]])
    out = solve(A, np.array([[x], [1.0]], dtype=object))
    assert out[1, 0] == 0.25


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_the_determinant_is_numpys_with_its_sign(n):
    rng = np.random.default_rng(n)
    traced = sc.trace(lambda a: np.array([determinant(a.reshape(n, n))]), {"a": n * n})
    for _ in range(5):
        A = rng.normal(size=(n, n))
        assert_agree(determinant(A), np.linalg.det(A), cond=float(np.linalg.cond(A)))
        assert_agree(traced(A.ravel())[0], np.linalg.det(A), cond=float(np.linalg.cond(A)))


def test_a_traced_determinant_shares_the_elimination_of_a_traced_solve():
    def both(a, b):
        A = a.reshape(4, 4)
        return {"x": solve(A, b.reshape(4, 1)), "d": np.array([determinant(A)])}

    sizes = {"a": 16, "b": 4}
    alone = sc.trace(lambda a, b: solve(a.reshape(4, 4), b.reshape(4, 1)), sizes).operations["total"]
    signs = 2 * (3 + 2 + 1)  # of every pair of rows that may be exchanged
    assert sc.trace(both, sizes).operations["total"] == alone + 3 + signs
