"""Inverse dynamics as a product with the numbers of bodies and joints: on every kind of cluster, and put back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kinloop as kl
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_rnea import cluster_rnea
from kinloop.algorithms.trees.regressor import (
    parameter_derivatives,
    parameter_names,
    parameter_values,
    regressor,
    with_inertial_parameters,
)
from kinloop.clusters import grow
from kinloop.errors import ShapeError
from kinloop.model.random import KINDS
from tests.algorithms.trees.test_derivatives import comfortable, differences
from tests.helpers import relative


@pytest.mark.parametrize("kind", KINDS)
def test_forces_are_the_regressor_times_the_numbers(kind):
    s = comfortable(kind, 20)
    Y = regressor(s.tree, s.q, s.v, s.a)
    assert Y.shape == (s.tree.nv, len(parameter_names(s.tree.top)))
    assert relative(Y @ parameter_values(s.tree.top), cluster_rnea(s.tree, s.q, s.v, s.a)) <= 1e-12 * max(1.0, s.cond)


def shaken(m: kl.Mechanism, rng: np.random.Generator) -> kl.Mechanism:
    """The same mechanism with other numbers: bodies lopsided, armature, damping and friction at every joint."""
    bodies = []
    for body in m.bodies:
        X = rng.normal(size=(3, 3))
        moments = np.trace(X @ X.T) * np.eye(3) - X @ X.T
        bodies.append(replace(body, mass=rng.uniform(0.5, 2.0), com=0.2 * rng.normal(size=3), inertia=moments))
    more = {"armature": 0.3, "damping": 0.2, "friction": 0.1}
    joints = [
        j if j.type.is_free else replace(j, **{k: x * rng.uniform(1, 2) for k, x in more.items()}) for j in m.joints
    ]
    return replace(m, bodies=tuple(bodies), joints=tuple(joints))


@pytest.mark.parametrize("name", ["mit_humanoid_leg", "tello", "planar_leg_linkage"])
def test_other_numbers_give_other_forces_by_the_same_regressor(name):
    """Rotors that are symmetric in the zoo are lopsided here: Y must not rely on what looks the same at every angle."""
    robot, rng = kl.robots.load(name), np.random.default_rng(3)
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    other = shaken(robot.mechanism, rng)
    tree = grow(other)
    pi, names = parameter_values(tree.top), robot.parameter_names
    qd = robot.spanning_velocity(q, v)
    damping = np.array([j.damping for j in other.joints for _ in range(j.type.nv)])
    friction = np.array([j.friction for j in other.joints for _ in range(j.type.nv)])
    resisting = robot.spanning_jacobian(q).T @ (damping * qd + friction * np.sign(qd))
    expected = cluster_rnea(tree, q, v, a) + resisting
    assert relative(robot.regressor(q, v, a) @ pi, expected) <= 1e-12
    resting = robot.regressor(q, np.zeros_like(v), a)[:, [n.endswith((".damping", ".friction")) for n in names]]
    assert not np.any(resting)
    again = with_inertial_parameters(robot.mechanism, pi)
    assert relative(parameter_values(grow(again).top), pi) <= 1e-12
    assert relative(kl.Robot(again).inverse_dynamics(q, v, a), cluster_rnea(tree, q, v, a)) <= 1e-11


@pytest.mark.parametrize("kind", ["geared", "rods", "loop_revolute", "mixture"])
def test_accelerations_change_with_the_numbers_as_derivatives_say(kind):
    s = comfortable(kind, 30)
    found = parameter_derivatives(s.tree, s.q, s.v, s.tau)
    m, pi = s.tree.top.mechanism, parameter_values(s.tree.top)
    heavy = replace(m, bodies=tuple(replace(b, accept_inertia=True) for b in m.bodies))
    rng = np.random.default_rng(1)
    step = np.abs(rng.normal(size=len(pi))) * np.maximum(pi, 1e-2) * (np.arange(len(pi)) < 10 * len(m.bodies))
    step[1:10] = 0.0

    def moved(t: float) -> np.ndarray:
        tree = grow(with_inertial_parameters(heavy, pi + t * step))
        return cluster_aba(tree.with_topology(tree.top), s.q, s.v, s.tau)

    slope = differences(moved, 1e-3)
    assert relative(found @ step, slope, scale=float(np.max(np.abs(found) @ np.abs(step)))) <= 1e-8 * max(1.0, s.cond)


def test_both_backends_and_batches_agree():
    robot, rng = kl.robots.load("four_bar"), np.random.default_rng(0)
    drawn = [robot.random_state(rng) for _ in range(5)]
    q, v = np.array([x for x, _ in drawn]), np.array([x for _, x in drawn])
    a = rng.normal(size=v.shape)
    slow = kl.Robot.from_tree(robot.tree, "numpy")
    for call, other in ((robot.regressor, slow.regressor), (robot.parameter_derivatives, slow.parameter_derivatives)):
        rows = call(q, v, a)
        for k in range(5):
            np.testing.assert_array_equal(rows[k], call(q[k], v[k], a[k]))
        assert relative(rows[0], other(q[0], v[0], a[0])) <= 1e-12


def test_numbers_of_another_robot_are_refused():
    with pytest.raises(ShapeError, match="give 39 numbers"):
        kl.robots.load("four_bar").with_inertial_parameters(np.ones(3))
