"""Loops and couplings of a file, between its links, written for the bodies and joints of the mechanism."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from kinloop.clusters.grouping import group
from kinloop.errors import unknown
from kinloop.io.shared.file_errors import Notes, Where
from kinloop.io.shared.link_tree import LinkTree
from kinloop.io.shared.robot_description import PathCoupling
from kinloop.model import (
    WORLD,
    Coupling,
    Joint,
    LinearCoupling,
    Loop,
    Mechanism,
    Topology,
)
from kinloop.spatial import Transform

Places = Mapping[str, tuple[str, Transform]]
"""The body every link is part of, and its pose there."""


def remap_loop(loop: Loop, of: Places, where: Where) -> Loop:
    """The same loop between bodies."""
    if loop.ends is None:
        return loop
    predecessor, successor = loop.ends
    for end in loop.ends:
        if end not in of:
            raise where.error(f"refers to a missing link: {unknown('link', end, of)}")
    if of[predecessor][0] == of[successor][0]:
        raise where.error(f"joins {predecessor!r} to {successor!r}, which move as one; give two moving links")
    with where.blamed():
        return loop.reattached(of[predecessor], of[successor])


def remap_coupling(
    coupling: Coupling | PathCoupling,
    where: Where,
    joints: Mapping[str, Joint],
    tree: LinkTree,
    dependent: Collection[str],
) -> Coupling:
    """The coupling over joints that move; one over paths is written for its dependent joint."""
    if isinstance(coupling, PathCoupling):
        return _path_coupling(coupling, where, tree, dependent)
    for name in (*coupling.dependent, *coupling.independent):
        if name not in joints:
            raise where.error(f"refers to a missing joint: {unknown('joint', name, joints)}")
        if joints[name].type.nq != 1:
            raise where.error(
                f"couples joint {name!r} of type {joints[name].type.name}; couple joints of one coordinate"
            )
    twice = set(coupling.dependent) & set(coupling.independent)
    if twice:
        raise where.error(f"couples joint {sorted(twice)[0]!r} to itself; name another joint")
    return coupling


def _path_coupling(c: PathCoupling, where: Where, tree: LinkTree, flagged: Collection[str]) -> LinearCoupling:
    """ratio * sum(P) - sum(S) = 0 solved for one joint: one the file calls dependent, else the last of S."""
    for end in (c.predecessor, c.successor):
        if end != WORLD and end not in tree.carriers:
            raise where.error(f"refers to a missing link: {unknown('link', end, tree.carriers)}")
    P, S = tree.between(c.predecessor, c.successor)
    row = {j.name: c.ratio for j in P if j.type.nv} | {j.name: -1.0 for j in S if j.type.nv}
    for j in (*P, *S):
        if j.type.nq > 1:
            raise where.error(f"passes joint {j.name!r} of type {j.type.name}; couplings take joints of one coordinate")
    order = [j.name for j in (*P, *S) if j.name in row]
    if not order:
        raise where.error(f"joins {c.predecessor!r} to {c.successor!r}, which move as one; give two moving links")
    place = {name: k for k, name in reversed(list(enumerate(order)))}
    best = max(order, key=lambda name: (name in flagged, row[name] == -1.0, place[name]))
    if row[best] == 0.0:
        raise where.error("has the ratio 0, which leaves no joint to follow; give a ratio that is not zero")
    others = [name for name in order if name != best]
    matrix = np.array([[-row[name] / row[best] for name in others]]).reshape(1, len(others))
    return LinearCoupling(c.name, (best,), tuple(others), matrix)


def independent_joints(
    m: Mechanism, dependent: set[str], places: Mapping[str, Where], notes: Notes, work: float
) -> tuple[str, ...]:
    """Joints that are independent because the file calls others of their cluster dependent (URDF+).

    `work` bounds what telling the clusters apart may cost, see `group`.
    """
    if not dependent:
        return ()
    top = Topology.of(m)
    out: list[str] = []
    for bodies in group(top, m.closures, work):
        names = [top.joints[i].name for i in bodies]
        if not dependent.intersection(names):
            continue
        if len(bodies) == 1:
            notes.warn(places[names[0]], "is called dependent, but no loop or coupling fixes it; it stays independent")
        else:
            out += [name for name in names if name not in dependent]
    return tuple(out)
