"""A cluster tree whose loop equations are kernels: for the work between steps, which is done row by row in Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters import Chart, Cluster, ClusterTree
from kinloop.clusters.sampling import LoopSamples
from kinloop.kernels import Computed, Kernels
from kinloop.model.loops import LoopRows
from kinloop.model.topology import Topology
from kinloop.scalar import Array


class NativeTree(ClusterTree):
    """The same tree; `rows` at numbers comes from kernels, made when first asked for and shared by all charts."""

    def __init__(
        self, top: Topology, clusters: Sequence[Cluster], samples: LoopSamples, kernels: Kernels,
        made: dict[int, Computed],
    ) -> None:  # fmt: skip
        super().__init__(top, clusters, samples)
        self._kernels, self._rows_made = kernels, made

    def rows(self, cluster: Cluster, q: Array, qd: Array | None = None) -> LoopRows:
        if qd is not None or sc.is_symbolic(q) or not cluster.parts:
            return super().rows(cluster, q, qd)
        phi, K = self._kernel(cluster)(q)
        return LoopRows(list(cluster.dofs), phi, K, np.zeros(len(phi)))

    def with_charts(self, charts: dict[int, Chart]) -> NativeTree:
        return NativeTree(self.top, super().with_charts(charts).clusters, self.samples, self._kernels, self._rows_made)

    def _kernel(self, cluster: Cluster) -> Computed:
        if cluster.index not in self._rows_made:
            traced = super().rows

            def equations(q: Array) -> dict[str, Array]:
                rows = traced(cluster, q)
                return {"phi": np.asarray(rows.phi), "K": np.asarray(rows.K)}

            self._rows_made[cluster.index] = self._kernels.make(
                "loop_rows",
                equations,
                {"q": self.top.nq},
                key=(cluster.index,),
                sources=("sim/charts",),
                charts=False,
            )
        return self._rows_made[cluster.index]


def native(kernels: Kernels) -> ClusterTree:
    """The tree of `kernels` with kernels for its loop equations, where there is a compiler."""
    tree = kernels.tree
    return NativeTree(tree.top, tree.clusters, tree.samples, kernels, {}) if kernels.compiles else tree
