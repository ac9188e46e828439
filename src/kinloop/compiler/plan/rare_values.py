"""What only the rare value of a choice needs: code for one state computes it where it comes to that.

docs/decisions/one-state.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from kinloop.compiler.plan.stage_types import Operand, Operation

_ALWAYS = -1


class Choice(NamedTuple):
    """Choices that one condition decides, and the values that nothing but their rare values need, in order."""

    members: tuple[int, ...]
    rare: tuple[int, ...]


def find_choices(
    values: Sequence[int], operations: Mapping[int, Operation], usual: Collection[int], kept: Collection[int]
) -> dict[int, Choice]:
    """The usual choices among the values of a segment, by their first members; `kept` are values that others need."""
    groups = _groups([v for v in values if v in usual], values, operations)
    if not groups:
        return {}
    group_of = {v: group for group in groups for v in group}
    needed_by = dict.fromkeys(kept, _ALWAYS)  # the first member of the choice whose rare value needs a value

    def ask(x: Operand, who: int) -> None:
        if isinstance(x, int):
            needed_by[x] = who if needed_by.get(x, who) == who else _ALWAYS

    for v in reversed(values):
        group = group_of.get(v, (v,))
        if v != group[-1]:
            continue
        asked = {needed_by.get(member, _ALWAYS) for member in group}
        who = asked.pop() if len(asked) == 1 else _ALWAYS
        needed_by |= dict.fromkeys(group, who)
        for member in group:
            op, args = operations[member]
            for k, x in enumerate(args):
                ask(x, group[0] if member in usual and op == "where" and k == 2 else who)
    rare: dict[int, list[int]] = {}
    for v in values:
        rare.setdefault(needed_by[v], []).append(v)
    return {group[0]: Choice(group, tuple(rare.get(group[0], ()))) for group in groups}


def together(order: Sequence[int], choices: Iterable[Choice]) -> tuple[list[int], dict[int, int]]:
    """`order` with what only the rare values of a choice need right before it, and the choice of all these values.

    Choices are numbered from 0 on; those that need nothing of their own are left where they are.
    """
    block: dict[int, int] = {}
    moved: dict[int, tuple[int, ...]] = {}
    for n, choice in enumerate(c for c in choices if c.rare):
        block |= dict.fromkeys((*choice.rare, *choice.members), n)
        moved[choice.members[0]] = choice.rare
    away = {v for rare in moved.values() for v in rare}
    out: list[int] = []

    def put(v: int) -> None:
        for x in moved.get(v, ()):
            if x not in moved:
                out.append(x)
            else:
                put(x)
        out.append(v)

    for v in order:
        if v not in away:
            put(v)
    return out, block


def _groups(usual: Sequence[int], values: Sequence[int], operations: Mapping[int, Operation]) -> list[tuple[int, ...]]:
    """Choices with the same condition that follow each other; any other by itself."""
    place = {v: k for k, v in enumerate(values)}
    groups: list[list[int]] = []
    for v in usual:
        op, args = operations[v]
        last = groups[-1] if groups else [v]
        before, condition = operations[last[-1]]
        alike = op == before == "where" and args[0] == condition[0] and place[v] == place[last[-1]] + 1
        if alike and not set(last) & set(args):
            last.append(v)
        else:
            groups.append([v])
    return [tuple(group) for group in groups]
