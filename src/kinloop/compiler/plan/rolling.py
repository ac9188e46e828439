"""Whether and how operations that repeat themselves are rolled up: in which order they come, and which laps they do.

An algorithm goes over a robot pass by pass, and what one pass leaves at a link waits until the next pass comes to it.
Where nothing forbids it, both are done at the link at once: a lap comes right behind the last of what it needs, so
that fewer values wait in slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from kinloop.compiler.plan.find_series import Code, Integers, Span, find_series
from kinloop.compiler.plan.stage_types import Operation

LARGE = 4000  # fewer operations fit into the processor's nearest memory for code
HUGE = 40_000  # so many take seconds to compile, and fill much of the second nearest memory
SHORT = 48  # laps of fewer operations are taken together, several at a time
WORTH = 400  # a series of fewer operations is not worth its tables
_GAP = 2**1000  # so that a thousand nodes find room between two


def roll(order: list[int], operations: Mapping[int, Operation], large: float) -> tuple[list[int], list[Span]]:
    """An order of the same operations, and its spans that repeat themselves.

    Nothing changes where they are fewer than `large`. Where more than half of them would have to be written out, only
    code beyond HUGE operations is rolled up, if that saves an eighth of it, and no pass is joined with another.
    """
    if len(order) < large:
        return order, []
    code = Code.of(order, operations)
    found = find_series(code)
    if 2 * _saved(found) >= len(order):
        places = _interleave(code, found)
        spans = _worth(code.reordered(places))
        if 2 * _saved(spans) >= len(order):
            return [order[k] for k in places], spans
    spans = _worth(code) if len(order) >= HUGE else []
    return order, spans if 8 * _saved(spans) >= len(order) else []


def _worth(code: Code) -> list[Span]:
    return [span for span in find_series(code, SHORT) if span.period * span.laps >= WORTH]


def _saved(spans: Sequence[Span]) -> int:
    """How many operations need not be written."""
    return sum(span.period * (span.laps - 1) for span in spans)


def _interleave(code: Code, spans: Sequence[Span]) -> Integers:
    """Another order: laps of `spans`, and single operations between them, as soon as they can be done."""
    starts = _starts(len(code.names), spans)
    node = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    needed = np.where(code.args >= 0, node[code.args], -1).tolist()
    labels: list[int] = []  # increasing along the new order
    after: list[int] = []  # the node that follows, -1 at the end
    end = first = -1
    for n, (a, b) in enumerate(pairwise(starts.tolist())):
        others = {m for arguments in needed[a:b] for m in arguments if 0 <= m < n}
        before = max(others, key=labels.__getitem__) if others else end
        following = after[before] if before >= 0 else first
        after.append(following)
        labels.append(_label(labels, before, following))
        if before >= 0:
            after[before] = n
        else:
            first = n
        if following < 0:
            end = n
        elif labels[n] == labels[before]:
            _relabel(labels, after, first)
    return np.concatenate([np.arange(starts[n], starts[n + 1]) for n in _walk(after, first)])


def _starts(size: int, spans: Sequence[Span]) -> Integers:
    """Where laps and single operations begin, and the end."""
    single = np.ones(size + 1, dtype=bool)
    for span in spans:
        single[span.start : span.end] = False
        single[span.start : span.end : span.period] = True
    return np.flatnonzero(single)


def _label(labels: Sequence[int], before: int, following: int) -> int:
    """A number between those of two neighbours, of which either may be missing (-1)."""
    if before < 0:
        return labels[following] - _GAP if following >= 0 else 0
    return (labels[before] + labels[following]) // 2 if following >= 0 else labels[before] + _GAP


def _walk(after: Sequence[int], first: int) -> Iterator[int]:
    while first >= 0:
        yield first
        first = after[first]


def _relabel(labels: list[int], after: Sequence[int], first: int) -> None:
    for k, n in enumerate(_walk(after, first)):
        labels[n] = k * _GAP
