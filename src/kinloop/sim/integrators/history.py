"""Accelerations of past steps, as backward differences: what lifts the leapfrog's order.

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

from collections.abc import Collection, Sequence
from fractions import Fraction
from math import comb
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import ClusterTree
from kinloop.clusters.tangent_frame import plain
from kinloop.scalar import Array
from kinloop.sim.on_loops import with_followers
from kinloop.sim.turning_axes import in_world, screwed, shifted

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
        return np.concatenate([self.known_differences(), self.held, self.impulses])

    def known_differences(self) -> Array:
        """The differences, and how many are known."""
        return np.concatenate([*self.differences, np.array([self.known])])


def read_past(memory: Array, count: int, n: int, held: Array) -> Past:
    """A `Past` of `count` differences of n accelerations; `held` are the length of this step and its controls.

    None is known after steps under other controls. Steps of another length are `respaced` before.
    """
    differences = [memory[k * n : (k + 1) * n] for k in range(count)]
    known, rest = memory[count * n], memory[count * n + 1 :]
    others = sc.squared(rest[1 : len(held)] - held[1:])
    return Past(differences, sc.where(others <= 0.0, known, 0.0), held, rest[len(held) :])


def respaced(memory: Array, count: int, n: int, h: float, since: float) -> Array:
    """The memories of batch rows (B, size) for steps of length h: differences at the instants these would have had.

    Those instants lie on the polynomial (1); steps that are far longer than the ones before begin anew. The last
    instant lies a part `since` of a step back: 1/2 where accelerations are those of the middles of steps, 1 where they
    are those of their beginnings.
    """
    known, before = memory[:, count * n], memory[:, count * n + 1]
    if len(before) == 1 and before[0] in (0.0, h):
        return memory
    other = (before > 0.0) & (before != h)
    if not other.any():
        return memory
    out = memory.copy()
    out[other, count * n] = np.where(h <= LONGEST * before, known, 0.0)[other]
    out[other, count * n + 1] = h
    d = [np.where(known > j, memory[:, j * n : (j + 1) * n].T, 0.0) for j in range(count)]
    ratio = h / np.where(other, before, h)
    values = [_at(d, since - ratio * (since + k)) for k in range(count)]
    for j in range(count):
        new = sum(((-1.0) ** k * comb(j, k) * values[k] for k in range(j + 1)), start=np.zeros_like(d[0]))
        out[other, j * n : (j + 1) * n] = new.T[other]
    return out


def _at(differences: list[Array], s: Any) -> Array:
    """(1) at the time s."""
    out, c = differences[0], 1.0
    for j, d in enumerate(differences[1:], start=1):
        c = c * (s + (j - 1.0)) * (1.0 / j)
        out = out + c * d
    return out


class Weights(NamedTuple):
    """Integrals of c_j: of a once (velocity) and twice (position), for one stretch of time in steps.

    The position takes one difference less, as its integrals stand before a further h.
    """

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
    return Weights(tuple(velocity), tuple(position[: max(1, count - 1)]))


def to_the_middle(count: int) -> Weights:
    """From the end of the last step to the middle of this one: differences at the last middle are known."""
    return weights(count, HALF, Fraction(1))


def over_the_step(count: int) -> Weights:
    """The whole of this step, with differences at its own middle."""
    return weights(count, -HALF, HALF)


def combine(w: Sequence[Any], differences: list[Array], times: Any = 1.0) -> Array:
    """sum_j w_j d_j times a number, for as many differences as there are weights."""
    if len(differences[0]) > len(w):  # cheaper done to the weights
        w, times = [times * a for a in w], 1.0
    out: Array = w[0] * differences[0]
    for a, d in zip(w[1:], differences[1:], strict=False):
        out = out + a * d
    return times * out


def known_only(w: Sequence[Any], known: Any) -> list[Any]:
    """Weights of differences of which so many are known, zero for the others; the first is there always."""
    return [w[0], *(sc.where(known > float(j), a, 0.0) for j, a in enumerate(w[1:], start=1))]


def updated(a: Array, differences: list[Array]) -> list[Array]:
    """Differences at a new middle with the acceleration a: one more is known than before."""
    out = [a]
    for d in differences:
        out.append(out[-1] - d)
    return out


def too_rough(differences: list[Array], known: Any, qd: Array, h: Any) -> Any:
    """Whether the polynomial (1) does not follow the acceleration: its last term moves the velocity by too much."""
    count = len(differences)
    last = over_the_step(count).velocity[-1] * h
    usual = sc.squared(qd) + (h * h) * sc.squared(differences[0])
    return sc.logical_and(known >= float(count), ROUGH**2 * usual < (last * last) * sc.squared(differences[-1]))


def extrapolated(differences: list[Array], known: Any) -> Array:
    """The acceleration at the next middle, c_j(1) = 1."""
    return combine(known_only([1.0] * len(differences), known), differences)


def carried_on(a: Array, differences: list[Array], known: Any, blind: Any) -> Array:
    """a, but where `blind` holds the acceleration `extrapolated`, which a kernel computes only where a row wants it."""
    ahead = extrapolated(differences, known)
    out = sc.repeat(1, lambda carry, given: given, a, ahead, blind, lambda carry: True, usual=0)
    return plain(np.array(out, dtype=object))


def coasted(
    tree: ClusterTree, q: Array, qd: Array, differences: list[Array], known: Any, w: Weights, h: Any,
    straight: Collection[int] = (),
) -> tuple[Array, Array]:  # fmt: skip
    """Position, not yet closed, and velocity after a step of length h with the acceleration of `differences`.

    Linear accelerations of free bodies are in the axes of the world where they go `straight`, all or none.
    """
    gained = with_followers(tree, combine(known_only(w.velocity, known), differences, h))
    bend = with_followers(tree, combine(known_only(w.position, known), differences, h * h))
    mean, rate = qd + 0.5 * gained, with_followers(tree, differences[0])
    if not straight:
        shift = screwed(tree.top, h * qd + bend, mean, rate, h)
        return tree.top.integrate(q, shift), qd + gained
    fixed = in_world(tree, q, qd)
    shift = screwed(tree.top, h * fixed + bend, mean, rate, h, straight)
    end = shifted(tree, q, shift)
    return end, in_world(tree, end, fixed + gained, back=True)
