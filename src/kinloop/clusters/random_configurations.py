"""Random closed configurations where a robot is tested: within limits, and far from where its coordinates fail.

Every cluster is drawn for itself. A target is drawn for its joints, and the cluster goes towards it from the neutral
configuration: the independent coordinates straight on, the dependent ones as the loops say, in steps that never cross a
dead centre. Where the way ends before the target, at a limit of some joint or because the chart becomes
ill-conditioned, a random point of the way is taken. So hardly a draw is wasted, loops stay on the side on which the
robot is assembled, and dependent joints keep their limits too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop.clusters.assembly import neutral
from kinloop.clusters.charts import RANK_TOLERANCE, TINY
from kinloop.clusters.closing import TOLERANCE, close_cluster, close_parts
from kinloop.clusters.joint_ranges import beyond_limits, draw_joints, within_turns
from kinloop.clusters.tree import Cluster, ClusterTree
from kinloop.model.loops import stacked_rows
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
    base = tree.once(_start, limits)
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
    q = draw_joints(top, range(len(top)), base, rng, limits, reach)
    for c in tree.clusters:
        if c.parts:
            found = _random_cluster(tree, c, base, rng, limits, reach)
            for i in c.bodies:
                q[top.q_of[i]] = found[top.q_of[i]]
    return q


def _start(tree: ClusterTree, limits: bool) -> Array:
    """Where all ways begin: the neutral configuration, but for clusters that are not good there."""
    top, rng = tree.top, np.random.default_rng(0)
    q = within_turns(top, top.mechanism.closures, range(len(top)), tree.once(neutral))
    if not top.mechanism.constrained:
        for c in tree.clusters:
            q = _better(tree, c, q, rng, limits) if c.parts and c.m else q
    return q


def _better(tree: ClusterTree, c: Cluster, q: Array, rng: np.random.Generator, limits: bool) -> Array:
    """q where one cluster is good there; else with the cluster at the best place found.

    Ways from where it is come first. If none leads to a good place it may have to change sides: a flat four-bar that is
    drawn beyond its limits.
    """
    best = _place(tree, c, q, limits)
    for attempt in range(2 * TARGETS):
        if best.good:
            break
        target = draw_joints(tree.top, c.bodies, best.q, rng, limits, 1.0)
        places = [place for _, place in _way(tree, c, best, target, limits)]
        if attempt >= TARGETS:
            closed, error = close_cluster(tree.top, c, target)
            if error <= TOLERANCE:
                places.append(_finished(tree, c, closed, limits))
        best = min(places, key=lambda x: (x.beyond, -x.margin))
    return best.q


def _random_cluster(
    tree: ClusterTree, c: Cluster, base: Array, rng: np.random.Generator, limits: bool, reach: float
) -> Array:
    """A q in which one cluster is somewhere on its way to a target; the best of a few where that is not good."""
    start = _place(tree, c, base, limits)
    best = start
    for _ in range(TARGETS if c.m else 0):
        found = _on_the_way(tree, c, start, draw_joints(tree.top, c.bodies, base, rng, limits, reach), rng, limits)
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
    passed = _way(tree, c, start, target, limits)
    end, place = passed[-1]
    if 0.0 < end < 1.0:
        # uniform in the volume of a cone: as likely far out as there is room there
        t = end * rng.uniform() ** (1 / c.m)
        before, place = max((x for x in passed if x[0] <= t), key=lambda x: x[0])
        place = _step(tree, c, place, (t - before) * _straight(tree, c, start.q, target), limits) or place
    return place if place is start else _finished(tree, c, place.q, limits)


def _way(tree: ClusterTree, c: Cluster, start: Place, target: Array, limits: bool) -> list[tuple[float, Place]]:
    """Places on the way from start towards the target, as far as it is free, and the parts of it covered there."""
    straight = _straight(tree, c, start.q, target)
    passed, t, h = [(0.0, start)], 0.0, 1.0 if c.linear else FIRST
    while t < 1.0 and h >= max(SHORTEST, END * t):
        after = min(t + h, 1.0)
        there = _step(tree, c, passed[-1][1], (after - t) * straight, limits)
        if there is None:
            h = h / 2
        else:
            t, h = after, min(1.5 * h, LONGEST)
            passed.append((t, there))
    return passed


def _straight(tree: ClusterTree, c: Cluster, q: Array, target: Array) -> Array:
    """The step of the independent coordinates that leads from q to the target."""
    top = tree.top
    steps = [top.types[i].difference(q[top.q_of[i]], target[top.q_of[i]]) for i in c.bodies]
    step: Array = np.concatenate(steps)[list(c.chart.independent)]
    return step


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
    q, _ = close_cluster(tree.top, c, q)
    return _place(tree, c, within_turns(tree.top, c.parts, c.bodies, q), limits)


def _place(tree: ClusterTree, c: Cluster, q: Array, limits: bool) -> Place:
    K = tree.rows(c, q).K
    return Place(q, K, *margin_and_side(tree, c, K), beyond_limits(tree.top, c.bodies, q) if limits else 0.0)


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
    q = within_turns(top, closures, bodies, q)
    usual, here = (np.linalg.svd(stacked_rows(top, closures, dofs, x).K, compute_uv=False) for x in (base, q))
    rank = int(np.sum(usual > RANK_TOLERANCE))
    margin = [float(np.min(here[:rank] / usual[:rank], initial=1.0))]
    margin += [_place(tree, c, q, limits).margin for c in tree.clusters if c.parts]
    return (beyond_limits(top, bodies, q) if limits else 0.0, max(0.0, LEAST_MARGIN - min(margin))), q
