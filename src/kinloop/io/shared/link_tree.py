"""The tree that the joints of a file span over its links: one joint carries each link, one root hangs on the world."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from kinloop.io.shared.file_errors import Where
from kinloop.io.shared.robot_description import RobotDescription
from kinloop.model import WORLD, Joint
from kinloop.model.joints import Fixed, Free


@dataclass
class LinkTree:
    """Joints in the order of q, the place of each in the file, the joint that carries each link, links in order."""

    joints: dict[str, Joint]
    places: dict[str, Where]
    carriers: dict[str, Joint]
    order: list[str]

    @cached_property
    def depth(self) -> dict[str, int]:
        """How many joints lie between the world and each link."""
        depth = {WORLD: 0}
        for name in self.order:
            depth[name] = depth[self.carriers[name].parent] + 1
        return depth

    def between(self, a: str, b: str, most: float = math.inf) -> tuple[list[Joint], list[Joint]]:
        """Joints from the nearest common ancestor of two links to each; of more than `most`, the last ones."""
        paths: dict[str, list[Joint]] = {a: [], b: []}
        ends = [a, b]
        while ends[0] != ends[1] and len(paths[a]) + len(paths[b]) <= most:
            k = 0 if self.depth[ends[0]] >= self.depth[ends[1]] else 1
            carrier = self.carriers[ends[k]]
            paths[(a, b)[k]].append(carrier)
            ends[k] = carrier.parent
        return paths[a][::-1], paths[b][::-1]


def span_links(d: RobotDescription) -> LinkTree:
    """The tree of a description, its root tied to the world as the user wants; what is no tree is an error."""
    tree = LinkTree(dict(d.joints), dict(d.places), _carriers(d), [])
    if WORLD in tree.carriers:
        raise tree.places[tree.carriers[WORLD].name].error("has the world as its child; turn the joint round")
    roots = [name for name in d.links if name not in tree.carriers and name != WORLD]
    if WORLD in d.links and roots:
        raise d.links[roots[0]].where.error(f"link {roots[0]!r} hangs on nothing; add a joint that carries it")
    if WORLD in d.links or (not roots and any(j.parent == WORLD for j in tree.carriers.values())):
        _retype_bases(d, tree)
    elif not roots:
        raise d.where.error("has no root link: its joints form a cycle; write one of them as a loop")
    elif len(roots) > 1:
        raise d.links[roots[1]].where.error(
            f"link {roots[1]!r} hangs on nothing, as root {roots[0]!r} does; a model has one root, add a joint"
        )
    else:
        _tie_root(d, tree, roots[0])
    tree.order = _order(d, tree)
    return tree


def _carriers(d: RobotDescription) -> dict[str, Joint]:
    """The joint that carries each link."""
    carriers: dict[str, Joint] = {}
    for j in d.joints.values():
        where = d.places[j.name]
        d.known_link(j.parent, where)
        d.known_link(j.child, where, world=False)
        if j.parent == j.child:
            raise where.error(f"has {j.child!r} as parent and child; a joint needs two different links")
        if j.child in carriers:
            raise where.error(
                f"link {j.child!r} is already the child of joint {carriers[j.child].name!r}; "
                "a link has one parent, write the other joint as a loop"
            )
        carriers[j.child] = j
    return carriers


def _tie_root(d: RobotDescription, tree: LinkTree, root: str) -> None:
    """Put the root on the world by a joint of its own, the first of all."""
    name = d.unused_joint_name("root_joint")
    joint = Joint(name, WORLD, root, Free() if d.options.floating_base else Fixed())
    tree.joints = {name: joint, **tree.joints}
    tree.places[name] = d.links[root].where
    tree.carriers[root] = joint


def _retype_bases(d: RobotDescription, tree: LinkTree) -> None:
    """Free or fix what hangs on a link named world, where the user asks for it."""
    floating = d.options.floating_base
    if floating is None:
        return
    bases = [j for j in tree.carriers.values() if j.parent == WORLD]
    for j in bases:
        if not (j.type.nv == 0 if floating else j.type.is_free):
            continue
        if floating and len(bases) > 1:
            raise tree.places[j.name].error(
                f"floating_base=True needs one base, and {len(bases)} joints start at the world; use None"
            )
        new = replace(j, type=Free() if floating else Fixed(), home=None)
        tree.joints[j.name] = tree.carriers[j.child] = new


def _order(d: RobotDescription, tree: LinkTree) -> list[str]:
    """Links, parents before children, in the order of their joints."""
    children: dict[str, list[str]] = {}
    for j in tree.joints.values():
        children.setdefault(j.parent, []).append(j.child)
    order, waiting = [], [WORLD]
    while waiting:
        at = waiting.pop()
        order.append(at)
        waiting.extend(reversed(children.get(at, [])))
    reached = set(order)
    missing = [name for name in d.links if name not in reached and name != WORLD]
    if missing:
        where = tree.places[tree.carriers[missing[0]].name]
        raise where.error(f"tree joints form a cycle through link {missing[0]!r}; write one of them as a loop")
    return order[1:]
