"""Accelerations of past steps, as backward differences: what lifts the leapfrog from order 2 to order 6.

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
from math import comb
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.on_loops import with_followers
from kinloop.sim.turning_axes import screwed

HALF = Fraction(1, 2)

LONGEST = 2.0
"""Steps that are this many times as long as those before can still be told from them."""

ROUGH = 1e-6
"""The last term of (2) may move the velocity by this part of itself; a step in which it does more is too long."""


class Past(NamedTuple):
    """What a step remembers: differences of the acceleration, how many are known, what was held, impulses."""

    differences: list[Array]
    known: Any
    held: Array
    impulses: Array

    def vector(self) -> Array:
        """As a kernel takes and gives it."""
        return np.concatenate([*self.differences, np.array([self.known]), self.held, self.impulses])


def read_past(memory: Array, count: int, n: int, held: Array, since: float = 0.5) -> Past:
    """A `Past` of `count` differences of n accelerations; `held` are the length of this step and its controls.

    None is known after steps under other controls. After steps of another length the differences are those that (1) has
    at the instants which steps of this length would have had; far longer steps begin anew. The last instant lies a part
    `since` of a step back: 1/2 where accelerations are those of the middles, 1 where they are those of the beginnings.
    """
    differences = [memory[k * n : (k + 1) * n] for k in range(count)]
    known, rest = memory[count * n], memory[count * n + 1 :]
    same: Any = True
    for a, b in zip(rest[1 : len(held)], held[1:], strict=True):
        same = sc.logical_and(same, sc.logical_and(a <= b, b <= a))
    before, now = rest[0], held[0]
    if count > 1:
        same = sc.logical_and(same, now <= LONGEST * before)
        ratio = now / sc.where(before > 0.0, before, now)
        other = sc.logical_not(sc.logical_and(before <= now, now <= before))
        differences = _respaced(differences, ratio, since, other)
    return Past(differences, sc.where(same, known, 0.0), held, rest[len(held) :])


def _respaced(differences: list[Array], ratio: Any, since: float, when: Any) -> list[Array]:
    """Differences for steps `ratio` times as long, where `when` holds."""
    count, n = len(differences), len(differences[0])

    def body(carry: Array, given: Array) -> Array:
        d = [carry[j * n : (j + 1) * n] for j in range(count)]
        values = [_at(d, since - given[0] * (since + k)) for k in range(count)]
        new = [
            sum(((-1.0) ** k * comb(j, k) * values[k] for k in range(j + 1)), start=np.zeros(n)) for j in range(count)
        ]
        return np.concatenate(new)

    out = sc.repeat(1, body, np.concatenate(differences), np.array([ratio]), when, usual=0)
    return [out[j * n : (j + 1) * n] for j in range(count)]


def _at(differences: list[Array], s: Any) -> Array:
    """(1) at the time s."""
    out, c = differences[0], 1.0
    for j, d in enumerate(differences[1:], start=1):
        c = c * (s + (j - 1.0)) * (1.0 / j)
        out = out + c * d
    return out


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


def too_rough(differences: list[Array], known: Any, qd: Array, h: Any) -> Any:
    """Whether the polynomial (1) does not follow the acceleration: its last term moves the velocity by too much."""
    count = len(differences)
    last = over_the_step(count).velocity[-1]
    missed = sc.largest(list(differences[-1])) * (last * h)
    scale = sc.largest(list(qd)) + h * sc.largest(list(differences[0]))
    return sc.logical_and(known >= float(count - 1), ROUGH * scale < missed)


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
