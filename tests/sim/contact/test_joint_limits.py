"""What bounds the motion of joints: stops that they keep, and ways back from beyond them."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.sim.actuators import make_drive
from kinloop.sim.contact.joint_limits import BACK, FASTEST, NEVER, RETURN, JointLimit, joint_limits
from tests.sim.mechanisms import free_box, leg

H = 1e-3


def test_bounds_lead_to_the_stop_in_one_step():
    limit = JointLimit(0, 0, -0.5, 1.0, 0.0)
    for x in (-0.49999, 0.3, 0.99):
        low, high = limit.bounds(x, H)
        if low < BACK * H:
            assert x + H * low == pytest.approx(-0.5)
        assert x + H * high == pytest.approx(1.0)


def test_beyond_a_stop_a_joint_comes_back_the_more_slowly_the_nearer_it_is():
    limit = JointLimit(0, 0, -0.5, 1.0, 0.0)
    assert limit.bounds(-0.52, H)[0] == pytest.approx(BACK * H + 0.02 / RETURN)
    assert limit.bounds(1.01, H)[1] == pytest.approx(-BACK * H - 0.01 / RETURN)
    assert limit.bounds(-9.0, H)[0] == -limit.bounds(9.0, H)[1] == pytest.approx(BACK * H + FASTEST)
    close = 1e-3 * BACK * H * H  # nearer than what a step brings back: exactly to the stop
    assert limit.bounds(-0.5 - close, H)[0] == pytest.approx(close / H, rel=1e-6)


def test_joints_without_a_stop_on_one_side_are_free_there():
    assert JointLimit(0, 0, -np.inf, np.inf, 0.1).bounds(0.0, H) == (-NEVER, NEVER)
    assert JointLimit(0, 0, 0.0, np.inf, 0.0).bounds(0.5, H) == (-0.5 / H, NEVER)


def test_stops_and_friction_are_found_where_joints_have_them():
    robot = leg(friction=0.2)
    found = joint_limits(robot.tree, make_drive(robot.tree, None), True)
    assert found == [JointLimit(6, 7, -2.0, 2.0, 0.0), JointLimit(7, 8, 0.1, 1.4, 0.2)]
    assert joint_limits(free_box().tree, make_drive(free_box().tree, None), True) == []
