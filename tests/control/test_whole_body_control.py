"""Whole-body control: what it finds obeys the equations of motion, friction and torque limits, or it says so."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.control import (
    CenterOfMassTask,
    Friction,
    InverseKinematics,
    OrientationTask,
    PoseTask,
    PositionTask,
    PostureTask,
    Reference,
    Tracked,
    WholeBodyControl,
)
from kinloop.control.held_contacts import held_contacts
from kinloop.errors import LoopNotClosed, MethodError, NonFiniteInput, NoSuchControl, ShapeError
from kinloop.sim import ContactPoint, Motor
from kinloop.sim.actuators import joint_forces, make_drive

pytest.importorskip("daqp")

SOLES = [
    ContactPoint(f"{side}-foot", (x, 0.0, -0.041), name=f"{side}-{name}")
    for side in ("left", "right") for name, x in (("toe", 0.1), ("heel", -0.05))
]  # fmt: skip


@pytest.fixture(scope="module")
def tello():
    return kl.robots.load("tello")


@pytest.fixture(scope="module")
def motors(tello):
    return [Motor(j, limit=6.0) for j in tello.joint_names if "rotor" in j]


@pytest.fixture(scope="module")
def stance(tello):
    """Tello on both feet, its centre of mass above their middle."""
    sides = np.array([[0.025, 0.126, 0.041], [0.025, -0.126, 0.041]])
    places = [np.block([[np.eye(3), (x - [0.05, 0, 0])[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]]) for x in sides]
    feet = [PoseTask(f"{side}-foot") for side in ("left", "right")]
    ik = InverseKinematics(tello, [*feet, OrientationTask("torso"), CenterOfMassTask(level=1)])
    found = ik.solve(tello.neutral(), [*places, np.eye(3), [0.0, 0.0, 0.5]])
    assert found.reached, found.reasons
    return found.q


@pytest.fixture(scope="module")
def wbc(tello, motors):
    tasks = [Tracked(CenterOfMassTask(), 80.0), OrientationTask("torso"), PostureTask(weight=1e-6)]
    return WholeBodyControl(tello, tasks, SOLES, motors, friction=Friction(0.6, sides=8))


def contact_wrenches(robot, q, contacts, forces):
    """Forces at contact points, world axes, as wrenches on bodies."""
    out = np.zeros((len(robot.body_names), 6))
    for point, f in zip(contacts, forces, strict=True):
        body, placement = robot.frame(point.frame)
        R = robot.frame_pose(q, robot.body_names[body])[:3, :3]
        p = placement.p + placement.R @ np.array(point.at)
        out[body] += np.concatenate([np.cross(p, R.T @ f), R.T @ f])
    return out


def left_of_motion(robot, q, v, found, contacts, motors):
    """What is left of the equations of motion: inverse dynamics less motors, springs and dampers."""
    tau = robot.inverse_dynamics(q, v, found.acceleration, contact_wrenches(robot, q, contacts, found.force))
    drive = make_drive(robot.tree, motors)
    forces = joint_forces(drive, q, robot.spanning_velocity(q, v), found.torque)
    return tau - robot.spanning_jacobian(q).T @ forces


def random_state(robot, q, seed, speed=0.3):
    rng = np.random.default_rng(seed)
    return robot.integrate(q, 0.05 * rng.normal(size=robot.nv)), speed * rng.normal(size=robot.nv)


@pytest.mark.parametrize("seed", range(6))
def test_the_equations_of_motion_cones_and_limits_hold(seed, tello, wbc, stance, motors):
    q, v = random_state(tello, stance, seed)
    goal = tello.center_of_mass(stance) + [0.0, 0.02, -0.03]
    found = wbc.step(q, v, [Reference(goal, [0.1, 0, 0], [0, 0, 0.5]), np.eye(3), stance])
    assert found.status == "solved"
    assert np.max(np.abs(left_of_motion(tello, q, v, found, SOLES, motors))) < 1e-9
    assert np.all(np.abs(found.torque) <= 6.0 + 1e-9)
    along = np.linalg.norm(found.force[:, :2], axis=1)
    assert np.all(found.force[:, 2] >= -1e-9) and np.all(along <= 0.6 * found.force[:, 2] + 1e-7)
    # contacts take out their speed and accelerate no more
    for point in SOLES:
        p = np.concatenate([np.zeros(3), np.array(point.at)])
        w, u = np.split(tello.frame_velocity(q, v, point.frame, axes="world"), 2)
        R = tello.frame_pose(q, point.frame)[:3, :3]
        speed = u + np.cross(w, R @ p[3:])
        alpha, a = np.split(tello.frame_acceleration(q, v, found.acceleration, point.frame, axes="world"), 2)
        a = a + np.cross(alpha, R @ p[3:]) + np.cross(w, np.cross(w, R @ p[3:]))
        if point.name.endswith("toe"):  # the first point of its body, which is held as such
            np.testing.assert_allclose(a, -20.0 * speed, atol=1e-8 * max(1.0, np.abs(a).max()))


def test_tasks_are_met_where_nothing_hinders_them(tello, wbc, stance):
    wanted = np.array([0.3, -0.2, 0.4])
    com = tello.center_of_mass(stance)
    found = wbc.step(stance, np.zeros(tello.nv), [Reference(com, None, wanted), np.eye(3), stance])
    J = tello.center_of_mass_jacobian(stance)
    np.testing.assert_allclose(J @ found.acceleration, wanted, atol=0.02)
    weight = 9.81 * sum(b.mass for b in tello.mechanism.bodies)
    assert np.sum(found.force[:, 2]) == pytest.approx(weight * (1 + (J @ found.acceleration)[2] / 9.81), rel=1e-9)


def test_torque_limits_that_bind_are_kept_and_too_small_ones_are_said(tello, stance, motors):
    rest, com = np.zeros(tello.nv), tello.center_of_mass(stance)
    tasks, up = [CenterOfMassTask(), OrientationTask("torso")], Reference(com, None, [0.0, 0.0, 30.0])
    weak = WholeBodyControl(tello, tasks, SOLES, [Motor(m.joint, limit=1.0) for m in motors])
    found = weak.step(stance, rest, [up, np.eye(3)])
    assert np.max(np.abs(found.torque)) == pytest.approx(1.0, abs=1e-6)
    assert np.max(np.abs(left_of_motion(tello, stance, rest, found, SOLES, motors))) < 1e-8
    slight = WholeBodyControl(tello, tasks, SOLES, [Motor(m.joint, limit=1e-3) for m in motors])
    calm = slight.step(stance, rest, [com, np.eye(3)])  # it cannot stand: it falls, as it must, and says what happens
    assert (tello.center_of_mass_jacobian(stance) @ calm.acceleration)[2] < -1.0


def test_where_no_torques_do_it_says_so(tello, stance, motors):
    """Hardly any torque, and ground that bears 1 N at each point: legs that carry the body cannot be."""
    rest, com = np.zeros(tello.nv), tello.center_of_mass(stance)
    slight, thin = [Motor(m.joint, limit=1e-3) for m in motors], Friction(0.7, most=1.0)
    wbc = WholeBodyControl(tello, [CenterOfMassTask(), OrientationTask("torso")], SOLES, slight, friction=thin)
    with pytest.raises(
        NoSuchControl, match="no torques within limits hold 4 contacts of 'tello' at this state: the QP"
    ):
        wbc.step(stance, rest, [com, np.eye(3)])
    found = wbc.step(stance, rest, [com, np.eye(3)], on_failure="status")
    assert found.status != "solved" and np.isnan(found.torque).all() and np.isnan(found.acceleration).all()


@pytest.mark.parametrize("sides", [3, 4, 8, 16])
@pytest.mark.parametrize("normal", [(0, 0, 1), (0.3, -0.2, 0.9), (1, 0, 0)])
def test_the_pyramid_lies_inside_the_cone(sides, normal):
    cone = Friction(0.7, sides, normal)
    np.testing.assert_allclose(cone.axes @ cone.axes.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(cone.axes) == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    forces = rng.normal(size=(2000, 3)) * [1.0, 1.0, 2.0]
    inside = np.all(forces @ cone.pyramid()[:-1].T <= 0.0, axis=1)
    assert inside.any()
    along, up = np.linalg.norm(forces[:, :2], axis=1), forces[:, 2]
    assert np.all(along[inside] <= 0.7 * up[inside] + 1e-12)
    close = along <= 0.7 * np.cos(np.pi / sides) * up  # the cone that fits into the pyramid
    assert np.all(inside[close])


def test_held_rows_are_as_many_as_points_can_hold(tello):
    top = tello.tree.top
    for points, rows in (([(0, 0, 0)], 3), ([(0, 0, 0), (0.1, 0, 0)], 5), ([(0, 0, 0), (0.1, 0, 0), (0.2, 0, 0)], 5),
                         ([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0)], 6), ([(0, 0, 0), (0, 0, 0)], 3)):  # fmt: skip
        held = held_contacts(top, [ContactPoint("left-foot", p) for p in points])
        assert held.row_counts == [rows]


def test_more_points_than_needed_do_no_harm(tello, stance, motors):
    """Three points in a line and a fourth at the same place: forces are shared, the motion is the same."""
    more = [*SOLES, ContactPoint("left-foot", (0.02, 0.0, -0.041)), SOLES[0]]
    rest, com = np.zeros(tello.nv), tello.center_of_mass(stance)
    steps = [
        WholeBodyControl(tello, [CenterOfMassTask(), OrientationTask("torso")], c, motors).step(
            stance, rest, [com, np.eye(3)]
        )
        for c in (SOLES, more)
    ]
    np.testing.assert_allclose(steps[0].acceleration, steps[1].acceleration, atol=1e-2)
    assert np.max(np.abs(left_of_motion(tello, stance, rest, steps[1], more, motors))) < 1e-9


def test_an_arm_without_contacts_follows_computed_torques():
    robot = kl.robots.load("geared_chain", links=3)
    rng = np.random.default_rng(2)
    q, v = robot.random_state(rng)
    wbc = WholeBodyControl(
        robot, [Tracked(PostureTask(), 25.0, 3.0)], motors=robot.independent_names, torque_weight=1e-12
    )
    goal = robot.integrate(q, 0.1 * rng.normal(size=robot.nv))
    found = wbc.step(q, v, [goal])
    wanted = 25.0 * robot.difference(q, goal) - 3.0 * v
    np.testing.assert_allclose(found.acceleration, wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.torque, robot.inverse_dynamics(q, v, found.acceleration), rtol=1e-9, atol=1e-9)
    assert found.force.shape == (0, 3)


def test_bad_input_is_refused_by_name(tello, wbc, stance, motors):
    rest, good = np.zeros(tello.nv), [np.zeros(3), np.eye(3), stance]
    with pytest.raises(NonFiniteInput, match="v is nan at index 0"):
        wbc.step(stance, np.full(tello.nv, np.nan), good)
    with pytest.raises(NonFiniteInput, match="target of CenterOfMassTask is inf"):
        wbc.step(stance, rest, [[0, np.inf, 0], np.eye(3), stance])
    with pytest.raises(LoopNotClosed):
        wbc.step(stance + 0.1 * (np.arange(tello.nq) > 8), rest, good)
    with pytest.raises(MethodError, match=r"there are 3 tasks .*, and 1 references"):
        wbc.step(stance, rest, good[:1])
    with pytest.raises(ShapeError, match="velocity of CenterOfMassTask must have shape"):
        wbc.step(stance, rest, [Reference(np.zeros(3), np.zeros(2)), np.eye(3), stance])
    with pytest.raises(MethodError, match="one state"):
        wbc.step(np.tile(stance, (2, 1)), rest, good)
    with pytest.raises(MethodError, match="weights and no levels; give PositionTask"):
        WholeBodyControl(tello, [PositionTask("torso", level=1)], SOLES, motors)
    with pytest.raises(MethodError, match="is a position actuator"):
        WholeBodyControl(tello, [CenterOfMassTask()], SOLES, [Motor(motors[0].joint, "position", 1.0)])
    with pytest.raises(MethodError, match="describes no actuators"):
        WholeBodyControl(tello, [CenterOfMassTask()], SOLES)
    with pytest.raises(MethodError, match="is a sphere of radius"):
        WholeBodyControl(tello, [CenterOfMassTask()], [ContactPoint("left-foot", radius=0.02)], motors)
    with pytest.raises(MethodError, match="needs at least one task"):
        WholeBodyControl(tello, [], SOLES, motors)
