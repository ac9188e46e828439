"""The spanning tree as a cluster tree: every body a cluster of its own, every loop cut.

The cluster algorithms on it are the classic ones, for H and c of all joint velocities. [Chignoli2023, section II]
"""

from __future__ import annotations

from kinloop.clusters import Chart, Cluster, ClusterTree


def spanning_tree(tree: ClusterTree) -> ClusterTree:
    """The same bodies with every loop cut: one cluster per body, v = all joint velocities."""
    return tree.once(_cut)


def _cut(tree: ClusterTree) -> ClusterTree:
    top = tree.top
    clusters = []
    for i, kind in enumerate(top.types):
        dofs = tuple(range(top.v_of[i].start, top.v_of[i].stop))
        chart = Chart(kind.nv, (), (), tuple(range(kind.nv)), ())
        clusters.append(Cluster(i, (i,), top.parent[i], (top.parent[i],), (), dofs, chart, top.v_of[i]))
    return ClusterTree(top, clusters)
