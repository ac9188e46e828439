"""Random states by kernels: those of the search on numbers, in rows that depend on nothing but their seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from clusters.test_random_configurations import LOOPS, SOLID, parallel_bars
from helpers import assert_enough, mechanisms

import kinloop as kl
from kinloop.clusters import loop_errors, random_configurations
from kinloop.clusters.closing import TOLERANCE
from kinloop.clusters.random_configurations import LEAST_MARGIN, kinds_of, margin_and_side
from kinloop.clusters.random_ways import is_good, way
from kinloop.errors import MethodError
from kinloop.kernels import Kernels


def searched(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Everything for which the search on numbers is asked from now on."""
    asked: list[object] = []
    search = random_configurations.on_the_way

    def counted(kind, target, part):
        asked.append(kind)
        return search(kind, target, part)

    monkeypatch.setattr(random_configurations, "on_the_way", counted)
    monkeypatch.setattr("kinloop.random_states.on_the_way", counted)
    return asked


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.sample(3)
def test_kernels_draw_what_the_search_on_numbers_draws(name, monkeypatch):
    robot = kl.robots.load(name)
    plain = kl.Robot.from_tree(robot.tree, "numpy")
    expected = [plain.random_state(seed) for seed in range(5)]
    rows = plain.random_state(3, size=5)
    asked = searched(monkeypatch)
    for seed, (q, v) in enumerate(expected):
        found = robot.random_state(seed)
        np.testing.assert_allclose(found[0], q, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(found[1], v)
    q, v = robot.random_state(3, size=5)
    np.testing.assert_allclose(q, rows[0], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(v, rows[1])
    assert not asked, "kernels went all ways"


@pytest.mark.parametrize("name", ["tello", "stewart", "four_bar_chain", "mit_humanoid", "mit_humanoid_no_rotors"])
def test_rows_depend_on_nothing_but_their_seed(name, monkeypatch):
    robot = kl.robots.load(name)
    q, v = robot.random_state(7, size=33)
    for size in (1, 2, 8):
        few = robot.random_state(7, size=size)
        np.testing.assert_array_equal(few[0], q[:size])
        np.testing.assert_array_equal(few[1], v[:size])
    monkeypatch.setenv("KINLOOP_THREADS", "2")
    np.testing.assert_array_equal(robot.random_state(np.random.default_rng(7), size=33)[0], q)
    assert len(np.unique(q, axis=0)) == 33
    rng = np.random.default_rng(7)
    assert not np.array_equal(robot.random_state(rng, size=2)[0], robot.random_state(rng, size=2)[0])


@pytest.mark.parametrize("name", ["tello", "wishbone", "stewart", "six_bar"])
def test_rows_are_good_to_test_at(name):
    robot = kl.robots.load(name)
    q, v = robot.random_state(1, size=200)
    assert q.shape == (200, robot.nq) and v.shape == (200, robot.nv)
    assert np.max(robot.loop_error(q)) < 1e-12
    for c in robot.tree.loop_clusters:
        assert min(margin_and_side(robot.tree, c, robot.tree.rows(c, x).K)[0] for x in q) >= LEAST_MARGIN
    lower, upper = np.array([(j.lower, j.upper) for j in robot.tree.top.joints if j.type.nq == 1]).T
    single = [at.start for at, t in zip(robot.tree.top.q_of, robot.tree.top.types, strict=True) if t.nq == 1]
    assert np.all((q[:, single] >= lower) & (q[:, single] <= upper))
    assert np.all(np.abs(np.mean(v, axis=0)) < 0.35) and np.all(np.abs(np.std(v, axis=0) - 1.0) < 0.25)


def test_independent_coordinates_of_rows_are_uniform_where_all_is_free():
    b = kl.Builder("gear")
    b.body("link", **SOLID, axis="z", lower=-0.5, upper=1.5)
    b.body("rotor", **SOLID, axis="z")
    b.gear("rotor_joint", "link_joint", 9.0)
    b.body("free", **SOLID, axis="z")
    q, _ = b.build().random_state(0, size=400)
    np.testing.assert_allclose(q[:, 1], 9.0 * q[:, 0], atol=1e-12)
    assert np.min(np.histogram(q[:, 0], bins=4, range=(-0.5, 1.5))[0]) > 70
    assert np.min(np.histogram(q[:, 2], bins=4, range=(-np.pi, np.pi))[0]) > 70


@pytest.mark.parametrize("limits", [(-0.3, 0.4), (0.2, 0.5), (-2.0, -0.4)])
def test_rows_keep_limits_of_dependent_joints_and_sides(limits):
    """Ways end at limits; in two cases they begin away from neutral, at one of them: many rows need other targets."""
    robot = parallel_bars(limits).build()
    q, _ = robot.random_state(0, size=100)
    assert np.all((q[:, 1] >= limits[0]) & (q[:, 1] <= limits[1]))
    assert np.ptp(q[:, 1]) > 0.6 * min(limits[1] - limits[0], 1.0)
    np.testing.assert_allclose(q[:, 1:3], q[:, :1].repeat(2, axis=1), atol=1e-9)
    plain = kl.Robot.from_tree(robot.tree, "numpy").random_state(0, size=12)[0]
    np.testing.assert_allclose(q[:12], plain, rtol=0, atol=1e-12)


def test_gears_end_at_the_limits_of_what_they_drive():
    """The rotor has limits, the link that is drawn has none: ways of linear clusters end too."""
    b = kl.Builder("gear")
    b.body("link", **SOLID, axis="z")
    b.body("rotor", **SOLID, axis="z", lower=-2.0, upper=9.0)
    b.gear("rotor_joint", "link_joint", 9.0)
    robot = b.build()
    q, _ = robot.random_state(0, size=100)
    assert np.all((q[:, 1] >= -2.0) & (q[:, 1] <= 9.0)) and np.ptp(q[:, 1]) > 9.0
    for seed in range(8):
        plain = random_configurations.random_closed(robot.tree, np.random.default_rng(seed))
        np.testing.assert_allclose(robot.random_state(seed)[0], plain, rtol=0, atol=1e-12)


def test_what_kernels_cannot_close_is_searched_on_numbers(monkeypatch):
    """Loops that close only as well as they are drawn."""
    robot = parallel_bars(off=1e-6).build()
    asked = searched(monkeypatch)
    q, _ = robot.random_state(0, size=20)
    assert len(asked) >= 20 and np.ptp(q[:, 0]) > 1.5
    assert 1e-8 < np.max(robot.loop_error(q)) <= TOLERANCE


def test_loops_kept_as_constraints_are_drawn_in_rows():
    b = parallel_bars((0.1, 0.6))
    b.independent = []
    robot = kl.Robot(replace(b.mechanism(), constrained=("pin1", "pin2")))
    q, v = robot.random_state(0, size=4)
    assert max(max(loop_errors(robot.tree, x).values()) for x in q) < 1e-12
    assert np.all((q[:, 1] >= 0.1) & (q[:, 1] <= 0.6)) and v.shape == (4, robot.nv)
    np.testing.assert_array_equal(robot.random_state(0, size=2)[0], q[:2])


def test_clusters_that_are_alike_share_one_kernel(monkeypatch):
    made, make = [], Kernels.make
    monkeypatch.setattr(Kernels, "make", lambda self, name, *a, **k: made.append(name) or make(self, name, *a, **k))
    robot = kl.robots.load("four_bar_chain", links=12)
    robot.random_state(0)
    robot.random_state(0, size=3)
    assert 0 < made.count("random_way") <= 2 and len(robot.tree.loop_clusters) == 12


def test_a_way_knows_good_places_as_the_search_on_numbers_does():
    """Far and near dead centres: margin, side, limits and closure, each by its number."""
    seen = set()
    for name in ("four_bar", "six_bar", "bricard", "stewart"):
        robot = kl.robots.load(name)
        (kind, _), rng = robot.tree.once(kinds_of, True).of[0], np.random.default_rng(0)
        c, top = kind.cluster, kind.tree.top
        for _ in range(60):
            q, error = random_configurations.close_parts(top, c.parts, c.dependent_dofs, kind.target(rng))
            margin, side = margin_and_side(kind.tree, c, kind.tree.rows(c, q).K)
            expected = error <= TOLERANCE and margin >= LEAST_MARGIN and side == kind.start.side
            if abs(margin - LEAST_MARGIN) > 1e-9:
                assert bool(is_good(kind, q)) == expected, name
                seen.add((error <= TOLERANCE, margin >= LEAST_MARGIN, side == kind.start.side))
    assert {(True, True, True), (True, True, False), (True, False, True)} <= seen


def test_steps_whose_rounds_lead_away_are_not_taken():
    """Platform at two targets to which Newton's rounds would jump."""
    robot, rng = kl.robots.load("stewart"), np.random.default_rng(0)
    kind, _ = robot.tree.once(kinds_of, True).of[0]
    drawn = [(kind.target(rng), rng.uniform()) for _ in range(60)]
    kernel = robot._random._way(kind)
    for target, part in (drawn[9], drawn[59]):
        expected = random_configurations.on_the_way(kind, target, lambda part=part: part)
        np.testing.assert_allclose(kernel.one(kind, target, lambda part=part: part), expected.q, rtol=0, atol=1e-10)


def test_a_way_on_numbers_is_that_of_its_kernel():
    robot = kl.robots.load("four_bar")
    (kind, _), rng = robot.tree.once(kinds_of, True).of[0], np.random.default_rng(2)
    kernel = robot.kernels.make("random_way", lambda t, s: way(kind, t, s), {"target": 3, "stop": 1}, key="test")
    for stop in (1.0, 0.3, 0.01):
        target = kind.target(rng)
        found = np.array(way(kind, target, np.array([stop])), dtype=float)
        np.testing.assert_allclose(kernel(target, np.array([stop])), found, rtol=0, atol=1e-12)
        assert found[-2] <= stop and found[-1] == 1.0


@pytest.mark.parametrize("size", [-1, 2.5, "many"])
def test_a_size_that_is_no_number_of_rows_is_refused(size):
    with pytest.raises(MethodError, match=r"size must be .*, received"):
        kl.robots.load("four_bar").random_state(0, size=size)


def test_no_rows_can_be_asked_for():
    q, v = kl.robots.load("four_bar").random_state(0, size=0)
    assert q.shape == (0, 3) and v.shape == (0, 1)


@pytest.mark.slow
def test_random_mechanisms_are_drawn_alike_by_kernels_and_on_numbers():
    """To 1e-6: ball joints that loops hold in part remember what their ways left open."""
    rows = 0
    for r in mechanisms(44, seed=1100):
        q, _ = kl.Robot.from_tree(r.tree).random_state(0, size=6)
        plain, _ = kl.Robot.from_tree(r.tree, "numpy").random_state(0, size=6)
        np.testing.assert_allclose(q, plain, rtol=0, atol=1e-6, err_msg=r.name)
        rows += len(q)
    assert_enough(rows, 200, "rows")


def test_drawing_a_state_leaves_the_neutral_one_alone():
    robot = kl.robots.load("four_bar")  # which is not good to begin ways at where it is neutral
    before = robot.neutral()
    robot.random_state(0)
    robot.random_state(0, size=3)
    np.testing.assert_array_equal(robot.neutral(), before)
    np.testing.assert_array_equal(kl.robots.load("four_bar").neutral(), before)
