"""Where joints may be: positions drawn within limits, how far others are beyond them, angles within one turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.clusters.closing import residual
from kinloop.model.loops import LoopClosure, stacked_rows
from kinloop.model.topology import Topology
from kinloop.scalar import Array

UNHURT = 1e-9
"""A turn of 2 pi that opens loops by less [m, rad] changes nothing."""


def draw_joints(
    top: Topology, bodies: Sequence[int], base: Array, rng: np.random.Generator, limits: bool, reach: float
) -> Array:
    """q with the joints of some bodies at random: drawn, and then brought to a part `reach` of the way from base."""
    q = base.copy()
    for i in bodies:
        kind, at = top.types[i], top.q_of[i]
        drawn = kind.random(rng)
        if limits and _limited(top, i):
            drawn = np.array([rng.uniform(*_range(top, i))])
        q[at] = drawn if reach == 1.0 else kind.integrate(base[at], reach * kind.difference(base[at], drawn))
    return q


def _limited(top: Topology, i: int) -> bool:
    joint = top.joints[i]
    return joint.type.nq == joint.type.nv == 1 and bool(np.isfinite([joint.lower, joint.upper]).any())


def _range(top: Topology, i: int) -> tuple[float, float]:
    """Where a joint with limits is drawn: between them, over one turn at most, the one about zero if it can be."""
    lower, upper = top.joints[i].lower, top.joints[i].upper
    slides = top.types[i].slides()[0]
    most = (upper - lower if np.isfinite(upper - lower) else 1.0) if slides else 2 * np.pi
    if upper - lower <= most:
        return lower, upper
    low = min(max(-most / 2, lower), upper - most)
    return low, low + most


def beyond_limits(top: Topology, bodies: Sequence[int], q: Array) -> float:
    """How far the joint worst off is beyond its limits [rad, m]."""
    out = [
        max(top.joints[i].lower - x, x - top.joints[i].upper)
        for i in bodies
        if _limited(top, i)
        for x in q[top.q_of[i]]
    ]
    return max(0.0, *out) if out else 0.0


def within_turns(top: Topology, parts: Sequence[LoopClosure], bodies: Sequence[int], q: Array) -> Array:
    """q with the angles of joints without limits in (-pi, pi], but for those whose turns a coupling counts."""
    for i in bodies:
        kind = top.types[i]
        if kind.nq != kind.nv or _limited(top, i):
            continue
        for k, slides in zip(range(top.q_of[i].start, top.q_of[i].stop), kind.slides(), strict=True):
            turns = np.ceil((q[k] - np.pi) / (2 * np.pi))
            if not slides and turns:
                trial = q.copy()
                trial[k] -= 2 * np.pi * turns
                change = stacked_rows(top, parts, (), trial).phi - stacked_rows(top, parts, (), q).phi
                q = trial if residual(change) < UNHURT else q
    return q
