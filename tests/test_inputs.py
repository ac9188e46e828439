"""What users hand over is checked in one place: shapes, kinds, finite numbers, wrenches, how many arrays."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.algorithms.requests import ask
from kinloop.errors import MethodError, NonFiniteInput, ShapeError, UnknownName
from kinloop.inputs import SHORT, checked, checked_inputs, checked_wrenches, largest, wrenches_by_body


@pytest.fixture(scope="module")
def robot() -> kl.Robot:
    return kl.Robot(kl.robots.mechanism("four_bar"), backend="numpy")


def test_lists_integers_and_batches_become_float_arrays():
    assert checked("q", [1, 2, 3], 3).dtype == float
    assert checked("q", np.zeros((4, 2, 3), dtype=np.float32), 3).shape == (4, 2, 3)
    x = np.zeros(3)
    assert checked("q", x, 3) is x
    assert checked("q", np.zeros((0, 3)), 3).shape == (0, 3)


def test_wrong_shapes_and_kinds_are_refused_with_what_was_expected_and_received():
    with pytest.raises(ShapeError, match=r"q must have shape \(3,\) or \(\.\.\., 3\), received \(4,\)"):
        checked("q", np.zeros(4), 3)
    with pytest.raises(ShapeError, match=r"received \(\)"):
        checked("q", 1.0, 3)
    with pytest.raises(ShapeError, match=r"q must be real numbers of shape \(\.\.\., 3\), received str"):
        checked("q", "upright", 3)
    with pytest.raises(ShapeError, match=r"f_ext must be real numbers of shape \(\.\.\., 2, 6\), received list"):
        checked_wrenches([[1.0], "push"], 2)  # type: ignore[list-item]
    with pytest.raises(ShapeError, match=r"f_ext must have shape \(\.\.\., 2, 6\), one wrench per body, rec.* \(12,\)"):
        checked_wrenches(np.zeros(12), 2)


def test_the_place_of_what_is_not_finite_is_named():
    with pytest.raises(NonFiniteInput, match="v is nan at index 1; give finite numbers"):
        checked("v", [0.0, np.nan], 2)
    with pytest.raises(NonFiniteInput, match=r"v is inf at index \[2, 0\]"):
        checked("v", [[0.0], [1.0], [np.inf]], 1)
    f_ext = np.zeros((2, 6))
    f_ext[1, 2] = -np.inf
    with pytest.raises(NonFiniteInput, match="f_ext is -inf at index 8"):
        checked_wrenches(f_ext, 2)


@pytest.mark.parametrize("size", [1, 3, SHORT, SHORT + 1])
@pytest.mark.parametrize("name", ["q", "v"])
@pytest.mark.filterwarnings("error")
def test_limits_are_exact_wherever_the_number_is(name, size):
    limit = largest(name)
    for k in {0, size // 2, size - 1}:
        x = np.zeros(size)
        for good in (limit, -limit, 0.5 * limit, np.nextafter(limit, 0.0)):
            x[k] = good
            assert checked(name, x, size) is x
        for bad in (np.nextafter(limit, np.inf), -np.nextafter(limit, np.inf), 1e300, np.nan, np.inf, -np.inf):
            x[k] = bad
            with pytest.raises(NonFiniteInput, match=f"at index {k}"):
                checked(name, x, size)
    x = np.full(size, limit)
    assert checked(name, x, size) is x


def test_wrenches_are_laid_out_body_by_body():
    f = np.arange(24.0).reshape(2, 2, 6)
    assert np.array_equal(checked_wrenches(f, 2), f.reshape(2, 12))


def test_inputs_of_a_request_come_in_the_order_of_its_kernel(robot):
    q, v = robot.random_state(0)
    f_ext = np.ones((3, 6))
    constraints = [kl.Rows(robot.body_names[0], [[0.5, 0, 0, 0, 0, 0]], [2.0])]
    asked = ask(robot.tree.top, "constrained_dynamics", None, (), constraints, True)
    given = checked_inputs(robot.tree, asked, (q, v, [1]), f_ext)
    assert [x.shape for x in given] == [(3,), (1,), (1,), (18,), (2,)]
    assert np.array_equal(given[-1], [0.5, 2.0])


def test_the_wrong_number_of_arrays_is_refused_by_what_is_taken(robot):
    q, v = robot.random_state(0)
    with pytest.raises(MethodError, match="forward_dynamics takes q, v, tau; received 2 arrays"):
        robot.compute("forward_dynamics", q, v)
    with pytest.raises(MethodError, match="mass_matrix takes q; received 2 arrays"):
        robot.compute("mass_matrix", q, v)
    with pytest.raises(ShapeError, match=r"x must have shape \(3,\)"):
        robot.delassus_solve(q, [kl.Point(robot.body_names[0])], np.zeros(2))


def test_wrenches_by_body_are_rows_of_zeros_but_for_those_named():
    found = wrenches_by_body({"b": [1, 2, 3, 4, 5, 6], "c": np.ones((2, 6))}, ["a", "b", "c"])
    assert found.shape == (2, 3, 6) and not found[:, 0].any()
    np.testing.assert_array_equal(found[:, 1], [[1, 2, 3, 4, 5, 6]] * 2)
    np.testing.assert_array_equal(found[:, 2], np.ones((2, 6)))
    assert not wrenches_by_body({}, ["a"]).any()


def test_wrenches_by_body_say_what_is_wrong_with_them():
    with pytest.raises(UnknownName, match="no body named 'link9'; did you mean 'link1'"):
        wrenches_by_body({"link9": np.zeros(6)}, ["link1"])
    with pytest.raises(ShapeError, match=r"f_ext of 'a' must have shape \(6,\) or .* received \(3,\)"):
        wrenches_by_body({"a": np.zeros(3)}, ["a"])
    with pytest.raises(ShapeError, match=r"as many rows for every body, received 'a' \(2, 6\), 'b' \(3, 6\)"):
        wrenches_by_body({"a": np.zeros((2, 6)), "b": np.zeros((3, 6))}, ["a", "b"])


def test_everything_that_takes_wrenches_takes_them_by_body():
    robot = kl.robots.load("four_bar")
    (q, v), tau, n = robot.random_state(0), np.ones(1), len(robot.body_names)
    wrench, weld = np.arange(1.0, 7.0), [kl.Rows(robot.body_names[0], np.eye(6)[2:3], np.zeros(1))]
    given, f_ext = {robot.body_names[1]: wrench}, np.zeros((n, 6))
    f_ext[1] = wrench
    for asked in (
        lambda f: robot.forward_dynamics(q, v, tau, f_ext=f),
        lambda f: robot.forward_dynamics(q, v, tau, f_ext=f, method="dense_kkt"),
        lambda f: robot.inverse_dynamics(q, v, tau, f_ext=f),
        lambda f: robot.bias_force(q, v, f_ext=f),
        lambda f: robot.constrained_dynamics(q, v, tau, weld, f_ext=f, on_conflict="least_squares")[1],
        lambda f: robot.forward_dynamics_derivatives(q, v, tau, f_ext=f)[0],
        lambda f: robot.inverse_dynamics_second_derivatives(q, v, tau, f_ext=f).qq,
        lambda f: robot.compute("forward_dynamics", q, v, tau, f_ext=f),
        lambda f: robot.compute("bias_force", q, v, tau, tau, f_ext, f_ext=f, derivative="jvp")[-1],
    ):
        for _ in range(2):  # the careful way, then the quick one
            np.testing.assert_array_equal(asked(given), asked(f_ext))
    with pytest.raises(NonFiniteInput, match="f_ext is nan"):
        robot.bias_force(q, v, f_ext={robot.body_names[0]: np.full(6, np.nan)})
    rows = {robot.body_names[1]: np.outer([0.0, 1.0], wrench)}
    both = robot.bias_force(q, v, f_ext=rows)
    np.testing.assert_allclose(both, [robot.bias_force(q, v), robot.bias_force(q, v, f_ext=f_ext)], rtol=1e-12)
