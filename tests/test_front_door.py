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
from kinloop import scalar as sc
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.trees.reactions import Reactions
from kinloop.compiler.run import builtin
from kinloop.errors import KinloopError, NonFiniteInput, ShapeError, SingularConfiguration

pytestmark = pytest.mark.skipif(not builtin.usable(), reason="no builtins on this interpreter")

ROBOTS = ("four_bar", "mit_humanoid_leg", "floating six_bar", pytest.param("tello", marks=pytest.mark.slow))
FRAME = kl.Body("frame", 2.0, inertia=(0.1, 0.2, 0.3))
"""What a linkage stands on where it floats."""


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> kl.Robot:
    *floating, name = request.param.split()
    return kl.Robot(kl.robots.mechanism(name, floating_base=FRAME if floating else None))


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
    return Reactions(robot.tree, found) if quantity == "reactions" else found


def same(x: Any, y: Any) -> bool:
    if isinstance(x, dict):
        return list(x) == list(y) and all(map(same, x.values(), y.values()))
    if isinstance(x, tuple | Reactions):
        x, y = tuple(x), tuple(y)
        return len(x) == len(y) and all(map(same, x, y))
    return (
        type(x) is type(y)
        and isinstance(x, np.ndarray | np.float64)
        and x.shape == y.shape
        and x.tobytes() == y.tobytes()
    )


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
            assert sum(map(len, robot._door._doors.values())) <= 3


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


# --- rows, options, constraints


def rows_of(robot: kl.Robot, n: int, seed: int) -> tuple[Any, Any, Any]:
    return tuple(np.stack(x) for x in zip(*(state(robot, seed + k) for k in range(n)), strict=True))


def test_from_the_second_batch_on_rows_go_to_machine_code_at_once(robot, request):
    first, second = rows_of(robot, 5, 0), rows_of(robot, 70, 5)
    for call in calls(robot, *first).values():
        call()
    expected = {name: careful(robot, name, *second) for name in calls(robot, *first)}
    shared = {name: careful(robot, name, second[0], second[1][0], second[2]) for name in expected}
    request.getfixturevalue("no_careful_way")
    for name, call in calls(robot, *second).items():
        assert same(call(), expected[name]), name
    for name, call in calls(robot, second[0], second[1][0], second[2]).items():
        assert same(call(), shared[name]), name


def test_rows_have_the_errors_of_the_careful_way(robot):
    Q, V, T = rows_of(robot, 5, 0)
    for call in calls(robot, Q, V, T).values():
        call()
    refused = 0
    for row, what in ((0, np.nan), (4, 1e13), (2, np.inf)):
        for k in range(3):
            wrong = [x.copy() for x in (Q, V, T)]
            wrong[k][row, -1] = what
            for name, call in calls(robot, *wrong).items():
                expected = error_of(lambda name=name, wrong=wrong: careful(robot, name, *wrong))
                assert error_of(call) == expected, name
                refused += bool(expected)
    opened = Q.copy()
    opened[3] += 0.3
    for name, call in calls(robot, opened, V, T).items():
        expected = error_of(lambda name=name: careful(robot, name, opened, V, T))
        assert error_of(call) == expected, name
        refused += "of row 3" in expected
    for wrong in ((Q[:4], V, T), (Q, V[:, :-1], T), (Q[:, :-1], V, T)):
        for name, call in calls(robot, *wrong).items():
            assert error_of(call) == error_of(lambda name=name, wrong=wrong: careful(robot, name, *wrong)), name
    assert_enough(refused, 100, "batches refused")


def optional(robot: kl.Robot, q: Any, v: Any, tau: Any, push: Any) -> dict[str, Callable[[], Any]]:
    """Calls with methods and external wrenches."""
    frames = (robot.body_names[-1],)
    return {
        "forces": lambda: robot.forward_dynamics(q, v, tau, push),
        "inverse": lambda: robot.inverse_dynamics(q, v, tau, f_ext=push),
        "bias": lambda: robot.bias_force(q, v, push),
        "reactions": lambda: robot.reactions(q, v, tau, push),
        "projection": lambda: robot.forward_dynamics(q, v, tau, method="projection"),
        "both": lambda: robot.forward_dynamics(q, v, tau, push, "projection"),
        "projected_rnea": lambda: robot.inverse_dynamics(q, v, tau, method="projected_rnea"),
        "osim": lambda: robot.inverse_osim(q, frames, "projected_osim"),
        "crba": lambda: robot.mass_matrix(q, "cluster_crba"),
        "by name": lambda: robot.compute("forward_dynamics", q, v, tau, method="projection", f_ext=push),
        "frames by name": lambda: robot.compute("inverse_osim", q, frames=frames, method="projected_osim"),
    }


def test_options_go_to_machine_code_at_once_too(robot, request):
    push = np.random.default_rng(0).normal(size=(len(robot.body_names), 6))
    one, more = state(robot, 0), rows_of(robot, 6, 1)
    pushes = push + np.arange(6.0)[:, None, None]
    plain = kl.Robot.from_tree(robot.tree, backend="numpy")
    first = {name: call() for name, call in optional(robot, *one, push).items()}
    batch = {name: call() for name, call in optional(robot, *more, pushes).items()}
    for name, call in optional(plain, *one, push).items():
        close_to(first[name], call(), name)
    request.getfixturevalue("no_careful_way")
    for given, expected in (((*one, push), first), ((*more, pushes), batch)):
        for name, call in optional(robot, *given).items():
            assert same(call(), expected[name]), name
    last = {name: call() for name, call in optional(robot, *(x[5] for x in more), pushes[5]).items()}
    for name in ("forces", "both", "osim", "by name"):
        assert np.array_equal(last[name], batch[name][5]), name


def close_to(x: Any, y: Any, what: str) -> None:
    if isinstance(x, dict):
        x, y = tuple(x.values()), tuple(y.values())
    if isinstance(x, tuple | Reactions):
        for a, b in zip(x, y, strict=True):
            close_to(a, b, what)
        return
    np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-7, err_msg=what)


def test_options_have_the_errors_of_the_careful_way(robot):
    q, v, tau = state(robot, 0)
    n = len(robot.body_names)
    good = np.zeros((n, 6))
    for _ in range(2):
        robot.forward_dynamics(q, v, tau, good)
    for wrong, message in (
        (np.zeros(6 * n), rf"f_ext must have shape \(..., {n}, 6\), one wrench per body, received \({6 * n},\)"),
        (np.zeros((n + 1, 6)), "f_ext must have shape"),
        (np.zeros((6, n)) if n != 6 else np.zeros(3), "f_ext must have shape"),
        (np.full((n, 6), np.nan), "f_ext is nan at index 0; give finite numbers"),
        (np.full((n, 6), 1e101), "f_ext is 1e"),
    ):
        with pytest.raises(KinloopError, match=message):
            robot.forward_dynamics(q, v, tau, wrong)
    assert same(robot.forward_dynamics(q, v, tau, good.tolist()), robot.forward_dynamics(q, v, tau, good))
    with pytest.raises(KinloopError, match="external forces"):
        robot.compute("mass_matrix", q, f_ext=good)


def held(robot: kl.Robot, number: float = 0.0) -> list[Any]:
    row = np.zeros((1, 6))
    row[0, 4] = 1.0
    return [kl.Rows(robot.body_names[-1], row, [number] if number else None)]


def under(robot: kl.Robot, q: Any, v: Any, tau: Any, constraints: Any, push: Any = None) -> dict[str, Any]:
    """Calls under constraints."""
    x = np.ones(1) if q.ndim == 1 else np.ones((len(q), 1))
    return {
        "constrained_dynamics": lambda: robot.constrained_dynamics(q, v, tau, constraints),
        "pushed": lambda: robot.constrained_dynamics(q, v, tau, constraints, f_ext=push),
        "by ltl": lambda: robot.constrained_dynamics(q, v, tau, constraints, "ltl"),
        "soft": lambda: robot.constrained_dynamics(q, v, tau, constraints, "pv_soft", compliance=1e-3),
        "delassus": lambda: robot.delassus(q, constraints),
        "by efpa": lambda: robot.delassus(q, constraints, "efpa"),
        "delassus_solve": lambda: robot.delassus_solve(q, constraints, x),
        "by name": lambda: robot.compute("constrained_dynamics", q, v, tau, constraints=constraints),
    }


@pytest.mark.parametrize(("name", "option"), [("six_bar", FRAME), pytest.param("tello", None, marks=pytest.mark.slow)])
def test_constraints_go_to_machine_code_at_once(request, name, option):
    robot = kl.Robot(kl.robots.mechanism(name, floating_base=option))
    plain = kl.Robot.from_tree(robot.tree, backend="numpy")
    one, more = state(robot, 0), rows_of(robot, 6, 1)
    push = np.random.default_rng(0).normal(size=(len(robot.body_names), 6))
    kinds = {"none": held(robot), "number": held(robot, 0.3), "one": kl.Rows(robot.body_names[3], np.eye(6)[:1], [0.1])}
    first = {k: {name: call() for name, call in under(robot, *one, c, push).items()} for k, c in kinds.items()}
    batch = {k: {name: call() for name, call in under(robot, *more, c, push).items()} for k, c in kinds.items()}
    for k, c in kinds.items():
        for name, call in under(plain, *one, c, push).items():
            close_to(first[k][name], call(), f"{k} {name}")
    other = {name: call() for name, call in under(plain, *one, held(robot, 0.7), push).items()}
    request.getfixturevalue("no_careful_way")
    for k, c in kinds.items():
        for given, expected in ((one, first), (more, batch)):
            for name, call in under(robot, *given, c, push).items():
                assert same(call(), expected[k][name]), (k, name)
    for name, call in under(
        robot, *one, held(robot, 0.7), push
    ).items():  # of a kind that is known, with its own number
        close_to(call(), other[name], name)
    assert not same(first["number"]["constrained_dynamics"], first["none"]["constrained_dynamics"])


def test_constraints_have_the_errors_and_the_care_they_had():
    robot = kl.Robot(kl.robots.mechanism("tello"))
    q, v, tau = state(robot, 0)
    row = np.eye(6)[4:5]
    body = robot.body_names[-1]
    together = [kl.Rows(body, row, [1.0]), kl.Rows(body, row, [1.0])]  # redundant, and of one mind
    against = [kl.Rows(body, row, [1.0]), kl.Rows(body, row, [2.0])]
    a, multipliers = robot.constrained_dynamics(q, v, tau, together)
    best, _ = robot.constrained_dynamics(q, v, tau, against, on_conflict="least_squares")
    for _ in range(3):
        assert same(robot.constrained_dynamics(q, v, tau, together), (a, multipliers))
        with pytest.raises(kl.errors.ConflictingConstraints, match="asks for an acceleration that misses by"):
            robot.constrained_dynamics(q, v, tau, against)
        assert same(robot.constrained_dynamics(q, v, tau, against, on_conflict="least_squares")[0], best)
        for wrong, message in (
            (lambda: robot.constrained_dynamics(q, v, tau, together, on_conflict="never"), "on_conflict 'never'"),
            (lambda: robot.constrained_dynamics(q, v, tau, together, "none"), "method 'none'"),
            (lambda: robot.constrained_dynamics(q + 0.1, v, tau, together), "open|norm"),
            (lambda: robot.constrained_dynamics(q, v * np.nan, tau, together), "v is nan"),
            (lambda: robot.constrained_dynamics(q, v, tau, [kl.Point("nowhere")]), "'nowhere'"),
            (lambda: robot.constrained_dynamics(q, v, tau, ["x"]), "is not a motion constraint"),
            (lambda: robot.delassus_solve(q, together, np.ones(3)), "x must have shape"),
            (lambda: robot.compute("delassus", q, constraints=together, frames=["x"]), "takes no frames"),
            (lambda: robot.compute("delassus", q, constraints=together, f_ext=np.zeros(6)), "takes no external forces"),
        ):
            with pytest.raises(KinloopError, match=message):
                wrong()
    listed = robot.constrained_dynamics(q.tolist(), v.tolist(), tau.tolist(), (x for x in together))
    assert same(listed, (a, multipliers))


def test_constraints_are_remembered_within_bounds(monkeypatch):
    monkeypatch.setattr(front_door, "KEPT", 3)
    robot = kl.Robot(kl.robots.mechanism("four_bar"))
    q = state(robot, 0)[0]
    for number in range(1, 12):
        robot.delassus(q, held(robot, float(number)))
        assert len(robot._door._placed) <= 3 and len(robot._door._doors["delassus"]) == 1


def test_who_writes_own_constraints_has_them_asked_every_time():
    class Moody(kl.Rows):
        asked = 0

        def numbers(self) -> Any:
            type(self).asked += 1
            return super().numbers()

    robot = kl.Robot(kl.robots.mechanism("four_bar"))
    q, constraint = state(robot, 0)[0], Moody(robot.body_names[-1], np.eye(6)[4:5] * 0.5)
    counts = []
    for _ in range(3):
        robot.delassus(q, constraint)
        counts.append(Moody.asked)
    assert counts[0] < counts[1] < counts[2]


def test_options_and_rows_cost_little():
    """At most 1 us on an idle machine, besides what is computed; three times that, for a busy one."""
    robot = kl.Robot(kl.robots.mechanism("four_bar"))
    q, v, tau = state(robot, 0)
    push, c = np.ones((len(robot.body_names), 6)), held(robot)
    names = {"robot": robot, "q": q, "v": v, "tau": tau, "push": push, "c": c, "Q": np.stack([q] * 4)}
    for call in (
        "robot.forward_dynamics(q, v, tau, push)",
        "robot.forward_dynamics(q, v, tau, method='projection')",
        "robot.delassus(q, c)",
        "robot.constrained_dynamics(q, v, tau, c)",
        "robot.mass_matrix(Q)",
        "robot.check_closed(q)",
    ):
        exec(call, names), exec(call, names)
        assert min(timeit.repeat(call, globals=names, number=200, repeat=60)) / 200 < 4e-6, call


def test_many_threads_share_rows_options_and_constraints():
    robot = kl.Robot(kl.robots.mechanism("tello"))
    batches = [rows_of(robot, 40, 40 * k) for k in range(4)]
    push, constraints = np.ones((len(robot.body_names), 6)), held(robot, 0.5)

    def results(k: int) -> list[Any]:
        Q, V, T = batches[k]
        return [
            robot.forward_dynamics(Q, V, T),
            robot.forward_dynamics(Q[0], V[0], T[0], push),
            *robot.constrained_dynamics(Q[1], V[1], T[1], constraints),
            robot.integrate(Q, V, 1e-3),
        ]

    expected, errors = [results(k) for k in range(4)], []

    def work(k: int) -> None:
        for _ in range(60):
            if not all(map(same, results(k), expected[k])):
                errors.append(k)

    threads = [threading.Thread(target=work, args=(k % 4,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_methods_of_a_robot_can_be_traced():
    robot = kl.robots.load("mit_humanoid_leg")
    q, v = robot.random_state(1)
    frame = robot.body_names[-1]
    held = [kl.Point(frame)]
    cases = {
        "pose": lambda q, v: robot.frame_pose(q, frame)[:3, 3],
        "energy": lambda q, v: robot.kinetic_energy(q, v) + robot.potential_energy(q),
        "forces": lambda q, v: robot.forward_dynamics(q, v, v, np.ones((len(robot.body_names), 6))),
        "held": lambda q, v: robot.constrained_dynamics(q, v, v, held)[0],
        "slopes": lambda q, v: robot.forward_dynamics_derivatives(q, v, v)[0],
    }
    for name, call in cases.items():
        traced = sc.trace(lambda q, v, call=call: np.asarray(call(q, v)), {"q": robot.nq, "v": robot.nv})
        np.testing.assert_allclose(traced(q, v), call(q, v), rtol=1e-9, atol=1e-9, err_msg=name)
    with pytest.raises(ShapeError, match="v must have"):
        sc.trace(lambda q: robot.kinetic_energy(q, np.zeros(1)), {"q": robot.nq})
