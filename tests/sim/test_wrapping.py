"""Strings around spheres and cylinders: lengths by hand, sides, climbing, and where there is nothing in the way."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.sim.wrapping import around

R = 0.5
A, B = np.array([-1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])
ARC = R * (np.pi - 2 * np.arccos(R))


def length(way, a, b):
    return np.linalg.norm(a - way.first) + way.length + np.linalg.norm(b - way.last)


@pytest.mark.parametrize("kind", ["sphere", "cylinder"])
@pytest.mark.parametrize("up", [1.0, -1.0])
def test_a_string_passes_on_the_side_it_is_told(kind, up):
    way = around(kind, R, A, B, np.array([0.1, 2.0 * up, 0.0]))
    assert way.touches and way.length == pytest.approx(ARC, rel=1e-12)
    assert up * way.first[1] > 0 and up * way.last[1] > 0 and way.first[0] == pytest.approx(-way.last[0])
    assert length(way, A, B) == pytest.approx(2 * np.sqrt(1 - R**2) + ARC, rel=1e-12)


def test_a_clear_string_on_the_wrong_side_goes_around():
    a, b = (np.array([x, 0.6, 0.0]) for x in (-1.0, 1.0))
    assert not around("cylinder", R, a, b, None).touches
    assert not around("cylinder", R, a, b, np.array([0.0, 2.0, 0.0])).touches
    way = around("cylinder", R, a, b, np.array([0.0, -2.0, 0.0]))
    assert way.touches and way.first[1] < 0 and (a - way.first) @ way.first == pytest.approx(0.0, abs=1e-12)
    assert way.length == pytest.approx(2 * R * np.arcsin(way.last[0] / R), rel=1e-12)


def test_a_string_climbs_a_cylinder_evenly():
    a, b = A + [0, 0.1, 0], B + [0, 0.1, 0.8]
    flat, way = around("cylinder", R, A + [0, 0.1, 0], B + [0, 0.1, 0], None), around("cylinder", R, a, b, None)
    plan = length(flat, A + [0, 0.1, 0], B + [0, 0.1, 0])
    assert length(way, a, b) == pytest.approx(np.hypot(plan, 0.8), rel=1e-12), "unrolled it is straight"


def test_a_string_inside_is_bent_at_one_point_as_light_is():
    a, b = np.array([-1.0, 0.9, 0.0]), np.array([0.8, 1.0, 0.0])
    way = around("sphere", R, a, b, np.array([0.0, 0.1, 0.0]))
    assert way.touches and way.length == 0.0 and way.first.tolist() == way.last.tolist()
    n = way.first / R
    leaving = [(x - way.first) / np.linalg.norm(x - way.first) @ n for x in (a, b)]
    assert leaving[0] == pytest.approx(leaving[1], abs=1e-9)
    through = around("sphere", R, A, B + [0, 0.1, 0], np.array([0.0, 0.1, 0.0]))
    assert not through.touches, "it passes through"


def test_points_inside_and_points_in_line_do_no_harm():
    assert not around("sphere", R, 0.1 * A, B, None).touches
    way = around("sphere", R, A, B, None)
    assert way.touches and length(way, A, B) == pytest.approx(2 * np.sqrt(1 - R**2) + ARC, rel=1e-12)
