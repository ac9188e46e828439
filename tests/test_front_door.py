"""The front door at its quickest: one native call, with the same bits, checks and errors as the careful way."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import threading
import timeit
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import assert_enough

import kinloop as kl
from kinloop import front_door
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.trees.reactions import named
from kinloop.compiler.run import builtin
from kinloop.errors import KinloopError, NonFiniteInput, SingularConfiguration

pytestmark = pytest.mark.skipif(not builtin.usable(), reason="no builtins on this interpreter")

ROBOTS = ("four_bar", "geared_chain", "tello")


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> kl.Robot:
    return kl.Robot(kl.robots.mechanism(request.param))


def calls(robot: kl.Robot, q: Any, v: Any, tau: Any) -> dict[str, Callable[[], Any]]:
    """Every quantity that a method without constraints asks for, by that method."""
    frame, wrench = robot.body_names[-1], np.arange(6.0)
    given = {"q": q, "v": v, "tau": tau, "a": tau, "f": wrench}
    out: dict[str, Callable[[], Any]] = {}
    for quantity, entry in QUANTITIES.items():
        if not entry.constraints:
            inputs = {name: given[name] for name in entry.inputs}
            if entry.frames:
                inputs |= {"frames": [frame, robot.body_names[0]]} if entry.frames == "many" else {"frame": frame}
            out[quantity] = lambda quantity=quantity, inputs=inputs: getattr(robot, quantity)(**inputs)
    return out


def careful(robot: kl.Robot, quantity: str, q: Any, v: Any, tau: Any) -> Any:
    """The same the careful way."""
    entry, given = QUANTITIES[quantity], {"q": q, "v": v, "tau": tau, "a": tau, "f": np.arange(6.0)}
    frames = {"": [], "one": [robot.body_names[-1]], "many": [robot.body_names[-1], robot.body_names[0]]}[entry.frames]
    found = robot._door.compute(quantity, [given[name] for name in entry.inputs], frames=frames)
    return named(robot.tree, *found) if quantity == "reactions" else found


def same(x: Any, y: Any) -> bool:
    if isinstance(x, dict):
        return list(x) == list(y) and all(map(same, x.values(), y.values()))
    if isinstance(x, tuple):
        return len(x) == len(y) and all(map(same, x, y))
    return type(x) is type(y) is np.ndarray and x.shape == y.shape and x.tobytes() == y.tobytes()


@pytest.fixture
def no_careful_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("the careful way was taken")

    monkeypatch.setattr(front_door, "checked_inputs", refuse)


def state(robot: kl.Robot, seed: int) -> tuple[Any, Any, Any]:
    q, v = robot.random_state(seed)
    return q, v, np.random.default_rng(seed).normal(size=robot.nv)


def test_from_the_second_call_on_a_state_goes_to_machine_code_at_once(robot, request):
    first = {name: call() for name, call in calls(robot, *state(robot, 0)).items()}
    expected = {name: careful(robot, name, *state(robot, 1)) for name in first}
    request.getfixturevalue("no_careful_way")
    for name, call in calls(robot, *state(robot, 0)).items():
        assert same(call(), first[name]), name
    for name, call in calls(robot, *state(robot, 1)).items():
        assert same(call(), expected[name]), name
    q, v, tau = state(robot, 0)
    for name in ("forward_dynamics", "kinetic_energy", "log_determinant"):
        inputs = {"q": q, "v": v, "tau": tau}
        assert same(robot.compute(name, *(inputs[x] for x in QUANTITIES[name].inputs)), first[name])
    assert same(robot.compute("frame_pose", q, frames=robot.body_names[-1]), first["frame_pose"])
    assert_enough(len(first), 20, "quantities")


def test_by_name_errors_are_as_they_were(robot):
    q, v, tau = state(robot, 0)
    for call, message in (
        (lambda: robot.compute("forward_dynamics", q, v), "takes q, v, tau; received 2 arrays"),
        (lambda: robot.compute("forward_dynamics", q, v, tau, tau), "takes q, v, tau; received 4 arrays"),
        (lambda: robot.compute("forward_dynamics", q, v, tau, frames="x"), "takes no frames; received"),
        (lambda: robot.compute("frame_pose", q), "frame_pose needs frames="),
        (lambda: robot.compute("frame_pose", q, frames=robot.body_names[:2]), "takes one frame"),
        (lambda: robot.compute("mass_matrix", q, f_ext=np.zeros(6)), "takes no external forces"),
        (lambda: robot.compute("mass_matrix", q, constraints=[kl.Point("x")]), "takes no constraints"),
        (lambda: robot.compute("weight", q), "'weight'"),
    ):
        for _ in range(2):
            with pytest.raises(KinloopError, match=message):
                call()


def test_it_takes_what_the_careful_way_takes(robot):
    q, v, tau = state(robot, 2)
    forms: list[Callable[[Any], Any]] = [
        list, tuple, np.float32, lambda x: np.repeat(x, 2)[::2], lambda x: np.stack([x, x]), lambda x: x[None],
        lambda x: x.astype(">f8"), lambda x: x.astype(object), np.ma.array,
    ]  # fmt: skip
    ready = {name: call() for name, call in calls(robot, q, v, tau).items()}
    for form in forms:
        given = (form(q), form(v), form(tau))
        if form is np.float32 and robot.mechanism.loops:
            continue  # rounded so, loops are open
        for name, call in calls(robot, *given).items():
            assert same(call(), careful(robot, name, *given)), name
    locked = [x.copy() for x in (q, v, tau)]
    for x in locked:
        x.flags.writeable = False
    for name, call in calls(robot, *locked).items():
        assert same(call(), ready[name]), name


def wrong_states(robot: kl.Robot) -> list[tuple[Any, Any, Any]]:
    q, v, tau = state(robot, 3)
    out = [(q[:-1], v, tau), (q, np.ones(robot.nv + 1), tau), ("q", v, tau), (q * 1j, v, tau), (None, v, tau)]
    for bad in (np.nan, np.inf, 1e13):
        out.append((np.where(np.arange(robot.nq) == robot.nq - 1, bad, q), v, tau))
    for bad in (np.nan, -np.inf, 1e101):
        out += [(q, np.full(robot.nv, bad), tau), (q, v, np.full(robot.nv, bad))]
    out += [(q + 0.3, v, tau), (q * 1.5, v, tau), (q, np.full(robot.nv, 1e99), tau)]
    return out


def error_of(call: Callable[[], Any]) -> str:
    try:
        call()
    except KinloopError as error:
        return f"{type(error).__name__} {error}"
    return ""


def test_errors_are_those_of_the_careful_way(robot):
    refused = 0
    for name, call in calls(robot, *state(robot, 0)).items():
        call(), call(), name
    for wrong in wrong_states(robot):
        for name, call in calls(robot, *wrong).items():
            expected = error_of(lambda name=name, wrong=wrong: careful(robot, name, *wrong))
            assert error_of(call) == expected, name
            refused += bool(expected)
    assert_enough(refused, 150, "calls refused")


def test_options_take_the_careful_way_and_leave_the_door_as_it_is():
    robot = kl.Robot(kl.robots.mechanism("four_bar"))
    q, v, tau = state(robot, 0)
    pushed = np.ones((len(robot.body_names), 6))
    other = robot.forward_dynamics(q, v, tau, method="projection")
    assert len(robot.kernels) == 1  # the default method was not made for it
    with_forces = robot.forward_dynamics(q, v, tau, pushed)
    a = robot.forward_dynamics(q, v, tau)
    for _ in range(2):
        assert same(robot.forward_dynamics(q, v, tau, None, "projection"), other)
        assert same(robot.forward_dynamics(q=q, v=v, tau=tau, f_ext=pushed), with_forces)
        assert same(robot.forward_dynamics(q, v, tau), a)
        for wrong in (lambda: robot.forward_dynamics(q, v, tau, method="none"), lambda: robot.frame_pose(q, "none")):
            with pytest.raises(KinloopError, match="'none'"):
                wrong()
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'tau'"):
        robot.forward_dynamics(q, v)
    assert same(robot.frame_pose(q, [robot.body_names[0]]), robot.frame_pose(q, robot.body_names[0]))
    with pytest.raises(KinloopError, match="takes one frame"):
        robot.frame_pose(q, robot.body_names[:2])


def test_without_checks_inputs_are_still_looked_at():
    robot = kl.Robot(kl.robots.mechanism("four_bar"), check="off")
    q, v, tau = state(robot, 0)
    for _ in range(3):
        assert np.all(np.isfinite(robot.forward_dynamics(q + 0.1, v, tau)))
        with pytest.raises(NonFiniteInput, match="v is nan at index 0"):
            robot.forward_dynamics(q, v * np.nan, tau)


def test_results_that_are_not_finite_are_refused_or_given_where_checks_are_off():
    b = kl.Builder("heavy")
    for name in ("lever", "block"):
        b.body(name, mass=1e50, inertia=(1.0, 1.0, 1.0), joint="prismatic", axis="x")
    b.gear("block_joint", "lever_joint", 1e50)
    robot, off = b.build(), kl.Robot(b.mechanism(), check="off")
    q, slow, fast = np.zeros(2), np.ones(1), np.full(1, 1e99)
    for _ in range(3):
        assert robot.kinetic_energy(q, slow) == off.kinetic_energy(q, slow) == pytest.approx(5e149)
        assert off.kinetic_energy(q, fast) == np.inf
        with pytest.raises(SingularConfiguration, match="kinetic_energy of 'heavy' is not finite at this state"):
            robot.kinetic_energy(q, fast)


def test_the_numpy_backend_has_no_builtins():
    robot = kl.Robot(kl.robots.mechanism("four_bar"), backend="numpy")
    q, v, tau = state(robot, 0)
    for _ in range(3):
        assert same(robot.forward_dynamics(q, v, tau), careful(robot, "forward_dynamics", q, v, tau))


def test_frames_are_remembered_within_bounds(monkeypatch):
    monkeypatch.setattr(front_door, "KEPT", 3)
    robot = kl.Robot(kl.robots.mechanism("geared_chain", links=4))
    q = robot.random_state(0)[0]
    expected = {name: robot._door.compute("frame_pose", [q], frames=name) for name in robot.frame_names}
    for _ in range(3):
        for name in robot.frame_names:
            assert same(robot.frame_pose(q, name), expected[name])
            assert same(robot.frame_pose(q, name), expected[name])
            assert sum(map(len, robot._door._of_frames.values())) <= 3


def test_many_threads_share_a_robot():
    robot = kl.Robot(kl.robots.mechanism("tello"))
    states = [state(robot, k) for k in range(8)]
    expected = [robot.compile("forward_dynamics")(*x) for x in states]
    errors: list[Any] = []

    def work(k: int) -> None:
        q, v, tau = states[k]
        opened = q + 0.1
        for _ in range(400):
            if not same(robot.forward_dynamics(q, v, tau), expected[k]):
                errors.append(k)
            if not error_of(lambda: robot.forward_dynamics(opened, v, tau)):
                errors.append("an open loop was taken")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_copies_and_subclasses_are_robots_of_their_own():
    class Careless(kl.Robot):
        def mass_matrix(self, q: Any, method: str | None = None) -> Any:
            return 2.0 * super().mass_matrix(q, method)

    mechanism = kl.robots.mechanism("four_bar")
    robot, own = kl.Robot(mechanism), Careless(mechanism)
    q = robot.random_state(0)[0]
    for _ in range(3):
        M = robot.mass_matrix(q)
        assert same(own.mass_matrix(q), 2.0 * M)
    for other in (copy.copy(robot), copy.deepcopy(robot), pickle.loads(pickle.dumps(robot))):
        assert other._door is not robot._door
        for _ in range(3):
            assert same(other.mass_matrix(q), M)


def test_a_robot_goes_when_it_is_let_go():
    robot = kl.Robot(kl.robots.mechanism("four_bar"))
    for call in calls(robot, *state(robot, 0)).values():
        call(), call()
    watch = weakref.ref(robot.kernels)
    del robot, call
    gc.collect()
    assert watch() is None


def test_methods_say_what_they_take():
    for quantity in QUANTITIES:
        method = getattr(kl.Robot, quantity)
        assert inspect.isfunction(method) and method.__doc__.strip().endswith(".")
        assert list(inspect.signature(method).parameters)[:2] == ["self", "q"]


def test_a_call_costs_little_more_than_the_kernel():
    """At most 0.5 us on an idle machine; three times that, for a busy one."""
    robot = kl.robots.load("mini_cheetah")
    q, v, tau = state(robot, 0)
    kernel = robot.compile("forward_dynamics")
    names = {"kernel": kernel, "robot": robot, "q": q, "v": v, "tau": tau, "a": robot.forward_dynamics(q, v, tau)}
    best = [
        min(timeit.repeat(call, globals=names, number=500, repeat=60)) / 500
        for call in ("kernel(q, v, tau, a)", "robot.forward_dynamics(q, v, tau)")
    ]
    assert best[1] - best[0] < 1.5e-6
