"""Rounds that begin ahead: linear ones end soon, others are never made worse."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.sim.contact.acceleration import BEGIN, BEST, DEPTH, Ahead, Turn, trail_of


def rounds(G, x, tolerance, most):
    """Rounds until they change x by less than the tolerance; what else is carried, here x again, goes the same way."""
    ahead, trail = Ahead.of(x, np.inf), trail_of(x)
    while float(ahead.count) < most and not ahead.change <= tolerance:
        begin = ahead.trail[BEGIN].astype(float)
        end = G(begin)
        ahead, turn = ahead.after(end, np.max(np.abs(end - begin)))
        ahead, trail = Ahead.read(ahead.values(), len(x)), Turn.of(np.array(turn.values())).moved(trail, end)
        np.testing.assert_array_equal(trail, ahead.trail)
    return ahead


def slow(n, rng):
    """A linear round with ways that take from two to a thousand rounds."""
    V = rng.normal(size=(n, n))
    M = V @ np.diag(np.linspace(0.3, 0.999, n)) @ np.linalg.inv(V)
    x = rng.normal(size=n)
    return x, lambda y: x + M @ (y - x)


def test_linear_rounds_with_few_slow_ways_end_soon():
    rng = np.random.default_rng(0)
    for n in (1, 2, DEPTH):
        x, G = slow(n, rng)
        found = rounds(G, np.zeros(n), 1e-12, 60)
        np.testing.assert_allclose(found.trail[BEST].astype(float), x, atol=1e-8)
        assert found.count <= 3 * n + 8
    for n in (6, 12):
        x, G = slow(n, rng)
        found, plain = rounds(G, np.zeros(n), 1e-9, 3000), np.zeros(n)
        for _ in range(int(found.count)):
            plain = G(plain)
        assert found.change <= 1e-9 and np.max(np.abs(G(plain) - plain)) > 100 * 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_rounds_with_jumps_never_end_worse_than_they_were(seed):
    """Projected sweeps whose cones open and close: what is found is the best round, and they come to the solution."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(12, 8))
    A, b = Z @ Z.T + 1e-3 * np.eye(12), rng.normal(size=12)

    def G(x):
        x = x.copy()
        for k in range(12):
            x[k] = max(0.0, x[k] - (A[k] @ x + b[k]) / A[k, k])
        return x

    found = rounds(G, np.zeros(12), 1e-10, 3000)
    x = found.trail[BEST].astype(float)
    assert found.least <= 1e-10
    assert np.all(x >= 0) and np.all(A @ x + b > -1e-8) and abs(x @ (A @ x + b)) < 1e-7
    few = rounds(G, np.zeros(12), 0.0, 7)
    assert few.least <= np.max(np.abs(G(np.zeros(12))))
