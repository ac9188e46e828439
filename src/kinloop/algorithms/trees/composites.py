"""What a body and everything it carries, joints locked, answers to a change of its motion.

A change gives the body's velocity v the part d, its acceleration the part e - v x d. In a rigid body the force
f = I a + v x* I v then changes by

    I e + B d,    B d = v x* I d - I (v x d) + d x* I v.                                             (1)

Two structures make (1) cheap. I has ten numbers: mass m, first moment h, moment of inertia A. And B has twelve: of d it
feels only the turning w (a body that is carried along faster, not turned, is pushed by no force),

    B d = (N w, w x l),    l = 2 x linear momentum,    N = tr(E) 1 - E,    E = 2 sum (velocity) (place)^T    (2)

summed over the mass. Both add up over bodies. Derivation: docs/algorithms/derivatives.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop.linear import mirror, symmetric_product, total
from kinloop.scalar import Array
from kinloop.spatial import Inertia, Transform, cross
from kinloop.spatial.planar_turn import planar_turn, turn_block


class Composite(NamedTuple):
    """The ten numbers of I and the twelve of B."""

    m: Any
    h: Array
    A: Array
    l: Array
    N: Array

    def apply(self, e: Array) -> Array:
        """I e: forces (columns) for motions."""
        w, u = e[:3], e[3:]
        return np.concatenate([self.A @ w + cross(self.h, u), self.m * u - cross(self.h, w)])

    def change(self, e: Array, d: Array) -> Array:
        """(1): I e + B d."""
        w = d[:3]
        change: Array = self.apply(e) + np.concatenate([self.N @ w, -cross(self.l, w)])
        return change

    def bias(self, v: Array) -> Array:
        """v x* I v, half of B v, of a single body that moves with v."""
        half = 0.5 * v[:3]
        return np.concatenate([self.N @ half, -cross(self.l, half)])

    def felt(self, s: Array) -> Array:
        """The turning part of B^T s, (3, columns): the rest is zero."""
        felt: Array = self.N.T @ s[:3] + cross(self.l, s[3:])
        return felt

    def seen_from(self, T: Transform) -> Composite:
        """The same in frame A, for `T` the pose of this frame in A."""
        A, N = _turned(T.R, self.A, True), _turned(T.R, self.N, False)
        h, l = T.R @ self.h, T.R @ self.l
        return Composite(self.m, h + self.m * T.p, A + _steiner(h + 0.5 * self.m * T.p, T.p), l, N + _apart(l, T.p))


def moving(I: Inertia, v: Array) -> Composite:
    """A rigid body that moves with v."""
    w, u = v[:3], v[3:]
    m, h = I.M[0, 0], np.array([I.H[2, 1], I.H[0, 2], I.H[1, 0]])
    places = np.trace(I.A) * np.eye(3) - 2.0 * I.A
    return Composite(m, h, I.A, (2.0 * m) * u + cross(w, 2.0 * h), _apart(u, 2.0 * h) - cross(w, places))


def total_composite(parts: Sequence[Composite]) -> Composite:
    """The sum of composites; constants first, so that they fold before they meet a symbol."""
    if len(parts) == 1:
        return parts[0]
    h, A, l, N = (total([p[k] for p in parts]) for k in range(1, 5))
    return Composite(sum(p.m for p in parts), h, A, l, N)


def _turned(R: Array, h: Array, symmetric: bool) -> Array:
    """R h R^T."""
    turn = planar_turn(R)
    if turn is not None:
        return turn_block(turn, h, symmetric)
    return symmetric_product(R @ h, R) if symmetric else R @ h @ R.T


def _apart(a: Array, b: Array) -> Array:
    """(a . b) 1 - a b^T."""
    out = -np.outer(a, b)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i, i] = a[j] * b[j] + a[k] * b[k]
    return out


def _steiner(k: Array, p: Array) -> Array:
    """2 (k . p) 1 - k p^T - p k^T: what moving the origin by -p adds to A, k half way between first moments."""
    apart = _apart(k, p)
    return mirror(apart + apart.T)
