"""Systems whose rows depend on each other: what is determined comes out exactly."""

import numpy as np

from kinloop.sim.linearization.soft_elimination import Elimination


def test_regular_systems_are_solved_from_both_sides():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(6, 6)) + 6.0 * np.eye(6)
    r = rng.normal(size=(6, 3))
    made = Elimination(K, np.diag(K))
    assert np.allclose(made.solve(r), np.linalg.solve(K, r), rtol=1e-12)
    assert np.allclose(made.solve_left(r.T) @ K, r.T, rtol=1e-12)


def test_dependent_rows_leave_what_they_determine_exact():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(12, 6))
    A, r = Z @ Z.T, Z @ rng.normal(size=6)
    expected = np.linalg.lstsq(Z, r, rcond=None)[0]
    x = Elimination(A, np.diag(A)).solve(r)
    assert np.allclose(Z.T @ x, expected, rtol=1e-10)
    left = Elimination(A, np.diag(A)).solve_left(Z.T)
    assert np.allclose(left @ r, Z.T @ np.linalg.lstsq(A, r, rcond=1e-10)[0], rtol=1e-9)
