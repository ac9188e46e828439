"""Chains of any length: gears, belts, four-bars."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import ModelError

from .numpy_robots import build


@pytest.mark.parametrize("name, links", [("geared_chain", 0), ("belt_chain", 3), ("four_bar_chain", 1.5)])
def test_impossible_lengths_are_refused(name, links):
    with pytest.raises(ModelError, match="links must be"):
        kl.robots.mechanism(name, links=links)


def test_geared_chain_has_a_cluster_of_two_per_joint():
    robot = build("geared_chain", links=5, ratio=9.0)
    assert [len(c.bodies) for c in robot.tree] == [2] * 5
    assert robot.nv == 5
    qd = robot.spanning_velocity(robot.neutral(), np.arange(1.0, 6.0))
    np.testing.assert_array_equal(qd, np.outer(np.arange(1.0, 6.0), [1, 9]).ravel())


def test_belt_chain_couples_pairs_as_the_paper_prints():
    robot = build("belt_chain", links=6)
    assert [len(c.bodies) for c in robot.tree] == [4] * 3
    qd = robot.spanning_velocity(robot.neutral(), [1.0, 2.0, 0, 0, 0, 0])
    assert qd[:4].tolist() == [1.0, 12.0, 36.0, 2.0]  # link, its rotor, the far rotor, the far link


def test_four_bar_chain_keeps_its_bars():
    """Distances between pins, measured from poses."""
    robot = build("four_bar_chain", links=2)
    q, _ = robot.random_state(0)
    for k in range(2):
        coupler, rocker = (robot.frame_pose(q, f"{name}-{k}") for name in ("coupler", "rocker"))
        end = coupler @ [1.0, 0, 0, 1]
        assert abs(np.linalg.norm(end[:3] - rocker[:3, 3]) - 0.8) < 1e-9
