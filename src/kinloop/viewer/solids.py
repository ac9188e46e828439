"""Triangles of smooth solids: tapered links with round ends, boxes with round edges."""

from __future__ import annotations

import numpy as np

from kinloop.meshes.mesh_files import Mesh
from kinloop.scalar import Array

AROUND = 16
"""Corners of a ring."""

CAP = 4
"""Rings of a round end."""

EDGE = 0.22
"""Exponent of a superellipsoid that looks like a box with round edges (1: an ellipsoid, 0: a box)."""


def tapered(start: float, end: float, length: float) -> Mesh:
    """A link along z, round at both ends: centred at z = 0 with radius `start`, at z = `length` with radius `end`."""
    angle = np.linspace(0.0, 0.5 * np.pi, CAP)
    low = np.stack([start * np.sin(angle), -start * np.cos(angle)])
    high = np.stack([end * np.cos(angle), length + end * np.sin(angle)])
    return revolved(*np.concatenate([low, high], axis=1))


def revolved(radius: Array, z: Array) -> Mesh:
    """The solid whose outline is radius(z), turned about the z axis; the outline begins and ends on that axis."""
    turn = np.arange(AROUND) * (2 * np.pi / AROUND)
    x, y = np.outer(radius, np.cos(turn)), np.outer(radius, np.sin(turn))
    vertices = np.stack([x, y, np.broadcast_to(z[:, None], x.shape)], axis=-1)
    return vertices.reshape(-1, 3), grid_faces(len(z), AROUND)


def rounded_box(lengths: Array) -> Mesh:
    """A box of these lengths about the origin, with round edges."""
    up, turn = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 13), np.arange(24) * (2 * np.pi / 24) + np.pi / 24
    flat, tall = _power(np.cos(up)), _power(np.sin(up))
    x, y = np.outer(flat, _power(np.cos(turn))), np.outer(flat, _power(np.sin(turn)))
    vertices = np.stack([x, y, np.broadcast_to(tall[:, None], x.shape)], axis=-1)
    return 0.5 * np.asarray(lengths, dtype=float) * vertices.reshape(-1, 3), grid_faces(len(up), len(turn))


def _power(x: Array) -> Array:
    return np.asarray(np.sign(x) * np.abs(x) ** EDGE)


def grid_faces(rings: int, around: int) -> Array:
    """Triangles between rings of corners, all turned outwards."""
    k, j = np.meshgrid(np.arange(rings - 1), np.arange(around), indexing="ij")
    a, b = around * k + j, around * k + (j + 1) % around
    c, d = a + around, b + around
    faces = np.stack([np.stack([a, b, d], axis=-1), np.stack([a, d, c], axis=-1)], axis=2)
    return np.asarray(faces.reshape(-1, 3))
