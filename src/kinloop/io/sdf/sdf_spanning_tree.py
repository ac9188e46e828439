"""A spanning tree of the links of an SDF model, whose joints may form any graph.

Joints are taken in the order of the file, each link on the first joint whose child it is; joints left over close
loops. A joint whose parent turns out to hang on its child is turned round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kinloop.io.sdf.sdf_joints import SdfJoint
from kinloop.model import WORLD


class Carried(NamedTuple):
    """A link and the joint that carries it (None for a root); `turned` where that joint has the link as its parent."""

    link: str
    joint: SdfJoint | None
    turned: bool


def spanning_tree(joints: Sequence[SdfJoint], links: Sequence[str]) -> tuple[list[Carried], list[SdfJoint]]:
    """Links in order from the roots with what carries each, and the joints left over."""
    chosen = _tree_joints(joints, links)
    children = {j.child for j in chosen}
    out: list[Carried] = []
    seen: set[str] = set()
    near: dict[str, list[SdfJoint]] = {}
    for j in chosen:
        near.setdefault(j.parent, []).append(j)
        near.setdefault(j.child, []).append(j)
    for root in (WORLD, *(name for name in links if name not in children), *links):
        if root in seen:
            continue
        if root != WORLD:
            out.append(Carried(root, None, False))
        seen.add(root)
        out += _reached(root, near, seen)
    return out, [j for j in joints if j not in chosen]


def _reached(root: str, near: dict[str, list[SdfJoint]], seen: set[str]) -> Iterator[Carried]:
    """Links that hang on a root, parents before children; `seen` grows by them."""
    waiting = [root]
    while waiting:
        at = waiting.pop()
        for j in near.get(at, []):
            other = j.child if j.parent == at else j.parent
            if other not in seen:
                seen.add(other)
                waiting.append(other)
                yield Carried(other, j, j.child == at)


def _tree_joints(joints: Sequence[SdfJoint], links: Sequence[str]) -> dict[SdfJoint, None]:
    """Joints of a spanning tree: first those whose child is not carried yet, then what else joins parts."""
    group = {name: name for name in (*links, WORLD)}

    def find(x: str) -> str:
        while group[x] != x:
            group[x] = group[group[x]]
            x = group[x]
        return x

    carried: set[str] = {WORLD}
    chosen: dict[SdfJoint, None] = {}
    for forward in (True, False):
        for j in joints:
            if j in chosen or (forward and j.child in carried):
                continue
            if find(j.parent) != find(j.child):
                group[find(j.parent)] = find(j.child)
                carried.add(j.child)
                chosen[j] = None
    return chosen
