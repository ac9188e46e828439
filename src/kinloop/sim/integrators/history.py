"""Accelerations of past steps, as backward differences: what lifts the leapfrog from order 2 to order 5.

The leapfrog evaluates the acceleration a at the middle of every step. Through the middles of the last steps there is a
polynomial in time; with backward differences d_j of a at the last middle, and s counted in steps from there,

    a(s) = sum_j c_j(s) d_j,     c_0 = 1,     c_j(s) = s (s + 1) ... (s + j - 1) / j!                            (1)

Integrals of (1) over a step, once and twice, are fixed numbers times the differences: they correct the midpoint rule

    v_end = v + h (d_0 + d_2 / 24 + d_3 / 24 + ...)                                                              (2)

and predict the middle of the next step. A difference that is not known yet is zero: after a jump (an impact, another
control) the method begins as the midpoint rule and gains an order with every step. (Hairer, Norsett, Wanner 1993, III.1.)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.spatial.transform import Array

HALF = Fraction(1, 2)


class Weights(NamedTuple):
    """Integrals of c_j: of a once (velocity) and twice (position), for one stretch of time in steps."""

    velocity: tuple[float, ...]
    position: tuple[float, ...]


def _polynomials(count: int) -> list[list[Fraction]]:
    """Coefficients of c_0, c_1, ... in powers of s."""
    out = [[Fraction(1)]]
    for j in range(1, count):
        before, new = out[-1], [Fraction(0)] * (j + 1)
        for k, c in enumerate(before):
            new[k + 1] += c / j
            new[k] += c * (j - 1) / j
        out.append(new)
    return out


def weights(count: int, start: Fraction, end: Fraction) -> Weights:
    """Weights of `count` differences for the time from `start` to `end`, counted from the last middle."""
    velocity, position = [], []
    for c in _polynomials(count):
        once = [x / (k + 1) for k, x in enumerate(c)]
        moment = [x / (k + 2) for k, x in enumerate(c)]
        first = sum(x * (end ** (k + 1) - start ** (k + 1)) for k, x in enumerate(once))
        second = sum(x * (end ** (k + 2) - start ** (k + 2)) for k, x in enumerate(moment))
        velocity.append(float(first))
        position.append(float(end * first - second))
    return Weights(tuple(velocity), tuple(position))


def to_the_middle(count: int) -> Weights:
    """From the end of the last step to the middle of this one: differences at the last middle are known."""
    return weights(count, HALF, Fraction(1))


def over_the_step(count: int) -> Weights:
    """The whole of this step, with differences at its own middle."""
    return weights(count, -HALF, HALF)


def combine(w: tuple[float, ...], differences: list[Array]) -> Array:
    """sum_j w_j d_j."""
    out: Array = w[0] * differences[0]
    for a, d in zip(w[1:], differences[1:], strict=True):
        out = out + a * d
    return out


def updated(a: Array, differences: list[Array], known: Any) -> list[Array]:
    """Differences at a new middle with the acceleration a; those of order above `known` are zero."""
    out = [a]
    for j, d in enumerate(differences, start=1):
        there = known >= float(j)
        out.append(np.array([sc.where(there, x - y, 0.0) for x, y in zip(out[-1], d, strict=True)]))
    return out


def extrapolated(differences: list[Array]) -> Array:
    """The acceleration at the next middle, c_j(1) = 1."""
    out = differences[0]
    for d in differences[1:]:
        out = out + d
    return out
