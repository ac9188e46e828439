"""Accelerations of past steps, as backward differences: what lifts the leapfrog from order 2 to order 5.

The leapfrog evaluates the acceleration a at the middle of every step. Through the middles of the last steps there is a
polynomial in time; with backward differences d_j of a at the last middle, and s counted in steps from there,

    a(s) = sum_j c_j(s) d_j,     c_0 = 1,     c_j(s) = s (s + 1) ... (s + j - 1) / j!                            (1)

Integrals of (1) over a step, once and twice, are fixed numbers times the differences: they correct the midpoint rule

    v_end = v + h (d_0 + d_2 / 24 + d_3 / 24 + ...)                                                              (2)

and predict the middle of the next step. A difference that is not known yet is zero: after a jump (an impact, another
control) the method begins as the midpoint rule and gains an order with every step.
(Hairer, Norsett, Wanner 1993, III.1.)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.sim.on_loops import with_followers
from kinloop.sim.turning_axes import screwed
from kinloop.spatial.transform import Array

HALF = Fraction(1, 2)


class Past(NamedTuple):
    """What a step remembers: differences of the acceleration, how many are known, what was held, impulses."""

    differences: list[Array]
    known: Any
    held: Array
    impulses: Array

    def vector(self) -> Array:
        """As a kernel takes and gives it."""
        return np.concatenate([*self.differences, np.array([self.known]), self.held, self.impulses])


def read_past(memory: Array, count: int, n: int, held: Array) -> Past:
    """A `Past` of `count` differences of n accelerations; none is known after steps that held something else.

    `held` are the step length and the controls.
    """
    differences = [memory[k * n : (k + 1) * n] for k in range(count)]
    known, rest = memory[count * n], memory[count * n + 1 :]
    same: Any = True
    for a, b in zip(rest[: len(held)], held, strict=True):
        same = sc.logical_and(same, sc.logical_and(a <= b, b <= a))
    return Past(differences, sc.where(same, known, 0.0), held, rest[len(held) :])


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


def coasted(
    tree: ClusterTree, q: Array, qd: Array, differences: list[Array], w: Weights, h: Any
) -> tuple[Array, Array]:
    """Position, not yet closed, and velocity after a step of length h with the acceleration of `differences`."""
    gained = with_followers(tree, h * combine(w.velocity, differences))
    shift = h * qd + with_followers(tree, (h * h) * combine(w.position, differences))
    shift = screwed(tree.top, shift, qd + 0.5 * gained, with_followers(tree, differences[0]), h)
    return tree.top.integrate(q, shift), qd + gained
