"""Random closed configurations: well conditioned, within limits, angles within a turn, cheap, and still random."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from helpers import assert_enough, mechanisms

import kinloop as kl
from kinloop.clusters import (
    ClusterTree,
    closing,
    conditioning,
    grow,
    loop_errors,
    random_closed,
    random_configurations,
    tree,
)
from kinloop.clusters.framing import framed
from kinloop.clusters.joint_ranges import JointDraws
from kinloop.clusters.random_configurations import LEAST_MARGIN, margin_and_side
from kinloop.model.loops import stacked_rows
from kinloop.model.topology import Topology
from kinloop.sim.singularity import nearness

SOLID = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}


def draws(tree: ClusterTree, n: int, **options) -> np.ndarray:
    return np.array([random_closed(tree, np.random.default_rng(seed), **options) for seed in range(n)])


def parallel_bars(limits: tuple[float, float] = (-np.inf, np.inf), off: float = 0.0) -> kl.Builder:
    """A platform on three parallel cranks, one more than needed, the last pin drawn `off` [m] beside the plane.

    The limits are those of the middle crank, which depends on the others.
    """
    b = kl.Builder("parallel_bars")
    for k, at in enumerate((0.0, 0.3, 0.7)):
        lower, upper = limits if k == 1 else (-np.inf, np.inf)
        b.body(f"crank{k}", **SOLID, axis="y", at=(at, 0, 0), lower=lower, upper=upper)
    b.body("platform", "crank0", **SOLID, axis="y", at=(0, 0, 0.5))
    for k, at in ((1, 0.3), (2, 0.7)):
        b.loop(f"pin{k}", "platform", f"crank{k}", "spherical", at=(at, off, 0), at_successor=(0, 0, 0.5))
    b.independent = ["crank0_joint"]
    return b


def slide(lower: float, upper: float, joint: str = "prismatic") -> ClusterTree:
    b = kl.Builder("slide")
    b.body("cart", **SOLID, joint=joint, axis="x", lower=lower, upper=upper)
    return grow(b.mechanism())


LOOPS = [name for name in kl.robots.names() if kl.robots.load(name).tree.loop_clusters]


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.sample(4)
def test_random_states_of_the_zoo_are_good_to_test_at(name):
    robot = kl.robots.load(name)
    plain = kl.Robot.from_tree(robot.tree, "numpy")
    frames, top = framed(robot.tree), robot.tree.top
    counted = {d for c in robot.tree for p in c.parts if p.linear for d in p.rows(top, top.neutral()).dofs}
    angles = [
        top.q_of[i].start
        for i, kind in enumerate(top.types)
        if kind.spin_axis is not None and top.v_of[i].start not in counted
    ]
    for seed in range(12):
        q, v = robot.random_state(seed)
        assert max(loop_errors(robot.tree, q).values()) < 1e-12
        assert nearness(frames, q) > 0.1
        assert conditioning(robot.tree, q) < 100.0
        assert np.all(np.abs(q[angles]) <= np.pi)
        tau = np.random.default_rng(seed).normal(size=robot.nv)
        a, b = (plain.forward_dynamics(q, v, tau, method=m) for m in (None, "dense_kkt"))
        assert np.max(np.abs(a - b)) < 1e-10 * np.max(np.abs(a))


def test_random_mechanisms_are_drawn_where_their_coordinates_hold():
    seen = 0
    for r in mechanisms(44, seed=1100):
        for q in draws(r.tree, 2):
            for c in r.tree.loop_clusters:
                assert margin_and_side(r.tree, c, r.tree.rows(c, q).K)[0] >= LEAST_MARGIN or not c.m, r.name
                seen += c.m > 0
    assert_enough(seen, 60, "clusters")


@pytest.mark.parametrize("name", ["tello", "four_bar", "four_bar_chain", "stewart", "wishbone", "six_bar"])
def test_a_draw_takes_few_evaluations_of_the_loops(name, monkeypatch):
    """Twenty or so per cluster: some 5 ms."""
    robot, count = kl.robots.load(name), Counter()
    robot.random_state(0)

    def counted(*arguments):
        count["rows"] += 1
        return stacked_rows(*arguments)

    for module in (closing, random_configurations, tree):
        monkeypatch.setattr(module, "stacked_rows", counted)
    draws(robot.tree, 10)
    assert 5 * 10 < count["rows"] < 60 * 10 * len(robot.tree.tied_clusters)


def test_loops_stay_on_the_side_on_which_they_are_assembled():
    """The links of a parallelogram stay parallel; crossed, the loop is closed too."""
    tree = grow(parallel_bars().mechanism())
    Q = draws(tree, 30)
    np.testing.assert_allclose(Q[:, 1:3], Q[:, :1].repeat(2, axis=1), atol=1e-9)
    np.testing.assert_allclose(Q[:, 3], -Q[:, 0], atol=1e-9)
    assert np.ptp(Q[:, 0]) > 1.5


@pytest.mark.parametrize("limits", [(-0.3, 0.4), (0.2, 0.5), (-2.0, -0.4)])
def test_limits_of_dependent_joints_are_kept(limits):
    """The crank that is drawn has no limits; in two cases the neutral configuration is beyond those of the other."""
    Q = draws(grow(parallel_bars(limits).mechanism()), 30)
    assert np.all((Q[:, 1] >= limits[0]) & (Q[:, 1] <= limits[1]))
    assert np.ptp(Q[:, 1]) > 0.6 * min(limits[1] - limits[0], 1.0)


@pytest.mark.parametrize("limits", [(0.5, 2.4), (-2.4, -0.5)])
def test_sides_are_changed_where_limits_are_on_the_other(limits):
    """Drawn flat, between two sides, and beyond its limits: one of the two is not where `neutral` moves off to."""
    b = kl.Builder("flat")
    b.body("crank", **SOLID, axis="y")
    b.body("coupler", "crank", **SOLID, axis="y", at=(0.4, 0, 0))
    b.body("rocker", **SOLID, axis="y", at=(1.0, 0, 0), lower=limits[0], upper=limits[1])
    b.loop("pin", "coupler", "rocker", "revolute", axis="y", at=(1.0, 0, 0), at_successor=(0.4, 0, 0))
    tree = grow(b.mechanism())
    Q = draws(tree, 30)
    assert np.all((Q[:, 2] >= limits[0]) & (Q[:, 2] <= limits[1])) and np.ptp(Q[:, 2]) > 0.5
    assert nearness(framed(tree), Q[0]) > 0.1


def test_limits_can_be_left_alone():
    tree = grow(parallel_bars((0.1, 0.1)).mechanism())
    assert np.ptp(draws(tree, 20, limits=False)[:, 1]) > 1.5
    assert np.ptp(draws(slide(0.1, 0.1), 20, limits=False)) > 0.5


@pytest.mark.parametrize(
    ("joint", "limits", "between"),
    [
        ("revolute", (-0.2, 0.7), (-0.2, 0.7)),
        ("revolute", (0.0, 2 * np.pi), (0.0, 2 * np.pi)),
        ("revolute", (-18.0, 7.0), (-np.pi, np.pi)),
        ("revolute", (4.0, 40.0), (4.0, 4.0 + 2 * np.pi)),
        ("revolute", (1.0, np.inf), (1.0, 1.0 + 2 * np.pi)),
        ("revolute", (-np.inf, np.inf), (-np.pi, np.pi)),
        ("prismatic", (1.0, 4.0), (1.0, 4.0)),
        ("prismatic", (-np.inf, 0.2), (-0.8, 0.2)),
        ("prismatic", (-np.inf, np.inf), (-0.5, 0.5)),
    ],
)
def test_single_joints_are_uniform_within_limits_and_a_turn_or_a_metre(joint, limits, between):
    x = draws(slide(*limits, joint), 200)
    low, high = between
    assert np.all((x >= low) & (x <= high))
    counts, _ = np.histogram(x, bins=4, range=between)
    assert np.all(counts > 25)


def test_joints_drawn_in_one_go_are_those_drawn_one_after_another():
    """Every kind by itself, one with limits once more between them; rows take the same numbers."""
    b = kl.Builder("kinds")
    for joint in ("revolute", "free", "prismatic", "spherical", "cylindrical", "planar", "universal"):
        b.body(joint, **SOLID, joint=joint)
    b.body("short", **SOLID, axis="x", lower=-0.2, upper=0.7)
    b.body("last", **SOLID, joint="prismatic", axis="x")
    top = Topology.of(b.mechanism())
    draws, rng = JointDraws(top, range(len(top)), True), np.random.default_rng(1)
    found = draws.one(np.random.default_rng(1))
    for kind, at, joint in zip(top.types, top.q_of, top.joints, strict=True):
        expected = kind.random(rng)
        expected = np.array([rng.uniform(-0.2, 0.7)]) if joint.name == "short_joint" else expected
        np.testing.assert_array_equal(found[at], expected)
    numbers = np.random.default_rng(2).random((3, draws.count))
    rows = draws.rows(numbers, 5)
    np.testing.assert_array_equal(rows[:2], draws.rows(numbers[:2], 5))
    plain = JointDraws(top, [0, 2, 7], True)
    seeds = [np.random.default_rng(k) for k in range(3)]
    rows = plain.rows(np.array([np.random.default_rng(k).random(plain.count) for k in range(3)]))
    np.testing.assert_array_equal(rows, [plain.one(seed) for seed in seeds])


def test_rotors_turn_as_often_as_their_gears_say():
    """Their turns are counted, and stay; the joint they drive is uniform over its turn."""
    b = kl.Builder("gear")
    b.body("link", **SOLID, axis="z")
    b.body("rotor", **SOLID, axis="z")
    b.gear("rotor_joint", "link_joint", 9.0)
    Q = draws(grow(b.mechanism()), 60)
    np.testing.assert_allclose(Q[:, 1], 9.0 * Q[:, 0], atol=1e-12)
    assert np.all(np.abs(Q[:, 0]) <= np.pi) and np.min(np.histogram(Q[:, 0], bins=4, range=(-np.pi, np.pi))[0]) > 5


def test_loops_that_close_only_as_well_as_they_are_drawn_are_drawn_at_random_too():
    tree = grow(parallel_bars(off=1e-6).mechanism())
    Q = draws(tree, 20)
    assert np.ptp(Q[:, 0]) > 1.5
    assert 1e-8 < max(max(loop_errors(tree, q).values()) for q in Q) <= closing.TOLERANCE


@pytest.mark.parametrize("limits", [(-np.inf, np.inf), (0.1, 0.6)])
def test_loops_kept_as_constraints_are_closed_within_limits(limits):
    b = parallel_bars(limits)
    b.independent = []
    m = replace(b.mechanism(), constrained=("pin1", "pin2"))
    tree = grow(m)
    Q = draws(tree, 20)
    assert max(max(loop_errors(tree, q).values()) for q in Q) < 1e-12
    assert np.all((Q[:, 1] >= limits[0]) & (Q[:, 1] <= limits[1]))
    assert np.all(np.abs(Q) <= np.pi) and np.ptp(Q[:, 0]) > 0.3


def test_equal_seeds_give_equal_states_of_a_robot():
    robot = kl.robots.load("tello")
    for one, two in zip(robot.random_state(3), kl.robots.load("tello").random_state(3), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(robot.random_state(4)[0], robot.random_state(3)[0])
