"""Reflections that gather what a joint feels of r rows in as few rows as possible.

Rows (numbers or symbols) meet a joint with Y (r, m). Reflections Q make Q Y = [T; 0] with as many rows in T
as Y has rank: those rows can be solved for their multipliers at once, the others do not move the joint and
pass on unchanged.  [Sathya2023, (60)-(68), with (65) once per column for joints of several freedoms]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.multipliers import TIE
from kinloop.scalar import Array


class Reflection(NamedTuple):
    """x -> x - b w (w . x) on the rows from `first` on; w = None is an exchange with row `swap`."""

    first: int
    w: Array | None
    b: Any
    swap: int = 0

    def apply(self, x: Array) -> Array:
        """Rows of x (r,) or (r, n) reflected; a reflection undoes itself."""
        out = x.copy() if self.w is None or x.dtype == object else x.astype(np.result_type(x, self.w))
        k = self.first
        if self.w is None:
            out[[k, self.swap]] = x[[self.swap, k]]
            return out
        out = out.astype(object) if self.w.dtype == object else out
        out[k:] = x[k:] - np.multiply.outer(self.w, self.b * (self.w @ x[k:]))
        return out


def reflected(turns: Sequence[Reflection], x: Array) -> Array:
    """Rows of x after all reflections, one after the other; in reverse order they are undone."""
    for r in turns:
        x = r.apply(x)
    return x


def reflect(Y: Array, columns: tuple[int, ...]) -> tuple[list[Reflection], Array]:
    """Reflections that leave Y nothing below row j in the j-th of the given columns, and the reflected Y."""
    out: list[Reflection] = []
    for j, c in enumerate(columns):
        y = Y[j:, c]
        made = _exchange(y, j)
        made = [_householder(y, j)] if made is None else made
        Y = reflected(made, Y)
        out += made
        for i in range(j + 1, len(Y)):
            Y[i, c] = 0.0
    return out, Y


def _exchange(y: Array, j: int) -> list[Reflection] | None:
    """No arithmetic where only one entry is not zero: bring it to the top."""
    there = [k for k, e in enumerate(y) if isinstance(e, sc.Symbol) or e != 0.0]
    if len(there) > 1:
        return None
    return [] if not there or there[0] == 0 else [Reflection(j, None, 0.0, j + there[0])]


def _householder(y: Array, j: int) -> Reflection:
    """The reflection that turns y into a multiple of the first unit vector."""
    square = y @ y
    length = sc.sqrt(square)
    w = y.astype(object) if sc.is_symbolic(y) else y.astype(float)
    w[0] = sc.where(y[0] < 0.0, y[0] - length, y[0] + length)
    # w . w / 2 = |y|^2 + |y_1| |y|
    half = square + sc.abs(y[0]) * length
    return Reflection(j, w, sc.where(half > 0.0, 1.0 / sc.where(half > 0.0, half, 1.0), 0.0))


def pivot_columns(Y: Array, least: float) -> tuple[tuple[int, ...], Array]:
    """Columns of numbers Y (r, m), best first, whose squared length exceeds `least`, and their lengths."""
    A = Y.astype(float).copy()
    chosen: list[int] = []
    lengths: list[float] = []
    while len(chosen) < min(A.shape):
        norms = np.linalg.norm(A, axis=0)
        norms[chosen] = -1.0
        c = int(np.flatnonzero(norms >= norms.max() * (1 - TIE))[0])
        if not norms[c] ** 2 > least:
            break
        chosen.append(c)
        lengths.append(float(norms[c]))
        e = A[:, c] / norms[c]
        A = A - np.outer(e, e @ A)
    return tuple(chosen), np.array(lengths)
