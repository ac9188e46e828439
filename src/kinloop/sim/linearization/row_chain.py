"""Linear systems of the rows of contacts and joints, solved block after block, in loops that are written once.

The rows of a block i, three of a contact or one of a joint, see what all impulses x bring about in a common space, of
velocities or of wrenches, through R_i, and bring about Z_i x_i themselves:

    K x = r,    K = S + U R Z,        S and U with a block for every block of rows.                              (1)

Blocks are met one after the other. With T what the blocks met so far leave of a change in that space,

    K_i = S_i + U_i R_i T Z_i,    T <- T - T Z_i K_i^-1 U_i R_i T,                                               (2)

which is block elimination of (1) without its matrix: one block costs as much as the next. Going back, changes s that
later blocks bring about are met by x_i = K_i^-1 (r_i - U_i R_i (y_i + T s)), y_i what r of the blocks before led to.

Rows may depend on each other: a foot on four corners has twelve rows of which six are independent. Their equations
agree, so that the motion is determined, the impulses are not: a row whose pivot in (2) has vanished gets none.
Nothing else is exchanged or left out: the symmetric part of K is positive where nothing slides.
Derivation: docs/algorithms/linearization.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array

DEPENDENT = 1e-10
"""A row follows from those before it where they leave less than this part of its own slope."""


class Blocks(NamedTuple):
    """Blocks of b rows each, n of them: R (n, b, m), Z (n, m, b), U and S (n, b, b), usual sizes of slopes (n, b)."""

    R: Array
    Z: Array
    U: Array
    S: Array
    sizes: Array


class _Met(NamedTuple):
    """What (2) leaves of a block of rows: T Z (m, b), K^-1 (b, b), K^-1 U (b, b), K^-1 U R T (b, m)."""

    reach: Array
    inverse: Array
    gain: Array
    line: Array


class RowChain:
    """K of (1), factored, with groups of blocks of equal size in a common space."""

    def __init__(self, groups: list[Blocks]) -> None:
        self.groups = [g for g in groups if len(g.R)]
        self.m = self.groups[0].R.shape[2] if self.groups else 0
        self._left: list[Array] = []
        T: Any = np.eye(self.m).reshape(-1)
        for g in self.groups:
            T, left = sc.scan(lambda T, row, _, g=g: self._meet(g, T, row), T, [_flat(part) for part in g])
            self._left.append(left)

    def _meet(self, g: Blocks, T: Any, row: Any) -> tuple[Array, Array]:
        """T behind a block, and its `_Met`."""
        m = self.m
        R, Z, U, S, sizes = _split(row, [x.shape[1:] for x in g])
        T = np.asarray(T).reshape(m, m)
        reach = T @ Z
        inverse = _inverse(S + U @ (R @ reach), sizes)
        gain = inverse @ U
        line = gain @ (R @ T)
        return (T - reach @ line).reshape(-1), _joined(_Met(reach, inverse, gain, line))

    def _met(self, g: Blocks) -> list[tuple[int, ...]]:
        """The shapes of a `_Met`."""
        b = g.R.shape[1]
        return [(self.m, b), (b, b), (b, b), (b, self.m)]

    def solve(self, r: Array) -> Array:
        """x with K x = r, zero where a row follows from others."""
        y: Any = np.zeros(self.m)
        at, begun = 0, []
        for g, left in zip(self.groups, self._left, strict=True):
            n, b, _ = g.R.shape
            right = np.asarray(r[at : (at := at + n * b)]).reshape(n, b)

            def onward(y: Any, row: Any, _: Any, g: Blocks = g) -> tuple[Array, Array]:
                r, R, U, *met = _split(row, [g.sizes.shape[1:], g.R.shape[1:], g.U.shape[1:], *self._met(g)])
                own = _Met(*met)
                x = own.inverse @ (r - U @ (R @ np.asarray(y)))
                return np.asarray(y) + own.reach @ x, x

            y, x = sc.scan(onward, y, [right, _flat(g.R), _flat(g.U), left])
            begun.append(x)
        s: Any = np.zeros(self.m)
        found = []
        for g, left, x in zip(reversed(self.groups), reversed(self._left), reversed(begun), strict=True):

            def back(s: Any, row: Any, _: Any, g: Blocks = g) -> tuple[Array, Array]:
                x, Z, *met = _split(row, [g.sizes.shape[1:], g.Z.shape[1:], *self._met(g)])
                x = x - _Met(*met).line @ np.asarray(s)
                return np.asarray(s) + Z @ x, x

            s, x = sc.scan(back, s, [x[::-1], _flat(g.Z)[::-1], left[::-1]])
            found.append(np.asarray(x)[::-1].reshape(-1))
        return np.concatenate(found[::-1]) if found else np.zeros(0)

    def answers(self) -> tuple[Array, Array]:
        """What changes of the rows' velocities bring about, -Z K^-1 U (m, rows), and what rows leave of other changes.

        The latter is I - Z K^-1 U R (m, m).
        """
        m, found = self.m, []
        Q: Any = np.eye(m).reshape(-1)
        for g, left in zip(reversed(self.groups), reversed(self._left), strict=True):

            def back(Q: Any, row: Any, _: Any, g: Blocks = g) -> tuple[Array, Array]:
                R, *met = _split(row, [g.R.shape[1:], *self._met(g)])
                own, Q = _Met(*met), np.asarray(Q).reshape(m, m)
                N = -((Q @ own.reach) @ own.gain)
                return (Q + N @ R).reshape(-1), N.T.reshape(-1)

            Q, N = sc.scan(back, Q, [_flat(g.R)[::-1], left[::-1]])
            found.append(np.asarray(N)[::-1].reshape(-1, m))
        return np.concatenate(found[::-1]).T, np.asarray(Q).reshape(m, m)


def _inverse(K: Array, sizes: Array) -> Array:
    """K^-1, row after row; a row that follows from those before it gets nothing."""
    n = len(K)
    a = [[*row, *unit] for row, unit in zip(K, np.eye(n), strict=True)]
    for j in range(n):
        pivot = a[j][j]
        held = sc.abs(pivot) > DEPENDENT * sizes[j]
        scale = sc.where(held, 1.0 / sc.where(held, pivot, 1.0), 0.0)
        a[j] = [x * scale for x in a[j]]
        for i in range(n):
            if i != j:
                a[i] = [x - a[i][j] * y for x, y in zip(a[i], a[j], strict=True)]
    return np.array([row[n:] for row in a])


def _flat(x: Array) -> Array:
    """A row for every block."""
    return np.asarray(x).reshape(len(x), -1)


def _joined(parts: tuple[Array, ...]) -> Array:
    """What `_split` takes apart."""
    return np.concatenate([np.asarray(x).reshape(-1) for x in parts])


def _split(row: Any, shapes: list[tuple[int, ...]]) -> list[Array]:
    """The parts of a row, in their shapes."""
    out, at, row = [], 0, np.asarray(row)
    for shape in shapes:
        size = int(np.prod(shape))
        out.append(row[at : at + size].reshape(shape))
        at += size
    return out
