"""Which bodies belong together: strongly connected components, merged until clusters form a tree.

A loop joint involves every joint between its two ends, so the bodies on both paths from their nearest
common ancestor move as one cluster. A coupling, or a function of joint positions, involves only the
joints it names. Edges run from parent to child and both ways between bodies that share a constraint;
a component of that graph is a cluster. A cluster whose bodies hang on several clusters has these merged
(where neither carries the other), or takes in the deeper one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kinloop.errors import ModelError
from kinloop.model.loops import LoopClosure
from kinloop.model.topology import Topology


def strongly_connected(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """Strongly connected components of a directed graph given as successor lists (Tarjan), each sorted."""
    n = len(edges)
    order: list[int] = [-1] * n
    low = [0] * n
    on_stack = [False] * n
    stack: list[int] = []
    found: list[list[int]] = []
    count = 0
    for root in range(n):
        if order[root] >= 0:
            continue
        work = [(root, 0)]
        while work:
            node, at = work.pop()
            if at == 0:
                order[node] = low[node] = count
                count += 1
                stack.append(node)
                on_stack[node] = True
            descend = False
            for k in range(at, len(edges[node])):
                other = edges[node][k]
                if order[other] < 0:
                    work.append((node, k + 1))
                    work.append((other, 0))
                    descend = True
                    break
                if on_stack[other]:
                    low[node] = min(low[node], order[other])
            if descend:
                continue
            if low[node] == order[node]:
                component = []
                while True:
                    other = stack.pop()
                    on_stack[other] = False
                    component.append(other)
                    if other == node:
                        break
                found.append(sorted(component))
            if work:
                above = work[-1][0]
                low[above] = min(low[above], low[node])
    return found


def group(top: Topology, closures: Sequence[LoopClosure], work: float = math.inf) -> list[list[int]]:
    """Bodies of every cluster, clusters in an order where parents come first.

    Every merging of clusters looks at all bodies; where that are more than `work` in all, there is an error.
    """
    together = [closure.bodies(top) for closure in closures]
    while True:
        work -= len(top)
        if work < 0:
            raise ModelError(
                f"clusters of {len(top)} bodies hang on each other in too many ways to be told apart; raise limits"
            )
        clusters = _components(top, together)
        of = {i: k for k, bodies in enumerate(clusters) for i in bodies}
        extra = _merge(top, clusters, of)
        if extra is None:
            return sorted(clusters)
        together.append(extra)


def _components(top: Topology, together: list[list[int]]) -> list[list[int]]:
    edges: list[list[int]] = [[] for _ in range(len(top))]
    for i, parent in enumerate(top.parent):
        if parent >= 0:
            edges[parent].append(i)
    for bodies in together:
        for a, b in zip(bodies, bodies[1:] + bodies[:1], strict=True):
            edges[a].append(b)
    return strongly_connected(edges)


def _merge(top: Topology, clusters: list[list[int]], of: dict[int, int]) -> list[int] | None:
    """Bodies to join so that one more cluster hangs on a single cluster; None if all do."""

    def above(k: int) -> set[int]:
        seen: set[int] = set()
        waiting = {of.get(top.parent[i], -1) for i in clusters[k]} - {k}
        while waiting:
            c = waiting.pop()
            if c not in seen:
                seen.add(c)
                if c >= 0:
                    waiting |= {of.get(top.parent[i], -1) for i in clusters[c]} - {c}
        return seen

    for k, bodies in enumerate(clusters):
        parents = sorted({of.get(top.parent[i], -1) for i in bodies} - {k})
        if len(parents) > 1:
            a, b = parents[0], parents[1]
            if a == -1 or a in above(b):
                return [clusters[b][0], bodies[0]]
            if b in above(a):
                return [clusters[a][0], bodies[0]]
            return [clusters[a][0], clusters[b][0]]
    return None
