"""Values wait in slots from their segment to their last use, and no longer."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from kinloop.compiler.plan.lifetimes import last_uses, share_slots
from kinloop.compiler.plan.planner import make_plan
from kinloop.compiler.plan.stage_types import Angles, Segment
from tests.compiler.graphs import random_function

STAGES = (Segment((1, 2)), Angles(0, 8, 16, 3), Segment((3,)), Segment((4, 5)), Segment((6,)))
OPERATIONS = {
    1: ("neg", (0,)),
    2: ("neg", (1,)),
    3: ("add", (1, 2)),
    4: ("add", (3, 0.5)),
    5: ("mul", (4, 4)),
    6: ("add", (5, 3)),
}


def test_a_value_waits_until_its_last_use_by_another_segment():
    assert last_uses(STAGES, OPERATIONS) == {1: 2, 2: 2, 3: 4, 5: 4}


def test_a_slot_is_used_again_after_the_last_use():
    new = count(100)
    home = share_slots(STAGES, last_uses(STAGES, OPERATIONS), {}, {}, lambda _: next(new))
    assert set(home) == {1, 2, 3, 5} and home[1] != home[2]
    assert home[3] not in (home[1], home[2])  # computed while both are still read
    assert home[5] in (home[1], home[2]) and next(new) == 103


def test_a_settled_value_keeps_its_slot_to_itself():
    new = count(100)
    home = share_slots(STAGES, last_uses(STAGES, OPERATIONS), {1: 7}, {}, lambda _: next(new))
    assert home[1] == 7 and 7 not in (home[2], home[3], home[5])


def test_an_heir_takes_over_a_slot_that_nothing_else_needs():
    stages, operations = (Segment((1,)), Segment((2,)), Segment((3,))), {k: ("neg", (k - 1,)) for k in (1, 2, 3)}

    def home(operations, heirs):
        new = count(100)
        return share_slots(stages, last_uses(stages, operations), {}, {}, lambda _: next(new), heirs)

    for found, same in ((home(operations, {2: 1}), True), (home(operations, {}), False)):
        assert (found[1] == found[2]) is same
    again = home(operations | {3: ("add", (1, 2))}, {2: 1})
    assert again[1] != again[2]


@pytest.mark.parametrize("seed", range(4))
def test_no_slot_is_overwritten_while_its_value_is_needed(seed):
    """Replay the plan of a random graph and look at every value a segment reads from a slot."""
    plan = make_plan(random_function(seed, size=400, loops=False), True, segment=20)
    holds: dict[int, int] = {}
    looked = 0
    for stage in plan.stages:
        if not isinstance(stage, Segment):
            continue
        here = set(stage.values)
        for v in stage.values:
            for x in plan.operations[v][1]:
                if isinstance(x, int) and x in plan.stores and x not in here:
                    assert holds[plan.home[x]] == x
                    looked += 1
            holds.update(dict.fromkeys(plan.stores.get(v, ()), v))
    assert looked > 20 and np.max(list(holds)) < plan.slots


def test_a_value_of_two_rows_waits_in_one_of_them():
    stages = [Segment((1, 2)), Segment((3, 4)), Segment((5,)), Segment((6,))]
    last = {1: 3, 2: 2, 3: 3, 4: 3}
    waiting = {1: (1, 2), 2: (1, 2), 3: (1, 3, 4), 4: (1, 3, 4)}
    ends = [0]

    def reserve(count):
        ends.append(ends[-1] + count)
        return ends[-2]

    home = share_slots(stages, last, {}, waiting, reserve)
    assert home[2] == home[1] + 1 and home[4] == home[3] + 1
    assert len(set(home.values())) == 4 and home[1] < ends[1]
