"""Where joints may be: positions drawn within limits, how far others are beyond them, angles within one turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from kinloop.clusters.closing import residual
from kinloop.model.joints import JointType
from kinloop.model.loops import LoopClosure, stacked_rows
from kinloop.model.topology import Topology
from kinloop.scalar import Array

UNHURT = 1e-9
"""A turn of 2 pi that opens loops by less [m, rad] changes nothing."""


class JointDraws:
    """Positions of some joints of a topology at random; those that are drawn uniformly, joint after joint, in one go.

    A joint with limits is drawn twice, by its kind and then within them. `places` are those of the positions in q.
    """

    def __init__(self, top: Topology, bodies: Sequence[int], limits: bool) -> None:
        self.places = np.array([k for i in bodies for k in range(top.q_of[i].start, top.q_of[i].stop)], dtype=int)
        self._pieces: list[_Uniform | _Drawn] = []
        for uniform, run in groupby(bodies, lambda i: type(top.types[i]).random is JointType.random):
            if uniform:
                self._pieces.append(_Uniform.of(top, list(run), limits))
            else:
                ranges = ((i, _range(top, i) if limits and _limited(top, i) else None) for i in run)
                self._pieces += [_Drawn(top.types[i], between) for i, between in ranges]
        self.count = sum(piece.takes for piece in self._pieces if isinstance(piece, _Uniform))
        """How many uniform numbers a draw takes, besides what kinds draw in another way."""

    def one(self, rng: np.random.Generator) -> Array:
        """The positions of one draw."""
        drawn = [
            piece.between(rng.random(piece.takes)) if isinstance(piece, _Uniform) else piece.draw(rng)
            for piece in self._pieces
        ]
        return drawn[0] if len(drawn) == 1 else np.concatenate(drawn or [np.zeros(0)])

    def rows(self, numbers: Array, *seed: int) -> Array:
        """A draw in every row: of uniform `numbers` (rows, count), and by a seed what kinds draw in another way."""
        n, at = len(numbers), 0
        if not n:
            return np.zeros((0, len(self.places)))
        others = [piece for piece in self._pieces if isinstance(piece, _Drawn)]
        columns = zip(*_drawn_rows(others, n, np.random.default_rng(seed)) if others else (), strict=True)
        out = []
        for piece in self._pieces:
            if isinstance(piece, _Uniform):
                out.append(piece.between(numbers[:, at : at + piece.takes]))
                at += piece.takes
            else:
                out.append(np.array(next(columns)))
        return np.concatenate(out or [np.zeros((n, 0))], axis=1)


def _drawn_rows(pieces: Sequence[_Drawn], n: int, rng: np.random.Generator) -> list[list[Array]]:
    return [[piece.draw(rng) for piece in pieces] for _ in range(n)]


class _Drawn(NamedTuple):
    """A joint that its kind draws in a way of its own, and between what limits then, if it has any."""

    kind: JointType
    limits: tuple[float, float] | None

    def draw(self, rng: np.random.Generator) -> Array:
        drawn = self.kind.random(rng)
        return drawn if self.limits is None else np.array([rng.uniform(*self.limits)])


class _Uniform(NamedTuple):
    """A run of joints that are drawn uniformly: of what it `takes`, numbers up to 1, those `used`, from `low` on."""

    takes: int
    used: Array
    low: Array
    span: Array

    @staticmethod
    def of(top: Topology, bodies: Sequence[int], limits: bool) -> _Uniform:
        used: list[int] = []
        ranges: list[tuple[float, float]] = []
        count = 0
        for i in bodies:
            kind, within = top.types[i], limits and _limited(top, i)
            ranges += [_range(top, i)] if within else kind.spread()
            count += within + kind.nq
            used += range(count - kind.nq, count)
        low, high = np.reshape(ranges, (-1, 2)).T
        return _Uniform(count, np.array(used, dtype=int), low, high - low)

    def between(self, numbers: Array) -> Array:
        out: Array = self.low + self.span * numbers[..., self.used]
        return out


def shortened(top: Topology, base: Array, q: Array, reach: float) -> Array:
    """A part `reach` of the way from base to q, joint by joint."""
    return q if reach == 1.0 else top.integrate(base, reach * top.difference(base, q))


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


def joint_ends(top: Topology, bodies: Sequence[int]) -> dict[int, tuple[float, float]]:
    """Places in q of joints with limits, and these."""
    return {top.q_of[i].start: (top.joints[i].lower, top.joints[i].upper) for i in bodies if _limited(top, i)}


def beyond_limits(ends: Mapping[int, tuple[float, float]], q: Array) -> float:
    """How far the joint worst off is beyond its limits, given as `joint_ends` are [rad, m]."""
    return max([0.0, *(max(lower - float(q[k]), float(q[k]) - upper) for k, (lower, upper) in ends.items())])


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


def free_turns(top: Topology, parts: Sequence[LoopClosure], bodies: Sequence[int], q: Array) -> list[int]:
    """The places in q of the angles that `within_turns` brings into one turn, whatever they are."""
    found = []
    for i in bodies:
        if top.types[i].nq == top.types[i].nv and not _limited(top, i):
            for k in range(top.q_of[i].start, top.q_of[i].stop):
                turned = q.copy()
                turned[k] = wrapped = q[k] + 4 * np.pi
                found += [k] if within_turns(top, parts, (i,), turned)[k] != wrapped else []
    return found


def one_turn(q: Array, places: Array) -> Array:
    """q, in rows or not, with the angles at some places in (-pi, pi]."""
    x = q[..., places]
    q[..., places] = x - 2 * np.pi * np.ceil((x - np.pi) / (2 * np.pi))
    return q
