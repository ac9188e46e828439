"""Clusters by themselves: the same rows as in the whole robot, and those that are alike analysed once."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import pytest
from helpers import calls, mechanisms

import kinloop as kl
from kinloop import scalar as sc
from kinloop.clusters import neutral, sampling
from kinloop.clusters import tree as tree_module
from kinloop.clusters.alone import Alone, likeness
from kinloop.clusters.sampling import samples
from kinloop.clusters.tree import grow
from kinloop.model import stacked_rows
from kinloop.robots.link_chains import belt_chain, four_bar_chain

SOLID = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0), "axis": "y"}


@pytest.fixture
def sampled(monkeypatch) -> list[str]:
    """Names of the first closures of clusters that are sampled."""
    names: list[str] = []

    def counted(top, parts, *rest):
        names.append(parts[0].name)
        return samples(top, parts, *rest)

    monkeypatch.setattr(tree_module, "samples", counted)
    return names


def four_bars(*lengths: float) -> kl.Builder:
    """Four-bars in one place, with couplers of the given lengths."""
    b = kl.Builder("four_bars")
    for k, length in enumerate(lengths):
        b.body(f"crank-{k}", **SOLID)
        b.body(f"coupler-{k}", f"crank-{k}", at=(0.4, 0, 0), **SOLID)
        b.body(f"rocker-{k}", at=(1.2, 0, 0), **SOLID)
        b.loop(f"pin-{k}", f"coupler-{k}", f"rocker-{k}", axis="y", at=(length, 0, 0), at_successor=(0.8, 0, 0))
    return b


def test_rows_of_a_cluster_alone_are_those_in_the_robot_bit_for_bit():
    seen: Counter[str] = Counter()
    for r in mechanisms(44, seed=1310):
        top = r.tree.top
        q, qd = top.random(r.rng), r.rng.normal(size=top.n_spanning)
        for c in r.tree:
            if c.alone is None:
                continue
            own = c.alone
            at = np.concatenate([q[top.q_of[i]] for i in c.bodies])
            alone = stacked_rows(own.top, c.parts, own.dofs, at, qd[list(c.dofs)])
            whole = stacked_rows(top, c.parts, c.dofs, q, qd)
            for a, b in zip(alone[1:], whole[1:], strict=True):
                np.testing.assert_array_equal(a, b, err_msg=r.name)
            back = top.neutral()
            own.put(back, at)
            np.testing.assert_array_equal(back[top.q_of[c.bodies[0]]], q[top.q_of[c.bodies[0]]])
            seen.update(type(p).__name__ for p in c.parts)
    assert len(seen) >= 4, seen


def test_clusters_that_are_alike_are_sampled_once(sampled):
    tree = grow(four_bar_chain(12).mechanism())
    assert sampled == ["pin-0", "pin-1"], "the first stands on the ground elsewhere than the others on rockers"
    assert len({id(c.equations) for c in tree}) == 2 and len({c.chart for c in tree}) == 1
    sampled.clear()
    grow(belt_chain(8).mechanism())
    assert len(sampled) == 2


@pytest.mark.parametrize("difference", [np.nextafter(1.0, 2.0), 1.1])
def test_clusters_that_differ_in_one_number_are_not_alike(sampled, difference):
    tree = grow(four_bars(1.0, difference, 1.0).mechanism())
    assert sampled == ["pin-0", "pin-1"]
    first, second, third = tree.clusters
    assert first.equations is third.equations and first.equations is not second.equations


def test_clusters_that_differ_in_the_coordinates_wanted_are_not_alike(sampled):
    b = four_bar_chain(4)
    b.independent[:] = ["crank-0_joint", "crank-1_joint", "rocker-2_joint", "crank-3_joint"]
    tree = grow(b.mechanism())
    assert sampled == ["pin-0", "pin-1", "pin-2"]
    assert [c.chart.independent for c in tree] == [(0,), (0,), (2,), (0,)]


def coupled(*functions) -> list[str]:
    """Likenesses of pairs of joints, each tied by a function."""
    b = kl.Builder("pairs")
    for k, f in enumerate(functions):
        b.body(f"a{k}", **SOLID)
        b.body(f"b{k}", f"a{k}", at=(0.2, 0, 0), **SOLID)
        b.loop_function(f"f{k}", [f"a{k}_joint", f"b{k}_joint"], f)
    return [likeness(c.alone, c.parts, []) for c in grow(b.mechanism())]


class Tie:
    """A function of which every instance looks the same."""

    def __init__(self, ratio: float) -> None:
        self.ratio = ratio

    def __repr__(self) -> str:
        return "Tie"

    def __call__(self, x, y):
        return x - self.ratio * sc.sin(y)


def test_functions_of_users_are_like_themselves_alone():
    one, other = Tie(0.5), Tie(0.6)
    a, b, c = coupled(one, other, one)
    assert a != b and a == c
    a, b = coupled(partial(Tie(1.0)), partial(Tie(1.0)))
    assert a != b


def test_clusters_found_by_random_draws_are_not_shared(sampled, monkeypatch):
    """Draws are the whole robot's: what they find differs from cluster to cluster."""
    drawn: list[np.ndarray] = []
    draw, close = Alone.random, sampling.close_parts

    def note(alone, rng):
        drawn.append(draw(alone, rng))
        return drawn[-1]

    def closed_if_drawn(top, parts, dofs, q):
        """Stands for a loop that no start near neutral closes."""
        found, error = close(top, parts, dofs, q)
        return found, error if any(np.array_equal(q, x) for x in drawn) else 1.0

    monkeypatch.setattr(Alone, "random", note)
    monkeypatch.setattr(sampling, "close_parts", closed_if_drawn)
    tree = grow(four_bar_chain(4).mechanism())
    assert sampled == ["pin-0", "pin-1", "pin-2", "pin-3"]
    assert len({id(c.equations) for c in tree}) == 4
    rng = np.random.default_rng(0)
    for _ in sampling.STARTS:
        rng.normal(size=3)
    np.testing.assert_array_equal(drawn[0], tree.top.random(rng)[:3], err_msg="as the whole robot draws them")


def test_a_further_cluster_like_others_costs_little_wherever_it_stands():
    def build(links: int) -> int:
        mechanism = four_bar_chain(links).mechanism()
        return calls(lambda: neutral(grow(mechanism)))

    few, some, many = build(10), build(20), build(40)
    each = (some - few) / 10
    assert each < 1000, "closing four-bars anew takes tens of thousands"
    assert (many - some) / 20 == pytest.approx(each, rel=0.02), "whatever the length of the chain"
