"""Bodies that are far from each other: of shapes on two such bodies none need be compared.

A robot has far fewer pairs of bodies than of shapes, and most of them are far apart: a sphere about all shapes of a
body says so for all pairs of shapes at once. What is left out is what would have been found to be apart anyway, so
that a state finds what it finds alone, whatever others of a batch do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop.scalar import Array
from kinloop.sim.contact.scene_shapes import Shape
from kinloop.sim.contact.sparse_rows import unless
from kinloop.spatial import Transform

LEAST = 3
"""Pairs of shapes from which on their two bodies are compared first."""

ROUNDING = 1e-9
"""How much nearer bodies count than they are [m]: what is left out must be apart by any rounding."""

_ROUNDS = 200  # of the search for a small sphere


class Pair(NamedTuple):
    """Two shapes by their places, and where their contact begins [m]."""

    a: int
    b: int
    margin: float


class Sphere(NamedTuple):
    """A sphere about shapes of one body: its centre in the frame of one of them, its radius [m], and the fastest."""

    shape: int
    centre: Array
    radius: float
    fastest: int


def keys_of_pairs(
    shapes: Sequence[Shape],
    poses: Sequence[Transform],
    speeds: Sequence[Any],
    pairs: Sequence[Pair],
    travel: Callable[[Any], Any],
    key: Callable[[int], Any],
) -> list[Any]:
    """`key(k)` of every pair, below zero where its shapes are near; 1 where their bodies are far apart.

    `travel(speed)` is how far a shape of some speed [m/s] may come in the step, with what counts as near [m].
    """
    spheres, centres = _spheres(shapes, {k for pair in pairs for k in pair[:2]}), dict[int, Array]()

    def centre(body: int) -> Array:
        if body not in centres:
            pose = poses[spheres[body].shape]
            centres[body] = pose.p + pose.R @ spheres[body].centre
        return centres[body]

    out: list[Any] = [None] * len(pairs)
    for (i, j), members in _by_bodies(shapes, pairs).items():
        found = [key(k) for k in members]
        if len(members) >= LEAST and i in spheres and j in spheres:
            offset, (one, other) = centre(i) - centre(j), (spheres[i], spheres[j])
            size = one.radius + other.radius + max(pairs[k].margin for k in members) + ROUNDING
            reach = size + travel(speeds[one.fastest]) + travel(speeds[other.fastest])
            found = unless(offset @ offset > reach * reach, [1.0] * len(found), found)
        for k, x in zip(members, found, strict=True):
            out[k] = x
    return out


def _by_bodies(shapes: Sequence[Shape], pairs: Sequence[Pair]) -> dict[tuple[int, int], list[int]]:
    """Numbers of pairs by the bodies of their two shapes."""
    out: dict[tuple[int, int], list[int]] = {}
    for k, pair in enumerate(pairs):
        i, j = sorted((shapes[pair.a].body, shapes[pair.b].body))
        out.setdefault((i, j), []).append(k)
    return out


def _spheres(shapes: Sequence[Shape], used: set[int]) -> dict[int, Sphere]:
    """A sphere about the shapes in use of every body; shapes of the world lie wide apart and have none."""
    out = {}
    for body in sorted({shapes[k].body for k in used} - {-1}):
        own = sorted(k for k in used if shapes[k].body == body)
        middles, sizes = np.array([shapes[k].placement.p for k in own]), np.array([shapes[k].bound for k in own])
        centre = middles.mean(axis=0)
        for n in range(_ROUNDS):  # towards what lies farthest out, by ever smaller steps
            far = int(np.argmax(np.linalg.norm(middles - centre, axis=1) + sizes))
            centre = centre + (middles[far] - centre) / (n + 2)
        radius = float(np.max(np.linalg.norm(middles - centre, axis=1) + sizes))
        fastest = own[int(np.argmax(np.linalg.norm(middles, axis=1) + sizes))]
        first = shapes[own[0]].placement
        out[body] = Sphere(own[0], first.R.T @ (centre - first.p), radius, fastest)
    return out
