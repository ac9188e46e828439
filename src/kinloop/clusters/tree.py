"""The cluster tree: clusters of bodies, their coordinates, and how each cluster's joints move together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kinloop.clusters.charts import Chart, choose, rank_of
from kinloop.clusters.closing import closure_pattern, row_weights, sample_closed
from kinloop.clusters.grouping import bodies_of, group
from kinloop.constraints import Rows, rows_of, stacked_rows
from kinloop.errors import ModelError
from kinloop.model.mechanism import Mechanism
from kinloop.model.parts import Coupling, LinearCoupling, Loop
from kinloop.model.topology import Topology
from kinloop.spatial.transform import Array


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
    parts: tuple[Loop | Coupling, ...]
    dofs: tuple[int, ...]
    chart: Chart
    v: slice
    equations: Equations | None = None

    @property
    def m(self) -> int:
        """Number of independent velocities."""
        return self.v.stop - self.v.start

    @property
    def bends(self) -> bool:
        """Whether G changes with the configuration: not so where only gears, belts and the like tie the cluster."""
        return bool(self.parts and self.dofs) and not all(isinstance(p, LinearCoupling) for p in self.parts)


class Equations(NamedTuple):
    """What is known of a cluster's rows at all configurations: how to weigh them, which entries can be non-zero."""

    weights: Array
    pattern: Array
    samples: tuple[Array, ...] = ()
    """K at a few closed configurations."""
    spans: tuple[list[int], ...] = ()
    """The rows of each closure, in order."""


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

    def __len__(self) -> int:
        return len(self.clusters)

    def __iter__(self):
        return iter(self.clusters)

    def rows(self, cluster: Cluster, q: Array, qd: Array | None = None) -> Rows:
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

    def constraint_rows(self, q: Array, qd: Array | None = None) -> Rows:
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
            return Rows(list(range(n)), np.zeros(0), np.zeros((0, n)), np.zeros(0))
        phi, K, k = (np.concatenate(x) for x in zip(*parts, strict=True))
        return Rows(list(range(n)), phi, K, k)

    def with_charts(self, charts: dict[int, Chart]) -> ClusterTree:
        """The same tree with other charts in some clusters."""
        return ClusterTree(self.top, [replace(c, chart=charts.get(c.index, c.chart)) for c in self.clusters])

    @property
    def independent_dofs(self) -> list[int]:
        """Place in the spanning velocity of every independent velocity."""
        return [c.dofs[i] for c in self.clusters for i in c.chart.independent]


def grow(mechanism: Mechanism, seed: int = 0) -> ClusterTree:
    """Cluster a mechanism and choose its charts, at sample configurations that depend only on `seed`."""
    top = Topology(mechanism)
    embedded = [loop for loop in mechanism.loops if loop.name not in mechanism.constrained]
    parts: list[Loop | Coupling] = [*embedded, *mechanism.couplings]
    clusters: list[Cluster] = []
    groups = group(top, parts)
    of = {i: k for k, bodies in enumerate(groups) for i in bodies}
    start = 0
    for k, bodies in enumerate(groups):
        mine = tuple(p for p in parts if of[bodies_of(top, p)[0]] == k)
        dofs = tuple(d for i in bodies for d in range(top.v_of[i].start, top.v_of[i].stop))
        chart, equations = first_chart(top, mine, bodies, dofs, seed)
        outputs = tuple(_output(top, i, set(bodies)) for i in bodies)
        parent = of.get(outputs[0], -1)
        m = len(chart.independent)
        v = slice(start, start + m)
        clusters.append(Cluster(k, tuple(bodies), parent, outputs, mine, dofs, chart, v, equations))
        start += m
    return ClusterTree(top, clusters)


def _output(top: Topology, i: int, bodies: set[int]) -> int:
    while i in bodies:
        i = top.parent[i]
    return i


def first_chart(
    top: Topology, parts: tuple[Loop | Coupling, ...], bodies: Sequence[int], dofs: tuple[int, ...], seed: int
) -> tuple[Chart, Equations | None]:
    """The chart a cluster starts with: as the user names coordinates, else the best conditioned one."""
    n = len(dofs)
    if not parts:
        return Chart(n, (), (), tuple(range(n)), ()), None
    closed = sample_closed(top, parts, bodies, dofs, seed)
    jacobians = tuple(stacked_rows(top, parts, dofs, q).K for q in closed)
    ends = np.cumsum([0, *(len(rows_of(top, p, closed[0]).phi) for p in parts)])
    spans = tuple(list(range(a, b)) for a, b in pairwise(map(int, ends)))
    weights = row_weights(top, parts, dofs, closed)
    equations = Equations(weights, closure_pattern(top, parts, dofs), jacobians, spans)
    samples = [K * weights[:, None] for K in jacobians]
    names = [top.coordinates[d] for d in dofs]
    joints = {name: top.joints[i].name for i in bodies for name in top.coordinates[top.v_of[i]]}
    wanted = [k for k, name in enumerate(names) if name in _wanted(top) or joints[name] in _wanted(top)]
    preferred = [
        k for k, name in enumerate(names) for p in parts if isinstance(p, Coupling) and joints[name] in p.dependent
    ]
    dependents = [k for k in range(n) if k not in wanted] if wanted else None
    coupled = sum(len(p.dependent) for p in parts if isinstance(p, Coupling))  # their rows come last
    exact = range(len(samples[0]) - coupled, len(samples[0]))
    chart = choose(samples, preferred, dependents, exact, equations.pattern)
    if chart is None:
        m = n - max(rank_of(K) for K in samples)
        raise ModelError(
            f"the cluster of {', '.join(top.bodies[i].name for i in bodies)} has {m} independent velocities, and "
            f"{[names[k] for k in wanted]} cannot be them; name {m} that determine its motion among {names}, "
            "or none to let kinloop choose"
        )
    return chart, equations


def _wanted(top: Topology) -> tuple[str, ...]:
    return top.mechanism.independent
