"""Limits that inverse kinematics keeps: of joints, also of those that follow from others through loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from kinloop.clusters import ClusterTree
from kinloop.clusters.joint_ranges import joint_ends
from kinloop.errors import MethodError, unknown
from kinloop.scalar import Array

Limits = Mapping[str, tuple[float, float]] | bool
"""True: those of the model; a mapping: these besides, or in their place; False: none."""

INSET = 1e-9
"""Solvers stay so far inside limits [rad, m], so that rounding does not carry results across them."""


class LimitedCoordinates(NamedTuple):
    """Coordinates with limits: their places in q and in the spanning velocity, and between what they stay."""

    places: tuple[int, ...]
    dofs: tuple[int, ...]
    lower: Array
    upper: Array

    def __len__(self) -> int:
        return len(self.places)

    def inset(self) -> tuple[Array, Array]:
        """Limits a little inside; where there is no room, the middle."""
        room = np.minimum(INSET, 0.25 * (self.upper - self.lower))
        return self.lower + room, self.upper - room


def limited_coordinates(tree: ClusterTree, limits: Limits) -> LimitedCoordinates:
    """The coordinates that have limits, those of joints of one coordinate."""
    top = tree.top
    ends = joint_ends(top, range(len(top))) if limits is not False else {}
    for name, given in limits.items() if isinstance(limits, Mapping) else ():
        if name not in top.joint_index:
            raise unknown("joint", name, top.joint_index)
        i = top.joint_index[name]
        if not top.types[i].nq == top.types[i].nv == 1:
            raise MethodError(f"joint {name!r} has {top.types[i].nv} coordinates; limits are for joints of one")
        lower, upper = map(float, given)
        if not lower <= upper:
            raise MethodError(f"limits of joint {name!r} are from {lower} to {upper}; the lower must not be above")
        ends[top.q_of[i].start] = (lower, upper)
    dof_of = {a.start: b.start for t, a, b in zip(top.types, top.q_of, top.v_of, strict=True) if t.nq == t.nv == 1}
    places = tuple(sorted(k for k, end in ends.items() if np.isfinite(end).any()))
    lower, upper = (np.array([ends[k][side] for k in places], dtype=float) for side in (0, 1))
    return LimitedCoordinates(places, tuple(dof_of[k] for k in places), lower, upper)
