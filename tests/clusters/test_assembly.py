"""Closed configurations of a whole robot: nearest, neutral, random; and how well charts are conditioned there."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_enough, drop, mechanisms

import kinloop as kl
from kinloop.clusters import close, conditioning, grow, loop_errors, neutral, random_closed
from kinloop.clusters.assembly import unwound
from kinloop.errors import LoopNotClosed
from kinloop.model import WORLD, Builder

SOLID = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


def four_bar(ground: float = 1.2, links: tuple = (0.4, 1.0, 0.8), kind: str = "revolute", name: str = "pin"):
    b = Builder("four_bar")
    b.body("crank", **SOLID, axis="y")
    b.body("coupler", "crank", **SOLID, axis="y", at=(links[0], 0, 0))
    b.body("rocker", **SOLID, axis="y", at=(ground, 0, 0))
    axis = {"axis": "y"} if kind != "spherical" else {}
    b.loop(name, "coupler", "rocker", kind, **axis, at=(links[1], 0, 0), at_successor=(links[2], 0, 0))
    return b


def slider_crank():
    """One row only: a rod from a crank pin to a slider; its chart dies where the rod stands across the slide."""
    b = Builder("slider_crank")
    b.body("crank", **SOLID, axis="z")
    b.body("slider", **SOLID, joint="prismatic", axis="x")
    b.rod("rod", "crank", "slider", (0.3, 0, 0), (0, 0, 0), 0.5)
    return b


def test_whole_turns_are_taken_out_of_hinges_that_nothing_counts():
    tree = grow(four_bar().mechanism())
    (cluster,) = tree.clusters
    q = neutral(tree)
    wound = q + 2.0 * np.pi * np.array([3.0, -100.0, 1.0])
    assert np.allclose(unwound(cluster, cluster.alone, wound), q, atol=1e-12)
    b = four_bar()
    b.body("idler", **SOLID, axis="y", at=(0.0, 0.5, 0.0))
    b.gear("idler_joint", "crank_joint", 0.5)
    counted = next(c for c in grow(b.mechanism()).clusters if len(c.parts) > 1)
    there = np.array([*wound, 0.5 * wound[0]])
    assert np.array_equal(unwound(counted, counted.alone, there), there)


def test_the_nearest_closed_position_is_near():
    compared = 0
    for r in mechanisms(22, seed=500):
        q = random_closed(r.tree, r.rng)
        if conditioning(r.tree, q) > 1e2:
            drop("closing: a position near a singular one, where the nearest closed one need not be near")
            continue
        step = r.rng.normal(size=r.tree.top.n_spanning) * 1e-4
        found = close(r.tree, r.tree.top.integrate(q, step))
        assert max(loop_errors(r.tree, found).values(), default=0.0) < 1e-11, r.name
        assert np.max(np.abs(r.tree.top.difference(q, found)), initial=0.0) < 1e-4 * 1e3, r.name
        compared += 1
    assert_enough(compared, 20, "positions")


def test_a_closed_position_stays_where_it_is():
    for r in mechanisms(22, seed=520):
        q = random_closed(r.tree, r.rng)
        assert np.max(np.abs(r.tree.top.difference(q, close(r.tree, q))), initial=0.0) < 1e-9, r.name


def test_random_and_neutral_positions_are_closed():
    for r in mechanisms(44, seed=540):
        for q in (neutral(r.tree), random_closed(r.tree, r.rng)):
            assert max(loop_errors(r.tree, q).values(), default=0.0) < 1e-11, r.name


def test_random_positions_spread_over_what_the_loops_allow():
    tree = grow(four_bar().mechanism())
    rng = np.random.default_rng(0)
    cranks = [float(np.angle(np.exp(1j * random_closed(tree, rng)[0]))) for _ in range(60)]
    counts, _ = np.histogram(cranks, bins=4, range=(-np.pi, np.pi))
    assert np.all(counts > 3), "a crank that turns fully is found in every quadrant"


def test_equal_seeds_give_equal_random_positions():
    tree = grow(four_bar().mechanism())
    one, two = (random_closed(tree, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_a_loop_that_cannot_close_is_named_with_its_gap():
    with pytest.raises(LoopNotClosed, match=r"loop 'too_far' cannot be closed: .*open by .*check the loop's frames"):
        grow(four_bar(ground=5.0, name="too_far").mechanism())


def test_a_loop_that_cannot_close_here_is_named_with_its_gap():
    tree = grow(four_bar().mechanism())
    with pytest.raises(LoopNotClosed, match=r"loop 'pin' stays open by .*start closer to an assembled"):
        close(tree, np.array([np.nan, 0.0, 0.0]))


def test_closing_gets_out_of_stretched_positions():
    """From here a descent ends with crank and coupler stretched towards the rocker's far side."""
    tree = grow(four_bar().mechanism())
    q = close(tree, np.array([0.4, 0.3, -1.0]))
    assert loop_errors(tree, q)["pin"] < 1e-12


def test_loop_errors_measure_the_gap():
    tree = grow(four_bar().mechanism())
    q = close(tree, np.array([0.4, 0.3, -1.0]))
    assert loop_errors(tree, q)["pin"] < 1e-12
    q[2] += 1e-3
    assert 1e-4 < loop_errors(tree, q)["pin"] < 1e-3


def test_a_chart_of_one_row_knows_its_singularity():
    tree = grow(slider_crank().mechanism())
    assert tree.nv == 1
    independent = tree.top.coordinates[tree.independent_dofs[0]]
    at = {
        "crank_joint": lambda t: np.array([np.pi / 2 - t, 0.3 * np.sin(t) + np.sqrt(0.25 - 0.09 * np.cos(t) ** 2)]),
        "slider_joint": lambda t: np.array([t, 0.3 * np.cos(t) + np.sqrt(0.25 - 0.09 * np.sin(t) ** 2)]),
    }[independent]
    if independent == "slider_joint":  # dead centre: the slider at its end cannot say which way the crank goes
        assert conditioning(tree, at(1e-5)) > 1e3
    assert conditioning(tree, at(0.7)) < 1e2


def test_a_dead_centre_is_seen_in_the_condition_of_the_chart():
    b = slider_crank()
    b.independent = ["slider_joint"]
    tree = grow(b.mechanism())
    numbers = []
    for t in (0.5, 1e-1, 1e-2, 1e-4):
        numbers.append(conditioning(tree, np.array([t, 0.3 * np.cos(t) + np.sqrt(0.25 - 0.09 * np.sin(t) ** 2)])))
    assert np.all(np.diff(numbers) > 0) and numbers[0] < 10 and numbers[-1] > 1e3


def test_gears_of_any_ratio_are_well_conditioned():
    b = Builder("gear")
    b.body("link", **SOLID, axis="z")
    b.body("rotor", **SOLID, axis="z")
    b.gear("rotor_joint", "link_joint", 1e6)
    tree = grow(b.mechanism())
    assert conditioning(tree, np.array([0.0, 0.0])) == 1.0
    assert loop_errors(tree, np.array([1e-3, 1e3])) == {"link_joint~rotor_joint": 0.0}
    assert WORLD not in loop_errors(tree, np.zeros(2))


def test_loops_held_as_constraints_are_closed_too():
    b = kl.Builder("held")
    for name, parent, at in (("a", "world", 0.0), ("b", "a", 0.4), ("c", "world", 1.0)):
        b.body(name, parent, mass=1.0, inertia=(0.1, 0.1, 0.1), axis="y", at=(at, 0, 0))
    b.loop("pin", "b", "c", "revolute", axis="y", at=(0.9, 0, 0), at_successor=(0.6, 0, 0))
    b.constrained.append("pin")
    robot = b.build()
    assert robot.nv == 3
    for q in (robot.neutral(), robot.random_state(0)[0], robot.close([0.3, 0.1, -0.2])):
        assert np.max(robot.loop_error(q)) < 1e-10
