"""The point of a simplex that is nearest to the origin, when a point is added to it [Gilbert1988].

A simplex is three points, some of which may be the same. With a fourth one P that is further towards the origin, the
nearest point lies on P itself, on an edge that ends there or on a face with a corner there; all six are looked at,
whatever they are: there are no cases, and what is degenerate counts as not there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.proximity import choose, dot, vector
from kinloop.spatial import cross

THIN = 1e-14
"""Square of the sine of an angle below which a face is none, and of a corner below which there is no volume."""


class Nearer(NamedTuple):
    """The point v of a simplex nearest to the origin, and the simplex that has it: P and the old corners `i` and `j`.

    v = (1 - w_i - w_j) P + w_i y_i + w_j y_j. `inside` says whether the origin is within the four points.
    """

    v: Array
    i: Any
    j: Any
    w_i: Any
    w_j: Any
    inside: Any


def nearer(y: list[Array], P: Array) -> Nearer:
    """The nearest point of three points y and P, those without P left out."""
    e = [x - P for x in y]
    square = [sc.maximum(dot(x, x), 1e-300) for x in e]
    best: list[Any] = []
    for k in range(3):
        t = sc.minimum(sc.maximum(-dot(P, e[k]) / square[k], 0.0), 1.0)
        v = P + t * e[k]
        best = _better(best, [dot(v, v), *v, float(k), float(k), t, 0.0], True)
    across = [cross(e[i], e[j]) for i, j in _FACES]
    for m, (i, j) in zip(across, _FACES, strict=True):
        mm = dot(m, m)
        per = 1.0 / sc.maximum(mm, 1e-300)
        w_i, w_j = per * dot(cross(e[j], P), m), per * dot(cross(P, e[i]), m)
        v = (per * dot(P, m)) * m
        there = sc.logical_and(mm > THIN * square[i] * square[j], sc.minimum(w_i, w_j) >= 0.0)
        there = sc.logical_and(there, w_i + w_j <= 1.0)
        best = _better(best, [dot(v, v), *v, float(i), float(j), w_i, w_j], there)
    _, x, y_, z, i, j, w_i, w_j = best
    return Nearer(vector(x, y_, z), i, j, w_i, w_j, _inside(e, across, square, P))


_FACES = ((0, 1), (1, 2), (2, 0))


def _better(best: list[Any], other: list[Any], there: Any) -> list[Any]:
    if not best:
        return other
    return list(choose(sc.logical_and(there, other[0] < best[0]), other, best))


def _inside(e: list[Array], across: list[Array], square: list[Any], P: Array) -> Any:
    """Whether the origin is within P and the points P + e."""
    volume = dot(e[0], across[1])
    per = 1.0 / sc.where(sc.abs(volume) < 1e-300, 1e-300, volume)
    parts = [-per * dot(P, across[k]) for k in (1, 2, 0)]
    solid = volume * volume > THIN * square[0] * square[1] * square[2]
    least = sc.minimum(sc.minimum(parts[0], parts[1]), parts[2])
    return sc.logical_and(solid, sc.logical_and(least >= 0.0, parts[0] + parts[1] + parts[2] <= 1.0))
