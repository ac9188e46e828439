"""Random numbers inside kernels: a stream for every environment, the same whoever computes it.

The generator is MRG32k3a [LEcuyer1999]: two recurrences of order three modulo m1 and m2,

    x_n = (1403580 x_{n-2} - 810728 x_{n-3}) mod m1,      y_n = (527612 y_{n-1} - 1370589 y_{n-3}) mod m2          (1)

whose products stay below 2^53, so that double precision computes them exactly, in any order and with any rounding of
quotients: streams are the same on every machine, in every lane and for any number of threads. A stream is six numbers,
which an environment carries with it. docs/references.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.errors import MethodError
from kinloop.scalar import Array

M1, M2 = 4294967087.0, 4294944443.0
STREAM = 6
"""Numbers that make up a stream."""


class Draws:
    """Random numbers drawn one after the other, on numbers or symbols; `stream` is where their stream has got to."""

    def __init__(self, stream: Any) -> None:
        self.stream: list[Any] = list(stream)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: int | None = None) -> Any:
        """Numbers between low and high (numbers or vectors): one, or a vector of so many."""
        if size is None:
            size = max(np.size(low), np.size(high)) if np.ndim(low) or np.ndim(high) else 0
        unit = self._units(size)
        return low + (np.asarray(high) - low) * unit if size else low + (high - low) * unit

    def normal(self, mean: Any = 0.0, deviation: Any = 1.0, size: int | None = None) -> Any:
        """Normally distributed numbers: one, or a vector of so many (by Box and Muller)."""
        if not size:
            return mean + deviation * self._normal()
        found = [self._normal() for _ in range(size)]
        return mean + deviation * np.array(found, dtype=object if sc.is_symbolic(*found) else float)

    def happens(self, probability: Any) -> Any:
        """A condition that holds with a probability."""
        return self._unit() < probability

    def _normal(self) -> Any:
        a, b = self._unit(), self._unit()
        return sc.sqrt(-2.0 * sc.log(a)) * sc.cos((2.0 * np.pi) * b)

    def _units(self, size: int) -> Any:
        if not size:
            return self._unit()
        found = [self._unit() for _ in range(size)]
        return np.array(found, dtype=object if sc.is_symbolic(*found) else float)

    def _unit(self) -> Any:
        """The next number, between 0 and 1 and neither of them, by (1)."""
        x0, x1, x2, y0, y1, y2 = self.stream
        x = _modulo(1403580.0 * x1 - 810728.0 * x0, M1)
        y = _modulo(527612.0 * y2 - 1370589.0 * y0, M2)
        self.stream = [x1, x2, x, y1, y2, y]
        return sc.where(x <= y, x - y + M1, x - y) * (1.0 / (M1 + 1.0))


def _modulo(p: Any, m: float) -> Any:
    """A whole number modulo m, exactly: a quotient that is rounded to the next whole number is corrected."""
    rest = p - sc.floor(p * (1.0 / m)) * m
    rest = sc.where(rest < 0.0, rest + m, rest)
    return sc.where(rest >= m, rest - m, rest)


def streams(seeds: Sequence[int] | Array) -> Array:
    """Streams (n, 6) of seeds (n,), whole numbers: those of different seeds have nothing to do with each other."""
    given = [int(x) for x in seeds]
    if any(x < 0 for x in given):
        raise MethodError(f"seed {min(given)} is negative; give whole numbers from 0 on")
    words = np.array([x % 2**64 for x in given], dtype=np.uint64)
    out = np.empty((len(given), STREAM))
    for k in range(STREAM):
        bits = _mixed(_mixed(words) + np.uint64(k + 1)) >> np.uint64(11)
        m = M1 if k < 3 else M2
        out[:, k] = 1.0 + bits.astype(float) % (m - 1.0)  # from 1 to m - 1: no stream is all zeros
    return out


def _mixed(words: Array) -> Array:
    """Whole numbers of 64 bits whose bits all depend on all bits of the given ones (the finaliser of SplitMix64)."""
    z = words * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
