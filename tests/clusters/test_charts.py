"""Charts: which coordinates are independent, and how the others follow."""

from __future__ import annotations

import numpy as np
from helpers import assert_agree, mechanisms

from kinloop.clusters import conditioning, random_closed
from kinloop.clusters.charts import Chart, choose, pivots, rank_of


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
