"""Random closed configurations where a robot is tested: within limits, and far from where its coordinates fail.

Every cluster is drawn for itself. A target is drawn for its joints, and the cluster goes towards it from the neutral
configuration: the independent coordinates straight on, the dependent ones as the loops say, in steps that never cross a
dead centre. Where the way ends before the target, at a limit of some joint or because the chart becomes
ill-conditioned, a random point of the way is taken. So hardly a draw is wasted, loops stay on the side on which the
robot is assembled, and dependent joints keep their limits too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinloop.clusters.assembly import neutral
from kinloop.clusters.charts import RANK_TOLERANCE, TINY
from kinloop.clusters.closing import TOLERANCE, close_parts, residual
from kinloop.clusters.tree import Cluster, ClusterTree
from kinloop.model.loops import LoopClosure, stacked_rows
from kinloop.model.topology import Topology
from kinloop.scalar import Array

LEAST_MARGIN = 0.2
"""The margin (`Place`) that a good configuration has at least."""

FIRST, LONGEST, SHORTEST = 0.125, 0.25, 1e-3
"""Steps on the way to a target, in parts of it: the first, the longest, the shortest."""

END = 0.1
"""The end of a way is known well enough if steps that are longer than this part of it lead beyond."""

ROUNDS = 6
"""Newton's rounds after a step: where they do not do, the step was too long."""

ENOUGH = 1e-7
"""What may be left open on the way [m, rad]."""

TARGETS = 20
"""How many targets are drawn until one can be used."""

REACHES = (1.0, 0.6, 0.36, 0.2, 0.1)
"""Parts of the way to targets, tried in turn where constrained loops must close around them."""

UNHURT = 1e-9
"""A turn of 2 pi that opens loops by less [m, rad] changes nothing."""


class Place(NamedTuple):
    """A configuration on the way of a cluster, with the rows K of its closures.

    `margin` is the smallest singular value of the rows that give the dependent velocities, in parts of its usual size:
    zero at a dead centre, where `side`, the sign of their determinant, changes, and wherever loops lose rank. `beyond`
    is how far the joint worst off is beyond its limits [rad, m].
    """

    q: Array
    K: Array
    margin: float
    side: float
    beyond: float

    @property
    def good(self) -> bool:
        return self.margin >= LEAST_MARGIN and self.beyond == 0.0

    def allows(self, other: Place) -> bool:
        """Whether a step from here to another place keeps to this side, and what is not good there is no worse."""
        no_worse = other.margin >= min(LEAST_MARGIN, self.margin) and other.beyond <= self.beyond
        return no_worse and other.side == self.side


def random_closed(tree: ClusterTree, rng: np.random.Generator, limits: bool = True) -> Array:
    """A random closed q, well conditioned and within the limits of all joints, unless `limits` do not matter.

    Joints that no loop or coupling ties are uniform over what they can do: within their limits, and at most over a turn
    about zero or 1 m of a slide without ends. So are the independent coordinates of a cluster, as far as the way to
    them from the neutral configuration is free; the others follow.
    """
    base = tree.once(_start)
    if not tree.top.mechanism.constrained:
        return _drawn(tree, base, rng, limits, 1.0)
    found: list[tuple[tuple[float, float], Array]] = []
    for attempt in range(TARGETS):
        q = _drawn(tree, base, rng, limits, REACHES[attempt % len(REACHES)])
        found.append(_with_constrained_loops(tree, q, base, limits))
        if found[-1][0] == (0.0, 0.0):
            break
    return min(found, key=lambda x: x[0])[1]


def _drawn(tree: ClusterTree, base: Array, rng: np.random.Generator, limits: bool, reach: float) -> Array:
    """All joints and clusters at random, each for itself, within a part `reach` of the way to their targets."""
    top = tree.top
    q = _target(top, range(len(top)), base, rng, limits, reach)
    for c in tree.clusters:
        if c.parts:
            found = _random_cluster(tree, c, base, rng, limits, reach)
            for i in c.bodies:
                q[top.q_of[i]] = found[top.q_of[i]]
    return q


def _start(tree: ClusterTree) -> Array:
    """The neutral configuration with its angles within a turn."""
    return _wrapped(tree.top, tree.top.mechanism.closures, range(len(tree.top)), tree.once(neutral))


def _target(
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


def _beyond(top: Topology, bodies: Sequence[int], q: Array) -> float:
    """How far the joint worst off is beyond its limits [rad, m]."""
    out = [
        max(top.joints[i].lower - x, x - top.joints[i].upper)
        for i in bodies
        if _limited(top, i)
        for x in q[top.q_of[i]]
    ]
    return max(0.0, *out) if out else 0.0


def _wrapped(top: Topology, parts: Sequence[LoopClosure], bodies: Sequence[int], q: Array) -> Array:
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


def _random_cluster(
    tree: ClusterTree, c: Cluster, base: Array, rng: np.random.Generator, limits: bool, reach: float
) -> Array:
    """A q in which one cluster is somewhere on its way to a target; the best of a few where that is not good."""
    start = _place(tree, c, base, limits)
    best = start
    for _ in range(TARGETS if c.m else 0):
        found = _on_the_way(tree, c, start, _target(tree.top, c.bodies, base, rng, limits, reach), rng, limits)
        if found is start:
            continue
        if best is start or (found.beyond, -found.margin) < (best.beyond, -best.margin):
            best = found
        if best.good:
            break
    return best.q


def _on_the_way(
    tree: ClusterTree, c: Cluster, start: Place, target: Array, rng: np.random.Generator, limits: bool
) -> Place:
    """The target, or if the way there is not free a random point of the part that is; `start` if no step is."""
    top = tree.top
    steps = [top.types[i].difference(start.q[top.q_of[i]], target[top.q_of[i]]) for i in c.bodies]
    way = np.concatenate(steps)[list(c.chart.independent)]
    passed, t, h = [(0.0, start)], 0.0, 1.0 if c.linear else FIRST
    while t < 1.0 and h >= max(SHORTEST, END * t):
        after = min(t + h, 1.0)
        there = _step(tree, c, passed[-1][1], (after - t) * way, limits)
        if there is None:
            h = h / 2
        else:
            t, h = after, min(1.5 * h, LONGEST)
            passed.append((t, there))
    if t < 1.0:
        # uniform in the volume of a cone: as likely far out as there is room there
        s = t * rng.uniform() ** (1 / c.m)
        before, place = max((x for x in passed if x[0] <= s), key=lambda x: x[0])
        passed.append((s, _step(tree, c, place, (s - before) * way, limits) or place))
    place = passed[-1][1]
    return place if place is start else _finished(tree, c, place.q, limits)


def _step(tree: ClusterTree, c: Cluster, here: Place, dy: Array, limits: bool) -> Place | None:
    """Where a step of the independent coordinates leads, if it may be taken."""
    top = tree.top
    step = np.zeros(top.n_spanning)
    step[list(c.dofs)] = c.chart.embed(here.K)[0] @ dy
    dependent = [c.dofs[k] for k in c.chart.dependent]
    q, error = close_parts(top, c.parts, dependent, top.moved(c.bodies, here.q, step), ROUNDS, ENOUGH)
    if not error <= TOLERANCE:
        return None
    there = _place(tree, c, q, limits)
    return there if here.allows(there) else None


def _finished(tree: ClusterTree, c: Cluster, q: Array, limits: bool) -> Place:
    """The place at q, closed as well as it can be, with angles within a turn."""
    q, _ = close_parts(tree.top, c.parts, c.dofs, q)
    return _place(tree, c, _wrapped(tree.top, c.parts, c.bodies, q), limits)


def _place(tree: ClusterTree, c: Cluster, q: Array, limits: bool) -> Place:
    K = tree.rows(c, q).K
    return Place(q, K, *margin_and_side(tree, c, K), _beyond(tree.top, c.bodies, q) if limits else 0.0)


def margin_and_side(tree: ClusterTree, c: Cluster, K: Array) -> tuple[float, float]:
    """The margin of a cluster where its rows are K, and the side of dead centres on which that is (`Place`)."""
    size, side = _size_and_side(c, K)
    return size / tree.once(_usual_sizes)[c.index], side


def _usual_sizes(tree: ClusterTree) -> dict[int, float]:
    """The size of every chart's rows that is usual, over the samples at which it was chosen."""
    out = {}
    for c in tree.clusters:
        if c.equations is not None:
            out[c.index] = max(float(np.median([_size_and_side(c, K)[0] for K in c.equations.samples])), TINY)
    return out


def _size_and_side(c: Cluster, K: Array) -> tuple[float, float]:
    """The smallest singular value of the rows that give the dependent velocities, and the sign of their determinant.

    Rows of loops are weighted as everywhere, those of couplings are of unit length whatever their ratio.
    """
    assert c.equations is not None
    A = (K * c.equations.weights[:, None])[:, list(c.chart.dependent)]
    for part, span in zip(c.parts, c.equations.spans, strict=True):
        if part.explicit_joints():
            A[span] /= np.maximum(np.linalg.norm(A[span], axis=1, keepdims=True), TINY)
    A = A[list(c.chart.rows)]
    if not A.size:
        return 1.0, 1.0
    return float(np.linalg.svd(A, compute_uv=False)[-1]), float(np.linalg.slogdet(A)[0])


def _with_constrained_loops(
    tree: ClusterTree, q: Array, base: Array, limits: bool
) -> tuple[tuple[float, float], Array]:
    """What is wrong with q once its constrained loops are closed (beyond limits, margin missing), and that q."""
    top, closures = tree.top, tree.top.mechanism.closures
    dofs, bodies = range(top.n_spanning), range(len(top))
    q, error = close_parts(top, closures, dofs, q)
    if not error <= TOLERANCE:
        return (np.inf, np.inf), base
    q = _wrapped(top, closures, bodies, q)
    usual, here = (np.linalg.svd(stacked_rows(top, closures, dofs, x).K, compute_uv=False) for x in (base, q))
    rank = int(np.sum(usual > RANK_TOLERANCE))
    margin = [float(np.min(here[:rank] / usual[:rank], initial=1.0))]
    margin += [_place(tree, c, q, limits).margin for c in tree.clusters if c.parts]
    return (_beyond(top, bodies, q) if limits else 0.0, max(0.0, LEAST_MARGIN - min(margin))), q
