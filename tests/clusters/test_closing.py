"""Closing on numbers: it leaves the loops closed, moves what it says it moves, and says what it cannot close."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree, mechanisms

import kinloop as kl
from kinloop.clusters import closing, conditioning, loop_errors, random_closed
from tests.sim.mechanisms import three_rockers

WELL = 1e2
"""Conditioning up to which a second-order statement is checked with a fixed constant."""


def closed(n: int, seed: int, **options):
    """Well conditioned closed configurations of mechanisms that have loops or couplings; at least half of n."""
    found = 0
    for r in mechanisms(n, seed, **options):
        q = random_closed(r.tree, r.rng)
        if r.tree.tied_clusters and conditioning(r.tree, q) < WELL:
            found += 1
            yield r, q
    assert found >= n / 2, f"only {found} of {n} mechanisms had something to close"


def worst(tree, q) -> float:
    return max(loop_errors(tree, q).values(), default=0.0)


def test_tolerances_are_ordered_from_rounding_to_open():
    order = [closing.ROUNDING, closing.FINISHED, closing.CONVERGED, closing.TOLERANCE]
    assert order == sorted(order)


def test_close_parts_moves_only_the_coordinates_it_is_given():
    for r, q in closed(22, seed=700):
        top = r.tree.top
        for c in r.tree.tied_clusters:
            dofs = [c.dofs[k] for k in c.chart.dependent]
            step = np.zeros(top.n_spanning)
            step[dofs] = 1e-3 * r.rng.normal(size=len(dofs))
            found, error = closing.close_parts(top, c.parts, dofs, top.integrate(q, step))
            assert error < closing.CONVERGED, r.name
            moved = np.abs(top.difference(q, found))
            fixed = [d for d in range(top.n_spanning) if d not in dofs]
            balls = [d for d in fixed if top.types[top.body_of[d]].nq > top.types[top.body_of[d]].nv]
            assert np.max(moved[[d for d in fixed if d not in balls]], initial=0.0) < 1e-14, r.name
            assert np.max(moved[balls], initial=0.0) < 1e-5, "turns about several axes add up to second order only"


def test_close_parts_reports_what_it_cannot_close():
    b = kl.Builder("too_short")
    b.body("arm", mass=1.0, inertia=(1, 1, 1), axis="z")
    b.rod("rod", "arm", "world", (0.3, 0, 0), (2.0, 0, 0), 0.5)
    m = b.mechanism()
    top = kl.model.Topology.of(m)
    _, error = closing.close_parts(top, m.loops, [0], np.array([1.0]))
    nearest = (1.7**2 - 0.5**2) / (2 * 0.5)
    assert error == pytest.approx(nearest, rel=1e-2)


def test_an_independent_step_is_taken_exactly():
    for r, q in closed(22, seed=720):
        tree, top = r.tree, r.tree.top
        dy = 1e-3 * r.rng.normal(size=tree.nv)
        found = closing.close_step(tree, q, dy)
        assert worst(tree, found) < closing.CONVERGED, r.name
        plain = [k for k, d in enumerate(tree.independent_dofs) if top.types[top.body_of[d]].nq == 1]
        assert_agree(top.difference(q, found)[tree.independent_dofs][plain], dy[plain], cond=1e3, what=r.name)


@pytest.mark.parametrize("noise", [1e-8, 5e-7])
def test_loops_that_disagree_in_the_last_digits_are_no_reason_to_move(noise):
    """Rows that follow from others only to a few digits seem to forbid all motion: closing them exactly would move the
    mechanism to wherever their errors happen to vanish."""
    robot = three_rockers(noise)
    assert np.max(np.abs(robot.neutral())) < 10 * noise, "drawn upright"
    for seed in range(6):
        q = robot.random_state(seed)[0]
        ahead = robot.integrate(q, np.array([0.3]))
        assert abs(ahead[0] - q[0] - 0.3) < 1e-5, "a step of the independent coordinate is taken"
        for x in (q, ahead):
            assert worst(robot.tree, x) < 10 * noise
            assert np.max(np.abs(robot.close(x) - x)) < 1e-9, "what is closed stays"
