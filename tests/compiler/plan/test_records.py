"""A record is written over when nobody needs it any more, and not before."""

from __future__ import annotations

import itertools

import pytest

from kinloop.compiler.plan import draft, planner
from kinloop.compiler.plan.lifetimes import last_uses
from kinloop.compiler.plan.patterns import Laps
from kinloop.compiler.plan.records import place_records
from kinloop.compiler.plan.stage_types import Segment
from kinloop.robots import zoo
from tests.compiler.graphs import linked_function

LAPS = 20
OUT, BACK = range(LAPS), range(100, 100 + LAPS)
# What the first series leaves, the second needs from the last lap to the first; what that leaves is needed at the end.
OPERATIONS = {
    **dict.fromkeys(OUT, ("sin", (1.0,))),
    **{v: ("cos", (OUT[LAPS - 1 - n],)) for n, v in enumerate(BACK)},
    200: ("atan2", (BACK[0], BACK[-1])),
    201: ("atan2", (BACK[1], BACK[3])),
}
STAGES = [Laps(tuple((v,) for v in OUT), (1,)), Laps(tuple((v,) for v in BACK), (1,)), Segment((200, 201))]


class Slots:
    """Hands out slots."""

    def __init__(self):
        self.used = 0

    def reserve(self, count=1):
        self.used += count
        return self.used - count


def assert_apart(stages, operations, home):
    """No two values that lie in one slot are needed at the same time; how many slots have several values."""
    born, needed, lives = {}, {}, {}
    for t, stage in enumerate(stages):
        rows = stage.rows if isinstance(stage, Laps) else getattr(stage, "values", ()) and [stage.values]
        uses = [(n, v, operations[v][1]) for n, row in enumerate(rows) for v in row]
        uses += [(len(uses), x, (x,)) for x, _ in getattr(stage, "copies", ())]
        for n, v, args in uses:
            born.setdefault(v, (t, n))
            needed |= dict.fromkeys((v, *args), (t, n))
    for v in sorted(home, key=born.__getitem__):
        lives.setdefault(home[v], []).append(v)
    for values in lives.values():
        assert all(needed[a] < born[b] for a, b in itertools.pairwise(values))
    return sum(len(values) > 1 for values in lives.values())


def test_a_series_that_goes_back_writes_over_what_it_has_read():
    slots = Slots()
    home = place_records(STAGES, last_uses(STAGES, OPERATIONS), OPERATIONS, slots.reserve)
    assert set(home) == {*OUT, *BACK}
    assert slots.used == LAPS + 1  # nothing is free yet in the first lap
    assert [home[v] for v in BACK[1:]] == [home[v] for v in OUT[:0:-1]]
    assert assert_apart(STAGES, OPERATIONS, home) == LAPS - 1


def test_what_is_copied_later_is_not_written_over():
    stages = [*STAGES[:2], Segment((200, 201), ((OUT[3], 999),))]
    home = place_records(stages, last_uses(stages, OPERATIONS), OPERATIONS, Slots().reserve)
    assert assert_apart(stages, OPERATIONS, home) == 0


@pytest.mark.parametrize("make", [
    *(lambda seed=seed: linked_function(seed) for seed in (1, 2, 3, 4, 7)),
    lambda: zoo.load("four_bar_chain", links=24).compile("forward_dynamics").function,
    lambda: zoo.load("four_bar_chain", links=24).compile("inverse_dynamics_derivatives").function,
])  # fmt: skip
def test_values_that_are_needed_at_once_lie_apart(make, monkeypatch):
    seen = []

    def watched(stages, last, operations, reserve):
        home = place_records(stages, last, operations, reserve)
        seen.append((stages, operations, home))
        return home

    monkeypatch.setattr(draft, "place_records", watched)
    planner.make_plan(make(), True, large=1)
    assert sum(assert_apart(*each) for each in seen) > 0
