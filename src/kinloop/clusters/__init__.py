"""Clusters: bodies grouped by the loops they share, so that what remains is a tree."""

from kinloop.clusters.assembly import close, conditioning, loop_errors, neutral, random_closed
from kinloop.clusters.charts import Chart
from kinloop.clusters.tree import Cluster, ClusterTree, Embedding, grow

__all__ = [
    "Chart", "Cluster", "ClusterTree", "Embedding", "close", "conditioning", "grow", "loop_errors", "neutral",
    "random_closed",
]  # fmt: skip
