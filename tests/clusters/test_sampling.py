"""Samples of closed configurations: in general position, and what they say of rows."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import mechanisms

import kinloop as kl
from kinloop.clusters import loop_errors, random_closed
from kinloop.clusters.charts import rank_of
from kinloop.clusters.closing import TOLERANCE
from kinloop.clusters.sampling import closure_pattern, row_weights, sample_closed, samples
from kinloop.errors import LoopNotClosed
from kinloop.model import stacked_rows


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
