"""Smooth solids are closed, and their faces look outwards."""

import numpy as np
import pytest

from kinloop.viewer.solids import rounded_box, tapered


def volume(mesh):
    a, b, c = (mesh[0][mesh[1][:, k]] for k in range(3))
    return float(np.sum(np.cross(a, b) * c) / 6)


def test_a_tapered_link_has_the_volume_of_its_cone_and_ends():
    r0, r1, length = 0.3, 0.2, 2.0
    exact = np.pi * length * (r0**2 + r0 * r1 + r1**2) / 3 + 2 / 3 * np.pi * (r0**3 + r1**3)
    vertices, _ = mesh = tapered(r0, r1, length)
    assert volume(mesh) == pytest.approx(exact, rel=0.05)
    np.testing.assert_allclose([vertices[:, 2].min(), vertices[:, 2].max()], [-r0, length + r1])


def test_a_rounded_box_fills_most_of_its_box():
    lengths = np.array([1.0, 2.0, 3.0])
    vertices, _ = mesh = rounded_box(lengths)
    assert 0.8 * lengths.prod() < volume(mesh) < lengths.prod()
    assert np.all(np.abs(vertices) <= 0.5 * lengths + 1e-12)
