"""What nothing but the rare value of a choice needs is computed where it comes to that."""

from __future__ import annotations

from kinloop.compiler.plan.rare_values import Choice, find_choices, together

# Values: 0 and 1 are inputs, 2 decides; 3 and 4 are for the rare values alone, 5 for a usual one.
OPERATIONS = {
    2: ("lt", (0, 1)),
    3: ("sqrt", (0,)),
    4: ("mul", (3, 1)),
    5: ("add", (0, 1)),
    6: ("where", (2, 5, 4)),
    7: ("where", (2, 0, 3)),
    8: ("add", (6, 7)),
}
ALL = list(OPERATIONS)


def test_choices_by_one_condition_are_made_together_and_leave_what_only_they_need_to_the_rare_way():
    assert find_choices(ALL, OPERATIONS, {6, 7}, {8}) == {6: Choice((6, 7), (3, 4))}


def test_what_is_needed_elsewhere_too_is_always_computed():
    assert find_choices(ALL, OPERATIONS, {6, 7}, {8, 3}) == {6: Choice((6, 7), (4,))}
    again = {**OPERATIONS, 8: ("add", (6, 3))}
    assert find_choices(ALL, again, {6, 7}, {8}) == {6: Choice((6, 7), (4,))}
    assert find_choices(ALL, OPERATIONS, {6}, {8}) == {6: Choice((6,), (4,))}  # 7 always needs 3


def test_nothing_is_found_without_usual_choices():
    assert find_choices(ALL, OPERATIONS, set(), {8}) == {}
    assert find_choices(ALL[:4], OPERATIONS, {6, 7}, {5}) == {}


def test_a_choice_that_needs_another_is_made_after_it():
    other = {**OPERATIONS, 7: ("where", (2, 6, 3))}
    assert find_choices(ALL, other, {6, 7}, {8}) == {6: Choice((6,), (4,)), 7: Choice((7,), ())}


def test_both_arguments_of_an_extreme_are_always_there():
    extreme = {2: ("mul", (0, 1)), 3: ("sqrt", (1,)), 4: ("minimum", (2, 3))}
    assert find_choices([2, 3, 4], extreme, {4}, {4}) == {4: Choice((4,), ())}


def test_choices_within_the_rare_way_of_others_are_made_there():
    inner = {**OPERATIONS, 9: ("lt", (1, 8)), 10: ("where", (9, 1, 8))}
    found = find_choices([*inner], inner, {6, 7, 10}, {10})
    assert found == {10: Choice((10,), ()), 6: Choice((6, 7), (3, 4))}  # 8 decides the outer one
    inner[9] = ("lt", (1, 0))
    found = find_choices([*inner], inner, {6, 7, 10}, {10})
    assert found[10] == Choice((10,), (2, 5, 6, 7, 8)) and found[6] == Choice((6, 7), (3, 4))


def test_what_a_choice_alone_needs_comes_right_before_it():
    found = find_choices(ALL, OPERATIONS, {6, 7}, {8})
    assert together(ALL, found.values()) == ([2, 5, 3, 4, 6, 7, 8], {3: 0, 4: 0, 6: 0, 7: 0})
    assert together(ALL, [Choice((6, 7), ())]) == (ALL, {})


def test_a_choice_in_the_rare_way_of_another_goes_with_it():
    order, blocks = together([1, 2, 3, 4, 5], [Choice((3,), (1,)), Choice((5,), (3, 4))])
    assert order == [2, 1, 3, 4, 5] and set(blocks) == {1, 3, 4, 5}
