"""Growth of the work along chains, by counted operations of the trace, not by time. [Chignoli2023b, Figure 3]"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from kinloop import robots
from kinloop import scalar as sc
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_efpa import cluster_efpa
from kinloop.algorithms.trees.cluster_rnea import cluster_rnea
from kinloop.algorithms.witnesses.lagrange import lagrange
from kinloop.algorithms.witnesses.projection import projection
from kinloop.clusters import ClusterTree, grow
from kinloop.spatial import Transform

CHAINS = ("geared_chain", "belt_chain")


@cache
def chain(name: str, links: int) -> ClusterTree:
    return grow(robots.mechanism(name, links=links))


def operations(algorithm: Callable, name: str, links: int) -> int:
    tree = chain(name, links)
    sizes = {"q": tree.top.nq, "v": tree.nv, "x": tree.nv}
    return sc.trace(lambda q, v, x: algorithm(tree, q, v, x), sizes).operations["total"]


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("algorithm", [cluster_aba, cluster_rnea])
def test_cluster_algorithms_grow_linearly(algorithm, name):
    links = range(2, 49, 2)
    second = np.diff([operations(algorithm, name, n) for n in links], 2)
    ends = 4  # the first links lack neighbours, and save what these would cost
    assert np.all(second[ends:] == 0), dict(zip(links, second.tolist(), strict=False))


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("algorithm", [projection, lagrange])
def test_methods_on_the_whole_spanning_tree_grow_faster(algorithm, name):
    links = range(8, 29, 4)
    counts = [operations(algorithm, name, n) for n in links]
    assert np.all(np.diff(counts, 2) > 0)
    ours = [operations(cluster_aba, name, n) for n in links]
    ratio = np.array(counts) / np.array(ours)
    assert np.all(np.diff(ratio) > 0.1) and ratio[-1] > 1.5 * ratio[0], ratio


def test_loops_inside_a_chain_change_the_slope_not_the_growth():
    counts = [operations(cluster_aba, "four_bar_chain", n) for n in (4, 6, 8, 10)]
    assert np.all(np.diff(counts, 2) <= 10)


@pytest.mark.parametrize("name", CHAINS)
def test_one_end_effector_costs_in_proportion_to_its_distance(name):
    def efpa(n: int) -> int:
        tree = chain(name, n)
        body = len(tree.top) - 1
        return sc.trace(lambda q: cluster_efpa(tree, q, [(body, chain_tip)]), {"q": tree.top.nq}).operations["total"]

    chain_tip = Transform(np.eye(3), np.array([0.3, 0.0, 0.0]))
    second = np.diff([efpa(n) for n in range(8, 25, 4)], 2)
    assert np.all(second == 0), second.tolist()
