"""A simulation with a clock: what is recorded, of which batch row, up to when."""

from types import SimpleNamespace

import numpy as np
import pytest

import kinloop as kl
from kinloop.cli.timed_run import FRAME, Run, run
from kinloop.sim import Plane, Simulator


def test_what_is_shown_is_of_the_time_before_a_row_stopped():
    rollout = SimpleNamespace(t=np.array([0.1, 0.2, 0.3]), stopped=np.array([0.25, np.inf]))
    assert Run(None, rollout, 0, 0, 0, 2).alive.tolist() == [True, True, False]
    rollout.stopped[0] = 0.01
    assert Run(None, rollout, 0, 0, 0, 2).alive.tolist() == [False, False, False]


def test_states_are_recorded_at_the_rate_of_a_film():
    robot = kl.robots.load("double_pendulum")
    done = run(Simulator(robot, 1e-3), robot.neutral(), None, None, 0.05, ("q",))
    np.testing.assert_allclose(np.diff(done.rollout.t), FRAME)
    assert (done.steps, done.rows) == (50, 1)
    assert done.first("q").shape == (5, robot.nq) and done.rate > 0
    assert done.contact_arrows() is None


def test_contacts_are_arrows_at_the_ground():
    robot = kl.robots.load("mini_cheetah")
    q = robot.neutral()
    q[2] = 0.3
    sim = Simulator(robot, 1e-3, ground=Plane(), contacts=["FL_foot_contact"])
    done = run(sim, np.tile(q, (2, 1)), None, None, 0.02, ("q", "contact_force"))
    points, forces = done.contact_arrows()
    assert points.shape == forces.shape == (2, 1, 3)
    pose = robot.frame_pose(done.first("q"), "FL_foot_contact")
    np.testing.assert_allclose(points[:, 0], pose[:, :3, 3], atol=1e-12)
    assert done.weight == pytest.approx(9.81 * sum(b.mass for b in robot.mechanism.bodies))
