"""Small quadratic programs within bounds, one per row of a batch, by projected Newton steps.

    min  1/2 x^T H x + g^T x,      low <= x <= high                                                                 (1)

Entries at a bound that the gradient pushes further out are held; Newton's step of the others is taken and cut at the
bounds, as far along as (1) falls enough. [Tassa2014]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop.scalar import Array

ROUNDS = 100
ENOUGH = 1e-10
"""Rounds end where the next would lower (1) by less than this part of what was gained so far, or of rounding."""
ARMIJO = 0.1
HALVINGS = 0.5 ** np.arange(20)


class BoxMinimum(NamedTuple):
    """Where the minimum is (b, n), which entries are free there (b, n), and for which rows H allows one (b,)."""

    x: Array
    free: Array
    found: Array


def positive(H: Array) -> Array:
    """Which matrices of a stack (b, n, n) are positive definite (b,)."""
    try:
        np.linalg.cholesky(H)
        return np.asarray(np.isfinite(H).all(axis=(1, 2)))
    except np.linalg.LinAlgError:
        return np.array([len(H) > 1 and bool(positive(one[None])[0]) for one in H])


def masked(H: Array, free: Array) -> Array:
    """H with the rows and columns of entries that are not free replaced by those of the identity."""
    both = free[:, :, None] & free[:, None, :]
    return np.where(both, H, np.eye(H.shape[1]))


def times(M: Array, x: Array) -> Array:
    """M x of stacks."""
    product: Array = (M @ x[..., None])[..., 0]
    return product


def minimum_in_box(H: Array, g: Array, low: Array, high: Array, x: Array) -> BoxMinimum:
    """The minimum of (1) for every row, starting at x; bounds may be infinite."""
    x = np.clip(x, low, high)
    found, going = np.ones(len(H), dtype=bool), np.ones(len(H), dtype=bool)
    free = np.ones_like(g, dtype=bool)
    start = value(H, g, x)
    for _ in range(ROUNDS):
        slope = g + times(H, x)
        held = ((x <= low) & (slope > 0.0)) | ((x >= high) & (slope < 0.0))
        free = np.where(going[:, None], ~held, free)
        K = masked(H, free)
        good = positive(K)
        found, going = found & good, going & good
        if not going.any():
            break
        K = np.where(good[:, None, None], K, np.eye(H.shape[1]))
        step = -np.linalg.solve(K, np.where(free, slope, 0.0)[..., None])[..., 0]
        gain = -np.sum(np.where(free, slope * step, 0.0), axis=1)
        now = value(H, g, x)
        going = going & (gain > ENOUGH * (start - now) + 1e-15 * np.abs(now))
        if not going.any():
            break
        x = np.where(going[:, None], _cut(H, g, low, high, x, step, slope, now), x)
    return BoxMinimum(x, free, found)


def value(H: Array, g: Array, x: Array) -> Array:
    """(1) of every row."""
    return np.asarray(np.sum(x * (g + 0.5 * times(H, x)), axis=1))


def _cut(H: Array, g: Array, low: Array, high: Array, x: Array, step: Array, slope: Array, now: Array) -> Array:
    """The longest part of the step, cut at the bounds, along which (1) falls enough."""
    out, open_rows = x, np.ones(len(x), dtype=bool)
    for part in HALVINGS:
        trial = np.clip(x + part * step, low, high)
        falls = value(H, g, trial) - now <= ARMIJO * np.sum(slope * (trial - x), axis=1)
        out = np.where((open_rows & falls)[:, None], trial, out)
        open_rows = open_rows & ~falls
        if not open_rows.any():
            break
    return out
