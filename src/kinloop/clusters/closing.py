"""Closing: what brings loops from nearly closed to closed on numbers, from anywhere, with all its tolerances.

    close_parts         damped Gauss-Newton on chosen coordinates
    close_cluster       the same on all coordinates of a cluster
    close_in_turn       one loop after another, where many share one cluster
    close_step          after a step of the independent coordinates: these exactly, the dependent ones follow

A round solves K dq = -phi for a step dq of the joints, the shortest one. Kernels close what is nearly closed by rounds
of their own (`newton`), and this search takes over what these cannot vouch for. docs/simulation.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kinloop.clusters.charts import TINY
from kinloop.model.loops import LoopClosure, stacked_rows
from kinloop.model.topology import Topology
from kinloop.scalar import Array

if TYPE_CHECKING:
    from kinloop.clusters.tree import Cluster, ClusterTree

TOLERANCE = 1e-5
"""A loop that is open by more [m, rad] is not closed, whoever asks: what `close` finds, every check accepts. Model
files disagree with themselves by 5e-6."""

CONVERGED = 1e-10
"""What Newton's rounds leave [m, rad] where they have converged: far above rounding, far below any other end."""

ROUNDING = 1e-15
"""A residual or a step this small is zero but for rounding."""

SINGULAR_PART = 1e-7
"""Directions of K with a singular value below this part of the largest are left alone: the loops do not hold there."""

STALLED = 0.98
"""A step that leaves more than this part of the squared residual gains nothing; three in a row end the search."""

DAMPING, GROWTH, DECAY, HOPELESS, NEGLIGIBLE = 1e-4, 10.0, 0.1, 1e6, 1e-8
"""Levenberg's damping: where it starts, the factors by which it grows while steps fail and decays while they
succeed; above what no step will help any more, and below what it is dropped."""

FINISHED = 1e-13
"""A residual [m, rad] that is not worth damping for: a step that fails from here fails by rounding."""


def close_parts(
    top: Topology,
    parts: Sequence[LoopClosure],
    dofs: Sequence[int],
    q: Array,
    rounds: int = 100,
    enough: float = 0.0,
    rank: int | None = None,
    damped: bool = True,
) -> tuple[Array, float]:
    """The closed configuration near q, moving only `dofs`, and the largest residual left: as small as it gets, or
    `enough` [m, rad].

    `rank` is how many directions the loops hold, where that is known. Rows that files print with few digits seem to
    hold one more: what they leave open there is not worth a motion of the whole mechanism. Without
    `damped` the search ends before the first step that leads away.
    """
    dofs = list(dofs)
    bodies = sorted({top.body_of[d] for d in dofs})
    q = top.moved(bodies, q, np.zeros(top.n_spanning))
    rows, factors = stacked_rows(top, parts, dofs, q), None
    damping, stalled = 0.0, 0
    for _ in range(rounds):
        error = residual(rows.phi)
        if error <= enough or not np.isfinite(error) or (stalled >= 3 and error > TOLERANCE):
            break
        factors = np.linalg.svd(rows.K, full_matrices=False) if factors is None else factors
        step = np.zeros(top.n_spanning)
        step[dofs] = -_damped_step(factors, rows.phi, damping, rank)
        trial = top.moved(bodies, q, step)
        new = stacked_rows(top, parts, dofs, trial)
        before, after = float(rows.phi @ rows.phi), float(new.phi @ new.phi)
        if after < before:
            # near a smallest residual that is not zero steps gain little: there is no closed configuration here
            stalled = stalled + 1 if after > STALLED * before else 0
            small = np.max(np.abs(step)) < ROUNDING
            q, rows, factors = trial, new, None
            damping = damping * DECAY if damping > NEGLIGIBLE else 0.0
            if small:
                break
        else:
            if error < FINISHED or damping > HOPELESS or not damped:
                break
            damping = max(GROWTH * damping, DAMPING)
    return q, residual(rows.phi)


def residual(phi: Array) -> float:
    """The largest |phi| [m, rad]."""
    return float(np.max(np.abs(phi), initial=0.0))


def _damped_step(factors: tuple[Array, Array, Array], phi: Array, damping: float, rank: int | None) -> Array:
    """The shortest step that (nearly) removes phi, by the singular values of K; singular directions are left alone."""
    U, s, Vt = factors
    keep = s > SINGULAR_PART * max(s[0], TINY) if len(s) else np.zeros(0, dtype=bool)
    if rank is not None:
        keep[rank:] = False
    gain = np.where(keep, s / np.maximum(s * s + damping, TINY), 0.0)
    step: Array = Vt.T @ (gain * (U.T @ phi))
    return step


def close_cluster(top: Topology, c: Cluster, q: Array) -> tuple[Array, float]:
    """`close_parts` for all coordinates of a cluster."""
    return close_parts(top, c.parts, c.dofs, q, rank=len(c.chart.dependent))


def close_in_turn(top: Topology, parts: Sequence[LoopClosure], dofs: Sequence[int], q: Array, rounds: int) -> Array:
    """q with one loop closed after another, in `rounds` each, by those of `dofs` that no loop before it moves.

    A search for all coordinates of many loops at once takes many rounds of large matrices, and most of its ends are
    singular: the more loops, the likelier that some of them lie in line. Loops that share few bodies are as good as
    closed after this; where they form rings or tie each other otherwise some stay open, and `close_parts` follows.
    """
    waiting = [(p, [d for d in dofs if top.body_of[d] in set(p.bodies(top))]) for p in parts]
    moved: set[int] = set()
    while waiting:
        next_one = next((k for k, (_, own) in enumerate(waiting) if not moved.isdisjoint(own)), 0)
        part, own = waiting.pop(next_one)
        free = [d for d in own if d not in moved]
        q = close_parts(top, [part], free, q, rounds, FINISHED)[0] if free else q
        moved.update(own)
    return q


def close_step(tree: ClusterTree, q: Array, dy: Array) -> Array:
    """The closed configuration reached by the independent step dy: independents exactly, dependents by Newton."""
    top = tree.top
    q1 = top.integrate(q, tree.spanning_jacobian(q) @ dy)
    for c in tree.clusters:
        if not c.parts:
            continue
        closed, error = close_parts(top, c.parts, c.dependent_dofs, q1)
        q1 = closed if error < CONVERGED else close_cluster(top, c, q1)[0]
    return top.normalized(q1)
