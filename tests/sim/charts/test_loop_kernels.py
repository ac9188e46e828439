"""Loop equations as kernels: the same numbers as the tree's own."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.sim.charts.loop_kernels import NativeTree, native
from kinloop.sim.charts.recharting import rechart


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "six_bar"])
def test_rows_are_those_of_the_plain_tree(name):
    robot = kl.robots.load(name)
    tree = native(robot.tree, "kernel")
    assert isinstance(tree, NativeTree)
    q, _ = robot.random_state(0)
    for c in tree:
        fast, plain = tree.rows(c, q), robot.tree.rows(c, q)
        assert list(fast.dofs) == list(plain.dofs)
        np.testing.assert_allclose(fast.phi, plain.phi, atol=1e-14)
        np.testing.assert_allclose(fast.K, plain.K, atol=1e-13)


def test_kernels_are_made_once_for_all_charts():
    robot = kl.robots.load("four_bar")
    tree = native(robot.tree, "kernel")
    q, _ = robot.random_state(0)
    other = rechart(tree, q)
    assert isinstance(other, NativeTree) and other._kernels is tree._kernels and len(tree._kernels) == 1


def test_velocities_and_symbols_take_the_plain_way():
    robot = kl.robots.load("four_bar")
    tree = native(robot.tree, "kernel")
    q, v = robot.random_state(0)
    qd = robot.spanning_velocity(q, v)
    (c,) = (c for c in tree if c.parts)
    np.testing.assert_array_equal(tree.rows(c, q, qd).k, robot.tree.rows(c, q, qd).k)
    assert np.any(tree.rows(c, q, qd).k)
    assert isinstance(tree.rows(c, sc.Graph().inputs("q", 3)).K.flat[0], sc.Symbol | float)
    assert not tree._kernels, "no kernel was needed"


def test_without_a_compiler_the_tree_is_itself():
    tree = kl.robots.load("four_bar").tree
    assert native(tree, "numpy") is tree
