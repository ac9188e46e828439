"""Triangles of mesh files, read once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from kinloop.spatial.transform import Array


@lru_cache(maxsize=256)
def read_mesh(path: str | None) -> tuple[Array, Array] | None:
    """Vertices (V, 3) and faces (F, 3) of a file; None where there is none or nobody can read it."""
    if path is None:
        return None
    try:
        import trimesh

        found: Any = trimesh.load(path, force="mesh")
        vertices, faces = np.asarray(found.vertices, dtype=float), np.asarray(found.faces)
    except Exception:  # trimesh raises anything at all on files it does not know
        return None
    return (vertices, faces) if vertices.ndim == 2 and len(vertices) and len(faces) else None


def capsule(radius: float, length: float) -> tuple[Array, Array]:
    """Triangles of a capsule along z about its centre."""
    import trimesh

    made = trimesh.creation.capsule(height=length, radius=radius, count=[16, 16])
    middle = made.bounds.mean(axis=0)
    return np.asarray(made.vertices) - middle, np.asarray(made.faces)
