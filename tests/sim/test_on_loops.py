"""States on closed loops: every way to close leaves the loops closed and moves as little as it says."""

from __future__ import annotations

import numpy as np
from helpers import assert_agree, mechanisms

import kinloop as kl
from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import still
from kinloop.clusters import conditioning, loop_errors, random_closed
from kinloop.clusters.framing import framed
from kinloop.compiler import compile_function
from kinloop.sim import on_loops

WELL = 1e2
"""Conditioning up to which a second-order statement is checked with a fixed constant."""


def closed(n: int, seed: int):
    """Well conditioned closed configurations of framed mechanisms that have loops or couplings; at least half of n."""
    found = 0
    for r in mechanisms(n, seed):
        q = random_closed(r.tree, r.rng)
        if r.tree.tied_clusters and conditioning(r.tree, q) < WELL:
            found += 1
            yield r._replace(tree=framed(r.tree)), q
    assert found >= n / 2, f"only {found} of {n} mechanisms had something to close"


def worst(tree, q) -> float:
    return max(loop_errors(tree, q).values(), default=0.0)


def test_two_rounds_close_a_second_order_prediction():
    for r, q in closed(22, seed=740):
        tree, top, h = r.tree, r.tree.top, 1e-3
        _, qd, g = tree.spanning_motion(q, r.rng.normal(size=tree.nv))
        found, last = on_loops.closed_twice(tree, top.integrate(q, h * qd + 0.5 * h * h * g))
        assert worst(tree, found) < 1e-12, r.name
        assert float(last) < 1e-5, r.name


def test_closing_moves_across_what_the_loops_allow():
    """The step to the closed position is orthogonal, in the scaled coordinates, to every allowed motion."""
    for r, q in closed(22, seed=760):
        tree, top = r.tree, r.tree.top
        start = top.integrate(q, 1e-6 * r.rng.normal(size=top.n_spanning))
        found, _ = on_loops.closed_twice(tree, start)
        assert worst(tree, found) < 1e-12, r.name
        step = top.difference(start, found)
        for c in tree:
            if c.bends:
                G, s = tree.jacobian(c, found), c.chart.scale
                own = step[list(c.dofs)] / s
                assert np.all(np.abs(c.chart.coordinates(step[list(c.dofs)], G)) <= 1e-3 * np.linalg.norm(own)), r.name


def test_drivers_of_gears_stay_and_followers_follow():
    for r, q in closed(22, seed=770):
        tree, top = r.tree, r.tree.top
        geared = [c for c in tree if c.parts and not c.bends]
        start = top.integrate(q, 1e-3 * r.rng.normal(size=top.n_spanning))
        found, _ = on_loops.closed_twice(tree, start)
        for c in geared:
            kept = [c.dofs[k] for k in c.chart.independent]
            assert np.max(np.abs(top.difference(start, found)[kept]), initial=0.0) < 1e-14, r.name
        x = r.rng.normal(size=len(on_loops.drivers(tree)))
        whole = on_loops.with_followers(tree, x)
        assert np.array_equal(whole[on_loops.drivers(tree)], x)
        for c in geared:
            assert np.max(np.abs(tree.rows(c, q).K @ whole[list(c.dofs)])) < 1e-12, r.name


def test_projected_velocities_are_allowed_and_allowed_ones_stay():
    for r, q in closed(22, seed=780):
        qd = on_loops.projected(r.tree, q, r.rng.normal(size=r.tree.top.n_spanning))
        rows = r.tree.constraint_rows(q)
        size = np.linalg.norm(rows.K, axis=1) * np.linalg.norm(qd)
        assert np.all(np.abs(rows.K @ qd) <= 1e-11 * size), r.name
        assert_agree(on_loops.projected(r.tree, q, qd), qd, cond=1e4, what=r.name)
        G = still(r.tree, q).embedding
        v = on_loops.coordinates(r.tree, G, qd)
        assert_agree(on_loops.spanning(r.tree, G, v), qd, cond=1e4, what=r.name)


def test_projection_is_finite_where_the_loops_lose_rank():
    robot = kl.robots.load("four_bar")
    tree, stretched = framed(robot.tree), np.zeros(3)
    assert worst(tree, stretched) < 1e-12
    K = tree.rows(tree.clusters[0], stretched).K
    s = np.linalg.svd(K, compute_uv=False)
    assert s[1] < 1e-9 * s[0], "one row is left of two"
    assert np.all(np.isfinite(on_loops.projected(tree, stretched, np.array([1.0, 0.3, -0.2]))))


def test_traced_closing_does_what_numbers_do():
    for r, q in closed(6, seed=800):
        tree, top = r.tree, r.tree.top
        start = top.integrate(q, 1e-4 * r.rng.normal(size=top.n_spanning))
        traced = sc.trace(lambda q, tree=tree: on_loops.closed_twice(tree, q)[0], {"q": top.nq})
        assert_agree(traced(start), on_loops.closed_twice(tree, start)[0], cond=1e4, what=r.name)


def test_closing_moves_loops_of_rows_that_want_it_and_nothing_else():
    """In a kernel, side by side with rows that do not want it: all that has no loop keeps its bits, quaternions one."""
    robot = kl.robots.load("tello")
    tree, top = framed(robot.tree), robot.tree.top
    looped = {k for c in tree if c.bends for i in c.bodies for k in range(top.q_of[i].start, top.q_of[i].stop)}
    q, _ = robot.random_state(3)
    rows = q + 1e-7 * np.random.default_rng(3).normal(size=(7, top.nq))
    wants = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])[:, None]

    def close(q, want):
        found, size = on_loops.closed(tree, q, want[0] > 0.5, rounds=2)
        return {"q_on": found, "size": np.array([size])}

    kernel = compile_function(sc.trace(close, {"q": top.nq, "want": 1}), cache=False)
    found, size = kernel(rows, wants)
    base = range(top.q_of[0].start, top.q_of[0].stop)
    rest = [k for k in range(top.nq) if k not in looped and k not in base]
    driven = on_loops.closed(tree, rows[1], False)[0]  # gears and belts follow in all rows
    assert looped and rest and np.array_equal(found[1], driven) and size[1, 0] == 0.0
    for k, want in enumerate(wants[:, 0]):
        alone, last = on_loops.closed(tree, rows[k], bool(want), rounds=2)
        np.testing.assert_allclose(found[k], alone, rtol=0, atol=1e-14)
        assert (worst(tree, found[k]) < 1e-12) == bool(want) and bool(last) == bool(want)
        np.testing.assert_array_equal(found[k, rest], on_loops.closed(tree, rows[k], False)[0][rest])
        assert not want or abs(np.linalg.norm(found[k, base[3:]]) - 1.0) < 1e-15
