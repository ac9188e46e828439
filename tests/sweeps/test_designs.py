"""Which points a sweep visits."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.errors import MethodError
from kinloop.sweeps import Range, grid, latin_hypercube, random


def test_a_grid_has_every_value_with_every_other_the_last_fastest():
    points = grid({"a": [1, 2], "b": ["x", "y", "z"]})
    assert [tuple(points.point(k).values()) for k in range(len(points))] == [
        (1, "x"), (1, "y"), (1, "z"), (2, "x"), (2, "y"), (2, "z"),
    ]  # fmt: skip
    assert type(points.point(0)["a"]) is int


def test_a_latin_hypercube_has_one_point_in_every_part_of_every_range():
    points = latin_hypercube({"a": (0.0, 1.0), "b": Range(1.0, 1e4, log=True), "c": ["u", "v"]}, 50, seed=7)
    assert sorted((np.array(points.columns["a"]) * 50).astype(int)) == list(range(50))
    assert sorted((np.log10(points.columns["b"]) / 4 * 50).astype(int)) == list(range(50))
    assert points.columns["c"].count("u") == 25, "each of two values in half of the points"
    assert abs(np.corrcoef(points.columns["a"], np.log(points.columns["b"]))[0, 1]) < 0.4


@pytest.mark.parametrize("make", [random, latin_hypercube])
def test_seeds_give_the_same_points_and_values_stay_within(make):
    one, two, other = (make({"a": (-1.0, 3.0), "b": (2.0, 2.0)}, 100, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.columns["a"], two.columns["a"])
    assert not np.array_equal(one.columns["a"], other.columns["a"])
    assert min(one.columns["a"]) >= -1.0 and max(one.columns["a"]) <= 3.0 and set(one.columns["b"]) == {2.0}


def test_what_makes_no_points_is_said():
    with pytest.raises(MethodError, match="a grid needs a list of values for 'a', received Range"):
        grid({"a": Range(0, 1)})
    with pytest.raises(MethodError, match="parameter 'a' has no values"):
        grid({"a": []})
    with pytest.raises(MethodError, match="high must be a number not below 2, received 1"):
        random({"a": (2, 1)}, 5)
    with pytest.raises(MethodError, match="begins above zero, received 0"):
        Range(0.0, 1.0, log=True)
    with pytest.raises(MethodError, match="points must be at least 1"):
        latin_hypercube({"a": (0, 1)}, 0)
