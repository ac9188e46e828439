"""Velocities of free bodies in axes that rest."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.sim.turning_axes import transport, turned
from tests.sim.mechanisms import crank_rocker, free_box


def rider():
    """A free body with a hinged arm: eight coordinates, of which three are written in turning axes."""
    b = kl.Builder("rider")
    b.body("base", joint="free", mass=1.0, inertia=(1, 1, 1))
    b.body("arm", "base", axis="x", mass=1.0, inertia=(1, 1, 1))
    b.body("hand", "arm", axis="y", mass=1.0, inertia=(1, 1, 1))
    return b.build().tree


V = np.random.default_rng(1).normal(size=8)


def test_only_linear_velocities_of_free_joints_change():
    tree = rider()
    new = turned(tree, V, 0.1)
    assert np.array_equal(new[[0, 1, 2, 6, 7]], V[[0, 1, 2, 6, 7]]) and not np.any(new[3:6] == V[3:6])
    assert np.array_equal(transport(tree, V)[[0, 1, 2, 6, 7]], np.zeros(5))
    loops = crank_rocker().tree
    assert np.array_equal(turned(loops, np.ones(1), 0.1), [1.0]) and not np.any(transport(loops, np.ones(1)))


def test_turning_is_a_rotation_about_the_angular_velocity():
    h = 0.05  # a step turns by a tenth of a radian at most
    w, x, y = V[:3], V[3:6], turned(rider(), V, h)[3:6]
    assert np.linalg.norm(y) == pytest.approx(np.linalg.norm(x), rel=1e-15)
    assert w @ y == pytest.approx(w @ x, rel=1e-14)
    n = w / np.linalg.norm(w)
    angle = -h * np.linalg.norm(w)  # axes turn on, components turn back
    exact = np.cos(angle) * x + np.sin(angle) * np.cross(n, x) + (1 - np.cos(angle)) * (n @ x) * n
    np.testing.assert_allclose(y, exact, rtol=0, atol=1e-15)


def test_turning_back_restores():
    tree = rider()
    np.testing.assert_allclose(turned(tree, turned(tree, V, 0.2), -0.2), V, rtol=0, atol=1e-15)


def test_transport_is_the_rate_of_turning():
    tree, h = free_box().tree, 1e-5
    v = V[:6]
    rate = (turned(tree, v, h) - turned(tree, v, -h)) / (2 * h)
    np.testing.assert_allclose(transport(tree, v), -rate, rtol=0, atol=1e-9)
