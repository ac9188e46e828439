"""What a plan consists of: stages that run one after the other on one scratch array of slots.

- `Segment`: straight-line code of a few hundred operations, so that compile time stays linear;
- `Angles`: the sine and cosine of many angles at once, as a loop;
- `Repeat`: a rolled loop over a plan of its own;
- `Series`: operations that are written once and run many times, each time on other slots and constants;
- `Move`: slots that follow each other, copied to others that do;
- `Choose`: the numbers of the least of many values.

A slot holds one value of W states side by side. The scratch array begins with the inputs, then the outputs.
Nothing here depends on W or on the language the plan is written in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kinloop.scalar import Function

Operand = int | float  # int: the number of a value; float: a constant
Operation = tuple[str, tuple[Operand, ...]]


class LoopNode(Protocol):
    """What a graph says of a rolled loop."""

    body: Function
    rounds: int
    carried: int
    gate: int | None
    shared: tuple[int, ...]
    widths: tuple[int, ...]
    left: int
    cleared: tuple[int, ...]


@dataclass(frozen=True)
class Table:
    """A table that is read by an index: `count` entries every `stride` slots from `at` on, or so many `constants`."""

    count: int
    at: int = 0
    stride: int = 1
    constants: tuple[float, ...] = ()


@dataclass(frozen=True)
class Segment:
    """Operations in order, then `copies` of inputs, constants and results of other stages into slots.

    With a `gate`, it may be left out where that slot is zero in all states. Values of `rows` follow each other and are
    made by the same operation, of operands that are the same or in rows too (`find_rows`).
    """

    values: tuple[int, ...]
    copies: tuple[tuple[Operand, int], ...] = ()
    gate: int | None = None
    rows: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Angles:
    """Sines and cosines of the `count` angles in slots `at`..., into slots `sin`... and `cos`..."""

    at: int
    sin: int
    cos: int
    count: int


@dataclass(frozen=True)
class Repeat:
    """`body`, with its slots from `base` on, `rounds` times; its outputs become its first inputs.

    With a `gate`, the number of one of its inputs, it ends before a round in which that is zero in all states. Before
    every round the slots of its row of each table (where that lies, how wide it is) become the body's last inputs;
    after it the body's other outputs, `left` of them, go to their row of the table at `leaves`, in which
    the columns `cleared` are zero before.
    """

    body: Plan
    base: int
    rounds: int
    carried: int
    gate: int | None
    tables: tuple[tuple[int, int], ...] = ()
    leaves: int = 0
    left: int = 0
    cleared: tuple[int, ...] = ()

    @property
    def copied(self) -> list[tuple[int, int]]:
        """Outputs that are copied to the inputs they become: the first of some that follow each other, how many."""
        runs: list[tuple[int, int]] = []
        for k in range(self.carried):
            if k in self.body.in_place:
                continue
            if runs and sum(runs[-1]) == k:
                runs[-1] = runs[-1][0], runs[-1][1] + 1
            else:
                runs.append((k, 1))
        return runs


@dataclass(frozen=True)
class Choose:
    """The numbers of keys below zero, in order, into slots `out`...: of `count` keys from slot `at` on, `stride` apart.

    Of more than `slots` of them the least; then comes how many there are. Slots for their keys follow.
    """

    at: int
    count: int
    stride: int
    out: int
    slots: int


@dataclass(frozen=True)
class Move:
    """The slots `source`... copied to the slots `target`..., `count` of them."""

    source: int
    target: int
    count: int


class Place(NamedTuple):
    """Where a lap finds a value: `shift` slots behind its mark of this number; with no mark, the slot `shift`.

    Places among the outputs, which may not lie in the scratch array, are counted from the first of them.
    """

    mark: int | None
    shift: int
    output: bool = False


@dataclass(frozen=True)
class Pattern:
    """Operations that every lap of a series does, in order.

    Operands with negative numbers come from outside: from a slot (`home`), or from a column of constants (`columns`).
    """

    operations: dict[int, Operation]
    home: dict[int, Place]
    columns: dict[int, int]
    stores: dict[int, tuple[Place, ...]]


@dataclass(frozen=True)
class Series:
    """The patterns one after the other, time after time: for each lap a row of `marks` (slots) and of `constants`."""

    patterns: tuple[Pattern, ...]
    marks: NDArray[np.int64]
    constants: NDArray[np.float64]


Stage = Segment | Angles | Repeat | Series | Move | Choose


@dataclass(frozen=True)
class Plan:
    """Stages over a scratch array of `slots` slots: `n_in` inputs first, then `n_out` outputs."""

    n_in: int
    n_out: int
    slots: int
    stages: tuple[Stage, ...]
    operations: dict[int, Operation]
    home: dict[int, int]  # the slot where a value waits for later segments
    stores: dict[int, tuple[int, ...]]  # every slot a value is written to when it is computed
    usual: frozenset[int] = frozenset()  # choices that mostly give the first of their two values
    tables: Mapping[int, Table] = field(default_factory=dict)  # what operations "take" read from
    in_place: frozenset[int] = frozenset()  # outputs of a loop's body that are written over the inputs they become
