"""Whether and how operations that repeat themselves are rolled up: in which order they come, and which turns they do.

An algorithm goes over a robot pass by pass, and what one pass leaves at a link waits until the next pass comes to it.
Where nothing forbids it, both are done at the link at once: a turn comes right behind the last of what it needs, so
that fewer values wait in slots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kinloop.compiler.plan.find_series import Span, find_series
from kinloop.compiler.plan.stage_types import Operation

LARGE = 4000  # fewer operations fit into the processor's nearest memory for code
SHORT = 48  # turns of fewer operations are taken together, several at a time
WORTH = 400  # a series of fewer operations is not worth its tables
_GAP = 2**40


def roll(order: list[int], operations: Mapping[int, Operation], large: float) -> tuple[list[int], list[Span]]:
    """An order of the same operations, and its spans that repeat themselves.

    Nothing changes where they are fewer than `large`, or more than half of them would have to be written out.
    """
    if len(order) < large:
        return order, []
    rolled = _interleave(order, find_series(order, operations), operations)
    spans = [span for span in find_series(rolled, operations, SHORT) if span.period * span.turns >= WORTH]
    saved = sum(span.period * (span.turns - 1) for span in spans)
    return (rolled, spans) if 2 * saved >= len(order) else (order, [])


def _interleave(order: Sequence[int], spans: Sequence[Span], operations: Mapping[int, Operation]) -> list[int]:
    """The same operations; turns of `spans`, and single operations between them, as soon as they can be done."""
    nodes = _nodes(order, spans)
    home: dict[int, int] = {}
    labels: list[int] = []  # increasing along the new order
    after: list[int] = []  # the node that follows, -1 at the end
    end = first = -1
    for n, values in enumerate(nodes):
        needed = {home[x] for v in values for x in operations[v][1] if isinstance(x, int) and x in home}
        home.update((v, n) for v in values)
        before = max(needed, key=labels.__getitem__) if needed else end
        if before < 0:
            after.append(first)
            labels.append(0 if first < 0 else labels[first] - _GAP)
            first = n
        else:
            after.append(after[before])
            after[before] = n
            following = after[n]
            labels.append(labels[before] + _GAP if following < 0 else (labels[before] + labels[following]) // 2)
            if following >= 0 and labels[n] == labels[before]:
                _relabel(labels, after, first)
        if after[n] < 0:
            end = n
    out: list[int] = []
    n = first
    while n >= 0:
        out += nodes[n]
        n = after[n]
    return out


def _nodes(order: Sequence[int], spans: Sequence[Span]) -> list[Sequence[int]]:
    nodes: list[Sequence[int]] = []
    done = 0
    for span in spans:
        nodes += [[v] for v in order[done : span.start]]
        nodes += [order[k : k + span.period] for k in range(span.start, span.end, span.period)]
        done = span.end
    return nodes + [[v] for v in order[done:]]


def _relabel(labels: list[int], after: Sequence[int], first: int) -> None:
    label, n = 0, first
    while n >= 0:
        labels[n] = label
        label, n = label + _GAP, after[n]
