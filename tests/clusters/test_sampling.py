"""Samples of closed configurations: in general position, and what they say of rows."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import calls, mechanisms

import kinloop as kl
from kinloop.clusters import loop_errors, random_closed, sampling
from kinloop.clusters.charts import rank_of
from kinloop.clusters.closing import TOLERANCE, residual
from kinloop.clusters.sampling import closure_pattern, row_weights, sample_closed, samples
from kinloop.clusters.tree import grow
from kinloop.errors import LoopNotClosed
from kinloop.model import stacked_rows
from tests.sim.mechanisms import parallelograms


def test_samples_are_closed_and_of_full_rank():
    seen = 0
    for r in mechanisms(22, seed=820):
        for c in r.tree.loop_clusters:
            found = samples(r.tree.top, c.parts, c.bodies, c.dofs, 0)
            weights = row_weights(c.parts, found)
            for s in found:
                assert max(loop_errors(r.tree, s.q)[p.name] for p in c.parts) < TOLERANCE, r.name
                assert rank_of(s.K * weights[:, None]) == len(c.chart.dependent), r.name
                np.testing.assert_array_equal(s.K, stacked_rows(r.tree.top, c.parts, c.dofs, s.q).K)
                seen += 1
    assert seen > 20


def test_a_further_loop_of_a_long_chain_costs_as_much_as_the_ones_before(monkeypatch):
    """Loops that share bodies are one cluster; a search in all of its coordinates would take ever more rounds."""
    sizes: list[int] = []
    svd = np.linalg.svd

    def noted(A, *rest, **options):
        sizes.append(max(A.shape))
        return svd(A, *rest, **options)

    m = {n: parallelograms(n).mechanism for n in (10, 20, 40)}
    monkeypatch.setattr(np.linalg, "svd", noted)
    cost = {n: calls(lambda n=n: grow(m[n])) for n in m}
    assert cost[40] - cost[20] < 2.5 * (cost[20] - cost[10]), cost
    assert cost[40] < 700_000, cost
    assert sum(size > 100 for size in sizes) < 12, "large matrices keep every core busy with next to nothing"


@pytest.mark.parametrize("n", [9, 40])
def test_long_chains_are_sampled_in_general_position(n):
    tree = parallelograms(n).tree
    (c,) = tree.loop_clusters
    found = samples(tree.top, c.parts, c.bodies, c.dofs, 0)
    assert len(found) >= 3 and c.m == 1
    for s in found:
        assert max(loop_errors(tree, s.q).values()) < 1e-10
        assert np.linalg.matrix_rank(s.K, 1e-3) == 2 * n
    rng = np.random.default_rng(0)
    for _ in range(3):
        assert max(loop_errors(tree, random_closed(tree, rng)).values()) < 1e-10


def test_loops_that_do_not_close_in_turn_are_closed_all_together(monkeypatch):
    monkeypatch.setattr(sampling, "close_in_turn", lambda top, parts, dofs, q, rounds: q)
    (c,) = parallelograms(9).tree.loop_clusters
    assert c.m == 1 and len(c.equations.closed) >= 3
    for q in c.equations.closed:
        assert residual(stacked_rows(c.alone.top, c.parts, c.alone.dofs, q).phi) < TOLERANCE


def test_gears_are_sampled_once_because_their_rows_never_change():
    robot = kl.robots.load("geared_chain")
    c = robot.tree.clusters[0]
    assert c.linear and c.tied and not robot.tree.loop_clusters
    assert len(sample_closed(robot.tree.top, c.parts, c.bodies, c.dofs, 0)) == 1


def test_a_loop_that_never_closes_is_named():
    b = kl.Builder("apart")
    b.body("arm", mass=1.0, inertia=(1, 1, 1), axis="z")
    b.rod("leash", "arm", "world", (0.3, 0, 0), (5.0, 0, 0), 0.5)
    with pytest.raises(
        LoopNotClosed, match="loop 'leash' cannot be closed: the nearest configuration to neutral leaves"
    ):
        b.build()


def test_weights_do_not_depend_on_the_unit_of_length():
    def weighted(size: float) -> np.ndarray:
        b = kl.Builder("four_bar")
        solid = {"mass": 1.0, "inertia": (1, 1, 1), "axis": "y"}
        b.body("crank", **solid)
        b.body("coupler", "crank", at=(0.4 * size, 0, 0), **solid)
        b.body("rocker", at=(1.2 * size, 0, 0), **solid)
        b.loop("pin", "coupler", "rocker", axis="y", at=(size, 0, 0), at_successor=(0.8 * size, 0, 0))
        tree = b.build(backend="numpy").tree
        c = tree.clusters[0]
        found = samples(tree.top, c.parts, c.bodies, c.dofs, 0)
        return row_weights(c.parts, found) * [size, size, size, 1.0, 1.0]

    np.testing.assert_allclose(weighted(10.0), weighted(1.0), rtol=1e-2)


def test_entries_outside_the_pattern_are_zero_everywhere():
    seen = 0
    for r in mechanisms(22, seed=840):
        for c in r.tree.tied_clusters:
            found = samples(r.tree.top, c.parts, c.bodies, c.dofs, 0)
            pattern = closure_pattern(r.tree.top, c.parts, c.dofs, found[0])
            K = stacked_rows(r.tree.top, c.parts, c.dofs, random_closed(r.tree, r.rng)).K
            assert np.all(np.abs(K[~pattern]) <= 1e-11), r.name
            seen += int(np.sum(~pattern))
    assert seen > 20


def test_ratios_of_zero_count_as_possible_entries():
    b = kl.Builder("belt")
    for name in "abc":
        b.body(name, mass=1.0, inertia=(1, 1, 1), axis="z")
    b.linear(["a_joint"], ["b_joint", "c_joint"], [[2.0, 0.0]])
    tree = b.build(backend="numpy").tree
    c = tree.clusters[0]
    found = samples(tree.top, c.parts, c.bodies, c.dofs, 0)
    assert np.all(closure_pattern(tree.top, c.parts, c.dofs, found[0]))
