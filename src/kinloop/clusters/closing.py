"""Closing the loops of one cluster: damped Gauss-Newton steps on the joints' manifold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters.charts import rank_of
from kinloop.constraints import rows_of, shift_rows, stacked_rows
from kinloop.errors import LoopNotClosed
from kinloop.model.parts import Coupling, LinearCoupling, Loop, LoopJoint
from kinloop.model.topology import Topology
from kinloop.spatial.transform import Array

TOLERANCE = 1e-5
"""A loop that cannot be closed below this [m, rad] is reported open."""


def close_parts(
    top: Topology, parts: Sequence[Loop | Coupling], dofs: Sequence[int], q: Array, rounds: int = 100
) -> tuple[Array, float]:
    """The closed configuration near q, moving only `dofs`, and the largest residual left."""
    dofs = list(dofs)
    bodies = sorted({top.body_of[d] for d in dofs})
    q = top.moved(bodies, q, np.zeros(top.n_spanning))
    rows = stacked_rows(top, parts, dofs, q)
    damping, stalled = 0.0, 0
    for _ in range(rounds):
        error = float(np.max(np.abs(rows.phi), initial=0.0))
        if error == 0.0 or not np.isfinite(error) or (stalled >= 3 and error > TOLERANCE):
            break
        step = np.zeros(top.n_spanning)
        step[dofs] = -_damped_step(rows.K, rows.phi, damping)
        trial = top.moved(bodies, q, step)
        new = stacked_rows(top, parts, dofs, trial)
        before, after = float(rows.phi @ rows.phi), float(new.phi @ new.phi)
        if after < before:
            # near a smallest residual that is not zero steps gain little: there is no closed configuration here
            stalled = stalled + 1 if after > 0.98 * before else 0
            small = np.max(np.abs(step)) < 1e-15
            q, rows, damping = trial, new, damping * 0.1 if damping > 1e-8 else 0.0
            if small:
                break
        else:
            if error < 1e-13 or damping > 1e6:
                break
            damping = max(10.0 * damping, 1e-4)
    return q, float(np.max(np.abs(rows.phi), initial=0.0))


def _damped_step(K: Array, phi: Array, damping: float) -> Array:
    """The shortest step that (nearly) removes phi; singular directions are left alone."""
    U, s, Vt = np.linalg.svd(K, full_matrices=False)
    keep = s > 1e-7 * max(s[0], 1e-300) if len(s) else np.zeros(0, dtype=bool)
    gain = np.where(keep, s / np.maximum(s * s + damping, 1e-300), 0.0)
    return Vt.T @ (gain * (U.T @ phi))


def sample_closed(
    top: Topology, parts: Sequence[Loop | Coupling], bodies: Sequence[int], dofs: Sequence[int], seed: int
) -> list[Array]:
    """A few closed configurations of one cluster, in general position where there are such."""
    if all(isinstance(p, LinearCoupling) for p in parts):
        return [top.neutral()]  # K is the same everywhere
    rng = np.random.default_rng(seed)
    start, error = close_parts(top, parts, dofs, top.neutral())
    found: list[Array] = [start] if error < TOLERANCE else []
    for scale in (0.1, 0.3, 0.6, 1.0, 2.0):
        step = np.zeros(top.n_spanning)
        step[list(dofs)] = rng.normal(size=len(dofs)) * scale
        q, error = close_parts(top, parts, dofs, top.integrate(start, step))
        if error < TOLERANCE:
            found.append(q)
    tries = 0
    while not found and tries < max(30, 200 // max(len(dofs), 1)):
        tries += 1
        random = top.random(rng)
        q = top.neutral()
        for i in bodies:
            q[top.q_of[i]] = random[top.q_of[i]]
        q, error = close_parts(top, parts, dofs, q)
        if error < TOLERANCE:
            found.append(q)
    if not found:
        worst = max(parts, key=lambda p: float(np.max(np.abs(rows_of(top, p, start).phi), initial=0.0)))
        size = float(np.max(np.abs(rows_of(top, worst, start).phi)))
        raise LoopNotClosed(
            f"loop {worst.name!r} cannot be closed: the nearest configuration to neutral leaves it open by {size:.3g} "
            f"and {tries} random starts found none closed; check the loop's frames and lengths"
        )
    weights = row_weights(top, parts, dofs, found)
    ranks = [rank_of(stacked_rows(top, parts, dofs, q).K * weights[:, None]) for q in found]
    return [q for q, r in zip(found, ranks, strict=True) if r == max(ranks)]


def row_weights(
    top: Topology, parts: Sequence[Loop | Coupling], dofs: Sequence[int], samples: Sequence[Array]
) -> Array:
    """What to multiply rows with so that their sizes compare: 1 is a row that matters, 1e-5 is rounding of a file.

    Shifts between two bodies count in units of the longest lever of their loop, turns in radians; a user's
    equation and a coupling, each exact, in units of its own size.
    """
    weights: list[float] = []
    for part in parts:
        K = [stacked_rows(top, [part], dofs, q).K for q in samples]
        size = np.max([np.linalg.norm(k, axis=1) for k in K], axis=0) if K and len(K[0]) else np.zeros(0)
        if isinstance(part, LoopJoint):
            shifts = shift_rows(part.type)
            size = np.concatenate([np.full(shifts, np.max(size[:shifts], initial=0.0)), np.ones(len(size) - shifts)])
        weights += [1.0 / s if s > 0 else 1.0 for s in size]
    return np.array(weights)


def closure_pattern(top: Topology, parts: Sequence[Loop | Coupling], dofs: Sequence[int]) -> Array:
    """Which entries of K can be anything but zero, read off its symbols; ratios may all be opened later."""
    linear = all(isinstance(p, LinearCoupling) for p in parts)
    K = stacked_rows(top, parts, dofs, top.neutral() if linear else sc.Graph().inputs("q", top.nq)).K
    pattern = np.array([isinstance(x, sc.Symbol) or abs(x) > 1e-11 for x in K.flat], dtype=bool).reshape(K.shape)
    row, place = 0, {d: k for k, d in enumerate(dofs)}
    for part in parts:
        rows = rows_of(top, part, top.neutral())
        if isinstance(part, LinearCoupling):
            independent = [place[d] for d in rows.dofs[len(part.dependent) :]]
            pattern[row : row + len(rows.phi), independent] = True
        row += len(rows.phi)
    return pattern
