"""Spheres and capsules: points and segments with a radius."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.proximity import FAR, NEAR, Proximity, clamped, direction, dot
from kinloop.spatial import Transform, cross

PARALLEL = 0.03
"""Square of the sine of an angle (10 deg) below which capsules meet at both ends of the length they share too."""

TIE = 1e-12
"""Gaps that differ by less are the same [m]: the normals of two axes 1 cm apart differ by 1e-5 rad then."""


def between_spheres(offset: Array, centre_b: Array, r_a: Any, r_b: Any, otherwise: Array) -> Proximity:
    """Two spheres with the centre of a at an offset from that of b; at no offset the normal is `otherwise`."""
    length, normal = direction(offset, otherwise)
    gap = length - (r_a + r_b)
    return Proximity(gap, centre_b + (r_b + 0.5 * gap) * normal, normal)


def sphere_sphere(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """Two spheres: one proximity."""
    return [between_spheres(pose_a.p - pose_b.p, pose_b.p, size_a[0], size_b[0], pose_b.R[:, 2])]


def sphere_capsule(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """A sphere and a capsule: one proximity; on the capsule's axis the normal is square to it."""
    offset, u = pose_a.p - pose_b.p, pose_b.R[:, 2]
    along = clamped(dot(offset, u), 0.5 * size_b[1]) * u
    return [between_spheres(offset - along, pose_b.p + along, size_a[0], size_b[0], pose_b.R[:, 0])]


def capsule_capsule(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """Two capsules: the nearest points, and both ends of the length that nearly parallel ones share.

    The nearest points are left out where one of the ends is as near. With axes u and w, an offset d of the centres and
    n = u x w, the lines are nearest at s = -(d x w) . n / n . n from the centre of a.
    """
    (r_a, length_a), (r_b, length_b) = size_a, size_b
    h_a, h_b, u, w, d = 0.5 * length_a, 0.5 * length_b, pose_a.R[:, 2], pose_b.R[:, 2], pose_a.p - pose_b.p
    n, cosine, d_u, d_w = cross(u, w), dot(u, w), dot(d, u), dot(d, w)
    square = dot(n, n)
    across = sc.where(square > NEAR, n / sc.sqrt(sc.maximum(square, NEAR)), pose_a.R[:, 0])

    def at(s: Any) -> Proximity:
        """The point at s of a's axis with the point of b's axis that is nearest to it."""
        on_b = clamped(d_w + s * cosine, h_b) * w
        return between_spheres(d + s * u - on_b, pose_b.p + on_b, r_a, r_b, across)

    lines = clamped(-dot(cross(d, w), n) / sc.maximum(square, 1e-300), h_a)
    nearest = at(clamped(clamped(d_w + lines * cosine, h_b) * cosine - d_u, h_a))
    reach = sc.abs(cosine) * h_b
    low, high = sc.maximum(-h_a, -d_u - reach), sc.minimum(h_a, reach - d_u)
    ends = at(low), at(high)
    both = sc.logical_and(square < PARALLEL, high - low > NEAR)
    served = sc.logical_and(both, sc.minimum(ends[0].gap, ends[1].gap) <= nearest.gap + TIE)
    return [only_where(sc.logical_not(served), nearest), *(only_where(both, end) for end in ends)]


def only_where(condition: Any, p: Proximity) -> Proximity:
    """A proximity, far away where the condition does not hold."""
    return p._replace(gap=sc.where(condition, p.gap, FAR))


def sphere_plane(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """A sphere over a plane: one proximity."""
    return over_plane([(pose_a.p, size_a[0])], pose_b)


def capsule_plane(size_a: Any, pose_a: Transform, size_b: Any, pose_b: Transform) -> list[Proximity]:
    """A capsule over a plane: its two ends."""
    reach = 0.5 * size_a[1] * pose_a.R[:, 2]
    return over_plane([(pose_a.p - reach, size_a[0]), (pose_a.p + reach, size_a[0])], pose_b)


def over_plane(spheres: Sequence[tuple[Array, Any]], pose: Transform) -> list[Proximity]:
    """Spheres (centre in the world, radius) over a plane."""
    n = pose.R[:, 2]
    out = []
    for centre, radius in spheres:
        gap = dot(n, centre - pose.p) - radius
        out.append(Proximity(gap, centre - (radius + 0.5 * gap) * n, n))
    return out
