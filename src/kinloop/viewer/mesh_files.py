"""Triangles of mesh files, and of capsules."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.scalar import Array

Mesh = tuple[Array, Array]
"""Vertices (V, 3) and faces (F, 3)."""


def read_mesh(path: str | None) -> Mesh | None:
    """The triangles of a file; None where there is none or nobody can read it."""
    if path is None:
        return None
    try:
        import trimesh

        found: Any = trimesh.load(path, force="mesh")
        vertices, faces = np.asarray(found.vertices, dtype=float), np.asarray(found.faces)
    except Exception:  # trimesh raises anything at all on files it does not know
        return None
    return (vertices, faces) if vertices.ndim == 2 and len(vertices) and len(faces) else None


def capsule(radius: float, length: float) -> Mesh:
    """Triangles of a capsule along z about its centre."""
    import trimesh

    made = trimesh.creation.capsule(height=length, radius=radius, count=[16, 16])
    middle = made.bounds.mean(axis=0)
    return np.asarray(made.vertices) - middle, np.asarray(made.faces)
