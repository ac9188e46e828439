"""What every kind of loop and coupling says about itself."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree, mechanisms

import kinloop as kl
from kinloop.algorithms.trees.kinematics import world_poses
from kinloop.clusters import random_closed
from kinloop.model import WORLD, Builder, Topology
from kinloop.model.loops import RowUnit
from kinloop.spatial import Transform, axis_rotation

SOLID = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


def everything() -> Topology:
    """A mechanism with every kind of closure."""
    b = Builder("everything")
    for name in "abcdef":
        b.body(name, **SOLID, axis="z", at=(0.1, 0, 0))
    b.loop("pin", WORLD, "a", "revolute", axis="z", at=(0.1, 0, 0))
    b.rod("rod", "a", "b", (0.3, 0, 0), (0, 0.2, 0), 0.25)
    b.loop_function("slot", ["a_joint", "c_joint"], lambda x, y: x - y)
    b.gear("d_joint", "a_joint", 6.0, name="gear")
    b.linear(["e_joint"], ["a_joint", "b_joint"], [[1.0, 2.0]], name="belt")
    b.polynomial("f_joint", "a_joint", (0.0, 1.0), name="cam")
    b.coupling(["c_joint"], ["b_joint"], lambda y: y * y, name="own")
    return Topology.of(b.mechanism())


ANSWERS = {  # kind, between, ends, linear, explicit joints, has ratios
    "pin": ("revolute joint", "world - a", (WORLD, "a"), False, (), False),
    "rod": ("rod of 0.25 m", "a - b", ("a", "b"), False, (), False),
    "slot": ("function", "a_joint, c_joint", None, False, (), False),
    "gear": ("gear of 6", "a_joint -> d_joint", None, True, ("d_joint",), True),
    "belt": ("linear", "a_joint, b_joint -> e_joint", None, True, ("e_joint",), True),
    "cam": ("polynomial", "a_joint -> f_joint", None, False, ("f_joint",), False),
    "own": ("function", "b_joint -> c_joint", None, False, ("c_joint",), False),
}


def test_every_kind_answers_for_itself():
    closures = everything().mechanism.closures
    assert [c.name for c in closures] == list(ANSWERS)
    for c in closures:
        said = (c.kind, c.between, c.ends, c.linear, c.explicit_joints(), c.ratios is not None)
        assert said == ANSWERS[c.name]
        assert c.touches("a") == (c.ends is not None)


def test_bodies_are_those_whose_joints_have_columns():
    top = everything()
    for c in top.mechanism.closures:
        assert {top.body_of[d] for d in c.rows(top, np.zeros(top.nq)).dofs} == set(c.bodies(top)), c.name


def test_only_linear_kinds_have_the_same_rows_everywhere():
    top = everything()
    rng = np.random.default_rng(0)
    for c in top.mechanism.closures:
        K = [c.rows(top, rng.normal(size=top.nq)).K for _ in range(2)]
        if c.linear:
            np.testing.assert_array_equal(*K)


def test_shifts_count_by_their_longest_lever_turns_by_radians_the_rest_by_itself():
    pin, rod, slot, *_ = everything().mechanism.closures
    assert pin.row_units == (RowUnit.SHIFT,) * 3 + (RowUnit.TURN,) * 2 and rod.row_units == (RowUnit.SHIFT,)
    np.testing.assert_array_equal(pin.row_sizes(np.array([1.0, 3.0, 2.0, 5.0, 0.1])), [3.0, 3.0, 3.0, 1.0, 1.0])
    np.testing.assert_array_equal(rod.row_sizes(np.array([0.4])), [0.4])
    np.testing.assert_array_equal(slot.row_sizes(np.array([0.4, 2.0])), [0.4, 2.0])


@pytest.mark.parametrize("kind", ["rods", "loop_universal", "loop_helical"])
def test_reattached_loops_join_the_same_points(kind):
    """A loop on links that stand still in their bodies, moved to the bodies, leaves the same rows."""
    turn = Transform(axis_rotation(np.array([0.6, 0.0, 0.8]), 0.7), np.array([0.1, -0.2, 0.3]))
    for r in mechanisms(4, seed=900, kind=kind):
        top = r.tree.top
        q = random_closed(r.tree, r.rng)
        for loop in r.mechanism.loops:
            on_links = loop.reattached(*((end, turn.inverse()) for end in loop.ends))
            back = on_links.reattached(*((end, turn) for end in loop.ends))
            assert back.ends == loop.ends
            a, b = loop.rows(top, q), back.rows(top, q)
            assert_agree(b.phi, a.phi, scale=1.0)
            assert_agree(b.K, a.K, cond=10.0)
            assert np.max(np.abs(on_links.rows(top, q).phi)) > 1e-6, "the frames themselves have moved"


def test_a_rod_shows_as_a_bar_of_its_length_with_a_ball_at_either_end():
    top = everything()
    rod = top.mechanism.closures[1]
    picture = rod.picture(top)
    (bar,) = picture.bars
    assert [m.body for m in picture.marks] == ["a", "b"] and all(m.type is None for m in picture.marks)
    q = np.zeros(top.nq)
    poses = world_poses(top, q)
    ends = [poses[i].p + poses[i].R @ x for i, x in zip(bar.bodies, bar.ends(q), strict=True)]
    phi = float(rod.rows(top, q).phi[0])
    assert np.linalg.norm(ends[0] - ends[1]) ** 2 == pytest.approx(0.25**2 + 2 * 0.25 * phi)


def test_a_loop_joint_shows_as_one_pin_where_a_body_has_it():
    pin = everything().mechanism.closures[0]
    picture = pin.picture(everything())
    (mark,) = picture.marks
    assert (mark.body, mark.type) == ("a", pin.type)
    assert [body for body, _ in picture.points] == [WORLD, "a"] and not picture.bars


def test_functions_show_the_bars_they_stand_for():
    robot = kl.robots.load("tello")
    q = robot.neutral()
    bars = [bar for loop in robot.mechanism.loops for bar in loop.picture(robot.tree.top).bars]
    assert [b.name for b in bars[:3]] == [f"left-hip-differential_{x}" for x in ("crank1", "rod1", "crank2")]
    lengths = {b.name: np.linalg.norm(np.subtract(*b.ends(q))) for b in bars if not b.crank}
    assert lengths["left-hip-differential_rod1"] == pytest.approx(0.155)
    assert lengths["right-knee-ankle-differential_rod"] == pytest.approx(0.2146)
    slot = everything().mechanism.closures[2]
    assert slot.picture(everything()) == ((), (), ())


def test_how_far_a_loop_is_open_says_the_unit_and_whether_points_or_axes_miss() -> None:
    b = kl.Builder("arms")
    for name in ("left", "right"):
        b.body(name, mass=1.0, inertia=(0.1, 0.2, 0.2), joint="spherical")
    b.body("wheel", mass=1.0, inertia=(0.1, 0.2, 0.2), axis="x")
    b.body("gear", mass=1.0, inertia=(0.1, 0.2, 0.2), axis="x")
    b.loop("hinge", "left", "right", axis="z", at=(1, 0, 0), at_successor=(1, 0, 0))
    b.gear("gear_joint", "wheel_joint", 2.0)
    m = b.mechanism()
    hinge, gear = m.closures
    assert hinge.openness(np.array([0.0, -0.05, 0.0, 0.01, 0.02])) == "open by 0.05 m between its points"
    assert hinge.openness(np.array([0.0, 0.0, 0.0, 0.01, -0.02])) == "open by 0.02 rad between its axes"
    assert hinge.openness(np.array([0.0, np.nan, 0.0, 0.01, 0.02])) == "open by nan m between its points"
    assert gear.openness(np.array([0.3])) == "open by 0.3 (m or rad, as its joints move)"
