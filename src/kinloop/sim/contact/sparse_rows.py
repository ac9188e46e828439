"""Rows over the joints that are zero over most of a robot: sums over the parts of it that a contact moves.

A contact moves with the joints between its two bodies and the world: the foot of a quadruped with its leg and the base.
Which joints these are is known while a kernel runs. Rows are dense, but joints come in parts, a limb each
(`moving_columns`), and a kernel leaves out a part where it is `absent` in all its states. What a state computes does
not depend on the others: where a part is absent, nothing is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array


class Part(NamedTuple):
    """Places in a row, and whether the row is zero there."""

    at: list[int]
    absent: Any = False


def unless(absent: Any, usual: Iterable[Any], other: Iterable[Any]) -> list[Any]:
    """The `usual` values where something is absent, else the others; a kernel computes these only if it needs them."""
    if absent is False:
        return list(other)
    return [sc.usually(sc.where(absent, a, b)) for a, b in zip(usual, other, strict=True)]


def moved(u: Any, z: Any, w: Any) -> Any:
    """u + z w, as two sums side by side that end with the joints next to the world.

    Those joints are moved by every row, so rows wait for each other there.
    """
    sums = [u, 0.0]
    for k, (a, b) in enumerate(zip(z[::-1], w[::-1], strict=True)):
        sums[k % 2] = sums[k % 2] + a * b
    return sums[0] + sums[1]


def velocities(parts: Sequence[Part], u: Any, z: Array, w: Array) -> Array:
    """u + z w for rows z (k, n)."""
    out: Array = np.array(u, dtype=object)
    for part in sorted(parts, key=lambda p: p.absent is False):  # what all rows share comes last
        more = [moved(a, row[part.at], w[part.at]) for a, row in zip(out, z, strict=True)]
        out = _vector(unless(part.absent, out, more))
    return out


def pushed(parts: Sequence[Part], w: Array, z: Array, x: Array) -> Array:
    """w + z^T x."""
    w = np.array(w, dtype=object)
    for part in parts:
        w[part.at] = unless(part.absent, w[part.at], w[part.at] + z[:, part.at].T @ x)
    return w


def products(parts: Sequence[Part], z: Array) -> Array:
    """z z^T."""
    size = len(z)
    low = np.tril_indices(size)
    sums = [0.0] * len(low[0])
    for part in parts:
        each = z[:, part.at]
        more = [a + each[i] @ each[j] for a, i, j in zip(sums, *low, strict=True)]
        sums = unless(part.absent, sums, more)
    out = np.empty((size, size), dtype=object)
    out[low] = sums
    out.T[low] = sums
    return out


def _vector(values: list[Any]) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
