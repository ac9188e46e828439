"""What motors can do at joints: facets and vertices against forces of motors, boxes against their corners."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import kinloop as kl
from kinloop.control import MotorSpace, TorquePolytope
from kinloop.errors import MethodError, SingularConfiguration
from kinloop.sim import Motor

ROTORS = [f"left-thigh-to-knee-ankle-rotor-{k}" for k in (1, 2)]
ANKLE = ["left-thigh-to-shin", "left-shin-to-foot"]


def random_polytope(motors: int, joints: int, seed: int) -> tuple[TorquePolytope, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    J, low, high = rng.normal(size=(motors, joints)), -rng.uniform(0.5, 2, motors), rng.uniform(0.5, 2, motors)
    return TorquePolytope.of(J, low, high, [f"j{k}" for k in range(joints)]), J, low, high


@pytest.mark.parametrize(("motors", "joints"), [(1, 1), (2, 2), (3, 2), (5, 2), (3, 3), (5, 3), (4, 4)])
def test_forces_of_motors_are_inside_and_no_facet_is_loose(motors, joints):
    polytope, J, low, high = random_polytope(motors, joints, motors + 10 * joints)
    rng = np.random.default_rng(0)
    inside = rng.uniform(low, high, (500, motors)) @ J
    assert polytope.contains(inside).all()
    assert np.allclose(np.linalg.norm(polytope.normals, axis=1), 1.0)
    # every facet is touched by as many corners as span it, and every corner of the box of motors is within
    corners = np.array(list(product(*zip(low, high, strict=True)))) @ J
    slack = polytope.offsets - corners @ polytope.normals.T
    assert slack.min() > -1e-12
    for k in range(len(polytope.normals)):
        on = corners[slack[:, k] < 1e-10]
        assert np.linalg.matrix_rank(on - on[0], tol=1e-8) == joints - 1
    assert not polytope.contains(polytope.centre + 1.001 * (polytope.vertices - polytope.centre)).any()
    assert polytope.contains(polytope.vertices).all()


@pytest.mark.parametrize(
    ("motors", "joints", "count"), [(1, 1, 2), (2, 2, 4), (3, 2, 6), (5, 2, 10), (3, 3, 8), (4, 3, 14)]
)
def test_there_are_as_many_corners_as_a_zonotope_has(motors, joints, count):
    """2 sum_k C(m - 1, k) for k < n generic generators in n dimensions."""
    assert len(random_polytope(motors, joints, 7)[0].vertices) == count


def test_a_point_is_inside_exactly_where_motors_can_make_it():
    polytope, J, low, high = random_polytope(3, 3, 3)
    f = np.random.default_rng(1).normal(scale=0.6, size=(400, 3))
    motors = np.linalg.solve(J.T, f.T).T
    possible = np.all((low <= motors) & (motors <= high), axis=1)
    assert np.array_equal(polytope.contains(f), possible) and 20 < possible.sum() < 380
    assert np.array_equal(polytope.contains(f), polytope.largest_along(f) >= 1.0)


@pytest.mark.parametrize(("motors", "joints"), [(1, 1), (2, 2), (4, 2), (3, 3), (6, 3)])
def test_the_largest_box_touches_and_none_is_larger(motors, joints):
    polytope, *_ = random_polytope(motors, joints, 11)
    t = polytope.box()
    signs = np.array(list(product((-1.0, 1.0), repeat=joints)))
    assert polytope.contains(signs * t).all() and not polytope.contains(signs * t * 1.0001).all()
    rng = np.random.default_rng(2)
    for scale in (0.01, 0.3):
        for _ in range(300):
            ratio = t * np.exp(scale * rng.normal(size=joints))
            other = polytope.box(ratio)
            assert np.prod(other) <= np.prod(t) * (1 + 1e-9)
            assert np.allclose(other / other[0], ratio / ratio[0])


def test_the_ankle_of_tello_has_a_diamond():
    """Two equal motors behind a differential: knee and ankle share them, |a| / A + |b| / B <= 1."""
    space = MotorSpace(kl.robots.load("tello"), [Motor(name, limit=3.0) for name in ROTORS], ANKLE)
    x = np.array([0.1, -0.2])
    polytope, J = space.reachable(x), space.jacobian(x)
    A, B = 6.0 * np.abs(J[:, 0]).mean(), 6.0 * np.abs(J[:, 1]).mean()
    assert np.allclose(sorted(np.abs(polytope.vertices).max(axis=0)), sorted([A, B]), rtol=1e-12)
    assert np.allclose(polytope.box(), [A / 2, B / 2], rtol=1e-9)
    assert np.isclose(polytope.largest_along([1.0, 0.0]), A) and np.isinf(polytope.largest_along([0.0, 0.0]))


def test_a_plot_is_written(tmp_path):
    polytope, *_ = random_polytope(4, 3, 5)
    path = polytope.plot(tmp_path / "limits.svg", joints=(0, 2))
    assert "<svg" in path.read_text(encoding="utf-8")
    with pytest.raises(MethodError, match="two different numbers from 0 to 2"):
        polytope.plot(tmp_path / "limits.svg", joints=(1, 1))
    with pytest.raises(MethodError, match="one joint is a range"):
        random_polytope(1, 1, 0)[0].plot(tmp_path / "limits.svg")


def test_a_projection_is_what_two_joints_can_have_whatever_the_third_has():
    polytope, J, low, high = random_polytope(4, 3, 5)
    flat = polytope.onto((0, 2))
    rng = np.random.default_rng(0)
    assert flat.contains((rng.uniform(low, high, (300, 4)) @ J)[:, [0, 2]]).all()
    assert all(
        np.isclose(np.abs(polytope.vertices[:, [0, 2]] - v).max(axis=1).min(), 0.0, atol=1e-9) for v in flat.vertices
    )


def test_what_has_no_answer_is_refused():
    J = np.array([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(SingularConfiguration, match="no volume"):
        TorquePolytope.of(J, -np.ones(2), np.ones(2), "ab")
    with pytest.raises(MethodError, match="motor 1 has no limits"):
        TorquePolytope.of(np.eye(2), np.array([-1.0, -np.inf]), np.ones(2), "ab")
    fast = TorquePolytope.of(np.eye(2), np.array([-3.0, -1.0]), np.array([-1.0, 1.0]), "ab")
    for ask in (fast.box, lambda: fast.largest_along([1.0, 0.0])):
        with pytest.raises(MethodError, match="cannot be without force"):
            ask()
    with pytest.raises(MethodError, match="ratio is"):
        random_polytope(2, 2, 0)[0].box([-1.0, 1.0])
    with pytest.raises(MethodError, match="17 motors have too many corners"):
        _ = random_polytope(17, 2, 0)[0].vertices
