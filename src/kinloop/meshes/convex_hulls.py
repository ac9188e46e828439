"""Vertices of convex hulls: of points, and of mesh files, which are read when somebody asks for them."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from kinloop.errors import ModelError
from kinloop.meshes.mesh_files import meshes_or_reasons
from kinloop.scalar import Array

MOST_POINTS = 200_000
"""Points that a hull is made of: on a sphere, where each is a vertex, this many take about 3.5 s and 160 MB."""


def hull_vertices(points: Array, what: str = "points") -> Array:
    """The points (n, 3) that are vertices of their convex hull; points in one plane are all kept."""
    try:
        from scipy.spatial import ConvexHull, QhullError
    except ImportError:
        raise ModelError(
            f"{what}: convex hulls are made with SciPy, which is not installed; pip install 'kinloop[collision]'"
        ) from None
    points = np.unique(np.asarray(points, dtype=float).reshape(-1, 3), axis=0)
    if len(points) > MOST_POINTS or not np.all(np.isfinite(points)):
        raise ModelError(
            f"{what} has {len(points)} points for a convex hull; give at most {MOST_POINTS}, finite ones: simplify it"
        )
    if len(points) <= 4:
        return points
    try:
        return np.asarray(points[np.sort(ConvexHull(points).vertices)])
    except QhullError:  # flat, or nearly so
        return points


def hulls_of_files(paths: Iterable[str]) -> dict[str, Array]:
    """The vertices (n, 3) of the convex hulls of mesh files by their paths, as written in the files.

    All files are read together; one that cannot be read is an error.
    """
    wanted = list(dict.fromkeys(paths))
    missing = next((path for path in wanted if not os.path.isfile(path)), None)
    if missing is not None:
        raise ModelError(f"the mesh file {missing!r} is not there; give its directory as packages=[...]")
    out = {}
    for path, found in meshes_or_reasons(wanted).items():
        if isinstance(found, str):
            raise ModelError(f"the mesh file {path!r} has no hull: {found or 'nobody here can read it'}")
        out[path] = hull_vertices(found[0], f"the mesh file {path!r}")
    return out
