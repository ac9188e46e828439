"""Mass properties of solids, against sums over their points."""

import numpy as np
import pytest

from kinloop.robots.solid_inertias import bar, box, disc

GRID = (np.arange(40) + 0.5) / 40 - 0.5


def moments(points, com):
    """Moments of inertia about the centre of mass of equal point masses of 1 kg in all."""
    x = points - com
    squares = np.mean(x**2, axis=0)
    return squares.sum() - squares


def points(x, y, z):
    return np.stack(np.meshgrid(x * GRID, y * GRID, z * GRID), axis=-1).reshape(-1, 3)


def test_a_box_and_a_bar():
    found = box(1.0, 0.1, 0.2, 0.3)
    np.testing.assert_allclose(found["inertia"], moments(points(0.1, 0.2, 0.3), 0.0), rtol=1e-2)
    beam = bar(1.0, 0.5, 0.1, along="y", sign=-1.0)
    assert beam["com"] == (0.0, -0.25, 0.0)
    np.testing.assert_allclose(beam["inertia"], moments(points(0.1, 0.5, 0.1), 0.0), rtol=1e-2)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_disc_turns_about_its_axis(axis):
    cloud = points(1.0, 1.0, 0.2)
    cloud = cloud[np.hypot(cloud[:, 0], cloud[:, 1]) < 0.5]
    k = "xyz".index(axis)
    expected = np.roll(moments(cloud, 0.0), k - 2)
    np.testing.assert_allclose(disc(1.0, 0.5, 0.2, axis)["inertia"], expected, rtol=2e-2)
