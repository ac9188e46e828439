"""Figures 11, 13 of [Chignoli2023] and Figure 3 of [Chignoli2023b]."""

import numpy as np
import pytest

from kinloop import robots
from kinloop.bench.papers.chignoli_chains import curve, growth, randomised


def test_growth_is_the_exponent_of_the_last_doubling():
    assert growth([2, 12, 24], [1.0, 12.0, 24.0]) == pytest.approx(1.0)
    assert growth([2, 12, 24], [1.0, 12.0**3, 24.0**3]) == pytest.approx(3.0)


def test_random_gears_stand_where_gears_were():
    robot = robots.load("belt_chain", links=2)
    (before,), (after,) = robot.mechanism.couplings, randomised(robot, 1).mechanism.couplings
    np.testing.assert_array_equal(before.matrix != 0, after.matrix != 0)
    ratios = after.matrix[after.matrix != 0]
    assert np.all((ratios >= 2) & (ratios <= 10)) and len(np.unique(ratios)) == len(ratios)


def test_curves_go_over_the_links(tiny):
    x, y = curve(tiny["parts"]["chains"], "geared_chain", "forward_dynamics", "cluster_aba", "operations")
    assert x == [2, 3] and y[0] < y[1]
