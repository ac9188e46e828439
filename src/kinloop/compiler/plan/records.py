"""Where laps keep what outlives them: records of slots, one for each lap, in which its values lie side by side.

Values that nothing but the next lap uses lie in two records, which laps take in turns. The others have a record for
each lap; a later series writes over what nobody needs any more in the records of an earlier one. A record that was
needed last a lap ago is taken first: it is still in the nearest memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kinloop.compiler.plan.find_series import Integers
from kinloop.compiler.plan.lifetimes import Moment, last_moments, outliving
from kinloop.compiler.plan.patterns import Laps
from kinloop.compiler.plan.stage_types import Operation, Stage

_NEVER = 2**62


@dataclass
class _Records:
    """The values that lie in the records of a series, and the first slot of each record."""

    values: list[list[int]]
    starts: list[int]

    def free_from(self, stage: int, ends: Mapping[int, Moment]) -> Integers:
        """The lap of `stage` from which on each slot can be written over; 0 if it can before, _NEVER if not at all."""

        def lap(end: Moment) -> int:
            return 0 if end[0] < stage else end[1] + 1 if end[0] == stage else _NEVER

        return np.array([[lap(ends[v]) for v in record] for record in self.values], dtype=np.int64)


def place_records(
    stages: Sequence[Stage | Laps],
    last: Mapping[int, int],
    operations: Mapping[int, Operation],
    reserve: Callable[[int], int],
) -> dict[int, int]:
    """The slots of values that laps leave: of all in `last`, and of their like in other laps; `reserve` makes slots."""
    home: dict[int, int] = {}
    series = [(t, stage) for t, stage in enumerate(stages) if isinstance(stage, Laps)]
    if not series:
        return home
    kept, ends = outliving(stages, operations), last_moments(stages, operations)
    known: list[_Records] = []
    for t, laps in series:
        places = laps.waiting(last)
        brief = [k for k in places if all(row[k] not in kept for row in laps.rows[:-2])]
        lasting = [[row[k] for k in places if k not in brief] for row in laps.rows]
        lasting = _write_over(t, lasting, known, ends, reserve, home)
        for values, count in ((lasting, len(laps.rows)), ([[row[k] for k in brief] for row in laps.rows], 2)):
            base, width = reserve(min(count, len(values)) * len(values[0])), len(values[0])
            starts = [base + n % count * width for n in range(len(values))]
            home |= {v: start + i for row, start in zip(values, starts, strict=True) for i, v in enumerate(row)}
            if values is lasting and width:
                known.append(_Records(values, starts))
    return home


def _write_over(
    stage: int,
    values: list[list[int]],
    known: Sequence[_Records],
    ends: Mapping[int, Moment],
    reserve: Callable[[int], int],
    home: dict[int, int],
) -> list[list[int]]:
    """Give to the first values of every lap slots of one series before, as many as it has to give; the other values."""
    most = len(values[0])
    choices = [(records, _free_columns(records.free_from(stage, ends), most)) for records in known]
    records, (columns, free) = max(choices, key=lambda x: len(x[1][0]), default=(None, ([], np.zeros(0))))
    if records is None or not columns:
        return values
    width = len(records.values[0])
    waiting = sorted(range(len(free)), key=lambda m: (free[m], -m), reverse=True)
    ready: list[int] = []
    for n, row in enumerate(values):
        while waiting and free[waiting[-1]] <= n:
            ready.append(waiting.pop())
        if ready:
            m = ready.pop()
            start = records.starts[m]
            for i, v in zip(columns, row, strict=False):
                records.values[m][i] = v
        else:
            start = reserve(width)
        home |= {v: start + i for i, v in zip(columns, row, strict=False)}
    return [row[len(columns) :] for row in values]


def _free_columns(free: Integers, most: int) -> tuple[list[int], Integers]:
    """At most so many columns of records that are free in the end, the soonest first; when each record is."""
    columns = [i for i in np.argsort(free.sum(axis=0), kind="stable").tolist() if free[:, i].max() < _NEVER][:most]
    columns.sort()
    return columns, free[:, columns].max(axis=1, initial=0)
