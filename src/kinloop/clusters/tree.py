"""The cluster tree: clusters of bodies, their coordinates, and how each cluster's joints move together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from kinloop.clusters.alone import Alone, likeness
from kinloop.clusters.charts import Chart, choose, rank_of
from kinloop.clusters.grouping import group
from kinloop.clusters.mobility import check_agreement, check_mobility
from kinloop.clusters.sampling import closure_pattern, row_weights, samples
from kinloop.errors import ModelError
from kinloop.model.loops import LoopClosure, LoopRows, stacked_rows
from kinloop.model.mechanism import Mechanism
from kinloop.model.topology import Topology
from kinloop.progress import working
from kinloop.scalar import Array

T = TypeVar("T")


@dataclass(frozen=True)
class Cluster:
    """Bodies that move together.

    `parent` is the parent cluster (-1: the world), `outputs[j]` the output body of `bodies[j]`: its
    nearest ancestor outside the cluster. `dofs` are the cluster's places in the spanning velocity,
    `v` its place in the independent velocity.
    """

    index: int
    bodies: tuple[int, ...]
    parent: int
    outputs: tuple[int, ...]
    parts: tuple[LoopClosure, ...]
    dofs: tuple[int, ...]
    chart: Chart
    v: slice
    equations: Equations | None = None
    alone: Alone | None = None
    """The cluster by itself; None without closures."""

    @property
    def m(self) -> int:
        """Number of independent velocities."""
        return int(self.v.stop - self.v.start)

    @property
    def dependent_dofs(self) -> list[int]:
        """Those of `dofs` that follow from the others."""
        return [self.dofs[k] for k in self.chart.dependent]

    @property
    def linear(self) -> bool:
        """Whether only closures linear in q tie the cluster (gears, belts): its G is constant."""
        return all(p.linear for p in self.parts)

    @property
    def tied(self) -> bool:
        """Whether some of its coordinates follow from the others."""
        return bool(self.parts and self.chart.dependent)

    @property
    def bends(self) -> bool:
        """Whether G changes with the configuration: not so where only gears, belts and the like tie the cluster."""
        return bool(self.parts and self.dofs) and not self.linear


class Equations(NamedTuple):
    """What is known of a cluster's rows at all configurations: how to weigh them, which entries can be non-zero."""

    weights: Array
    pattern: Array
    samples: tuple[Array, ...] = ()
    """K at a few closed configurations."""
    spans: tuple[list[int], ...] = ()
    """The rows of each closure, in order."""
    closed: tuple[Array, ...] = ()
    """The configurations of `samples`, in the topology of the cluster alone."""


class Embedding(NamedTuple):
    """How a cluster's spanning motion follows its independent one: qd = G v, qdd = G a + g."""

    G: Array
    qd: Array
    g: Array


class ClusterTree:
    """A mechanism cut into clusters that form a tree, with a chart for every cluster."""

    def __init__(self, top: Topology, clusters: Sequence[Cluster]) -> None:
        self.top = top
        self.clusters = tuple(clusters)
        self.nv = sum(c.m for c in clusters)
        self.cluster_of = {i: c.index for c in clusters for i in c.bodies}
        self._made: dict[tuple[Any, ...], Any] = {}

    def once(self, make: Callable[..., T], *options: Any) -> T:
        """`make(self, *options)`, made once and kept as long as the tree: what belongs to its structure alone.

        Arrays are kept read-only: who would write into one must copy it.
        """
        key = (make, *options)
        if key not in self._made:
            self._made[key] = made = make(self, *options)
            if isinstance(made, np.ndarray):
                made.setflags(write=False)
        kept: T = self._made[key]
        return kept

    def __len__(self) -> int:
        return len(self.clusters)

    def __reduce__(self) -> tuple[Any, ...]:
        """A tree pickles as its mechanism and charts; the rest grows again."""
        return _regrown, (self.top.mechanism, {c.index: c.chart for c in self.clusters if c.parts})

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self.clusters)

    @property
    def tied_clusters(self) -> list[Cluster]:
        """Clusters some of whose coordinates follow from the others."""
        return [c for c in self.clusters if c.tied]

    @property
    def loop_clusters(self) -> list[Cluster]:
        """Clusters whose G changes with the configuration."""
        return [c for c in self.clusters if c.tied and not c.linear]

    def rows(self, cluster: Cluster, q: Array, qd: Array | None = None) -> LoopRows:
        """All rows of a cluster over its own coordinates."""
        return stacked_rows(self.top, cluster.parts, cluster.dofs, q, qd)

    def jacobian(self, cluster: Cluster, q: Array) -> Array:
        """G of one cluster, (spanning, independent)."""
        if not cluster.parts:
            return np.eye(cluster.m)
        return cluster.chart.embed(self.rows(cluster, q).K)[0]

    def embedding(self, cluster: Cluster, q: Array, v: Array) -> Embedding:
        """G, spanning velocity and bias of one cluster, for the independent velocity v of the robot."""
        y = v[cluster.v]
        if not cluster.parts:
            return Embedding(np.eye(cluster.m), y, np.zeros(cluster.m))
        G = self.jacobian(cluster, q)
        qd = G @ y
        everywhere = np.zeros(self.top.n_spanning, dtype=qd.dtype)
        everywhere[list(cluster.dofs)] = qd
        rows = self.rows(cluster, q, everywhere)
        _, g = cluster.chart.embed(rows.K, rows.k)
        assert g is not None
        return Embedding(G, qd, g)

    def spanning_jacobian(self, q: Array) -> Array:
        """G of the whole robot, (n_spanning, nv)."""
        blocks = [self.jacobian(c, q) for c in self.clusters]
        out = np.zeros((self.top.n_spanning, self.nv), dtype=np.result_type(float, *blocks) if blocks else float)
        for c, G in zip(self.clusters, blocks, strict=True):
            out[np.ix_(list(c.dofs), range(c.v.start, c.v.stop))] = G
        return out

    def spanning_motion(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """(G, qd, g) of the whole robot."""
        G = self.spanning_jacobian(q)
        qd = np.zeros(self.top.n_spanning, dtype=np.result_type(G, v))
        g = qd.copy()
        for c in self.clusters:
            e = self.embedding(c, q, v)
            qd[list(c.dofs)] = e.qd
            g[list(c.dofs)] = e.g
        return G, qd, g

    def constraint_rows(self, q: Array, qd: Array | None = None) -> LoopRows:
        """The rows kept by the charts of all clusters, over all spanning coordinates: K G = 0, full rank."""
        parts = []
        n = self.top.n_spanning
        for c in self.clusters:
            if c.parts:
                rows = self.rows(c, q, qd)
                keep = list(c.chart.rows)
                K = np.zeros((len(keep), n), dtype=rows.K.dtype)
                K[:, list(c.dofs)] = rows.K[keep]
                parts.append((rows.phi[keep], K, rows.k[keep]))
        if not parts:
            return LoopRows.none(range(n))
        phi, K, k = (np.concatenate(x) for x in zip(*parts, strict=True))
        return LoopRows(list(range(n)), phi, K, k)

    def with_charts(self, charts: dict[int, Chart]) -> ClusterTree:
        """The same tree with other charts in some clusters."""
        clusters = [replace(c, chart=charts.get(c.index, c.chart)) for c in self.clusters]
        return ClusterTree(self.top, clusters)

    def with_topology(self, top: Topology) -> ClusterTree:
        """The same clusters and charts with other parameters."""
        return ClusterTree(top, self.clusters)

    @property
    def independent_dofs(self) -> list[int]:
        """Place in the spanning velocity of every independent velocity."""
        return [c.dofs[i] for c in self.clusters for i in c.chart.independent]


def grow(mechanism: Mechanism, seed: int = 0) -> ClusterTree:
    """Cluster a mechanism and choose its charts, at sample configurations that depend only on `seed`."""
    top = Topology.of(mechanism)
    parts = [p for p in mechanism.closures if p.name not in mechanism.constrained]
    groups = group(top, parts)
    of = {i: k for k, bodies in enumerate(groups) for i in bodies}
    mine: dict[int, tuple[LoopClosure, ...]] = {}
    for p in parts:
        k = of[p.bodies(top)[0]]
        mine[k] = (*mine.get(k, ()), p)
    analyses = _Analyses(top, seed)
    clusters: list[Cluster] = []
    start = 0
    with working(f"building {mechanism.name}", len(groups)) as report:
        for k, bodies in enumerate(groups):
            dofs = tuple(d for i in bodies for d in range(top.v_of[i].start, top.v_of[i].stop))
            chart, equations, alone = analyses.of(bodies, mine.get(k, ()))
            outputs = tuple(_output(top, i, set(bodies)) for i in bodies)
            parent = of.get(outputs[0], -1)
            v = slice(start, start + len(chart.independent))
            clusters.append(
                Cluster(k, tuple(bodies), parent, outputs, mine.get(k, ()), dofs, chart, v, equations, alone)
            )
            start = v.stop
            report(k + 1)
    return ClusterTree(top, clusters)


class _Analyses:
    """First charts and equations of the clusters of one robot; clusters that are alike share them."""

    def __init__(self, top: Topology, seed: int) -> None:
        self.top, self.seed = top, seed
        self._asked = frozenset(top.mechanism.independent)
        self._known: dict[str, tuple[Chart, Equations]] = {}

    def of(self, bodies: Sequence[int], parts: tuple[LoopClosure, ...]) -> tuple[Chart, Equations | None, Alone | None]:
        """Chart, equations, and the cluster by itself."""
        if not parts:
            n = sum(self.top.types[i].nv for i in bodies)
            return Chart(n, (), (), tuple(range(n)), ()), None, None
        alone = Alone(self.top, bodies, parts)
        owners = [self.top.joints[i].name for i in bodies for _ in range(self.top.types[i].nv)]
        names = [alone.top.coordinates[d] for d in alone.dofs]
        wanted = [k for k, (a, b) in enumerate(zip(names, owners, strict=True)) if a in self._asked or b in self._asked]
        like = likeness(alone, parts, wanted)
        if like is not None and like in self._known:
            return *self._known[like], alone
        found = first_chart(alone, parts, wanted, self.seed)
        if like is not None and not alone.drawn:
            self._known[like] = found
        return *found, alone


def _regrown(mechanism: Mechanism, charts: dict[int, Chart]) -> ClusterTree:
    return grow(mechanism).with_charts(charts)


def _output(top: Topology, i: int, bodies: set[int]) -> int:
    while i in bodies:
        i = top.parent[i]
    return i


def first_chart(
    alone: Alone, parts: tuple[LoopClosure, ...], wanted: Sequence[int], seed: int
) -> tuple[Chart, Equations]:
    """The chart a cluster starts with: the coordinates `wanted` independent, if any, else the best conditioned one."""
    top, bodies, dofs = alone.top, alone.bodies, alone.dofs
    n = len(dofs)
    found = samples(top, parts, bodies, dofs, seed, alone.random)
    ends = np.cumsum([0, *(len(block) for block in found[0].blocks)])
    spans = tuple(list(range(a, b)) for a, b in pairwise(map(int, ends)))
    pattern = closure_pattern(top, parts, dofs, found[0])
    weights = row_weights(parts, found)
    equations = Equations(weights, pattern, tuple(s.K for s in found), spans, tuple(s.q for s in found))
    weighted = [s.K * weights[:, None] for s in found]
    owners = [top.joints[top.body_of[d]].name for d in dofs]
    preferred = [k for k, joint in enumerate(owners) for p in parts if joint in p.explicit_joints()]
    dependents = [k for k in range(n) if k not in wanted] if wanted else None
    chart = choose(weighted, preferred, dependents, _coupled_rows(parts, len(pattern)), pattern)
    check_agreement(parts, weighted[0])
    if chart is None:
        m = n - max(rank_of(K) for K in weighted)
        names = [top.coordinates[d] for d in dofs]
        raise ModelError(
            f"the cluster of {', '.join(top.bodies[i].name for i in bodies)} has {m} independent velocities, and "
            f"{[names[k] for k in wanted]} cannot be them; name {m} that determine its motion among {names}, "
            "or none to let kinloop choose"
        )
    if not all(p.linear for p in parts):
        check_mobility(top, parts, dofs, found[0].q, weights, len(chart.independent))
    return chart, equations


def _coupled_rows(parts: tuple[LoopClosure, ...], count: int) -> range:
    """Which of a cluster's rows are those of couplings: the last ones."""
    return range(count - sum(len(p.explicit_joints()) for p in parts), count)


def chart_with(cluster: Cluster, wanted: Sequence[int]) -> Chart | None:
    """The chart of a cluster in which those of its `dofs` at the places `wanted` are independent; None if no such."""
    others = [k for k in range(len(cluster.dofs)) if k not in wanted]
    if cluster.equations is None:
        return None if others else cluster.chart
    e = cluster.equations
    weighted = [K * e.weights[:, None] for K in e.samples]
    return choose(weighted, (), others, _coupled_rows(cluster.parts, len(e.pattern)), e.pattern)
