"""How good charts are: reach against minors of K, volume against determinants and singular values."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.sim.charts.gauge import (
    Gauge,
    cluster_volume,
    coordinate_scales,
    determinant,
    is_linear,
    largest,
    loops,
    sample_jacobians,
)
from tests.sim.mechanisms import crank_rocker, pendulum


def gauge_of(tree):
    return Gauge(tree, sample_jacobians(tree))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_determinants_of_symbols_are_those_of_numbers(n):
    rng = np.random.default_rng(n)
    traced = sc.trace(lambda a: {"det": np.array([sc.abs(determinant(a.reshape(n, n)))])}, {"a": n * n})
    for _ in range(5):
        A = rng.normal(size=(n, n))
        assert determinant(A) == pytest.approx(np.linalg.det(A), rel=1e-12)
        assert traced(A.ravel())[0] == pytest.approx(abs(np.linalg.det(A)), rel=1e-12)


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "rssr", "wishbone"])
def test_volume_is_the_product_of_singular_values_relative_to_its_typical_size(name):
    robot = kl.robots.load(name)
    tree, gauge = robot.tree, gauge_of(robot.tree)
    assert loops(tree)
    for seed in range(3):
        q, _ = robot.random_state(seed)
        worst = 1.0
        for c in loops(tree):
            K_d = tree.rows(c, q).K[np.ix_(c.chart.rows, c.chart.dependent)]
            sizes = np.linalg.svd(K_d, compute_uv=False)
            assert cluster_volume(c, tree.rows(c, q).K) == pytest.approx(np.prod(sizes), rel=1e-9)
            worst = min(worst, np.prod(sizes) / gauge.typical[c.index])
        assert gauge(q)[1] == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize("name", ["crank_joint", "coupler_joint", "rocker_joint"])
def test_reach_is_how_much_a_swap_of_coordinates_would_gain(name):
    """By Cramer's rule: the largest ratio of a minor with two columns swapped to det K_d, columns scaled."""
    robot = crank_rocker(name)
    tree, q = robot.tree, robot.neutral()
    gauge, (c,) = gauge_of(tree), loops(tree)
    K = tree.rows(c, q).K * coordinate_scales(tree)[c.index]
    rows, dependent = list(c.chart.rows), list(c.chart.dependent)
    best = 0.0
    for j in range(len(dependent)):
        for i in c.chart.independent:
            swapped = [i if k == j else d for k, d in enumerate(dependent)]
            ratio = np.linalg.det(K[np.ix_(rows, swapped)]) / np.linalg.det(K[np.ix_(rows, dependent)])
            best = max(best, abs(ratio))
    assert gauge(q)[0] == pytest.approx(best, rel=1e-9)


def test_symbols_give_what_numbers_give():
    robot = crank_rocker("rocker_joint")
    gauge, q = gauge_of(robot.tree), robot.neutral()
    traced = sc.trace(lambda q: {"both": np.array(gauge(q))}, {"q": 3})
    np.testing.assert_allclose(traced(q).astype(float), [float(x) for x in gauge(q)], rtol=1e-12)


def test_volume_vanishes_where_loops_lose_rank():
    robot = kl.robots.load("four_bar")
    gauge = gauge_of(robot.tree)
    volumes = [gauge(robot.close(np.array([x, x, -x])))[1] for x in (0.5, 0.1, 0.02, 0.004)]
    assert all(b < 0.3 * a for a, b in pairwise(volumes))


def test_trees_and_gears_have_nothing_to_gauge():
    assert gauge_of(pendulum().tree)(np.zeros(1)) == (0.0, 1.0)
    b = kl.Builder("geared")
    b.body("link", axis="z", mass=1.0, inertia=(1, 1, 1), joint_name="joint")
    b.body("rotor", axis="z", mass=0.1, inertia=(1, 1, 1), joint_name="motor")
    b.gear("motor", "joint", 6.0)
    tree = b.build().tree
    assert loops(tree) == [] and all(is_linear(c) for c in tree if c.parts) and not gauge_of(tree).typical


def test_gears_inside_loop_clusters_do_not_count():
    """A rotor geared 100 times does not make the chart look a hundred times worse."""

    def linkage(ratio):
        b = kl.Builder("driven")
        solid = {"mass": 1.0, "inertia": (1, 1, 1)}
        b.body("crank", axis="y", **solid)
        b.body("coupler", "crank", axis="y", at=(0.2, 0, 0), **solid)
        b.body("rocker", axis="y", at=(0.6, 0, 0), **solid)
        b.body("rotor", axis="y", **solid, joint_name="motor")
        b.loop("pin", "coupler", "rocker", axis="y", at=(0.6, 0, 0), at_successor=(0.5, 0, 0))
        b.gear("motor", "crank_joint", ratio)
        b.independent = ["crank_joint"]
        return b.build()

    reaches = [gauge_of(r.tree)(r.neutral())[0] for r in (linkage(1.0), linkage(100.0))]
    assert reaches[0] < 100 and reaches[1] < 3 * reaches[0] + 1


def test_largest_lets_nan_through():
    assert largest([1.0, -3.0, 2.0]) == 3.0 and largest([], 0.5) == 0.5 and largest([-0.2], 0.5) == 0.5
    assert np.isnan(largest([1.0, np.nan, 2.0]))
    traced = sc.trace(lambda x: {"m": np.array([largest(list(x))])}, {"x": 3})
    assert traced(np.array([1.0, -3.0, 2.0]))[0] == 3.0
