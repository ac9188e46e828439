"""Robots of the zoo on bases that float or stand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import ModelError

from .numpy_robots import build

BASE = kl.Body("base", mass=3.0, com=(0.1, 0.0, 0.2), inertia=(0.2, 0.3, 0.25))


def test_a_fixed_base_takes_its_freedoms_with_it_and_leaves_the_rest():
    free, fixed = build("tello"), build("tello", floating_base=False)
    assert (fixed.nq, fixed.nv) == (free.nq - 7, free.nv - 6)
    assert fixed.independent_names == free.independent_names[6:]
    q, v = fixed.random_state(0)
    whole_q, whole_v = np.concatenate([free.neutral()[:7], q]), np.concatenate([np.zeros(6), v])
    M, bias = free.mass_matrix(whole_q), free.bias_force(whole_q, whole_v)
    np.testing.assert_allclose(fixed.mass_matrix(q), M[6:, 6:], atol=1e-12)
    np.testing.assert_allclose(fixed.bias_force(q, v), bias[6:], atol=1e-10)


def test_what_floats_or_stands_already_stays_as_it_is():
    assert build("tello", floating_base=True).nv == build("tello").nv
    assert build("four_bar", floating_base=False).nv == build("four_bar").nv == 1
    assert build("stewart", floating_base=False).nv == build("stewart").nv, "its platform is free, and no base"


@pytest.mark.parametrize("name", ["four_bar", "stewart", "geared_chain"])
def test_a_robot_on_a_heavy_base_moves_as_on_the_world(name):
    heavy = kl.Body("base", mass=1e9, inertia=(1e9, 1e9, 1e9))
    standing, floating = (
        kl.Robot(replace(kl.robots.mechanism(name, base), gravity=(0, 0, 0)), backend="numpy") for base in (None, heavy)
    )
    assert (floating.nq, floating.nv) == (standing.nq + 7, standing.nv + 6)
    q, v = standing.random_state(3)
    tau = np.linspace(1.0, 2.0, standing.nv)
    a = standing.forward_dynamics(q, v, tau)
    q, v = np.concatenate([[0, 0, 0, 1, 0, 0, 0], q]), np.concatenate([np.zeros(6), v])
    found = floating.forward_dynamics(q, v, np.concatenate([np.zeros(6), tau]))
    np.testing.assert_allclose(found[6:], a, rtol=1e-5, atol=1e-5 * np.abs(a).max())


def test_a_floating_four_bar_keeps_its_momentum_without_gravity():
    robot = kl.Robot(replace(kl.robots.mechanism("four_bar", floating_base=BASE), gravity=(0, 0, 0)), backend="numpy")
    q, v = robot.random_state(1)
    h, dt = robot.centroidal_momentum(q, v), 1e-6
    a = robot.forward_dynamics(q, v, np.concatenate([np.zeros(6), [5.0]]))
    later = robot.integrate(q, v + 0.5 * dt * a, dt)
    rate = (robot.centroidal_momentum(later, v + dt * a) - h) / dt
    np.testing.assert_allclose(rate, 0.0, atol=1e-4 * np.abs(h).max())
    assert np.max(robot.loop_error(q)) < 1e-9


def test_a_world_without_mass_cannot_float_and_the_error_says_what_to_give():
    with pytest.raises(ModelError, match=r"'four_bar' stands on the world, .* give floating_base=kinloop\.Body\("):
        kl.robots.load("four_bar", floating_base=True)
    with pytest.raises(ModelError, match="'tello' has a floating base, 'torso'; floating_base=True takes it as it is"):
        kl.robots.load("tello", floating_base=BASE)
