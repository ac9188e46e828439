"""Newton's rounds on random mechanisms: where they vouch for a result it is that of the search; symbols as numbers."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree, assert_enough, mechanisms

import kinloop as kl
from kinloop import scalar as sc
from kinloop.algorithms.trees import positions
from kinloop.clusters import close, closing, conditioning, random_closed
from kinloop.clusters.framing import shortest
from kinloop.clusters.newton import newton
from tests.sim.mechanisms import crank_rocker

WELL = 1e2
"""Conditioning up to which rounding is no more than a fixed part."""


def closed(n: int, seed: int):
    for r in mechanisms(n, seed):
        q = random_closed(r.tree, r.rng)
        if r.tree.tied_clusters and conditioning(r.tree, q) < WELL:
            yield r, q


def test_a_step_is_that_of_the_search():
    vouched = 0
    for r, q in closed(22, seed=810):
        for size in (1e-3, 0.3):
            dy = size * r.rng.normal(size=r.tree.nv)
            found = positions.integrate(r.tree, q, dy, np.ones(1))
            if np.isfinite(found[0]):
                vouched += 1
                searched = closing.close_step(r.tree, q, dy)
                cond = conditioning(r.tree, searched)
                assert np.max(np.abs(found - searched)) < 1e-12 * cond, r.name
    assert_enough(vouched, 22)


def test_the_nearest_configuration_is_that_of_the_search():
    vouched = 0
    for r, q in closed(22, seed=830):
        tree, top = shortest(r.tree), r.tree.top
        for size in (1e-3, 0.1) if tree else ():
            beside = top.integrate(q, size * r.rng.normal(size=top.n_spanning))
            found = positions.close(tree, beside)
            if np.isfinite(found[0]):
                vouched += 1
                searched = close(r.tree, beside)
                cond = conditioning(r.tree, searched)
                assert np.max(np.abs(found - searched)) < 1e-12 * cond, r.name
    assert_enough(vouched, 16)


def test_symbols_are_closed_as_numbers_are():
    for r, q in closed(11, seed=850):
        start = r.tree.top.integrate(q, 1e-3 * r.rng.normal(size=r.tree.top.n_spanning))
        traced = sc.trace(lambda q, tree=r.tree: newton(tree, q)[0], {"q": len(q)})
        assert_agree(traced(start), newton(r.tree, start)[0], cond=1e4, what=r.name)


def test_a_crank_that_cannot_get_there_is_given_up():
    robot = crank_rocker()
    rocker = robot.with_independent([robot.joint_names[2]])  # it swings over less than a turn
    q = rocker.neutral()
    ends = [positions.integrate(rocker.tree, q, np.array([h]), np.ones(1))[0] for h in np.linspace(-3.0, 3.0, 13)]
    assert np.isfinite(ends[6]) and np.isinf(ends[0]) and np.isinf(ends[-1])


def sarrus() -> kl.Robot:
    """A plate that two legs of three hinges each guide straight up: welding the second on asks for a row too many.

    That row is redundant where the loop is closed.
    """
    b, solid = kl.Builder("sarrus"), {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    b.body("a1", axis="y", at=(1, 0, 0), **solid)
    b.body("a2", "a1", axis="y", at=(0.5, 0, 0.5), **solid)
    b.body("plate", "a2", axis="y", at=(-0.5, 0, 0.5), **solid)
    b.body("b1", axis="x", at=(0, 1, 0), **solid)
    b.body("b2", "b1", axis="x", at=(0, 0.5, 0.5), **solid)
    b.body("b3", "b2", axis="x", at=(0, -0.5, 0.5), **solid)
    b.loop("weld", "b3", "plate", "fixed", at_successor=(-1, 1, 0))
    return b.build()


def test_a_row_too_many_changes_nothing():
    robot = sarrus()
    q, _ = robot.random_state(0)
    step = positions.integrate(robot.tree, q, np.array([0.1]), np.ones(1))
    assert np.max(np.abs(step - closing.close_step(robot.tree, q, np.array([0.1])))) < 1e-13
    rng = np.random.default_rng(0)
    for far in (1e-4, 1e-2, 0.1):
        beside = q + far * rng.normal(size=robot.nq)
        assert np.max(np.abs(robot.close(beside) - close(robot.tree, beside))) < 1e-13


@pytest.mark.parametrize("far", [1e-8, 1e-4, 1e-2])
def test_loops_are_closed_to_rounding_from_wherever_they_were(far):
    robot = crank_rocker()
    beside = robot.random_state(0)[0] + far * np.array([0.3, -0.5, 0.8])
    found, well = newton(shortest(robot.tree), beside)
    assert well and np.max(robot.loop_error(found)) < 1e-15
