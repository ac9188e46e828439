"""Charts: how dependent coordinates follow, and the small solves that give them, on numbers and symbols."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree, mechanisms

from kinloop import scalar as sc
from kinloop.clusters import conditioning, random_closed
from kinloop.clusters.charts import Chart, choose, pivots, rank_of, solve


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_solve_is_numpys_on_numbers_and_on_symbols(n):
    rng = np.random.default_rng(n)
    for _ in range(5):
        A, B = rng.normal(size=(n, n)), rng.normal(size=(n, 3))
        expected = np.linalg.solve(A, B)
        assert_agree(solve(A, B), expected, cond=float(np.linalg.cond(A)))
        traced = sc.trace(lambda a, b: solve(a.reshape(n, n), b.reshape(n, 3)), {"a": n * n, "b": 3 * n})
        assert_agree(traced(A.ravel(), B.ravel()), expected, cond=float(np.linalg.cond(A)))


@pytest.mark.parametrize("n", [3, 4, 5])
def test_traced_elimination_pivots_while_it_runs(n):
    """One trace, matrices whose leading entries are zero in every order: no fixed order of pivots serves all."""
    traced = sc.trace(lambda a, b: solve(a.reshape(n, n), b.reshape(n, 1)), {"a": n * n, "b": n})
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = np.eye(n)[rng.permutation(n)] * rng.uniform(1, 2, n) + 1e-9 * rng.normal(size=(n, n))
        b = rng.normal(size=n)
        assert_agree(traced(A.ravel(), b), np.linalg.solve(A, b).reshape(n, 1), cond=10.0)


def test_a_singular_solve_gives_no_finite_answer():
    for n in (1, 2, 3):
        with np.errstate(all="ignore"):
            assert not np.any(np.isfinite(solve(np.zeros((n, n)), np.ones((n, 1)))))


def test_known_entries_fold_out_of_a_traced_solve():
    x = sc.Graph().inputs("x", 1)[0]
    A = np.array([[2.0, 0.0], [0.0, 4.0]])
    out = solve(A, np.array([[x], [1.0]], dtype=object))
    assert out[1, 0] == 0.25


def test_embedding_is_the_null_space_of_the_rows_it_keeps():
    rng = np.random.default_rng(2)
    for _ in range(20):
        K, k = rng.normal(size=(3, 5)), rng.normal(size=3)
        chart = choose([K], preferred=[])
        G, g = chart.embed(K, k)
        cond = float(np.linalg.cond(K[:, list(chart.dependent)]))
        assert_agree(K @ G, np.zeros((3, 2)), cond, scale=float(np.max(np.abs(G))))
        assert_agree(K @ g, k, cond)
        assert_agree(G[list(chart.independent)], np.eye(2))
        assert_agree(g[list(chart.independent)], np.zeros(2))


def test_block_triangular_order_solves_gears_one_by_one():
    # rotor_a = 6 a;  rotor_b = 6 a + 6 b;  a and b free
    K = np.array([[1.0, 0, -6, 0], [0, 1.0, -6, -6]])
    chart = choose([K], preferred=[0, 1], pattern=K != 0)
    assert chart.dependent == (0, 1) and chart.independent == (2, 3)
    assert chart.blocks == (((0,), (0,)), ((1,), (1,)))
    np.testing.assert_array_equal(chart.embed(K)[0], [[6, 0], [6, 6], [1, 0], [0, 1]])


def test_a_cascade_of_couplings_is_solved_in_its_order():
    # z = 2 y, y = 3 x: the row of y comes first whatever the order of rows
    K = np.array([[1.0, -2.0, 0.0], [0.0, 1.0, -3.0]])
    chart = choose([K], preferred=[0, 1], pattern=K != 0)
    assert [columns for _, columns in chart.blocks] == [(1,), (0,)]
    np.testing.assert_array_equal(chart.embed(K)[0].ravel(), [6, 3, 1])


def test_redundant_rows_are_left_out():
    rng = np.random.default_rng(4)
    K = rng.normal(size=(2, 4))
    doubled = np.concatenate([K, rng.normal(size=(3, 2)) @ K, np.zeros((1, 4))])
    chart = choose([doubled], preferred=[])
    assert rank_of(doubled) == len(chart.rows) == len(chart.dependent) == 2
    assert_agree(doubled @ chart.embed(doubled)[0], np.zeros((6, 2)), cond=1e3, scale=1.0)


def test_rows_that_say_nothing_leave_everything_free():
    chart = choose([np.zeros((3, 2))], preferred=[])
    assert chart == Chart(2, (), (), (0, 1), ())
    np.testing.assert_array_equal(chart.embed(np.zeros((3, 2)))[0], np.eye(2))


def test_a_wish_that_cannot_be_met_is_none():
    K = np.array([[1.0, 1.0, 0.0]])
    assert choose([K], [], dependents=[2]) is None
    assert choose([K], [], dependents=[0, 1]) is None
    assert choose([K], [], dependents=[1]).independent == (0, 2)


def test_ties_go_to_the_first_column():
    assert pivots(np.array([[1.0, 1.0 + 1e-13, 0.5]]), 1) == [0]


def test_spanning_velocities_of_random_mechanisms_keep_every_loop_closed():
    for r in mechanisms(44, seed=800):
        tree = r.tree
        q = random_closed(tree, r.rng)
        cond = conditioning(tree, q)
        v = r.rng.normal(size=tree.nv)
        G, qd, g = tree.spanning_motion(q, v)
        for c in tree:
            rows = tree.rows(c, q, qd)  # all rows, also those the chart leaves out
            dofs = list(c.dofs)
            size = float(np.max(np.abs(rows.K), initial=1.0) * np.max(np.abs(G), initial=1.0))
            assert_agree(rows.K @ G[dofs], np.zeros((len(rows.K), tree.nv)), 10 * cond, r.name, size)
            size = max(1.0, float(np.max(np.abs(rows.k), initial=0.0)), float(np.max(np.abs(qd), initial=0.0)) ** 2)
            assert_agree(rows.K @ g[dofs], rows.k, 10 * cond**2, r.name, size)
