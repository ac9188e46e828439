"""Closing of positions and velocities: every way to close leaves the loops closed and moves what it says it moves."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree, mechanisms

import kinloop as kl
from kinloop import scalar as sc
from kinloop.clusters import closing, conditioning, loop_errors, random_closed

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
    order = [closing.ROUNDING, closing.FINISHED, closing.EXACT, closing.CONVERGED, closing.TOLERANCE]
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


def test_two_rounds_on_the_dependents_close_a_second_order_prediction():
    for r, q in closed(22, seed=740):
        tree, top, h = r.tree, r.tree.top, 1e-3
        _, qd, g = tree.spanning_motion(q, r.rng.normal(size=tree.nv))
        predicted = top.integrate(q, h * qd + 0.5 * h * h * g)
        found, last = closing.close_dependents(tree, predicted)
        assert worst(tree, found) < 1e-12, r.name
        assert float(last) < 1e-5, r.name
        moved = top.difference(predicted, found)[tree.independent_dofs]
        assert np.max(np.abs(moved), initial=0.0) < 1e-14, "independent coordinates stay"


def test_closest_moves_across_what_the_loops_allow():
    """The step to the nearest closed position is orthogonal, in the scaled coordinates, to every allowed motion."""
    for r, q in closed(22, seed=760):
        tree, top = r.tree, r.tree.top
        start = top.integrate(q, 1e-6 * r.rng.normal(size=top.n_spanning))
        found, _ = closing.closest(tree, start)
        assert worst(tree, found) < 1e-12, r.name
        step = top.difference(start, found)
        for c in tree.loop_clusters:
            G, s = tree.jacobian(c, found), tree.samples.scales[c.index]
            across = G.T @ (step[list(c.dofs)] / s**2)
            size = np.linalg.norm(G / s[:, None], axis=0) * np.linalg.norm(step[list(c.dofs)] / s)
            assert np.all(np.abs(across) <= 1e-3 * size + 1e-12 / np.min(s) ** 2), r.name


@pytest.mark.parametrize("project", [closing.project_velocity, closing.nearest_velocity])
def test_projected_velocities_are_allowed_and_allowed_ones_stay(project):
    for r, q in closed(22, seed=780):
        qd = project(r.tree, q, r.rng.normal(size=r.tree.top.n_spanning))
        rows = r.tree.constraint_rows(q)
        size = np.linalg.norm(rows.K, axis=1) * np.linalg.norm(qd)
        assert np.all(np.abs(rows.K @ qd) <= 1e-11 * size), r.name
        assert_agree(project(r.tree, q, qd), qd, cond=1e4, what=r.name)


def test_the_nearest_velocity_is_found_where_the_loops_lose_rank():
    robot = kl.robots.load("four_bar")
    stretched = np.zeros(3)
    assert worst(robot.tree, stretched) < 1e-12
    qd = closing.nearest_velocity(robot.tree, stretched, np.array([1.0, 0.3, -0.2]))
    K = robot.tree.rows(robot.tree.clusters[0], stretched).K
    s = np.linalg.svd(K, compute_uv=False)
    assert s[1] < 1e-9 * s[0], "one row is left of two"
    assert np.all(np.isfinite(qd))


def test_straight_ahead_closes_or_says_that_it_cannot():
    robot = kl.robots.load("four_bar")
    q = robot.close(np.array([0.5, 0.5, -0.5]))
    qd = robot.spanning_velocity(q, np.ones(1))
    there = closing.close_ahead(robot.tree, q, 0.1 * qd)
    assert there is not None and worst(robot.tree, there) < closing.CONVERGED
    assert np.max(np.abs(there - (q + 0.1 * qd))) < 0.1 * np.max(np.abs(0.1 * qd)) + 1e-2
    b = kl.Builder("short")
    b.body("crank", mass=1.0, inertia=(1, 1, 1), axis="z")
    b.body("slider", mass=1.0, inertia=(1, 1, 1), joint="prismatic", axis="y")
    b.rod("rod", "crank", "slider", (0.5, 0, 0), (0.9, 0, 0), 0.5)
    tree = b.build(backend="numpy").tree
    assert closing.close_ahead(tree, np.zeros(2), np.array([np.pi, 0.0])) is None, "no step shortens the rod from there"


@pytest.mark.parametrize("close", [closing.close_dependents, closing.closest])
def test_traced_closing_does_what_numbers_do(close):
    for r, q in closed(6, seed=800):
        tree, top = r.tree, r.tree.top
        start = top.integrate(q, 1e-4 * r.rng.normal(size=top.n_spanning))
        traced = sc.trace(lambda q, tree=tree: close(tree, q)[0], {"q": top.nq})
        assert_agree(traced(start), close(tree, start)[0], cond=1e4, what=r.name)
