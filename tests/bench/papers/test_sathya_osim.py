"""Figures 2 and 3 of [Sathya2023]."""

import numpy as np
import pytest

from kinloop.bench.papers.sathya_osim import LENGTHS, crossing, notes, ratio_curve, relative_length, stalk


def test_curves_cross_where_the_lines_do():
    entry = {"pv_osim": [90, 90 + 8 * 20], "efpa": [100, 100 + 8 * 10]}
    at = crossing(entry)
    assert at == pytest.approx(LENGTHS[0] + 1.0)
    x, y = ratio_curve(entry)
    assert x[0] == LENGTHS[0]
    assert y[0] == pytest.approx(100 / 90) and y[-1] < 1
    assert np.isinf(crossing({"pv_osim": [1, 2], "efpa": [1, 3]}))
    assert notes({"stalk 2": {"pv_osim": [1, 2], "efpa": [1, 3]}}) == []
    assert notes({"stalk 9": entry})[0].startswith("EFPA overtakes PV-OSIM from 9 branches on, beyond 3 links")


def test_operations_grow_with_the_stalk():
    assert all(short < long for short, long in stalk(1).values())


def test_differences_are_relative_lengths():
    a, exact = np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([[0.0, 5.0], [1.0, 0.0]])
    np.testing.assert_allclose(relative_length(a, exact), [np.sqrt(10) / 5, 0.0])
