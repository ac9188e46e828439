"""Where a list of operations does the same time after time on other values: links of a chain, legs, equal clusters.

Every operation gets a label: what it does, and how far back its arguments are if they are near. Where labels repeat
with some period, laps that follow each other are compared exactly: operation by operation, and argument by argument,
which must be a constant, or come from the same place of the lap, or from before it, in all of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinloop.compiler.plan.stage_types import Operation

LAPS = 4  # fewer are not worth a loop
_WINDOW = 16  # operations whose labels must repeat for a period to be considered
_NEAR = 16  # arguments at most this far back are part of a label
_PERIODS = 64  # how many are considered, the most frequent first
_CONSTANT, _NONE, _ELSEWHERE = -1, -2, -3  # arguments that no operation of the list computes

_PADDING = tuple((_NONE,) * (3 - n) for n in range(4))

Integers = NDArray[np.int64]


class Span(NamedTuple):
    """`laps` of `period` operations each, from `start` on."""

    start: int
    period: int
    laps: int

    @property
    def end(self) -> int:
        return self.start + self.period * self.laps


class Code(NamedTuple):
    """A list of operations as arrays: what each does, and the places in the list of its (at most three) arguments."""

    names: Integers
    args: Integers

    @classmethod
    def of(cls, order: Sequence[int], operations: Mapping[int, Operation]) -> Code:
        place = {v: i for i, v in enumerate(order)}
        codes: dict[str, int] = {}
        names, args = [], []
        for v in order:
            op, given = operations[v]
            names.append(codes.setdefault(op, len(codes)))
            for x in given:
                args.append(place.get(x, _ELSEWHERE) if isinstance(x, int) else _CONSTANT)
            args.extend(_PADDING[len(given)])
        return cls(np.array(names, dtype=np.int64), np.array(args, dtype=np.int64).reshape(-1, 3))

    def reordered(self, places: Integers) -> Code:
        """The same operations in another order, in which all arguments still come first."""
        new = np.empty(len(places), dtype=np.int64)
        new[places] = np.arange(len(places))
        args = self.args[places]
        return Code(self.names[places], np.where(args >= 0, new[args], args))


def find_series(code: Code, short: int = 1) -> list[Span]:
    """The spans that repeat themselves, in order; laps below `short` operations are taken together."""
    names, args = code
    if len(names) < 2 * _WINDOW:
        return []
    spans: list[Span] = []
    for start, length, period in _regions(_labels(names, args)):
        spans += _laps(names, args, start, length, period, short)
    return sorted(spans)


def _labels(names: Integers, args: Integers) -> Integers:
    """A number for each operation; far arguments and those from elsewhere look the same."""
    back = np.arange(len(names))[:, None] - args
    far = (args == _ELSEWHERE) | ((args >= 0) & (back > _NEAR))
    kinds = np.where(args == _CONSTANT, 0, np.where(args == _NONE, 1, np.where(far, 2, 2 + back)))
    labels = names
    for kind in kinds.T:
        labels = labels * (3 + _NEAR) + kind
    return labels


def _regions(labels: Integers) -> list[tuple[int, int, int]]:
    """Disjoint (start, length, period) in which labels repeat with the period, the longest first."""
    found = [region for period in _periods(labels) for region in _repeating(labels, period, 0, len(labels))]
    heapq.heapify(found)
    free = np.ones(len(labels), dtype=bool)
    out = []
    while found:
        _, period, start, length = heapq.heappop(found)
        if free[start : start + length].all():
            free[start : start + length] = False
            out.append((start, length, period))
            continue
        for a, b in _stretches(free[start : start + length]):
            for region in _repeating(labels, period, start + a, start + b):
                heapq.heappush(found, region)
    return out


def _periods(labels: Integers) -> list[int]:
    """Distances between a window of labels and the next that is equal, the most frequent first."""
    n = len(labels) - _WINDOW + 1
    _, labels = np.unique(labels, return_inverse=True)
    weights = np.random.default_rng(0).integers(1, 2**63, size=labels.max() + 1, dtype=np.uint64)
    marks = np.zeros(n, dtype=np.uint64)
    for k in range(_WINDOW):
        marks = marks * np.uint64(0x9E3779B97F4A7C15) + weights[labels[k : k + n]]
    order = np.argsort(marks, kind="stable")
    equal = marks[order[1:]] == marks[order[:-1]]
    periods, counts = np.unique(np.diff(order)[equal], return_counts=True)
    return [int(periods[k]) for k in np.argsort(-counts, kind="stable")[:_PERIODS]]


def _repeating(labels: Integers, period: int, start: int, end: int) -> list[tuple[int, int, int, int]]:
    """(-saved operations, period, start, length) of all stretches with `LAPS` laps at least."""
    part = labels[start:end]
    if len(part) < LAPS * period:
        return []
    equal = part[:-period] == part[period:]
    found = _stretches(equal)
    found = found[found[:, 1] - found[:, 0] >= (LAPS - 1) * period]
    return [(a - b, period, start + a, b - a + period) for a, b in found.tolist()]


def _stretches(truth: NDArray[Any]) -> Integers:
    """(from, to) of every stretch of true values."""
    padded = np.concatenate([[False], truth, [False]])
    return np.flatnonzero(padded[1:] != padded[:-1]).reshape(-1, 2)


def _laps(names: Integers, args: Integers, start: int, length: int, period: int, short: int) -> list[Span]:
    """The laps of a region that are equal, where they take least from the lap before."""
    end = start + length
    start += _cut(args, start, length, period)
    period *= max(1, min(-(-short // period), length // (period * LAPS)))
    count = (end - start) // period
    starts = start + period * np.arange(count)
    rows = starts[:, None] + np.arange(period)
    inside = args[rows] - starts[:, None, None]
    inside = np.where((args[rows] >= 0) & (inside >= 0), inside, np.where(args[rows] >= 0, _ELSEWHERE, args[rows]))
    middle = count // 2
    equal = (names[rows] == names[rows[middle]]).all(axis=1) & (inside == inside[middle]).all(axis=(1, 2))
    return [Span(int(starts[a]), period, int(b - a)) for a, b in _stretches(equal) if b - a >= LAPS]


def _cut(args: Integers, start: int, length: int, period: int) -> int:
    """How far behind `start` a lap should begin: where fewest values wait for later ones of the region."""
    part = args[start : start + length] - start
    last = np.arange(length)
    users, columns = np.nonzero(part >= 0)
    np.maximum.at(last, part[users, columns], users)
    waiting = np.arange(length) - np.cumsum(np.bincount(last + 1, minlength=length + 1))[:length]
    whole = waiting[: length // period * period].reshape(-1, period)
    return int(np.argmin(np.median(whole[1:-1] if len(whole) > 2 else whole, axis=0)))
