"""Configurations at the front door: kernels find what the search on numbers finds, and leave to it what they cannot."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from helpers import assert_agree

import kinloop as kl
from kinloop.clusters import assembly, closing, conditioning, loop_errors
from kinloop.errors import LoopNotClosed, MethodError, NonFiniteInput, NotAState, SingularConfiguration
from tests.sim.mechanisms import crank_rocker

LOOPS = ["four_bar", "six_bar", "planar_leg_linkage", "slider_crank", "rssr", "bennett", "bricard", "wishbone", "tello"]
WITHOUT = ["bennett", "bricard"]
"""Robots with rows that are redundant only where loops are closed: the nearest configuration is always searched for."""


@pytest.fixture(scope="module")
def four_bar() -> kl.Robot:
    return kl.robots.load("four_bar")


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The searches on numbers that took place."""
    seen: list[str] = []
    for name in ("close_step", "close"):
        plain = getattr(kl.configurations, name)
        monkeypatch.setattr(
            kl.configurations, name, lambda *x, _name=name, _plain=plain: (seen.append(_name), _plain(*x))[1]
        )
    return seen


def states(robot: kl.Robot, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    found = [robot.random_state(rng) for _ in range(n)]
    return np.array([q for q, _ in found]), np.array([v for _, v in found])


@pytest.mark.parametrize("name", kl.robots.names())
@pytest.mark.sample(5)
def test_kernels_find_what_the_search_finds(name, searches):
    robot = kl.robots.load(name)
    Q, V = states(robot, 3)
    top, rng = robot.tree.top, np.random.default_rng(1)
    beside = np.array([top.integrate(q, 1e-3 * rng.normal(size=robot.n_spanning)) for q in Q])
    steps, closed = robot.integrate(Q, V, 1e-2), robot.close(beside)
    assert searches == (["close"] * 3 if name in WITHOUT else [])
    for q, v, b, step, near in zip(Q, V, beside, steps, closed, strict=True):
        cond = conditioning(robot.tree, q)
        assert np.max(np.abs(step - closing.close_step(robot.tree, q, 1e-2 * v))) < 1e-14 * cond
        assert np.max(np.abs(near - assembly.close(robot.tree, b))) < 1e-14 * cond
        assert_agree(robot.difference(q, step), top.difference(q, step)[robot.tree.independent_dofs], cond=10.0)
        assert_agree(robot.loop_error(b), list(loop_errors(robot.tree, b).values()), scale=1.0)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("far", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.sample(12)
def test_however_far_away_kernels_find_what_the_search_finds_or_leave_it_to_it(name, far):
    robot = kl.robots.load(name)
    plain = kl.Robot.from_tree(robot.tree, backend="numpy")
    Q, V = states(robot, 3, seed=int(10 * far))
    rng = np.random.default_rng(2)
    for q, v in zip(Q, V, strict=True):
        try:
            searched = plain.integrate(q, v, far)
            assert np.max(np.abs(robot.integrate(q, v, far) - searched)) < 1e-12 * conditioning(robot.tree, searched)
        except LoopNotClosed:
            with pytest.raises(LoopNotClosed, match=r"cannot follow a step of .* a dead centre is in its way"):
                robot.integrate(q, v, far)
        away = robot.tree.top.integrate(q, 0.3 * far * rng.normal(size=robot.n_spanning))
        try:
            searched = plain.close(away)
        except LoopNotClosed as error:
            with pytest.raises(LoopNotClosed) as found_error:
                robot.close(away)
            assert str(found_error.value) == str(error)
            continue
        assert np.max(np.abs(robot.close(away) - searched)) < 1e-12 * conditioning(robot.tree, searched)


BLIND = {
    "slider_crank": [1.200786731357569, -2.3200844622308145, -0.2556591129703932],
    "rssr": [-2.040982563516611, -1.28199923369766],
}
"""Open loops at which Newton's first step leads away from what the search finds."""


@pytest.mark.parametrize("name", BLIND)
def test_a_step_that_leads_away_is_not_followed(name, searches):
    robot = kl.robots.load(name)
    assert np.array_equal(robot.close(BLIND[name]), assembly.close(robot.tree, np.array(BLIND[name])))
    assert searches == ["close"]


def test_rows_that_no_chart_keeps_are_satisfied_too(searches):
    bennett = kl.robots.load("bennett")
    q = bennett.close([2.004716040246378, 1.6717159120681107, 1.6717159120681107])
    searches.clear()
    found = bennett.integrate(q, [1.4958560957834866])  # the rows of the chart alone could be closed elsewhere
    assert np.max(bennett.loop_error(found)) < 1e-12


def test_times_are_kept_up_to_a_number():
    durations = kl.configurations.Durations()
    for k in range(1000):
        assert durations[float(k)] is durations[float(k)] and durations[float(k)].tolist() == [k]
        assert len(durations) <= kl.kernels.KEPT


@pytest.mark.parametrize("name", ["four_bar", "tello", "mini_cheetah"])
def test_rows_of_a_batch_have_the_bits_of_single_states_whatever_the_threads(name, monkeypatch):
    robot = kl.robots.load(name)
    q, v = states(robot, 4)
    Q, V = np.tile(q, (700, 1)), np.tile(v, (700, 1))
    P = robot.integrate(Q, V, 0.01)
    again = {"integrate": P, "close": robot.close(P + 1e-4), "difference": robot.difference(Q, P)}
    again |= {"loop_error": robot.loop_error(P + 1e-4)}
    calls = {
        "integrate": lambda k: robot.integrate(Q[k], V[k], 0.01),
        "close": lambda k: robot.close(P[k] + 1e-4),
        "difference": lambda k: robot.difference(Q[k], P[k]),
        "loop_error": lambda k: robot.loop_error(P[k] + 1e-4),
    }
    for threads in ("1", "2"):
        monkeypatch.setenv("KINLOOP_THREADS", threads)
        for what, call in calls.items():
            assert np.array_equal(call(slice(None)), again[what]), what
            for k in (0, 1, 2, 3):  # twice: the first call of all opens the way for the second
                assert np.array_equal(call(k), again[what][k]) and np.array_equal(call(k), again[what][k]), what
    shaped = robot.integrate(Q.reshape(2, -1, robot.nq), v[0], 0.01)
    assert shaped.shape == (2, len(Q) // 2, robot.nq) and robot.integrate(Q[:0], V[:0]).shape == (0, robot.nq)


@pytest.mark.parametrize("name", ["four_bar", "planar_leg_linkage", "slider_crank", "rssr", "tello"])
def test_long_steps_end_where_short_ones_end(name):
    """In a batch whose rows are of all lengths: none is changed by those beside it, and none leaves its assembly."""
    robot = kl.robots.load(name)
    Q, V = states(robot, 8, seed=4)
    V = V / np.max(np.abs(V), axis=1, keepdims=True) * np.geomspace(0.1, 3.0, 8)[:, None]
    begin, short = time.perf_counter(), Q
    for _ in range(200):
        short = robot.integrate(short, V, 1 / 200)
    assert_agree(robot.integrate(Q, V), short, cond=1e4)
    for k in range(8):
        assert np.array_equal(robot.integrate(Q[k], V[k]), robot.integrate(Q, V)[k])
    assert time.perf_counter() - begin < 30.0


def test_a_step_over_a_dead_centre_is_an_error_and_takes_milliseconds():
    """The rocker of a four-bar turns no further than its crank lets it, forward and backward."""
    rocker = crank_rocker("rocker_joint")
    q = rocker.neutral()
    with pytest.raises(LoopNotClosed, match=r"'crank_rocker' cannot follow a step of 2 rad .* a dead centre"):
        rocker.integrate(q, [2.0])
    begin = time.perf_counter()
    for _ in range(20):
        with pytest.raises(LoopNotClosed):
            rocker.integrate(np.tile(q, (50, 1)), [-2.0])
    assert time.perf_counter() - begin < 2.0


def test_only_rows_that_a_kernel_gives_up_are_searched_for(four_bar, searches):
    Q, V = states(four_bar, 6)
    expected = four_bar.integrate(Q, V, 1e-2)
    V[2] *= 200.0
    found = four_bar.integrate(Q, V, 1e-2)
    assert searches == [], "it was taken in parts"
    assert np.array_equal(np.delete(found, 2, axis=0), np.delete(expected, 2, axis=0))
    assert np.array_equal(found[2], four_bar.integrate(Q[2], V[2], 1e-2))
    Q[4] += [0.9, -1.3, 0.8]
    closed = four_bar.close(Q)
    assert searches == ["close"] and np.array_equal(closed[4], assembly.close(four_bar.tree, Q[4]))
    assert np.max(four_bar.loop_error(closed)) < 1e-14


def test_what_is_wrong_with_a_row_is_said_as_before(four_bar):
    q, v = four_bar.random_state(0)
    for _ in range(2):  # the second call goes through the builtin
        with pytest.raises(LoopNotClosed, match=r"is open by .* at q \(tolerance 1e-05\); call robot.close"):
            four_bar.integrate(q + [1e-3, 0, 0], v)
        with pytest.raises(NonFiniteInput, match=r"v is nan at index 0"):
            four_bar.integrate(q, np.array([np.nan]), 0.1)
        with pytest.raises(NonFiniteInput, match=r"v is 1e\+200 at index 0; give finite numbers up to 1e\+100"):
            four_bar.integrate(q, np.array([1e200]), 1e-3)
        with pytest.raises(MethodError, match=r"dt must be a finite number of seconds, received nan"):
            four_bar.integrate(q, v, np.nan)
        with pytest.raises(NonFiniteInput, match=r"q1 is inf at index 1"):
            four_bar.difference(q, np.array([0.0, np.inf, 0.0]))
        four_bar.integrate(q, v, 1e-3), four_bar.difference(q, q)
    with pytest.raises(LoopNotClosed, match=r"at q of row 1 "):
        four_bar.integrate(np.stack([q, q + [1e-3, 0, 0]]), v)
    flat = kl.robots.load("planar_leg_linkage")
    with pytest.raises(SingularConfiguration, match=r"at q of row 1 the coordinates"):
        flat.integrate(np.stack([flat.random_state(0)[0], np.zeros(flat.nq)]), np.zeros(flat.nv))
    base = kl.robots.load("mini_cheetah")
    q, v = base.random_state(0)
    with pytest.raises(NotAState, match="has norm 2"):
        base.integrate(np.concatenate([q[:3], 2 * q[3:7], q[7:]]), v)


def test_without_checks_any_q_is_stepped_from(four_bar):
    free = kl.Robot.from_tree(four_bar.tree, check="off")
    q, v = four_bar.random_state(0)
    for _ in range(2):
        found = free.integrate(q + [1e-3, 0, 0], v, 1e-3)
        assert np.max(np.abs(found - closing.close_step(four_bar.tree, q + [1e-3, 0, 0], 1e-3 * v))) < 1e-14


def test_lists_other_dtypes_and_strided_arrays_are_taken_as_ever(four_bar):
    q, v = four_bar.random_state(0)
    expected = four_bar.integrate(q, v, 0.01)
    wide = np.stack([q, q], axis=1)[:, 0]
    assert np.array_equal(four_bar.integrate(list(q), list(v), 0.01), expected)
    assert np.array_equal(four_bar.integrate(wide, v, np.float64(0.01)), expected)
    assert np.array_equal(four_bar.integrate(q, v, np.array(0.01)), expected)
    assert np.array_equal(four_bar.integrate(q, [1], 1), four_bar.integrate(q, np.ones(1)))
    single = v.astype(np.float32)
    assert np.array_equal(four_bar.integrate(q, single, 0.01), four_bar.integrate(q, single.astype(float), 0.01))


def test_a_tolerance_of_one_s_own_is_judged_row_by_row(four_bar):
    q, _ = four_bar.random_state(0)
    off = q + [1e-7, 0, 0]
    four_bar.check_closed(np.stack([q, off]), 1e-6)
    with pytest.raises(LoopNotClosed, match=r"at q of row 1 \(tolerance 1e-09\)"):
        four_bar.check_closed(np.stack([q, off]), 1e-9)
    four_bar.check_closed(q + [1e-3, 0, 0], 1e-2)
    assert np.array_equal(four_bar.close(off, 1e-13), assembly.close(four_bar.tree, off, 1e-13))
    q, _ = four_bar.random_state(2)  # from others it closes to zero
    with pytest.raises(LoopNotClosed, match="tolerance 1e-30"):
        four_bar.close(q + [1e-7, 0, 0], 1e-30)
    base = kl.robots.load("mini_cheetah")
    q, _ = base.random_state(0)
    with pytest.raises(NotAState, match="has norm 2"):
        base.check_closed(np.concatenate([q[:3], 2 * q[3:7], q[7:]]), 1e-3)


@pytest.mark.parametrize("name", ["four_bar", "tello", "double_pendulum", "bricard"])
def test_loop_jacobians_of_a_batch_are_those_of_its_rows(name):
    robot = kl.robots.load(name)
    Q, V = states(robot, 3)
    K, k = robot.loop_jacobian(Q, V)
    for i, (q, v) in enumerate(zip(Q, V, strict=True)):
        rows = robot.tree.constraint_rows(q, robot.spanning_velocity(q, v))
        for _ in range(2):
            one = robot.loop_jacobian(q, v)
            assert np.array_equal(one[0], K[i]) and np.array_equal(one[1], k[i])
        assert_agree(K[i], rows.K, scale=1.0)
        assert_agree(k[i], rows.k, cond=1e2 * conditioning(robot.tree, q), scale=1.0)
        assert np.array_equal(robot.loop_jacobian(q)[0], K[i]) and not np.any(robot.loop_jacobian(q)[1])


def test_robots_without_loops_or_without_joints_have_configurations_too():
    arm = kl.robots.load("double_pendulum")
    assert arm.loop_error(np.zeros((4, 2, arm.nq))).shape == (4, 2, 0)
    b = kl.Builder("rock")
    b.body("rock", mass=1.0, inertia=(1, 1, 1), joint="fixed")
    rock = b.build()
    nothing = np.zeros(0)
    for _ in range(2):
        assert rock.integrate(nothing, nothing).shape == rock.close(nothing).shape == (0,)
        assert rock.difference(nothing, nothing).shape == rock.loop_error(nothing).shape == (0,)


def test_many_threads_and_many_times_share_a_robot(four_bar):
    q, v = four_bar.random_state(0)
    times = np.linspace(1e-4, 1e-2, 600)
    expected = [four_bar.integrate(q, v * dt) for dt in times]
    wrong: list[float] = []

    def run() -> None:
        for dt, x in zip(times, expected, strict=True):
            if not np.array_equal(four_bar.integrate(q, v, dt), x):
                wrong.append(dt)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("name", ["four_bar", "tello", "geared_chain"])
def test_loop_rows_are_those_of_each_loop_alone_or_in_batches(name):
    robot = kl.robots.load(name)
    plain = kl.Robot.from_tree(robot.tree, backend="numpy")
    Q, _ = states(robot, 4)
    for part in robot.mechanism.closures:
        for _ in range(3):
            batch = robot.loop_rows(part.name, Q)
            for k, q in enumerate(Q):
                rows, expected = robot.loop_rows(part.name, q), part.rows(robot.tree.top, q)
                assert rows.dofs == batch.dofs == list(expected.dofs)
                for found, all_found, x in zip(rows[1:], batch[1:], expected[1:], strict=True):
                    assert found.shape == x.shape and np.array_equal(found, all_found[k])
                    assert_agree(found, x, scale=1.0)
                assert all(np.array_equal(x, y) for x, y in zip(plain.loop_rows(part.name, q), expected, strict=True))
    for wrong in (robot, plain):
        with pytest.raises(kl.errors.UnknownName, match="'nothing'"):
            wrong.loop_rows("nothing", Q[0])


def test_check_closed_says_at_once_what_the_careful_way_says():
    for name in ("four_bar", "tello", "double_pendulum"):
        robot = kl.Robot(kl.robots.mechanism(name), check="off")  # whoever asks is answered
        Q, _ = states(robot, 5)
        for q in (Q[0], Q):
            for _ in range(3):
                assert robot.check_closed(q) is None
        opened = Q.copy()
        opened[3] += 0.3
        for _ in range(3):
            if name != "double_pendulum":
                with pytest.raises((LoopNotClosed, NotAState), match=r"(at|in) q of row 3"):
                    robot.check_closed(opened)
                with pytest.raises((LoopNotClosed, NotAState)):
                    robot.check_closed(opened[3])
            for wrong in (Q[0] * np.nan, Q * np.inf):
                with pytest.raises(NonFiniteInput, match="q is"):
                    robot.check_closed(wrong)
            with pytest.raises(kl.errors.ShapeError, match="q must have shape"):
                robot.check_closed(Q[0, :-1])
        robot.check_closed(opened, tolerance=10.0) if name == "four_bar" else None
