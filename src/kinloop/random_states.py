"""Random states of a robot, one or a batch: numbers from a generator, ways by kernels, the search on numbers behind.

Every kind of cluster (`kinloop.clusters.random_configurations.Kind`) has one kernel, which all clusters of that kind
and all rows of a batch go through together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from kinloop.clusters import random_closed
from kinloop.clusters.joint_ranges import free_turns, one_turn
from kinloop.clusters.random_configurations import Kind, all_joints, kinds_of, on_the_way, random_cluster, share
from kinloop.clusters.random_ways import WHOLE, StraightWays, has_ways, is_straight, way
from kinloop.kernels import Kernels
from kinloop.scalar import Array


class _Way:
    """Ways of one kind of clusters by what goes them, angles within a turn."""

    def __init__(self, go: Callable[[Array, Array], Array], kind: Kind) -> None:
        self._go, self._start = go, kind.start.q
        top, c = kind.tree.top, kind.cluster
        self._n, self._turns = top.nq, np.array(free_turns(top, c.parts, c.bodies, kind.start.q), dtype=int)

    def one(self, kind: Kind, target: Array, part: Callable[[], float]) -> Array | None:
        """A `QuickWay`."""
        n = self._n
        found = self._go(target, WHOLE)
        end = found[n]
        if 0.0 < end < 1.0:
            found = self._go(target, np.array([end * share(kind, part())]))
        if not found[n + 1]:
            return None
        return one_turn(found[:n], self._turns) if end else self._start

    def rows(self, kind: Kind, targets: Array, parts: Array) -> tuple[Array, Array, Array]:
        """Positions in rows, whether they are good, and whether, for sure, no step was free."""
        n = self._n
        found: Array = self._go(targets, WHOLE)
        end = found[:, n].copy()
        short = (end > 0.0) & (end < 1.0)
        if short.any():
            found[short] = self._go(targets[short], (end * share(kind, parts))[short, None])
        well = found[:, n + 1] == 1.0
        return one_turn(found[:, :n], self._turns), well & (end > 0.0), well & (end == 0.0)


class RandomStates:
    """What draws random states of a robot."""

    def __init__(self, kernels: Kernels) -> None:
        self._kernels, self._tree = kernels, kernels.tree
        self._ways: dict[int, _Way | None] = {}

    def one(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """q and v, of numbers drawn one after another."""
        return random_closed(self._tree, rng, quick=self._quick), rng.normal(size=self._tree.nv)

    def rows(self, rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        """q and v in rows. What a row is does not depend on how many there are.

        Each purpose has a generator of its own, from which all rows take equally many numbers; a row that needs more
        has one by itself.
        """
        uniform, normal, spare, others = (int(seed) for seed in rng.integers(2**63, size=4))
        v = np.random.default_rng(normal).normal(size=(size, self._tree.nv))
        seeds = np.random.default_rng(spare).integers(2**63, size=size).tolist()
        if self._tree.top.mechanism.constrained:
            drawn = [random_closed(self._tree, np.random.default_rng(seed), quick=self._quick) for seed in seeds]
            return np.reshape(drawn, (size, self._tree.top.nq)), v
        joints, clusters = self._tree.once(all_joints, True), self._tree.once(kinds_of, True).of
        ends = np.cumsum([joints.count, *(kind.draws.count + 1 for kind, _ in clusters)])
        numbers = np.split(np.random.default_rng(uniform).random((size, ends[-1])), ends[:-1], axis=1)
        q = joints.rows(numbers[0], others)
        for kind in dict.fromkeys(kind for kind, _ in clusters):
            mine = [j for j, (other, _) in enumerate(clusters, 1) if other is kind]
            targets = np.repeat(kind.start.q[None], len(mine) * size, axis=0)
            drawn = [kind.draws.rows(numbers[j][:, :-1], others, j) for j in mine]
            targets[:, kind.draws.places] = np.concatenate(drawn)
            parts = np.concatenate([numbers[j][:, -1] for j in mine])
            found = self._found(kind, targets, parts, [(seed, j) for j in mine for seed in seeds])
            for place, rows in zip(kind.places, np.split(found, len(mine)), strict=True):
                q[:, place] = rows[:, kind.draws.places]
        return q, v

    def _found(self, kind: Kind, targets: Array, parts: Array, seeds: Sequence[tuple[int, int]]) -> Array:
        """Positions of clusters of one kind on their ways to targets; where those are not good, to others by a seed."""
        q = np.repeat(kind.start.q[None], len(targets), axis=0)
        if not kind.cluster.m:
            return q
        quick, good, stuck = self._way(kind), np.zeros(len(q), dtype=bool), np.zeros(len(q), dtype=bool)
        if quick is not None:
            q, good, stuck = quick.rows(kind, targets, parts)
        for k in np.flatnonzero(~good).tolist():
            place = kind.start if stuck[k] else on_the_way(kind, targets[k], partial(float, parts[k]))
            usable = place.good and place is not kind.start
            q[k] = place.q if usable else random_cluster(kind, np.random.default_rng(seeds[k]), self._quick)
        return q

    def _quick(self, kind: Kind, target: Array, part: Callable[[], float]) -> Array | None:
        found = self._way(kind)
        return found.one(kind, target, part) if found else None

    def _way(self, kind: Kind) -> _Way | None:
        """The ways of a kind, None where only the search on numbers goes them."""
        if id(kind) not in self._ways:
            self._ways[id(kind)] = self._made(kind) if has_ways(kind) else None
        return self._ways[id(kind)]

    def _made(self, kind: Kind) -> _Way | None:
        if is_straight(kind):
            return _Way(StraightWays(kind), kind)
        if not self._kernels.compiles:
            return None
        sizes = {"target": kind.tree.top.nq, "stop": 1}
        key = kind.places[0], kind.start.q, sorted(kind.ends.items())
        return _Way(self._kernels.make("random_way", partial(way, kind), sizes, key=key), kind)
