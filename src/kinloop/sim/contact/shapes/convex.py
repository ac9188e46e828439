"""Convex shapes by numbers: what `coal` knows of them, how far they reach, and where lines leave them."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinloop.errors import MethodError
from kinloop.scalar import Array
from kinloop.sim.contact.shapes.proximity import FAR

MOST_VERTICES = 20_000
"""Vertices that a hull may have: a sphere with as many is round to a part in 10^4."""

RIM = 16
"""Points of a cylinder's rim that stand for it where it lies flat."""

TILT = 0.01
"""Faces that are tilted against each other by less meet in a patch [rad]."""

SIZES = {"sphere": 1, "capsule": 2, "box": 3, "cylinder": 2, "ellipsoid": 3}
"""Kinds of convex shapes that a few numbers describe, and how many; a mesh is described by vertices."""


def coal_module() -> Any:
    """The package `coal`, or what to do where it is missing."""
    try:
        import coal
    except ImportError:
        raise MethodError(
            "contact of cylinders, ellipsoids and meshes needs the package `coal`, which is not installed; "
            "pip install 'kinloop[collision]'"
        ) from None
    return coal


class Hull(NamedTuple):
    """The hull of points: vertices (n, 3), planes (m, 4) as `ConvexShape` has them, triangles (m, 3) seen from outside.

    These are numbers of vertices.
    """

    vertices: Array
    planes: Array
    faces: Array

    def neighbours(self) -> list[list[int]]:
        """Of every vertex those that an edge leads to; all others where there are no faces."""
        if not len(self.faces):
            count = range(len(self.vertices))
            return [[w for w in count if w != v] for v in count]
        found: list[set[int]] = [set() for _ in self.vertices]
        for i, j, k in self.faces.tolist():
            for v, w in ((i, j), (j, k), (k, i)):
                found[v].add(w)
                found[w].add(v)
        return [sorted(x) for x in found]


def hull_of(x: Array) -> Hull | None:
    """The hull of points (n, 3), found once for equal ones; None where it has no volume."""
    x = np.ascontiguousarray(x, dtype=float)
    return _hull_of(x.tobytes())


@lru_cache(maxsize=256)
def _hull_of(data: bytes) -> Hull | None:
    from scipy.spatial import ConvexHull, QhullError

    x = np.frombuffer(data).reshape(-1, 3)
    try:
        found = ConvexHull(x)
    except (QhullError, ValueError):
        return None
    number = np.zeros(len(x), dtype=int)
    number[found.vertices] = np.arange(len(found.vertices))
    faces, normals = number[found.simplices], found.equations[:, :3]
    a, b, c = (x[found.simplices[:, k]] for k in range(3))
    outward = np.einsum("ni,ni->n", np.cross(b - a, c - a), normals) > 0.0
    faces[~outward] = faces[~outward][:, [0, 2, 1]]
    return Hull(x[found.vertices], np.column_stack([normals, -found.equations[:, 3]]), faces)


def flat_hull(x: Array) -> Hull:
    """Points (n, 3) in a plane as a hull of which only the vertices matter."""
    return Hull(x, np.zeros((0, 4)), np.zeros((0, 3), dtype=int))


class ConvexShape:
    """A convex shape: `size` as `Geometry` has it, the vertices (n, 3) of a mesh's hull.

    `half` [m] are half the lengths of a box about `middle` that holds it, in its own
    frame.
    """

    def __init__(self, kind: str, size: ArrayLike, name: str = "") -> None:
        self.kind, self.name, self.size = kind, name, np.asarray(size, dtype=float)
        if kind not in (*SIZES, "mesh"):
            raise MethodError(f"{kind} {name!r} is none of the convex shapes {', '.join(SIZES)} and mesh; leave it out")
        wanted = (SIZES[kind],) if kind in SIZES else (*self.size.shape[:1], 3)
        if self.size.shape != wanted or not np.isfinite(self.size).all() or (kind in SIZES and self.size.min() < 0.0):
            described = f"{SIZES[kind]} finite numbers not below zero" if kind in SIZES else "finite vertices (n, 3)"
            raise MethodError(f"{kind} {name!r} has the size {self.size.tolist()}; it takes {described}")
        self._hull = self._make_hull() if kind == "mesh" else None
        self.middle, self.half = self._extent()
        self.planes = self._planes(self._hull)
        self._corners, self._ends = self._points()

    @property
    def flat(self) -> bool:
        """Whether other shapes may touch it in more than one point."""
        return self.kind not in ("sphere", "ellipsoid")

    def _extent(self) -> tuple[Array, Array]:
        s = self.size
        if self.kind == "mesh":
            low, high = s.min(axis=0), s.max(axis=0)
            return 0.5 * (low + high), 0.5 * (high - low)
        half = {
            "sphere": (s[0], s[0], s[0]),
            "capsule": (s[0], s[0], s[0] + 0.5 * s[-1]),
            "cylinder": (s[0], s[0], 0.5 * s[-1]),
            "box": 0.5 * s,
            "ellipsoid": s,
        }
        return np.zeros(3), np.array(half[self.kind])

    def _points(self) -> tuple[Array, Array]:
        """Corners of its faces, points of the rims of a cylinder; the ends of its axis."""
        signs = np.array(list(product((-1.0, 1.0), repeat=3)))
        ends = np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]]) * self.size.flat[-1]
        if self.kind == "mesh":
            return self.size, ends
        if self.kind != "cylinder":
            return signs * self.half, ends
        turn = 2.0 * np.pi * np.arange(RIM) / RIM
        rim = self.size[0] * np.column_stack([np.cos(turn), np.sin(turn), 0.0 * turn])
        return np.concatenate([rim + end for end in ends]), ends

    def _planes(self, hull: Any) -> Array:
        """Planes (n, 4) that bound it: a unit normal N outward and an offset o, N . x <= o inside."""
        if self.kind == "box":
            normals = np.concatenate([np.eye(3), -np.eye(3)])
            return np.column_stack([normals, np.tile(self.half, 2)])
        if self.kind == "cylinder":
            return np.array([[0.0, 0.0, 1.0, self.half[2]], [0.0, 0.0, -1.0, self.half[2]]])
        if self.kind == "mesh":
            return np.asarray(hull.planes)
        return np.empty((0, 4))

    def _make_hull(self) -> Hull:
        if len(self.size) > MOST_VERTICES:
            raise MethodError(
                f"the hull of mesh {self.name!r} has {len(self.size)} vertices, more than {MOST_VERTICES}; simplify it"
            )
        found = hull_of(self.size)
        if found is None:
            raise MethodError(
                f"the hull of mesh {self.name!r} is flat or has no volume; give a box in its place, or leave it out"
            )
        return found

    @cached_property
    def coal(self) -> Any:
        """Its counterpart in `coal`."""
        coal = coal_module()
        if self._hull is None:
            return getattr(coal, self.kind.capitalize())(*self.size.tolist())
        points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for x in self._hull.vertices:
            points.append(x)
        for face in self._hull.faces.tolist():
            faces.append(coal.Triangle(*face))
        return coal.Convex(points, faces)

    @property
    def hull(self) -> Hull:
        """The hull of a mesh."""
        assert self._hull is not None, "only meshes have hulls"
        return self._hull

    def reach(self, n: Array) -> float:
        """How far it reaches along a unit vector n, in its frame [m]."""
        s = self.size
        match self.kind:
            case "sphere":
                far = s[0]
            case "capsule":
                far = s[0] + 0.5 * s[1] * abs(n[2])
            case "cylinder":
                far = s[0] * math.hypot(n[0], n[1]) + 0.5 * s[1] * abs(n[2])
            case "ellipsoid":
                far = np.linalg.norm(s * n)
            case _:
                along = self._corners @ n
                far = along[along.argmax()]
        return float(far)

    def normal(self, n: Array) -> Array:
        """The normal of the face that looks most along n, in its frame; n where no face looks nearly along it."""
        if len(self.planes):
            along = self.planes[:, :3] @ n
            k = int(along.argmax())
            if along[k] > 0.9999:
                facing: Array = self.planes[k, :3]
                return facing
        return n

    def face(self, n: Array, tolerance: float) -> Array:
        """Points (m, 3) of its outline that reach along n as far as any other but for a tolerance [m], in its frame.

        And those that are seen less than `TILT` below the furthest one from there: a face that is tilted by less is
        taken with all its corners, however large it is.
        """
        if self.kind in ("cylinder", "capsule"):
            # Where n leads on the rims or caps at both ends; round a cylinder's rims also to fixed points of them.
            out = n if self.kind == "capsule" else np.array([n[0], n[1], 0.0]) / max(np.hypot(n[0], n[1]), 1e-12)
            points = self._ends + self.size[0] * out
            points = points if self.kind == "capsule" else np.concatenate([points, self._corners])
        else:
            points = self._corners
        reach = points @ n
        furthest = int(reach.argmax())
        below, away = reach[furthest] - reach, points - points[furthest]
        # squares: below < TILT * |away|
        seen_flat = below * below <= TILT**2 * (away * away).sum(axis=1)
        return np.asarray(points[(below <= tolerance) | seen_flat])

    def end(self, n: Array, tolerance: float) -> Array:
        """`face`, of round shapes too: the one point that they have furthest along n."""
        if self.flat:
            return self.face(n, tolerance)
        far = self.half * n
        return np.asarray(self.half * far / max(np.linalg.norm(far), 1e-300))[None]

    def way_out(self, x: Array, n: Array) -> Array:
        """How far points x (m, 3) are from where lines along n leave the shape, all in its frame [m].

        Negative for points beyond. Lines that miss it count as touching it.
        """
        out = np.full(len(x), FAR)
        if len(self.planes):
            towards = self.planes[:, :3] @ n
            facing = towards > 1e-9
            planes = self.planes[facing]
            ways = (planes[:, 3] - x @ planes[:, :3].T) / towards[facing]
            out = np.minimum.reduce(ways, axis=1, initial=FAR)
        if self.kind in ("cylinder", "capsule"):
            side = _leaves_ball(x[:, :2], n[:2], self.size[0])
            if self.kind == "cylinder":
                return np.asarray(np.minimum(out, side))
            h = 0.5 * self.size[1]
            z = np.clip(x[:, 2] + np.minimum(side, FAR) * n[2], -h, h)
            inside = np.abs(x[:, 2] + side * n[2]) <= h
            ends = np.zeros_like(x)
            ends[:, 2] = z
            return np.where(inside, side, _leaves_ball(x - ends, n, self.size[0]))
        return out


def _leaves_ball(x: Array, n: Array, radius: float) -> Array:
    """Where lines x + t n leave a ball (a disc) about the origin: the larger t, FAR where n has no length."""
    a, b, c = n @ n, x @ n, np.sum(x * x, axis=1) - radius**2
    root = np.sqrt(np.maximum(b * b - a * c, 0.0))
    return np.asarray((root - b) / a) if a > 1e-18 else np.full(len(x), FAR)
