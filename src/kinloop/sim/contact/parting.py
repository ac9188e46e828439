"""Planes between shapes without a formula whose boxes meet where a robot usually is: while these part them, no search.

The hull of a pelvis and that of a thigh lie within each other's boxes whatever the robot does, and never touch. At the
configurations that a model names, such a pair has a direction, fixed to one of the two shapes, along which they are
furthest apart. With n that direction in the world, from shape a to shape b, p_a the origin of a, f_a how far a reaches
along it, and m_b, s_b the middle and half the lengths of the box about b, they are apart by at least

    n . (m_b - p_a) - f_a - |R_b^T n| . s_b.                                                                     (1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.convex import ConvexShape
from kinloop.sim.contact.shapes.convex_pairs import ConvexPairs
from kinloop.spatial import Transform

WORTH = 0.002
"""A plane is kept where it parts its shapes by more than this [m]."""

SEEN = 0.05
"""Shapes are looked at whose boxes are nearer than `WORTH`, and directions between them within this distance [m]."""


class Parting(NamedTuple):
    """A direction fixed to the shape `own`, the other of the pair being `other`, and how far `own` reaches along it."""

    own: int
    other: int
    direction: tuple[float, float, float]
    far: float

    def gap(self, own: Transform, other: Transform, box: Any) -> Any:
        """How far the shapes are apart at least (1), at these poses; `box` has a middle and half the lengths."""
        n = own.R @ np.array(self.direction)
        along = other.R.T @ n
        size = sum(sc.abs(x) * float(s) for x, s in zip(along, box.half, strict=True))
        return n @ (other.p + other.R @ box.middle - own.p) - self.far - size


def find_partings(pairs: ConvexPairs, usual: Sequence[list[Transform]]) -> dict[int, tuple[Parting, ...]]:
    """Planes by the number of their pair, at most one for each configuration; `usual` are poses of all shapes there."""
    found: dict[int, dict[Parting, None]] = {}
    for poses in usual:
        R, p = np.array([x.R for x in poses], dtype=float), np.array([x.p for x in poses], dtype=float)
        for k in np.flatnonzero(pairs.near(R, p, WORTH)).tolist():
            i, j = pairs.pairs[k].tolist()
            a, b = pairs.shapes[i], pairs.shapes[j]
            if not (isinstance(a, ConvexShape) and isinstance(b, ConvexShape)):
                continue
            known = found.setdefault(k, {})
            if any(x.gap(poses[x.own], poses[x.other], pairs.shapes[x.other]) > WORTH for x in known):
                continue
            normals = [x.normal for x in pairs.contact(k, R, p, SEEN)]
            asked = [*R[i].T, *R[j].T, *normals]
            each = [
                _parting(s, o, pairs, poses, sign * n) for s, o in ((i, j), (j, i)) for n in asked for sign in (1, -1)
            ]
            gap, best = max(each, key=lambda x: x[0])
            if gap > WORTH:
                known[best] = None
    return {k: tuple(known) for k, known in found.items() if known}


def _parting(own: int, other: int, pairs: ConvexPairs, poses: list[Transform], n: Array) -> tuple[float, Parting]:
    """The plane across n in the world, and how far it parts its shapes."""
    d = np.asarray(poses[own].R.T @ n, dtype=float)
    d = d / np.linalg.norm(d)
    shape = pairs.shapes[own]
    assert isinstance(shape, ConvexShape), "planes part convex shapes"
    plane = Parting(own, other, (float(d[0]), float(d[1]), float(d[2])), float(shape.reach(d)))
    return float(plane.gap(poses[own], poses[other], pairs.shapes[other])), plane
