"""Tasks: errors that steps along J remove, J against finite differences of the error, biases against those of J v."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.control import CenterOfMassTask, GazeTask, OrientationTask, PoseTask, PositionTask, PostureTask
from kinloop.control.world_motion import WorldMotion
from kinloop.errors import MethodError, NonFiniteInput, ShapeError, UnknownName
from kinloop.model.random import random_mechanism
from kinloop.spatial import axis_rotation, rotation_vector


@pytest.fixture(scope="module")
def robot():
    return kl.Robot(random_mechanism(np.random.default_rng(5), "mixed", floating=True), backend="numpy")


TASKS = [
    PoseTask("{}"), PoseTask("{}", orientation=0.3), PositionTask("{}"), PositionTask("{}", axes="zx"),
    OrientationTask("{}"), CenterOfMassTask(), CenterOfMassTask(axes="y"), PostureTask(),
    GazeTask("{}", axis=(0.3, -1.0, 0.5)),
]  # fmt: skip


def placed(task, robot, body):
    """The task on a body of the robot."""
    return type(task)(**{**vars(task), "frame": robot.body_names[body]}) if hasattr(task, "frame") else task


def targets_of(task, robot, q):
    """What a task is at its target with, at q."""
    if isinstance(task, GazeTask):
        T = robot.frame_pose(q, task.frame)
        return T[:3, 3] + 1.7 * (T[:3, :3] @ np.array(task.axis))
    if isinstance(task, PostureTask):
        return q
    if isinstance(task, CenterOfMassTask):
        return robot.center_of_mass(q)
    T = robot.frame_pose(q, task.frame)
    return {PoseTask: T, PositionTask: T[:3, 3], OrientationTask: T[:3, :3]}[type(task)]


def error(task, robot, q, target, v=None):
    top = robot.tree.top
    return WorldMotion(robot.tree, q, v, task.bodies(top)), task.flat_target(top, target)


@pytest.mark.parametrize("task", TASKS, ids=lambda t: f"{type(t).__name__}{getattr(t, 'axes', '')}")
@pytest.mark.parametrize("body", [-1, 3])
def test_errors_vanish_at_the_target_and_jacobians_are_their_rates(task, body, robot):
    task = placed(task, robot, body)
    q, v = robot.random_state(7)
    at, target = error(task, robot, q, targets_of(task, robot, q), v)
    np.testing.assert_allclose(task.error(at, target), 0.0, atol=1e-12)
    h = 1e-6
    after, before = (
        task.error(error(task, robot, robot.integrate(q, v, dt), targets_of(task, robot, q))[0], target)
        for dt in (h, -h)
    )
    rate = -(after - before) / (2 * h)
    J = task.jacobian(at, target)
    np.testing.assert_allclose(J @ v, rate, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(rate).max()))


@pytest.mark.parametrize("task", TASKS, ids=lambda t: f"{type(t).__name__}{getattr(t, 'axes', '')}")
def test_biases_are_what_jacobians_change_by(task, robot):
    task = placed(task, robot, -1)
    q, v = robot.random_state(11)
    goal = targets_of(task, robot, robot.random_state(12)[0])
    at, target = error(task, robot, q, goal, v)
    h = 1e-6
    after, before = (
        task.jacobian(error(task, robot, robot.integrate(q, v, dt), goal)[0], target) @ v for dt in (h, -h)
    )
    rate = (after - before) / (2 * h)
    np.testing.assert_allclose(task.bias(at, target), rate, atol=1e-5 * max(1.0, np.abs(rate).max()))


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1.0, 3.0, np.pi - 1e-4, np.pi - 1e-9, np.pi])
def test_rotation_vectors_are_good_up_to_half_a_turn(angle):
    rng = np.random.default_rng(3)
    for axis in (*np.eye(3), *-np.eye(3), *rng.normal(size=(6, 3))):
        axis = axis / np.linalg.norm(axis)
        found = rotation_vector(axis_rotation(axis, angle))
        assert np.linalg.norm(found) == pytest.approx(angle, abs=1e-12)
        np.testing.assert_allclose(axis_rotation(axis, angle), turned(found), atol=1e-8)


def turned(w):
    angle = np.linalg.norm(w)
    return axis_rotation(w / angle, angle) if angle else np.eye(3)


def test_gaze_turns_around_where_the_target_is_straight_behind():
    robot = kl.robots.load("serial_chain", links=3)
    task, q = GazeTask(robot.body_names[-1], axis=(0, 0, 1)), robot.neutral()
    T = robot.frame_pose(q, task.frame)
    at, target = error(task, robot, q, T[:3, 3] - T[:3, 2])
    e = task.error(at, target)
    assert np.linalg.norm(e) == pytest.approx(np.pi) and abs(e @ T[:3, 2]) < 1e-12


def test_bad_targets_and_tasks_are_refused_by_name(robot):
    top = robot.tree.top
    with pytest.raises(MethodError, match=r"target of PoseTask\('x'\) is no rotation: R R\^T is off by 3"):
        PoseTask("x").flat_target(top, 2 * np.eye(4))
    with pytest.raises(MethodError, match="or it mirrors"):
        OrientationTask("x").flat_target(top, np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(ShapeError, match=r"must be a pose \(..., 4, 4\), received \(3,\)"):
        PoseTask("x").flat_target(top, np.zeros(3))
    with pytest.raises(NonFiniteInput, match=r"target of PositionTask\('x'\) is nan at index 1"):
        PositionTask("x").flat_target(top, [0.0, np.nan, 0.0])
    with pytest.raises(UnknownName, match="no frame named 'x'"):
        PositionTask("x").bodies(top)
    with pytest.raises(UnknownName, match="no joint named 'x'"):
        PostureTask(joints=["x"]).bodies(top)
    with pytest.raises(MethodError, match="weight of CenterOfMassTask must be a positive number, received 0"):
        CenterOfMassTask(weight=0)
    with pytest.raises(MethodError, match="axes 'xx' of CenterOfMassTask are not some of 'xyz', each once"):
        CenterOfMassTask(axes="xx")
    with pytest.raises(MethodError, match=r"axis of GazeTask.* is zero"):
        GazeTask("x", axis=(0, 0, 0))
    with pytest.raises(MethodError, match=r"level of PoseTask.* must be at least 0"):
        PoseTask("x", level=-1)
