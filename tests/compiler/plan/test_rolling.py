"""What repeats itself is written once: the same bits as operation by operation, and code that does not grow."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import build, compile_function
from kinloop.compiler.plan import rolling
from kinloop.compiler.plan.find_series import Code, find_series
from kinloop.compiler.plan.planner import SEGMENT, make_plan
from kinloop.compiler.plan.rolling import LARGE, roll
from kinloop.compiler.plan.stage_types import Angles, Move, Repeat, Segment, Series
from kinloop.model import Builder
from kinloop.robot import Robot
from kinloop.robots import zoo
from kinloop.sim import Simulator
from tests.compiler.graphs import linked_function, random_function

STRAIGHT, ROLLED = math.inf, 1


def compiled(function, large, segment=SEGMENT, **options):
    """A kernel whose plan has series from `large` operations on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "make_plan", lambda f, fuse, **how: make_plan(f, fuse, segment, large, **how))
        kernel = compile_function(function, cache=False, **options)
        return kernel.compile().compile(batch=True)


def series(function, segment=SEGMENT):
    return [stage for stage in make_plan(function, True, segment, ROLLED).stages if isinstance(stage, Series)]


def all_stages(plan):
    """Stages of a plan and of the loops in it."""
    return [*plan.stages, *(s for stage in plan.stages if isinstance(stage, Repeat) for s in all_stages(stage.body))]


def assert_same_bits(one, other, inputs):
    """Both kernels on one state, on rows with every remainder, and on two threads."""
    for rows in (*range(1, 10), 64):
        given = [x[0] if rows == 1 else x[:rows] for x in inputs]
        for threads in (1, 2):
            results = [k(*given, threads=threads) for k in (one, other)]
            for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in results], strict=True):
                assert np.isfinite(a).all() and a.tobytes() == b.tobytes()


def chain(links, seed=0):
    """Links that all differ: a crank, a coupler and a rocker each, on the rocker before, and a geared rotor."""
    rng = np.random.default_rng(seed)
    b = Builder("chain")
    parent, x = "world", 0.0

    def rod(name, on, at, length):
        inertia = rng.uniform(0.1, 0.2, 3)
        return b.body(
            name, on, axis="y", at=(at, 0, 0), mass=rng.uniform(1, 2), com=(length / 2, 0, 0), inertia=inertia
        )

    for k in range(links):
        crank = rod(f"crank-{k}", parent, x, 0.4)
        rod(f"coupler-{k}", f"crank-{k}", 0.4, 1.0)
        rod(f"rocker-{k}", parent, x + 1.2, 0.8)
        b.loop(f"pin-{k}", f"coupler-{k}", f"rocker-{k}", axis="y", at=(1, 0, 0), at_successor=(0.8, 0, 0))
        b.independent.append(crank)
        parent, x = f"rocker-{k}", rng.uniform(0.1, 0.2)
    return b.mechanism()


def legged(legs, seed=0):
    """A free body with legs of three joints, made alike but placed differently."""
    rng = np.random.default_rng(seed)
    parts = [
        {"mass": rng.uniform(1, 2), "com": rng.uniform(0.1, 0.2, 3), "inertia": rng.uniform(0.1, 0.2, 3)}
        for _ in range(3)
    ]
    b = Builder("legged")
    b.body("trunk", "world", joint="free", mass=10.0, inertia=(1.0, 2.0, 3.0))
    for k in range(legs):
        on = "trunk"
        for name, axis, part in zip(("hip", "thigh", "shank"), "xyy", parts, strict=True):
            b.body(f"{name}-{k}", on, axis=axis, at=rng.uniform(-0.4, 0.4, 3), **part)
            on = f"{name}-{k}"
    return b.mechanism()


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4, 6))])
@pytest.mark.parametrize("segment", [SEGMENT, 9])
def test_random_links_rolled_up_have_the_same_bits(seed, segment):
    function = linked_function(seed)
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-1, 1, (64, 40)), rng.uniform(-1, 1, (64, 40))
    assert series(function)
    assert_same_bits(compiled(function, STRAIGHT), compiled(function, ROLLED, segment), inputs)


def test_turns_longer_than_a_segment_are_cut():
    found = series(linked_function(1), segment=9)
    assert any(len(s.patterns) > 1 for s in found)
    assert all(s.marks.shape[0] == s.constants.shape[0] >= 4 for s in found)


def test_stores_of_some_turns_are_copied_behind_all():
    stages = make_plan(linked_function(2), True, large=ROLLED).stages
    behind = [b for a, b in itertools.pairwise(stages) if isinstance(a, Series) and isinstance(b, Segment)]
    assert any(not stage.values and stage.copies for stage in behind)


def partly_equal(seed):
    """Columns that are solved alike, after and before more operations that do not repeat; some values are outputs."""
    rng = np.random.default_rng(seed)

    def mix(values, count):
        for _ in range(count):
            a, b, c = (values[k] for k in rng.integers(len(values), size=3))
            values.append(0.5 * (a - b) if rng.random() < 0.5 else 0.5 * a * b + 0.25 * c)
        return values

    def body(q):
        values = mix([*q], 900)
        gains, columns = values[-40:], []
        for c in range(12):
            column = [q[c]]
            for gain in gains:
                column.append(0.5 * column[-1] - gain * column[0])
            columns.append(column[-4:])
        rest = mix([*values[::20], *columns[3]], 200)
        return {"columns": np.array(columns), "mixed": np.array([*values[::15], *rest[-30:]])}

    return sc.trace(body, {"q": 12})


def test_huge_code_that_repeats_itself_in_part_is_rolled_up_there(monkeypatch):
    function = partly_equal(0)
    assert not series(function)  # most of it would have to be written out
    monkeypatch.setattr(rolling, "HUGE", 1000)
    (found,) = series(function)
    assert found.marks.shape[0] == 12
    q = np.random.default_rng(1).uniform(-1, 1, (64, 12))
    assert_same_bits(compiled(function, STRAIGHT), compiled(function, ROLLED), [q])


@pytest.mark.parametrize("seed", range(3))
def test_random_graphs_that_do_not_repeat_stay_as_they_are(seed):
    function = random_function(seed, size=600)
    assert make_plan(function, True, large=ROLLED) == make_plan(function, True, large=STRAIGHT)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("quantity", "dtype"),
    [("forward_dynamics", "float64"), pytest.param("forward_dynamics", "float32", marks=pytest.mark.slow),
     ("inverse_dynamics", "float64"), pytest.param("mass_matrix", "float64", marks=pytest.mark.slow)],
)  # fmt: skip
@pytest.mark.parametrize("make", [functools.partial(chain, 14), functools.partial(legged, 9)])
def test_unequal_links_and_legs_have_the_same_bits(make, quantity, dtype):
    robot = Robot(make())
    function = robot.compile(quantity).function
    rng = np.random.default_rng(0)
    states = [robot.random_state(k) for k in range(8)]
    q, v = (np.array([s[i] for s in states])[np.arange(64) % 8] for i in range(2))
    inputs = (q, v, rng.standard_normal((64, robot.nv)))[: len(function.inputs)]
    if quantity == "forward_dynamics":
        found = series(function)
        assert found and all(s.constants.size for s in found[:1])
    assert_same_bits(compiled(function, STRAIGHT, dtype=dtype), compiled(function, ROLLED, dtype=dtype), inputs)


def test_steps_of_the_simulator_have_the_same_bits(monkeypatch):
    monkeypatch.setenv("KINLOOP_CACHE", "off")
    rollouts, plans = [], []
    for large in (STRAIGHT, ROLLED):

        def planned(function, fuse, large=large, **how):
            plans.append(make_plan(function, fuse, large=large, **how))
            return plans[-1]

        monkeypatch.setattr(build, "make_plan", planned)
        robot = zoo.load("four_bar_chain", links=16)
        speeds = np.linspace(0.1, 0.7, 7)[:, None] * np.ones(robot.nv)
        rollouts.append(Simulator(robot).rollout(np.tile(robot.neutral(), (7, 1)), speeds, steps=20))
    assert any(isinstance(stage, Series) for plan in plans for stage in all_stages(plan))
    assert all(rollouts[0][name].tobytes() == rollouts[1][name].tobytes() for name in ("q", "v"))


def test_the_order_is_one_of_evaluation():
    function = linked_function(3)
    plan = make_plan(function, True, large=STRAIGHT)
    order = sorted(plan.operations)
    rolled, spans = roll(order, plan.operations, ROLLED)
    assert sorted(rolled) == order and spans
    place = {v: i for i, v in enumerate(rolled)}
    assert all(place.get(x, -1) < i for i, v in enumerate(rolled) for x in plan.operations[v][1])


def test_spans_say_what_they_should():
    operations = {}
    for k in range(0, 60, 3):
        operations |= {k: ("sin", (1000 + k,)), k + 1: ("mul", (k, 0.5 + k)), k + 2: ("add", (k + 1, max(k - 1, 0)))}
    (span,) = find_series(Code.of(list(operations), operations))
    assert span.period == 3 and span.start < 3 + 3 and span.laps >= 18


def test_code_does_not_grow_with_the_links():
    few, many = (zoo.load("four_bar_chain", links=n).compile("forward_dynamics", cache=False) for n in (30, 90))
    assert few.operations["total"] > LARGE
    sizes = [k.compile().compile(batch=True).nbytes for k in (few, many)]
    assert sizes[1] < 1.1 * sizes[0] < 50_000
    assert 2.9 < many.operations["total"] / few.operations["total"] < 3.2


def test_many_angles_are_read_where_they_lie():
    plan = make_plan(zoo.load("four_bar_chain", links=90).compile("forward_dynamics", cache=False).function, True)
    (angles,) = (stage for stage in plan.stages if isinstance(stage, Angles))
    assert (angles.at, angles.count) == (0, 270) and not any(isinstance(stage, Move) for stage in plan.stages)


def test_what_follows_an_angle_does_not_change_its_sine():
    kernel = compile_function(sc.trace(lambda q, v: sc.sin(q) * v, {"q": 3, "v": 3}), cache=False)
    q, v = np.array([0.3, -1e7, 2.0]), np.array([1e300, -1e9, 3.0])
    np.testing.assert_allclose(kernel(q, v), np.sin(q) * v, rtol=1e-14)
    assert kernel(np.tile(q, (5, 1)), np.tile(v, (5, 1)))[3].tobytes() == kernel(q, v).tobytes()


def test_many_slots_are_moved_in_a_loop():
    function = sc.trace(lambda x: sc.sin(np.array([*x[:300], *x[301:]])), {"x": 600})
    assert [stage.count for stage in make_plan(function, True).stages if isinstance(stage, Move)] == [300, 299]


def test_many_inputs_can_be_outputs():
    kernel = compile_function(sc.trace(lambda x: np.array([x[0] * x[1], *x]), {"x": 300}), cache=False)
    x = np.linspace(0.1, 0.9, 300)
    for found in (kernel(x), kernel(np.tile(x, (9, 1)))[4]):
        assert found.tobytes() == np.array([x[0] * x[1], *x]).tobytes()


def test_links_need_few_slots():
    slots = []
    for links in (30, 130):
        function = zoo.load("four_bar_chain", links=links).compile("forward_dynamics", cache=False).function
        slots.append(make_plan(function, True).slots)
    assert slots[1] - slots[0] <= 34 * 100


@pytest.mark.parametrize("name", ["mini_cheetah", "tello", "mit_humanoid", "belt_chain"])
def test_small_robots_keep_their_code(name):
    function = zoo.load(name).compile("forward_dynamics", cache=False).function
    assert make_plan(function, True) == make_plan(function, True, large=STRAIGHT)


def test_code_with_rows_is_in_another_order_and_not_rolled_up():
    function = zoo.load("stewart").compile("forward_dynamics", cache=False).function
    plan, straight = make_plan(function, True), make_plan(function, True, large=STRAIGHT)
    assert not any(isinstance(stage, Series) for stage in plan.stages) and plan.operations == straight.operations


def test_cold_and_warm_cache_agree(own_cache):
    mechanism = zoo.mechanism("four_bar_chain", links=30)
    results = []
    for _ in range(2):
        robot = Robot(mechanism)
        q, v = robot.random_state(0)
        results.append([robot.forward_dynamics(q, v, v), robot.forward_dynamics([q] * 5, [v] * 5, [v] * 5)])
    assert any(own_cache.iterdir())
    assert results[0][0].tobytes() == results[1][0].tobytes() == results[1][1][4].tobytes()
    assert results[0][1].tobytes() == results[1][1].tobytes()
