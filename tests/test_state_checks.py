"""States that are not states are refused over the whole front door, with the reason; and only those."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kinloop as kl
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.requests import ask
from kinloop.clusters.closing import TOLERANCE
from kinloop.errors import LoopNotClosed, MethodError, NotAState, ShapeError, SingularConfiguration
from kinloop.states import StateCheck

BACKENDS = ("kernel", "numpy")


def inputs_of(robot: kl.Robot, quantity: str, q: np.ndarray) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Everything a quantity takes, at rest, and its options."""
    sizes = {"v": robot.nv, "tau": robot.nv, "a": robot.nv, "f": 6, "x": 1}
    entry = QUANTITIES[quantity]
    options: dict[str, Any] = {"frames": [robot.body_names[0]]} if entry.frames else {}
    if entry.constraints:
        options = {"constraints": [kl.Rows(robot.body_names[0], [[0, 1.0, 0, 0, 0, 0]])]}
    return [q if name == "q" else np.zeros(sizes[name]) for name in entry.inputs], options


def each_quantity(robot: kl.Robot, q: np.ndarray) -> dict[str, Callable[[], Any]]:
    def call(quantity: str) -> Callable[[], Any]:
        inputs, options = inputs_of(robot, quantity, q)
        return lambda: robot.compute(quantity, *inputs, **options)

    return {quantity: call(quantity) for quantity in QUANTITIES}


@pytest.fixture(scope="module")
def four_bar() -> kl.Robot:
    return kl.Robot(kl.robots.mechanism("four_bar"), backend="numpy")


def test_open_loops_are_refused_by_every_quantity(four_bar: kl.Robot) -> None:
    q, v = four_bar.random_state(0)
    opened = q + np.array([0.0, 0.3, 0.0])
    for quantity, call in each_quantity(four_bar, opened).items():
        with pytest.raises(LoopNotClosed, match=r"loop 'pin' is open by 0\.\d+ m between its points at q .*close"):
            call()
            pytest.fail(quantity)
    for call in (
        lambda: four_bar.constrained_dynamics(opened, v, v),
        lambda: four_bar.reactions(opened, v, v),
        lambda: four_bar.loop_jacobian(opened),
        lambda: four_bar.integrate(opened, v),
        lambda: four_bar.check_closed(opened),
    ):
        with pytest.raises(LoopNotClosed, match="'pin'"):
            call()
    assert four_bar.loop_error(opened).max() > 0.01
    assert np.max(four_bar.loop_error(four_bar.close(opened))) < TOLERANCE


@pytest.mark.parametrize("backend", BACKENDS)
def test_loops_may_be_open_by_a_hundredth_of_a_millimetre(backend: str) -> None:
    robot = kl.Robot(kl.robots.mechanism("four_bar"), backend=backend)
    q, v = robot.random_state(0)
    aside = np.array([0.0, 1e-6, 0.0])
    by_one = float(np.max(robot.loop_error(q + aside)))
    for opening in (0.8e-5, 1.2e-5):
        opened = q + aside * (opening / by_one)
        assert np.max(robot.loop_error(opened)) == pytest.approx(opening, rel=1e-3)
        if opening < 1e-5:
            robot.check_closed(opened)
            assert np.all(np.isfinite(robot.forward_dynamics(opened, v, v)))
            assert kl.Simulator(robot).state(opened, v).ok
        else:
            for call in (
                lambda x: robot.check_closed(x),
                lambda x: robot.forward_dynamics(x, v, v),
                lambda x: kl.Simulator(robot).state(x, v),
            ):
                with pytest.raises(LoopNotClosed, match=r"loop 'pin' is open by 1\.2e-05 m"):
                    call(opened)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_batch_row_at_fault_is_named(backend: str) -> None:
    robot = kl.Robot(kl.robots.mechanism("four_bar"), backend=backend)
    Q = np.array([robot.random_state(k)[0] for k in range(5)])
    rest = np.zeros((5, 1))
    assert robot.forward_dynamics(Q, rest, rest).shape == (5, 1)
    Q[3] += 0.2
    with pytest.raises(LoopNotClosed, match="at q of row 3 "):
        robot.forward_dynamics(Q, rest, rest)
    assert robot.forward_dynamics(Q[:0], rest[:0], rest[:0]).shape == (0, 1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("norm", [2.0, 0.0, 1.0 + 1e-4])
def test_quaternions_that_are_not_of_unit_length_are_refused(norm: float, backend: str) -> None:
    b = kl.Builder("ball")
    b.body("body", mass=1.0, inertia=(0.1, 0.2, 0.25), joint="free")
    b.body("arm", "body", mass=1.0, inertia=(0.1, 0.2, 0.25), joint="spherical", at=(0.3, 0, 0))
    robot = b.build(backend=backend)
    q, v = robot.random_state(1)
    robot.forward_dynamics(q, v, v)
    for at, joint in ((slice(3, 7), "body_joint"), (slice(7, 11), "arm_joint")):
        wrong = q.copy()
        wrong[at] *= norm
        with pytest.raises(NotAState, match=f"quaternion of joint '{joint}' in q has norm {norm:.6g}"):
            robot.forward_dynamics(wrong, v, v)
        with pytest.raises(NotAState, match=joint):
            robot.check_closed(wrong)
    single = q.astype(np.float32)
    assert np.all(np.isfinite(robot.forward_dynamics(single, v, v)))


@pytest.mark.parametrize("kind", [complex, np.complex64, object])
def test_complex_numbers_are_refused_not_cut(four_bar: kl.Robot, kind: type) -> None:
    q, v = four_bar.random_state(0)
    with pytest.raises(ShapeError, match="q must be real numbers"):
        four_bar.forward_dynamics((q + 0.1j).astype(kind), v, v)
    with pytest.raises(ShapeError, match="v must be real numbers"):
        four_bar.forward_dynamics(q, [1j], v)
    with pytest.raises(ShapeError, match="f_ext must be real numbers"):
        four_bar.forward_dynamics(q, v, v, np.zeros((3, 6), dtype=complex))
    with pytest.raises(ShapeError, match="q must be real numbers"):
        four_bar.forward_dynamics([str(x) for x in q], v, v)  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("crank", [0.0, np.pi, -np.pi, 3 * np.pi])
def test_dead_centres_are_refused_where_charts_matter(crank: float, backend: str) -> None:
    """With the slider as coordinate a stretched slider-crank is at a dead centre; with the crank it is not."""
    by_crank = kl.Robot(kl.robots.mechanism("slider_crank"), backend=backend)
    robot = by_crank.with_independent(["slider_joint"])
    q = by_crank.close([crank, -crank, 0.4 + 0.1 * np.cos(crank)])
    assert abs(np.sin(q[0])) < 1e-9
    for quantity, call in each_quantity(robot, q).items():
        if QUANTITIES[quantity].pose:
            assert np.all(np.isfinite(call())), quantity
            continue
        with pytest.raises(SingularConfiguration, match=r"do not determine the motion of .'wrist_pin'"):
            call()
            pytest.fail(quantity)
    with pytest.raises(SingularConfiguration, match="with_independent"):
        robot.forward_dynamics(q, [0.0], [1.0])
    assert np.all(np.isfinite(by_crank.forward_dynamics(q, [0.0], [1.0])))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_results_that_are_not_finite_are_refused(four_bar: kl.Robot, value: float) -> None:
    q, _ = four_bar.random_state(0)
    asked = ask(four_bar.tree.top, "forward_dynamics")
    states, off = (StateCheck(four_bar.kernels, check) for check in ("on", "off"))
    for result in (np.array([value]), (np.zeros(1), np.array([1.0, value]))):
        with pytest.raises(SingularConfiguration, match="forward_dynamics of 'four_bar' is not finite"):
            states.answer(asked, [q], lambda given, result=result: result)
        assert off.answer(asked, [q], lambda given, result=result: result) is result


@pytest.mark.parametrize("backend", BACKENDS)
def test_checks_can_be_left_out_and_change_no_bit(backend: str) -> None:
    mechanism = kl.robots.mechanism("four_bar")
    robot, off = kl.Robot(mechanism, backend), kl.Robot(mechanism, backend, check="off")
    q, v = robot.random_state(2)
    assert np.array_equal(robot.forward_dynamics(q, v, v), off.forward_dynamics(q, v, v))
    for unchecked in (off, pickle.loads(pickle.dumps(off)), off.with_independent(["joint1"])):
        assert np.all(np.isfinite(unchecked.forward_dynamics(q + 0.1, v, v)))
    with pytest.raises(MethodError, match="check 'maybe' is not one of 'on', 'off'"):
        kl.Robot(mechanism, check="maybe")


def test_what_close_leaves_open_every_check_accepts() -> None:
    """A flat loop whose two parts lie 8e-6 m out of one plane closes no better than that."""
    b = kl.Builder("skew")
    solid = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": (0.01, 0.02, 0.02), "axis": "z"}
    b.body("crank", **solid)
    b.body("coupler", "crank", at=(0.4, 0, 0), **solid)
    b.body("rocker", at=(1.0, 0, 8e-6), **solid)
    b.loop("pin", "coupler", "rocker", axis="z", at=(0.9, 0, 0), at_successor=(0.7, 0, 0))
    robot = b.build(backend="numpy")
    q = robot.close(robot.neutral() + 0.1)
    assert 1e-6 < np.max(robot.loop_error(q)) < TOLERANCE
    robot.check_closed(q)
    assert np.all(np.isfinite(robot.forward_dynamics(q, [0.1], [0.0])))
    assert len(kl.Simulator(robot).state(q)) == 1
