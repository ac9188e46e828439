"""Random pairs of shapes, what our functions say of many of them at once, and what coal says of each."""

from functools import cache
from typing import NamedTuple

import coal
import numpy as np

from kinloop import scalar as sc
from kinloop.sim.contact.shapes import pair_function
from kinloop.sim.contact.shapes.convex import ConvexShape
from kinloop.spatial import Transform

SIZES = {"sphere": 1, "capsule": 2, "box": 3, "cylinder": 2, "ellipsoid": 3, "plane": 2, "mesh": 36}
"""Numbers that describe a shape; a mesh here has a hull of up to twelve vertices."""


class Shapes(NamedTuple):
    """Shapes of one kind: sizes (N, k), rotations (N, 3, 3), positions (N, 3)."""

    kind: str
    size: np.ndarray
    R: np.ndarray
    p: np.ndarray

    def __getitem__(self, k):
        return self.size[k], Transform(self.R[k], self.p[k])

    def moved(self, by):
        return self._replace(p=self.p + by)


class Touches(NamedTuple):
    """Proximities of many pairs: gaps (N, points), points and normals (N, points, 3), and the nearest of each pair."""

    gap: np.ndarray
    point: np.ndarray
    normal: np.ndarray

    def nearest(self):
        k = np.argmin(self.gap, axis=1)
        rows = np.arange(len(k))
        return self.gap[rows, k], self.point[rows, k], self.normal[rows, k]


def rotations(rng, n):
    q, r = np.linalg.qr(rng.normal(size=(n, 3, 3)))
    q = q * np.sign(np.einsum("nii->ni", r))[:, None, :]
    q[:, :, 0] *= np.linalg.det(q)[:, None]
    return q


def square_rotations(rng, n, noise):
    """Rotations by multiples of 90 degrees, off by some noise."""
    near = np.array([np.eye(3)[:, [0, 1, 2]], np.eye(3)[:, [1, 2, 0]], np.eye(3)[:, [2, 0, 1]]])[
        rng.integers(3, size=n)
    ]
    a = noise * rng.normal(size=(n, 3))
    zero = np.zeros(n)
    K = np.stack([zero, -a[:, 2], a[:, 1], a[:, 2], zero, -a[:, 0], -a[:, 1], a[:, 0], zero], axis=1).reshape(n, 3, 3)
    turned = np.eye(3) + K + 0.5 * K @ K
    q, r = np.linalg.qr(turned)
    return q * np.sign(np.einsum("nii->ni", r))[:, None, :] @ near


def random_shapes(rng, kind, n, turned=rotations):
    size = rng.uniform(0.05, 0.6, (n, SIZES[kind]))
    if kind == "mesh":
        size = (rng.normal(size=(n, 12, 3)) * rng.uniform(0.05, 0.2, (n, 1, 3))).reshape(n, -1)
    return Shapes(kind, size, turned(rng, n), 0.35 * rng.normal(size=(n, 3)))


@cache
def traced(kind_a, kind_b):
    """The function of a pair, as a graph."""
    collide = pair_function(kind_a, kind_b)

    def f(size_a, R_a, p_a, size_b, R_b, p_b):
        found = collide(size_a, Transform(R_a.reshape(3, 3), p_a), size_b, Transform(R_b.reshape(3, 3), p_b))
        return {name: np.array([getattr(x, name) for x in found], dtype=object) for name in ("gap", "point", "normal")}

    return sc.trace(f, {"size_a": SIZES[kind_a], "R_a": 9, "p_a": 3, "size_b": SIZES[kind_b], "R_b": 9, "p_b": 3})


def touches(a, b):
    """What our function says of all pairs, in one replay of its graph."""
    inputs = [x.reshape(len(x), -1).T for x in (a.size, a.R, a.p, b.size, b.R, b.p)]

    def filled(out):
        rows = [np.broadcast_to(np.asarray(x, dtype=float), len(a.p)) for x in out.flat]
        return np.stack(rows, axis=-1).reshape(-1, *out.shape)

    return Touches(*map(filled, traced(a.kind, b.kind)(*inputs)))


COAL = {
    "sphere": coal.Sphere,
    "capsule": coal.Capsule,
    "box": coal.Box,
    "cylinder": coal.Cylinder,
    "ellipsoid": coal.Ellipsoid,
    "plane": lambda *_: coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0),
}


def coal_shape(kind, size):
    if kind == "mesh":
        return ConvexShape(kind, size.reshape(-1, 3)).coal
    return COAL[kind](*map(float, size))


def coal_distance(a, b, k):
    """Signed distance of pair k."""
    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-12
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    poses = [coal.Transform3s(x.R[k], x.p[k]) for x in (a, b)]
    shapes = [coal_shape(x.kind, x.size[k]) for x in (a, b)]
    return coal.distance(shapes[0], poses[0], shapes[1], poses[1], request, coal.DistanceResult())


def coal_distances(a, b):
    return np.array([coal_distance(a, b, k) for k in range(len(a.p))])


def segment_distances(a, b):
    """Distances of capsules in 80-bit arithmetic: from every end to the other axis, and where the lines are nearest.

    For axes that are nearly parallel (1e-6 rad) coal leaves out the nearest end, and is off by 3e-7 m.
    """
    u, w, d = (np.asarray(x, dtype=np.longdouble) for x in (a.R[:, :, 2], b.R[:, :, 2], a.p - b.p))
    h_a, h_b = (np.asarray(0.5 * x.size[:, 1], dtype=np.longdouble) for x in (a, b))

    def inner(x, y):
        return np.sum(x * y, axis=1)

    def length(s, t):
        return np.sqrt(inner(*[d + s[:, None] * u - t[:, None] * w] * 2))

    n = np.cross(u, w)
    line = np.clip(-inner(np.cross(d, w), n) / np.maximum(inner(n, n), 1e-60), -h_a, h_a)
    along_a, along_b = inner(u, u), inner(w, w)
    found = []
    for s in (-h_a, h_a, line):
        found.append(length(s, np.clip((inner(d, w) + s * inner(u, w)) / along_b, -h_b, h_b)))
    for t in (-h_b, h_b):
        found.append(length(np.clip((t * inner(u, w) - inner(d, u)) / along_a, -h_a, h_a), t))
    return (np.min(found, axis=0) - a.size[:, 0] - b.size[:, 0]).astype(float)


def cylinder_distances(a, b):
    """Distances of spheres from cylinders; where a centre is inside, coal 3.0 does not see that a cap may be nearer."""
    x = np.einsum("nij,ni->nj", b.R, a.p - b.p)
    off = np.stack([np.hypot(x[:, 0], x[:, 1]) - b.size[:, 0], np.abs(x[:, 2]) - 0.5 * b.size[:, 1]])
    outside = np.linalg.norm(np.maximum(off, 0.0), axis=0)
    return np.where(outside > 0.0, outside, off.max(axis=0)) - a.size[:, 0]
