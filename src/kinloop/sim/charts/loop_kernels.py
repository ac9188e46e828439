"""A cluster tree whose loop equations are kernels: for the work between steps, which is done row by row in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinloop import compiler
from kinloop import scalar as sc
from kinloop.clusters import Chart, Cluster, ClusterTree
from kinloop.clusters.sampling import LoopSamples
from kinloop.compute import function_digests
from kinloop.model.facts import facts
from kinloop.model.loops import LoopRows
from kinloop.model.topology import Topology
from kinloop.spatial.transform import Array


class NativeTree(ClusterTree):
    """The same tree; `rows` at numbers comes from kernels, made when first asked for and shared by all charts."""

    def __init__(
        self, top: Topology, clusters: Sequence[Cluster], samples: LoopSamples, kernels: dict[int, Any]
    ) -> None:
        super().__init__(top, clusters, samples)
        self._kernels = kernels

    def rows(self, cluster: Cluster, q: Array, qd: Array | None = None) -> LoopRows:
        if qd is not None or sc.is_symbolic(q) or not cluster.parts:
            return super().rows(cluster, q, qd)
        phi, K = self._kernel(cluster)(q)
        return LoopRows(list(cluster.dofs), phi, K, np.zeros(len(phi)))

    def with_charts(self, charts: dict[int, Chart]) -> NativeTree:
        return NativeTree(self.top, super().with_charts(charts).clusters, self.samples, self._kernels)

    def _kernel(self, cluster: Cluster) -> Any:
        if cluster.index not in self._kernels:
            traced = super().rows

            def equations(q: Array) -> dict[str, Array]:
                rows = traced(cluster, q)
                return {"phi": np.asarray(rows.phi), "K": np.asarray(rows.K)}

            key = ("loop_rows", facts(self.top.mechanism), function_digests(self), cluster.index)
            self._kernels[cluster.index] = compiler.load_or_compile(
                key, lambda: sc.trace(equations, {"q": self.top.nq}), name="loop_rows"
            )
        return self._kernels[cluster.index]


def native(tree: ClusterTree, backend: str) -> ClusterTree:
    """`tree` with kernels for its loop equations, where there is a compiler."""
    if backend != "kernel" or not compiler.available():
        return tree
    return NativeTree(tree.top, tree.clusters, tree.samples, {})
