"""Random closed configurations where a robot is tested: within limits, and far from where its coordinates fail.

Every cluster is drawn by itself. A target is drawn for its joints, and the cluster goes towards it from the neutral
configuration: the independent coordinates straight on, the dependent ones as the loops say, in steps that never cross a
dead centre. Where the way ends before the target, at a limit of some joint or because the chart becomes
ill-conditioned, a random point of the way is taken. So hardly a draw is wasted, loops stay on the side on which the
robot is assembled, and dependent joints keep their limits too.

Here is the search on numbers. Kernels go most ways (`random_ways`), and it takes over where they cannot vouch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters.alone import Alone
from kinloop.clusters.assembly import neutral
from kinloop.clusters.charts import RANK_TOLERANCE, TINY
from kinloop.clusters.closing import CONVERGED, TOLERANCE, close_cluster, close_parts
from kinloop.clusters.joint_ranges import JointDraws, beyond_limits, joint_ends, shortened, within_turns
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


class Kind:
    """Clusters that are alike, limits of joints too: `tree` has one of them by itself, all ways begin at `start`.

    `places` has of each cluster where its positions are in q of the robot.
    """

    def __init__(self, cluster: Cluster, alone: Alone, q: Array, limits: bool) -> None:
        world = (-1,) * len(cluster.bodies)
        own = replace(
            cluster, index=0, bodies=alone.bodies, parent=-1, outputs=world, dofs=alone.dofs, v=slice(0, cluster.m)
        )
        self.tree, self.cluster = ClusterTree(alone.top, [own]), own
        self.draws = JointDraws(alone.top, own.bodies, limits)
        self.ends = joint_ends(alone.top, own.bodies) if limits else {}
        self.start = _place(self, alone.taken(q))
        self.places: list[Array] = []

    def target(self, rng: np.random.Generator, reach: float = 1.0) -> Array:
        """Positions at random, within a part `reach` of the way from the start."""
        q = self.start.q.copy()
        q[self.draws.places] = self.draws.one(rng)
        return shortened(self.tree.top, self.start.q, q, reach)


class Kinds(NamedTuple):
    """Clusters with closures, in order, each as its kind and which of that kind it is; q where all ways begin."""

    of: list[tuple[Kind, int]]
    base: Array


QuickWay: TypeAlias = "Callable[[Kind, Array, Callable[[], float]], Array | None]"
"""Goes the way of a kind to a target, as `on_the_way` does: the q found, if it is good; that of the start if no step is
free; None where only the search on numbers can tell."""


def random_closed(
    tree: ClusterTree, rng: np.random.Generator, limits: bool = True, quick: QuickWay = lambda kind, target, part: None
) -> Array:
    """A random closed q, well conditioned and within the limits of all joints, unless `limits` do not matter.

    Joints that no loop or coupling ties are uniform over what they can do: within their limits, and at most over a turn
    about zero or 1 m of a slide without ends. So are the independent coordinates of a cluster, as far as the way to
    them from the neutral configuration is free; the others follow.
    """
    if not tree.top.mechanism.constrained:
        return _drawn(tree, rng, limits, 1.0, quick)
    found: list[tuple[tuple[float, float], Array]] = []
    for attempt in range(TARGETS):
        q = _drawn(tree, rng, limits, REACHES[attempt % len(REACHES)], quick)
        found.append(_with_constrained_loops(tree, q, tree.once(kinds_of, limits).base, limits))
        if found[-1][0] == (0.0, 0.0):
            break
    return min(found, key=lambda x: x[0])[1]


def _drawn(tree: ClusterTree, rng: np.random.Generator, limits: bool, reach: float, quick: QuickWay) -> Array:
    """All joints and clusters at random, each by itself, within a part `reach` of the way to their targets."""
    kinds = tree.once(kinds_of, limits)
    q = shortened(tree.top, kinds.base, tree.once(all_joints, limits).one(rng), reach)
    for kind, k in kinds.of:
        q[kind.places[k]] = random_cluster(kind, rng, quick, reach)[kind.draws.places]
    return q


def all_joints(tree: ClusterTree, limits: bool) -> JointDraws:
    """Draws of all joints of a robot."""
    return JointDraws(tree.top, range(len(tree.top)), limits)


def _all_ends(tree: ClusterTree) -> dict[int, tuple[float, float]]:
    return joint_ends(tree.top, range(len(tree.top)))


def kinds_of(tree: ClusterTree, limits: bool) -> Kinds:
    """The kinds of a robot's clusters. Ways begin at the neutral configuration, but for clusters not good there."""
    top, known, of = tree.top, dict[tuple[object, ...], Kind](), []
    q = within_turns(top, top.mechanism.closures, range(len(top)), tree.once(neutral)).copy()
    for c in tree.clusters:
        if c.alone is None:
            continue
        places = np.array([k for i in c.bodies for k in range(top.q_of[i].start, top.q_of[i].stop)], dtype=int)
        ends = tuple((top.joints[i].lower, top.joints[i].upper) for i in c.bodies)
        like = id(c.equations), c.chart, ends, q[places].tobytes()  # clusters that are alike share their equations
        if like not in known:
            known[like] = kind = Kind(c, c.alone, q, limits)
            if not top.mechanism.constrained and c.m:
                kind.start = _better(kind)
        kind = known[like]
        of.append((kind, len(kind.places)))
        kind.places.append(places)
    for kind, k in of:
        q[kind.places[k]] = kind.start.q[kind.draws.places]
    return Kinds(of, q)


def _better(kind: Kind) -> Place:
    """The start of a kind where it is good; else the best place found.

    Ways from where it is come first. If none leads to a good place it may have to change sides: a flat four-bar that is
    drawn beyond its limits.
    """
    best, rng, top = kind.start, np.random.default_rng(0), kind.tree.top
    for attempt in range(2 * TARGETS):
        if best.good:
            break
        target = best.q.copy()
        target[kind.draws.places] = kind.draws.one(rng)
        places = [place for _, place in _way(kind, best, target)]
        if attempt >= TARGETS:
            closed, error = close_cluster(top, kind.cluster, target)
            if error <= TOLERANCE:
                places.append(_finished(kind, closed))
        best = min(places, key=lambda x: (x.beyond, -x.margin))
    return best


def random_cluster(kind: Kind, rng: np.random.Generator, quick: QuickWay, reach: float = 1.0) -> Array:
    """Positions of a cluster somewhere on its way to a target; the best of a few where those are not good."""
    best = start = kind.start
    for _ in range(TARGETS if kind.cluster.m else 0):
        target, part = kind.target(rng, reach), cache(rng.uniform)  # drawn when it is needed, and once
        q = quick(kind, target, part)
        if q is not None and q is not start.q:
            return q
        found = start if q is start.q else on_the_way(kind, target, part)
        if found is start:
            continue
        if best is start or (found.beyond, -found.margin) < (best.beyond, -best.margin):
            best = found
        if best.good:
            break
    return best.q


def on_the_way(kind: Kind, target: Array, part: Callable[[], float]) -> Place:
    """The target, or if the way there is not free a random point of what is, by `part`; the start if no step is."""
    start = kind.start
    passed = _way(kind, start, target)
    end, place = passed[-1]
    if 0.0 < end < 1.0:
        t = end * share(kind, part())
        before, place = max((x for x in passed if x[0] <= t), key=lambda x: x[0])
        place = _step(kind, place, (t - before) * straight(kind, start.q, target)) or place
    return place if place is start else _finished(kind, place.q)


def share(kind: Kind, part: Any) -> Any:
    """The share of a free way that a random number between 0 and 1 stands for.

    Uniform in the volume of a cone: as likely far out as there is room there.
    """
    return part ** (1 / kind.cluster.m)


def _way(kind: Kind, start: Place, target: Array) -> list[tuple[float, Place]]:
    """Places on the way from start towards the target, as far as it is free, and the parts of it covered there."""
    ahead = straight(kind, start.q, target)
    passed, t, h = [(0.0, start)], 0.0, first_step(kind)
    while t < 1.0 and h >= max(SHORTEST, END * t):
        after = min(t + h, 1.0)
        there = _step(kind, passed[-1][1], (after - t) * ahead)
        if there is None:
            h = h / 2
        else:
            t, h = after, min(1.5 * h, LONGEST)
            passed.append((t, there))
    return passed


def first_step(kind: Kind) -> float:
    """The first step on a way, in parts of it: all of it where nothing bends."""
    return 1.0 if kind.cluster.linear else FIRST


def straight(kind: Kind, q: Array, target: Array) -> Array:
    """The step of the independent coordinates that leads from q to the target."""
    top, c = kind.tree.top, kind.cluster
    steps = [top.types[i].difference(q[top.q_of[i]], target[top.q_of[i]]) for i in c.bodies]
    step: Array = np.concatenate(steps)[list(c.chart.independent)]
    return step


def _step(kind: Kind, here: Place, dy: Array) -> Place | None:
    """Where a step of the independent coordinates leads, if it may be taken."""
    top, c = kind.tree.top, kind.cluster
    step = np.zeros(top.n_spanning)
    step[list(c.dofs)] = c.chart.embed(here.K)[0] @ dy
    there = top.moved(c.bodies, here.q, step)
    q, error = close_parts(top, c.parts, c.dependent_dofs, there, ROUNDS, ENOUGH, damped=False)
    if not error <= TOLERANCE:
        return None
    place = _place(kind, q)
    return place if here.allows(place) else None


def _finished(kind: Kind, q: Array) -> Place:
    """The place at q, closed as well as it can be, by its dependent coordinates if these do, angles within a turn."""
    top, c = kind.tree.top, kind.cluster
    closed, error = close_parts(top, c.parts, c.dependent_dofs, q)
    if not error < CONVERGED:
        closed, _ = close_cluster(top, c, q)
    return _place(kind, within_turns(top, c.parts, c.bodies, closed))


def _place(kind: Kind, q: Array) -> Place:
    tree, c = kind.tree, kind.cluster
    K = tree.rows(c, q).K
    return Place(q, K, *margin_and_side(tree, c, K), beyond_limits(kind.ends, q))


def margin_and_side(tree: ClusterTree, c: Cluster, K: Array) -> tuple[float, float]:
    """The margin of a cluster where its rows are K, and the side of dead centres on which that is (`Place`)."""
    size, side = _size_and_side(c, K)
    return size / tree.once(usual_sizes)[c.index], side


def usual_sizes(tree: ClusterTree) -> dict[int, float]:
    """The size of every chart's rows that is usual, over the samples at which it was chosen."""
    out = {}
    for c in tree.clusters:
        if c.equations is not None:
            out[c.index] = max(float(np.median([_size_and_side(c, K)[0] for K in c.equations.samples])), TINY)
    return out


def _size_and_side(c: Cluster, K: Array) -> tuple[float, float]:
    """The smallest singular value of the rows that give the dependent velocities, and the sign of their determinant."""
    A = weighted_rows(c, K)
    if not A.size:
        return 1.0, 1.0
    return float(np.linalg.svd(A, compute_uv=False)[-1]), float(np.linalg.slogdet(A)[0])


def weighted_rows(c: Cluster, K: Array) -> Array:
    """The rows that give the dependent velocities of a cluster, on numbers or symbols.

    Rows of loops are weighted as everywhere, those of couplings are of unit length whatever their ratio.
    """
    assert c.equations is not None
    A = (K * c.equations.weights[:, None])[:, list(c.chart.dependent)]
    for part, span in zip(c.parts, c.equations.spans, strict=True):
        for r in span if part.explicit_joints() else ():
            A[r] = A[r] * (1.0 / sc.maximum(sc.sqrt(sc.squared(A[r])), TINY))
    return A[list(c.chart.rows)]


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
    margin += [margin_and_side(tree, c, tree.rows(c, q).K)[0] for c in tree.clusters if c.parts]
    return (beyond_limits(tree.once(_all_ends) if limits else {}, q), max(0.0, LEAST_MARGIN - min(margin))), q
