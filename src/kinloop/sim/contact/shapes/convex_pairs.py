"""Pairs of convex shapes that have no formula: through `coal`, between the calls of a kernel.

Boxes along the axes of the world that hold the shapes say which pairs are near (`ConvexPairs.near`). The direction n of
their distance comes from GJK and EPA in `coal` [Gilbert1988, Bergen2001]; how far they are apart along n is found
exactly. What each shape has nearly as far along n as its furthest point is a face, an edge or a corner; seen along n,
two of these overlap in an outline (patches of coal 3.0 leave out round shapes). On the line along n through a corner
of the outline both surfaces are found exactly, too: that is the gap there. Of more than four corners those furthest
along the diagonals of two directions fixed to b are kept, and the nearest one.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np

from kinloop.errors import MethodError
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.convex import TILT, ConvexShape, coal_module
from kinloop.sim.contact.shapes.outlines import overlap
from kinloop.sim.contact.shapes.patches import APART
from kinloop.sim.contact.shapes.proximity import Proximity

APART_TO, DEPTH_TO = 1e-10, (1e-7, 1e-5)
"""To which distances of shapes that are apart are found, and depths of others: where the first fails, the second [m].
EPA does not end at round shapes if it is asked for more."""

FAILED = 1e-5
"""A depth that differs by more from the one along its own direction is none [m]."""

ALIKE = 1e-5
"""Below this depth [m] EPA may take one way out for another that is 2e-7 m longer."""

LIFT = 0.01
"""How far shapes are lifted off each other to see the direction between them, as a part of the smaller one's size."""

LOST = 1e-8
"""By how much the nearest point must be nearer than all corners of a patch to take the place of one [m]."""

ROUNDING = 1e-12
"""How much nearer boxes count than they are, since what they are is rounded [m]."""

INWARD = 1e-7
"""By which part of its size an outline shrinks, so that lines through its corners do not miss the shapes."""


ANYWHERE, NO_SUPPORT = np.array([1.0, 0.0, 0.0]), np.zeros(2, dtype=np.int32)
"""Where a search begins of which nothing is known."""

DIAGONALS = ((1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0))


class Surrounding(Protocol):
    """What is not convex and knows itself where it is next to a convex shape: the second of a pair."""

    middle: Array
    half: Array

    def proximities(self, a: ConvexShape, poses: tuple[Array, ...], reach: float) -> list[Proximity]:
        """Proximities of a shape a and this one at poses (R_a, p_a, R_b, p_b), none beyond `reach` [m]."""


class ConvexPairs:
    """Pairs (i, j) of shapes that may touch. A gap of more than `margin` [m] is not looked for.

    What is found of a pair depends on its two poses alone: a search begins with the direction between the middles, not
    where that of the step before ended.
    """

    points = 4
    """Proximities that a pair has at most."""

    def __init__(
        self, shapes: Sequence[ConvexShape | Surrounding], pairs: Sequence[tuple[int, int]], margin: float = 0.02
    ) -> None:
        self.shapes, self.margin = list(shapes), float(margin)
        self.pairs = np.asarray(pairs, dtype=int).reshape(-1, 2)
        if len(self.pairs) and not (self.pairs.min() >= 0 and self.pairs.max() < len(self.shapes)):
            raise MethodError(f"pairs of shapes must lie between 0 and {len(self.shapes) - 1}, received {pairs}")
        self._middle, self._half = (
            np.array([getattr(s, name) for s in self.shapes]).reshape(-1, 3) for name in ("middle", "half")
        )

    def near(self, R: Array, p: Array, reach: Any = None) -> Array:
        """Whether the boxes of every pair (..., pairs) are nearer than its reach, or the margin.

        R (..., shapes, 3, 3) and p (..., shapes, 3) are poses, of one row or of many.
        """
        # Sums are written out: they must not depend on how many rows there are.
        middle = p + sum(R[..., k] * self._middle[:, k, None] for k in range(3))
        half = sum(np.abs(R[..., k]) * self._half[:, k, None] for k in range(3))
        i, j = self.pairs.T
        apart = np.abs(middle[..., i, :] - middle[..., j, :]) - half[..., i, :] - half[..., j, :]
        return np.asarray(apart.max(axis=-1) <= (self.margin if reach is None else reach))

    def turned_near(self, R: Array, p: Array, reach: Array, among: Array) -> Array:
        """Of some pairs, by number, those whose boxes are also nearer than their reach along their own axes."""
        i, j = self.pairs[among].T
        A, B = R[i], R[j]
        offset = p[i] + np.einsum("nij,nj->ni", A, self._middle[i]) - p[j] - np.einsum("nij,nj->ni", B, self._middle[j])
        C = np.abs(np.einsum("nki,nkj->nij", B, A))
        along_b = np.abs(np.einsum("nki,nk->ni", B, offset)) - self._half[j] - np.einsum("nij,nj->ni", C, self._half[i])
        along_a = np.abs(np.einsum("nki,nk->ni", A, offset)) - self._half[i] - np.einsum("nij,ni->nj", C, self._half[j])
        return np.asarray(among[np.maximum(along_a, along_b).max(axis=1) <= reach[among] + ROUNDING])

    def proximities(self, R: Array, p: Array) -> dict[int, list[Proximity]]:
        """Proximities of the pairs nearer than the margin, by the pair's number."""
        found = {k: self.contact(k, R, p, self.margin) for k in np.flatnonzero(self.near(R, p)).tolist()}
        return {k: contact for k, contact in found.items() if contact}

    def contact(self, k: int, R: Array, p: Array, reach: float) -> list[Proximity]:
        """Proximities of pair k, none where it is further apart than `reach` [m]."""
        i, j = self.pairs[k]
        a, b, poses = self.shapes[i], self.shapes[j], (R[i], p[i], R[j], p[j])
        return proximities_of(a, b, poses, reach) if isinstance(b, ConvexShape) else b.proximities(a, poses, reach)


def proximities_of(a: ConvexShape, b: ConvexShape, poses: tuple[Array, ...], reach: float) -> list[Proximity]:
    """Proximities of two shapes at poses (R_a, p_a, R_b, p_b), none where they are further apart than `reach` [m]."""
    lift = LIFT * min(a.half.max(), b.half.max())
    for tolerance, guess in zip(DEPTH_TO, (_from_middle(a, b, poses) @ poses[0], ANYWHERE), strict=True):
        found = _collided(a, b, poses, reach, tolerance, guess)
        if found is None:
            return []
        nearest = _along(a, b, poses, found.point, found.normal)
        if abs(found.gap) < lift:
            nearest = _sharpened(a, b, poses, nearest, found.gap, lift)
        if abs(nearest.gap - found.gap) < FAILED:
            return _patch(a, b, poses, nearest) if a.flat and b.flat else [nearest]
    return [_by_faces(a, b, poses)]


def _collided(
    a: ConvexShape, b: ConvexShape, poses: tuple[Array, ...], margin: float, tolerance: float, guess: Array
) -> Proximity | None:
    """Where two shapes are nearest, nothing where that is more than the margin; the search begins with a `guess`."""
    search = _searches()
    request, result, here, there = search.request, search.result, search.here, search.there
    request.security_margin, request.epa_tolerance, request.cached_gjk_guess = margin, tolerance, guess
    R_a, p_a, R_b, p_b = poses
    for pose, R, p in ((here, R_a, p_a), (there, R_b, p_b)):
        pose.setRotation(R)
        pose.setTranslation(p)
    result.clear()
    search.collide(a.coal, here, b.coal, there, request, result)
    if result.numContacts() == 0:
        return None
    contact = result.getContact(0)
    return Proximity(contact.penetration_depth, np.array(contact.pos), -contact.normal)


class _Search:
    """What every search of coal is told and tells, of one thread."""

    def __init__(self) -> None:
        coal = coal_module()
        self.collide, self.result = coal.collide, coal.CollisionResult()
        self.here, self.there = coal.Transform3s(), coal.Transform3s()
        self.request = coal.CollisionRequest(coal.CollisionRequestFlag.CONTACT, 1)
        self.request.gjk_tolerance = APART_TO
        self.request.gjk_max_iterations = self.request.epa_max_iterations = 500
        self.request.gjk_initial_guess = coal.GJKInitialGuess.CachedGuess
        self.request.cached_support_func_guess = NO_SUPPORT


_OWN = threading.local()


def _searches() -> _Search:
    """The search of this thread."""
    try:
        return cast(_Search, _OWN.search)
    except AttributeError:
        _OWN.search = _Search()
        return cast(_Search, _OWN.search)


def _sharpened(
    a: ConvexShape, b: ConvexShape, poses: tuple[Array, ...], nearest: Proximity, gap: float, lift: float
) -> Proximity:
    """The same with a better normal, where shapes are so near that the direction from one to the other is all rounding.

    It is the normal of a lifted off b a little, or of a face that looks along it: whichever separates them most, which
    is what distances and depths are, both. A normal that still is not the one of the gap is looked for with a lifted
    away from b's middle, and sharpened once more; so are depths that coal does not tell from those of other directions.
    """
    R_a, p_a, R_b, p_b = poses
    away = _from_middle(a, b, poses)
    for up in (nearest.normal, away, None):
        way = (lift - gap) * (nearest.normal if up is None else up)
        found = _collided(a, b, (R_a, p_a + way, R_b, p_b), 2.0 * lift, DEPTH_TO[0], ANYWHERE)
        if found is not None:
            best, most = None, nearest.gap
            for n in (found.normal, -R_a @ a.normal(-found.normal @ R_a), R_b @ b.normal(found.normal @ R_b)):
                low, high = _levels(a, b, poses, n)
                best, most = (n, low - high) if low - high > most else (best, most)
            if best is not None:
                nearest = _along(a, b, poses, found.point - 0.5 * way, best)
        alike = -ALIKE < nearest.gap < 0.0 and up is not away
        if nearest.gap > gap - FAILED and not alike:
            break
    return nearest


def _from_middle(a: ConvexShape, b: ConvexShape, poses: tuple[Array, ...]) -> Array:
    """The direction from the middle of b to that of a."""
    R_a, p_a, R_b, p_b = poses
    offset = p_a + R_a @ a.middle - p_b - R_b @ b.middle
    length = math.sqrt(offset @ offset)
    return offset / length if length > APART else R_b[:, 2]


def _by_faces(a: ConvexShape, b: ConvexShape, poses: tuple[Array, ...]) -> Proximity:
    """A way out for shapes at which coal fails: square to a face of one of them, or from middle to middle."""
    R_a, p_a, R_b, p_b = poses
    middle = 0.5 * (p_a + R_a @ a.middle + p_b + R_b @ b.middle)
    normals = [_from_middle(a, b, poses), *(-a.planes[:, :3] @ R_a.T), *(b.planes[:, :3] @ R_b.T)]
    return max((_along(a, b, poses, middle, n) for n in normals), key=lambda x: x.gap)


def _along(a: ConvexShape, b: ConvexShape, poses: tuple[Array, ...], x: Array, n: Array) -> Proximity:
    """How far a is above b along n: two planes square to n touch them, and the point x moves halfway between these."""
    low, high = _levels(a, b, poses, n)
    return Proximity(low - high, x + (0.5 * (low + high) - float(n @ x)) * n, n)


def _levels(a: ConvexShape, b: ConvexShape, poses: tuple[Array, ...], n: Array) -> tuple[float, float]:
    """How far along n a begins and b ends."""
    R_a, p_a, R_b, p_b = poses
    return float(n @ p_a) - a.reach(-n @ R_a), float(n @ p_b) + b.reach(n @ R_b)


def _patch(a: ConvexShape, b: ConvexShape, poses: tuple[Array, ...], nearest: Proximity) -> list[Proximity]:
    """Up to four proximities at corners of the outline in which two shapes meet, among them the nearest one."""
    R_a, p_a, R_b, p_b = poses
    n, level, tolerance = nearest.normal, nearest.point, TILT * min(a.half.max(), b.half.max())
    across = _across(R_b, n)
    faces = [a.face(-n @ R_a, tolerance) @ R_a.T + p_a, b.face(n @ R_b, tolerance) @ R_b.T + p_b]
    outline = overlap(*((face - level) @ across.T for face in faces))
    if len(outline) < 2:
        return [nearest]
    centre = outline.sum(axis=0) / len(outline)
    x = level + (centre + (1.0 - INWARD) * (outline - centre)) @ across
    below_a, above_b = a.way_out((x - p_a) @ R_a, -n @ R_a), b.way_out((x - p_b) @ R_b, n @ R_b)
    gap = [max(g, nearest.gap) for g in (-below_a - above_b).tolist()]
    points = x + (0.5 * (above_b - below_a))[:, None] * n
    chosen = furthest_along_diagonals(outline)
    corners = [Proximity(gap[k], points[k], n) for k in chosen]
    lowest = min(range(len(corners)), key=lambda k: corners[k].gap)
    if corners[lowest].gap > nearest.gap + LOST:
        away = [np.abs(corner.point - nearest.point).max() for corner in corners]
        corners[int(np.argmin(away))] = nearest
    else:
        corners[lowest] = corners[lowest]._replace(gap=nearest.gap)
    return corners


def _across(R: Array, n: Array) -> Array:
    """Two directions (2, 3) square to n and to each other, that turn with the axes R."""
    t = _crossed(n, R[:, int((np.abs(n @ R) < 0.8).argmax())])
    t = t / math.sqrt(t @ t)
    return np.array([t, _crossed(n, t)])


def _crossed(a: Array, b: Array) -> Array:
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def furthest_along_diagonals(x: Array) -> list[int]:
    """Numbers of the points (m, 2) furthest along the diagonals, each place once."""
    out: list[int] = []
    points = x.tolist()
    for s, t in DIAGONALS:
        along = [s * a + t * b for a, b in points]
        k = along.index(max(along))
        (a, b), others = points[k], [points[other] for other in out]
        if all(max(abs(a - c), abs(b - d)) > APART for c, d in others):
            out.append(k)
    return out
