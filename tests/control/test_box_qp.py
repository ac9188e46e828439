"""Minima within bounds satisfy the conditions of a minimum; matrices that have none are told."""

from __future__ import annotations

import numpy as np

from kinloop.control.box_qp import minimum_in_box, positive


def test_minima_satisfy_their_conditions():
    rng, rows, n = np.random.default_rng(0), 200, 5
    L = rng.normal(size=(rows, n, n))
    H = L @ np.swapaxes(L, 1, 2) + 1e-3 * np.eye(n)
    g, low, high = 3.0 * rng.normal(size=(rows, n)), -rng.uniform(0.0, 1.0, (rows, n)), rng.uniform(0.0, 1.0, (rows, n))
    low[:, 0], high[:, 1], high[:, 2] = -np.inf, np.inf, low[:, 2]  # no limit, no limit, no room
    x, free, found = minimum_in_box(H, g, low, high, np.zeros((rows, n)))
    slope = (H @ x[..., None])[..., 0] + g
    assert found.all()
    assert ((x >= low) & (x <= high)).all()
    scale = 1e-7 * (1.0 + np.abs(g).max(axis=1, keepdims=True))
    inside = (x > low) & (x < high)
    assert (np.abs(slope) <= scale)[inside].all()
    assert (slope >= -scale)[(x == low) & (low < high)].all()
    assert (slope <= scale)[(x == high) & (low < high)].all()
    assert inside.any() and (x == low).any() and (x == high).any()
    assert (free | ~inside).all()


def test_only_the_free_part_has_to_be_positive():
    H = np.array([[[1.0, 0.0], [0.0, -1.0]], [[1.0, 0.0], [0.0, -1.0]]])
    low, high = np.full((2, 2), -1.0), np.full((2, 2), 1.0)
    g = np.array([[0.5, 0.0], [0.5, 3.0]])
    found = minimum_in_box(H, g, low, high, np.array([[0.0, 0.0], [0.0, -1.0]]))
    assert found.found.tolist() == [False, True]
    np.testing.assert_allclose(found.x[1], [-0.5, -1.0])


def test_positive_tells_rows_apart():
    H = np.stack([np.eye(2), -np.eye(2), np.full((2, 2), np.nan), np.zeros((2, 2))])
    assert positive(H).tolist() == [True, False, False, False]
