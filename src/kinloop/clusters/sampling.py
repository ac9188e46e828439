"""Closed configurations in general position: what charts are chosen at, and what is typical of a cluster's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters.charts import rank_of
from kinloop.clusters.closing import CONVERGED, TOLERANCE, close_in_turn, close_parts, residual
from kinloop.errors import LoopNotClosed
from kinloop.model.loops import LoopClosure, stacked_rows
from kinloop.model.topology import Topology
from kinloop.scalar import Array

STARTS = (0.1, 0.3, 0.6, 1.0, 2.0)
"""How far from the first closed configuration others are looked for [rad, m]."""

MANY, FEW = 8, 12
"""Clusters of more loops than `MANY` are closed one loop after the other where a search begins far away, in `FEW`
rounds each: a loop that takes more ends in line."""

NEVER = 1e-11
"""Entries of K below this are zero by structure, not by chance."""


Draw: TypeAlias = "Callable[[np.random.Generator], Array]"
"""Draws positions of all joints. In quotes, since NumPy imports its generators, 14 ms, when they are first named."""


class Sample(NamedTuple):
    """A closed configuration, and K of each closure there over the cluster's coordinates."""

    q: Array
    blocks: list[Array]

    @property
    def K(self) -> Array:
        return np.concatenate(self.blocks)


def sample_closed(
    top: Topology, parts: Sequence[LoopClosure], bodies: Sequence[int], dofs: Sequence[int], seed: int
) -> list[Array]:
    """A few closed configurations of one cluster, in general position where there are such."""
    return [s.q for s in samples(top, parts, bodies, dofs, seed)]


def samples(
    top: Topology,
    parts: Sequence[LoopClosure],
    bodies: Sequence[int],
    dofs: Sequence[int],
    seed: int,
    random: Draw | None = None,
) -> list[Sample]:
    """As `sample_closed`, with the rows there. `random` draws positions of all joints, `top.random` unless given."""
    if all(p.linear for p in parts):  # K is the same everywhere
        return [_sample(top, parts, dofs, top.neutral())]
    found = [_sample(top, parts, dofs, q) for q in _closed(top, parts, bodies, dofs, seed, random or top.random)]
    weights = row_weights(parts, found)
    ranks = [rank_of(s.K * weights[:, None]) for s in found]
    return [s for s, r in zip(found, ranks, strict=True) if r == max(ranks)]


def _sample(top: Topology, parts: Sequence[LoopClosure], dofs: Sequence[int], q: Array) -> Sample:
    return Sample(q, [stacked_rows(top, [p], dofs, q).K for p in parts])


def _closed(
    top: Topology, parts: Sequence[LoopClosure], bodies: Sequence[int], dofs: Sequence[int], seed: int, random: Draw
) -> list[Array]:
    """Closed configurations around the one nearest to neutral; if there is none, one found from random starts."""
    rng = np.random.default_rng(seed)
    start, error = close_parts(top, parts, dofs, top.neutral())
    found: list[Array] = [start] if error < TOLERANCE else []
    starts = []
    for scale in STARTS:
        step = np.zeros(top.n_spanning)
        step[list(dofs)] = rng.normal(size=len(dofs)) * scale
        starts.append(top.integrate(start, step))
    found += _closed_from_afar(top, parts, dofs, starts)
    tries = 0
    while not found and tries < max(30, 200 // max(len(dofs), 1)):
        tries += 1
        drawn = random(rng)
        q = top.neutral()
        for i in bodies:
            q[top.q_of[i]] = drawn[top.q_of[i]]
        q, error = close_parts(top, parts, dofs, q)
        if error < TOLERANCE:
            found.append(q)
    if not found:
        sizes = [residual(p.rows(top, start).phi) for p in parts]
        worst = int(np.argmax(sizes))
        raise LoopNotClosed(
            f"{parts[worst].what} cannot be closed: the nearest configuration to neutral leaves it "
            f"{parts[worst].openness(parts[worst].rows(top, start).phi)}, and {tries} random starts found none closed; "
            "check the loop's frames and lengths"
        )
    return found


def _closed_from_afar(
    top: Topology, parts: Sequence[LoopClosure], dofs: Sequence[int], starts: Sequence[Array]
) -> list[Array]:
    """What is found closed from starts that are far from it."""
    if len(parts) > MANY:
        turns = [close_in_turn(top, parts, dofs, q, FEW) for q in starts]
        found = [q for q in turns if residual(stacked_rows(top, parts, dofs, q).phi) < CONVERGED]
        if found:
            return found
    ends = [close_parts(top, parts, dofs, q) for q in starts]
    return [q for q, error in ends if error < TOLERANCE]


def row_weights(parts: Sequence[LoopClosure], found: Sequence[Sample]) -> Array:
    """What to multiply rows with so that their sizes compare: 1 is a row that matters, 1e-5 is rounding of a file.

    Each closure says what size its rows count as, knowing the largest norms that they have at samples.
    """
    weights: list[float] = []
    for k, part in enumerate(parts):
        norms = np.max([np.linalg.norm(s.blocks[k], axis=1) for s in found], axis=0)
        weights += [1.0 / size for size in part.row_scales(norms)]
    return np.array(weights)


def closure_pattern(top: Topology, parts: Sequence[LoopClosure], dofs: Sequence[int], sample: Sample) -> Array:
    """Which entries of K can be anything but zero, read off its symbols; ratios may all be opened later."""
    linear = all(p.linear for p in parts)
    K = sample.K if linear else stacked_rows(top, parts, dofs, sc.Graph().inputs("q", top.nq)).K
    pattern = np.array([isinstance(x, sc.Symbol) or abs(x) > NEVER for x in K.flat], dtype=bool).reshape(K.shape)
    row, place = 0, {d: k for k, d in enumerate(dofs)}
    for part, block in zip(parts, sample.blocks, strict=True):
        if part.ratios is not None:
            columns = part.rows(top, sample.q).dofs[-part.ratios.shape[1] :] if part.ratios.shape[1] else []
            pattern[row : row + len(block), [place[d] for d in columns]] = True
        row += len(block)
    return pattern
