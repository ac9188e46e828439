"""What holds at every configuration: block patterns from symbols, weights that tell rounding from geometry."""

import numpy as np
import pytest
from helpers import assert_agree

import kinloop as kl
from kinloop.algorithms.witnesses.dense_kkt import dense_jacobian
from kinloop.clusters import conditioning, grow
from kinloop.errors import MethodError


@pytest.mark.parametrize("name", ["planar_leg_linkage", "four_bar", "bricard", "six_bar"])
def test_dependent_velocities_are_right_on_every_branch(name):
    # a parallelogram has entries of K that vanish on one of its two branches only
    tree = grow(kl.robots.mechanism(name))
    robot = kl.Robot.from_tree(tree, backend="numpy")
    rng = np.random.default_rng(0)
    for _ in range(25):
        q, _ = robot.random_state(rng)
        assert_agree(tree.spanning_jacobian(q), dense_jacobian(tree, q), conditioning(tree, q), name)


def four_bar(tilt: float = 0.0, size: float = 1.0) -> kl.Builder:
    b = kl.Builder("four_bar")
    axis = (0.0, 1.0, tilt)
    figures = {"mass": 1.0, "inertia": (0.01, 0.01, 0.01)}
    b.body("crank", axis="y", **figures)
    b.body("coupler", "crank", axis=axis, at=(0.4 * size, 0, 0), **figures)
    b.body("rocker", axis="y", at=(1.2 * size, 0, 0), **figures)
    b.loop("pin", "coupler", "rocker", axis="y", at=(size, 0, 0), at_successor=(0.8 * size, 0, 0))
    return b


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-7, 1e-6, 1e-5])
def test_a_slight_misalignment_does_not_lock_a_linkage(tilt):
    robot = four_bar(tilt).build(backend="numpy")
    assert robot.nv == 1
    q, v = robot.random_state(1)
    exact = four_bar().build(backend="numpy")
    a, b = (r.forward_dynamics(q, v, np.ones(1), method=m) for r, m in ((robot, "dense_kkt"), (exact, None)))
    assert np.allclose(robot.forward_dynamics(q, v, np.ones(1)), b, rtol=1e3 * tilt + 1e-10)
    assert np.allclose(a, b, rtol=1e3 * tilt + 1e-10)


@pytest.mark.parametrize("size", [1e-4, 1e-2, 1e2])
def test_the_size_of_a_linkage_does_not_matter(size):
    assert four_bar(size=size).build().nv == 1


def test_the_scale_of_a_user_s_equation_does_not_matter():
    for scale in (1e-6, 1.0, 1e6):
        b = kl.Builder("cam")
        for name in ("a", "b"):
            b.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.loop_function("cam", ["a_joint", "b_joint"], lambda x, y, s=scale: s * (y - kl.scalar.sin(x)))
        assert b.build().nv == 1


def test_a_ratio_that_is_zero_in_the_model_can_be_opened():
    b = kl.Builder("belts")
    for name, parent in (("link", "world"), ("tip", "link"), ("rotor1", "world"), ("rotor2", "world")):
        b.body(name, parent, mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.2), axis="y", at=(0.1, 0, 0))
    rotors, links = ["rotor1_joint", "rotor2_joint"], ["link_joint", "tip_joint"]
    b.linear(rotors, links, [[6.0, 0.0], [6.0, 6.0]], name="belt")
    b.independent += rotors
    robot = b.build()
    q, v = robot.random_state(2)
    opened = robot.compile("forward_dynamics", parameters=["belt.ratio"])(q, v, [1.0, 2.0], [6.0, 1.0, 6.0, 6.0])
    b.couplings.clear()
    b.linear(rotors, links, [[6.0, 1.0], [6.0, 6.0]], name="belt")
    assert_agree(opened, b.build(check="off").forward_dynamics(q, v, [1.0, 2.0]), 1e3)  # q is closed for the other belt


def test_approximate_methods_keep_the_robot_s_order_of_velocities():
    b = kl.Builder("interleaved")
    figures = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": (0.1, 0.2, 0.2), "axis": "y", "at": (0.1, 0, 0)}
    b.body("base", **figures)
    b.body("first", "base", **figures)
    b.body("alone", "base", **figures)
    b.body("second", "base", **figures)
    b.body("rotor", "base", **figures)
    b.linear(["rotor_joint"], ["first_joint", "second_joint"], [[2.0, 3.0]])
    robot = b.build()
    assert robot.independent_names == ["base_joint", "first_joint", "second_joint", "alone_joint"]
    q, v = robot.random_state(0)
    tau = np.array([0.1, 0.2, 0.3, 0.4])
    a = robot.forward_dynamics(q, v, tau, method="unconstrained_aba")
    assert_agree(robot.inverse_dynamics(q, v, a, method="unconstrained_rnea"), tau, 1e3)
    tree = kl.Mechanism("tree", robot.mechanism.bodies[:4], robot.mechanism.joints[:4]).build()
    order = [robot.independent_names.index(n) for n in tree.independent_names]
    assert_agree(a[order], tree.forward_dynamics(q[:4], v[order], tau[order]), 1e3)
    with pytest.raises(MethodError, match="cannot be left open"):
        robot.compile("forward_dynamics", "approximate_aba", parameters=["base.mass"])
