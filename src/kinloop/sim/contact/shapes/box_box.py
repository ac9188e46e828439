"""Two boxes: the direction in which they are furthest apart or overlap least, and the patch where they meet.

All vectors are in the frame of box a until the end, and n points from a to b. Directions are those of separating axes:
square to a face, or to an edge of each box [Gottschalk1996]. Seen along n, the face of a that looks most along n and
the face of b that looks most against it overlap in a polygon, in which their distance along n is linear. Its corners
are ends of edges of b's face, cut off at those of a's, and corners of a's face. The corner that is nearest is where
the boxes touch; the patch has this one, and those furthest along the four diagonals of a's face (`STEEP`).

Boxes apart may be nearest at a corner in no such direction. They have one proximity then, found among the distances
of the corners of each from the other.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.box_swept import ROUNDING, SLACK, beyond, unit
from kinloop.sim.contact.shapes.flat import face_towards
from kinloop.sim.contact.shapes.patches import STEEP, completed
from kinloop.sim.contact.shapes.proximity import (
    FAR,
    NEAR,
    Axis,
    Proximity,
    choose,
    direction,
    dot,
    in_world,
    one_of,
    permuted,
    reciprocal,
    seen_from,
    signed,
    vector,
)
from kinloop.spatial import Transform

SIGNS = (-1.0, 1.0)


def box_box(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """Two boxes: up to four proximities with one normal."""
    a, b = ([0.5 * size[k] for k in range(3)] for size in (size_a, size_b))
    R = np.stack([seen_from(pose_a.R, pose_b.R[:, k]) for k in range(3)], axis=1)
    d = seen_from(pose_a.R, pose_b.p - pose_a.p)
    axis = _least_overlap(a, b, R, d)
    n = axis.n
    face = _FaceOfA(a, n)
    corners, deepest = _patch(_overlap(face, b, R, d), axis)
    offset, middle = _nearest_corner(a, b, R, d)
    length, n_corner = direction(offset, n)
    at_corner = sc.logical_and(axis.separation > 0.0, deepest > axis.separation + NEAR)
    n_world = -in_world(pose_a.R, choose(at_corner, n_corner, n))
    sides = np.array([permuted(n, pose_a.R[i]) for i in range(3)])
    out = []
    for k, (y, z, gap) in enumerate(corners):
        point = in_world(sides, [face.sign * face.h[0], y, z]) - 0.5 * gap * n_world
        if k == 0:
            point = choose(at_corner, in_world(pose_a.R, middle), point)
        gap = sc.where(at_corner, length if k == 0 else FAR, gap)
        out.append(Proximity(gap, pose_a.p + point, n_world))
    return out


def _least_overlap(a: list[Any], b: list[Any], R: Array, d: Array) -> Axis:
    """The best of the fifteen separating axes."""
    size = [[sc.abs(R[i, j]) for j in range(3)] for i in range(3)]
    axes = []
    for i in range(3):
        axes.append(Axis(sc.abs(d[i]) - a[i] - dot(size[i], b), signed(d[i]) * unit(i)))
    for j in range(3):
        along = dot(R[:, j], d)
        axes.append(Axis(sc.abs(along) - b[j] - dot([s[j] for s in size], a), signed(along) * R[:, j]))
    blur = ROUNDING * (a[0] + a[1] + a[2] + b[0] + b[1] + b[2])
    for k, l in ((1, 2), (2, 0), (0, 1)):
        # The axes (0, -R_lj, R_kj), square to an edge of each box; their products with edges of b are minors of R.
        minor = [sc.abs(R[k, j] * R[l, m] - R[l, j] * R[k, m]) for j, m in ((0, 1), (1, 2), (2, 0))]
        for j in range(3):
            x, y = -R[l, j], R[k, j]
            length = sc.maximum(sc.sqrt(x * x + y * y), ROUNDING)
            along = x * d[k] + y * d[l]
            overlap = a[k] * size[l][j] + a[l] * size[k][j]
            overlap = overlap + b[(j + 1) % 3] * minor[j] + b[(j + 2) % 3] * minor[(j + 2) % 3]
            scale = signed(along) / length
            separation = (sc.abs(along) - overlap - blur) / length
            axes.append(Axis(separation, x * scale * unit(k) + y * scale * unit(l)))
    return one_of(axes)


class _FaceOfA:
    """The face of a that looks most along n; vectors are seen in its axes, its own first, and along n onto it."""

    def __init__(self, a: list[Any], n: Array) -> None:
        self.n, self.h = n, permuted(n, a)
        n_f, self.n_y, self.n_z = permuted(n, n)
        self.sign, self.per_height = signed(n_f), 1.0 / sc.abs(n_f)

    def seen(self, v: Array, from_face: bool = False) -> tuple[Any, Any, Any]:
        """Where a vector leads along the face (y, z), and how far off it, along n."""
        f, y, z = permuted(self.n, v)
        f = self.sign * f
        rise = (f - self.h[0] if from_face else f) * self.per_height
        return y - rise * self.n_y, z - rise * self.n_z, rise


class _Corner(NamedTuple):
    """A corner of the polygon in which two faces overlap, where it is one."""

    y: Any
    z: Any
    rise: Any
    valid: Any


def _overlap(face: _FaceOfA, b: list[Any], R: Array, d: Array) -> list[_Corner]:
    """Corners of the polygon in which the face of b overlaps that of a, seen along n."""
    centre, *sides = face_towards([2.0 * x for x in b], R, -seen_from(R, face.n))
    c, (s, t) = face.seen(d + centre, from_face=True), (face.seen(side) for side in sides)
    h_y, h_z = face.h[1], face.h[2]
    corners = []
    for along, across in ((s, t), (t, s)):
        # Edges of b's face: c + sign across + x along, |x| <= 1, cut off where they leave the face of a.
        per_y, per_z = reciprocal(along[0]), reciprocal(along[1])
        reach_y, reach_z = (h_y + SLACK) * sc.abs(per_y), (h_z + SLACK) * sc.abs(per_z)
        for sign in SIGNS:
            begin = [c[k] + sign * across[k] for k in range(3)]
            at_y, at_z = -begin[0] * per_y, -begin[1] * per_z
            low = sc.maximum(sc.maximum(at_y - reach_y, at_z - reach_z), -1.0)
            high = sc.minimum(sc.minimum(at_y + reach_y, at_z + reach_z), 1.0)
            valid = low <= high
            for x in (low, high):
                y, z, rise = (begin[k] + x * along[k] for k in range(3))
                corners.append(_Corner(y, z, rise, valid))
    # Corners of a's face: c + x s + w t.
    per_area = reciprocal(s[0] * t[1] - s[1] * t[0])
    for sign_y, sign_z in product(SIGNS, SIGNS):
        y, z = sign_y * h_y, sign_z * h_z
        x = ((y - c[0]) * t[1] - (z - c[1]) * t[0]) * per_area
        w = (s[0] * (z - c[1]) - s[1] * (y - c[0])) * per_area
        valid = sc.maximum(sc.abs(x), sc.abs(w)) <= 1.0 + SLACK
        corners.append(_Corner(y, z, c[2] + x * s[2] + w * t[2], valid))
    return corners


def _patch(corners: list[_Corner], axis: Axis) -> tuple[list[list[Any]], Any]:
    """Four corners (y, z, gap) of a polygon: the furthest along the diagonals, the nearest in place of its neighbour.

    Corners that stand for the same point are `FAR` but for the first. Also the gap of the nearest one.
    """
    nearest = vector(0.0, 0.0, FAR)
    furthest = [vector(-2.0 * STEEP * FAR, 0.0, 0.0, FAR)] * 4
    for corner in corners:
        here, climb = corner[:3], STEEP * corner.rise
        nearest = choose(sc.logical_and(corner.valid, corner.rise < nearest[2]), here, nearest)
        plus, minus = corner.y + corner.z, corner.y - corner.z
        for k, score in enumerate((plus - climb, -plus - climb, minus - climb, -minus - climb)):
            better = sc.logical_and(corner.valid, score > furthest[k][0])
            furthest[k] = choose(better, (score, *here), furthest[k])
    chosen = completed([f[1:] for f in furthest], nearest, axis.separation)
    # Overlapping boxes always touch somewhere, whatever rounding does to the corners.
    lost = sc.logical_and(axis.separation <= 0.0, nearest[2] >= FAR)
    chosen[0][2] = sc.where(lost, axis.separation, chosen[0][2])
    return chosen, nearest[2]


def _nearest_corner(a: list[Any], b: list[Any], R: Array, d: Array) -> tuple[Array, Array]:
    """From a to b between a corner of one box and the nearest point of the other: the shortest, and its middle."""
    best_a = best_b = vector(FAR, *[0.0] * 6)
    d_b = seen_from(R, d)
    for s in product(SIGNS, SIGNS, SIGNS):
        on_b = [s[k] * b[k] for k in range(3)]
        x = d + in_world(R, on_b)
        off = beyond(x, a)
        square = dot(off, off)
        best_b = choose(square < best_b[0], (square, *off, *x), best_b)
        on_a = [s[k] * a[k] for k in range(3)]
        off = beyond(seen_from(R, on_a) - d_b, b)
        square = dot(off, off)
        best_a = choose(square < best_a[0], (square, *off, *on_a), best_a)
    offset = choose(best_b[0] <= best_a[0], best_b[1:4], -in_world(R, best_a[1:4]))
    middle = choose(best_b[0] <= best_a[0], best_b[4:] - 0.5 * best_b[1:4], best_a[4:] + 0.5 * offset)
    return offset, middle
