"""Inverse kinematics: reachable targets are reached, loops closed and limits kept at every iterate, nothing silent."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.control import (
    CenterOfMassTask,
    GazeTask,
    IKStatus,
    InverseKinematics,
    OrientationTask,
    PoseTask,
    PositionTask,
    PostureTask,
)
from kinloop.errors import LoopNotClosed, MethodError, NonFiniteInput, ShapeError, UnknownName
from kinloop.model import Builder
from kinloop.model.random import KINDS, random_mechanism
from kinloop.robots.solid_inertias import bar
from tests.control.plants import floating
from tests.sim.mechanisms import crank_rocker

LIMBS = ["left-foot", "right-foot", "torso"]
ROWS = 24


@pytest.fixture(scope="module")
def tello():
    return kl.robots.load("tello")


@pytest.fixture(scope="module")
def limbs(tello):
    return InverseKinematics(tello, [PoseTask(f) for f in LIMBS])


@pytest.fixture(scope="module")
def goals(tello):
    """Random closed starts, and poses of limbs at configurations some way off."""
    rng = np.random.default_rng(0)
    q, other = (tello.random_state(rng, size=ROWS)[0] for _ in range(2))
    goal = tello.integrate(q, 0.25 * tello.difference(q, other))
    return q, [tello.frame_pose(goal, f) for f in LIMBS]


def test_reachable_targets_are_reached_exactly(tello, limbs, goals):
    q, targets = goals
    found = limbs.solve(q, targets)
    assert found.reached.all() and (found.status == IKStatus.REACHED).all() and found.reasons == [""] * ROWS
    assert np.max(found.residual) <= 1e-9
    for frame, target in zip(LIMBS, targets, strict=True):
        np.testing.assert_allclose(tello.frame_pose(found.q, frame), target, atol=1e-8)


def test_loops_are_closed_at_every_iterate(tello, limbs, goals):
    q, targets = goals
    for rounds in range(1, 10):
        found = limbs.solve(q, targets, iterations=rounds)
        assert tello.loop_error(found.q).max() <= 1e-10
        assert np.all(found.iterations <= rounds)


def test_rows_do_not_depend_on_the_batch(limbs, goals):
    q, targets = goals
    whole = limbs.solve(q, targets)
    for rows in (slice(0, 1), slice(3, 14), slice(5, 6)):
        part = limbs.solve(q[rows], [x[rows] for x in targets])
        assert np.array_equal(part.q, whole.q[rows]) and np.array_equal(part.residual, whole.residual[rows])
    one = limbs.solve(q[7], [x[7] for x in targets], threads=2)
    assert np.array_equal(one.q, whole.q[7]) and one.status.shape == ()


def test_more_axes_and_one_target_for_all(limbs, goals):
    q, targets = goals
    found = limbs.solve(q[:4].reshape(2, 2, -1), [x[0] for x in targets])
    assert found.q.shape == (2, 2, q.shape[1]) and found.residual.shape == (2, 2, 3) and len(found.reasons) == 4


@pytest.mark.parametrize("name", ["planar_leg_linkage", "six_bar"])
def test_both_backends_and_the_qp_find_the_same(name):
    pytest.importorskip("qpsolvers")
    robot = kl.robots.load(name)
    slow = kl.Robot(robot.mechanism, backend="numpy")
    frame, q = robot.body_names[-1], robot.random_state(3)[0]
    goal = robot.integrate(q, np.full(robot.nv, 0.1))
    tasks, targets = [PoseTask(frame), PostureTask(level=1)], [robot.frame_pose(goal, frame), goal]
    native = InverseKinematics(robot, tasks).solve(q, targets)
    for other in (
        InverseKinematics(slow, tasks).solve(q, targets),
        InverseKinematics(robot, tasks).solve(q, targets, method="qp"),
    ):
        assert native.reached and other.reached
        np.testing.assert_allclose(other.q, native.q, atol=1e-7)
    assert robot.loop_error(native.q).max() <= 1e-10


def test_limits_of_dependent_joints_are_kept():
    robot = crank_rocker("crank_joint")
    q = robot.close([0.5, 0.3, 1.2])
    start = q[robot.q_index("rocker_joint")][0]
    low, high = start - 0.04, start + 0.03
    ik = InverseKinematics(robot, [PositionTask("coupler", axes="xz")], limits={"rocker_joint": (low, high)})
    angles = np.linspace(-0.9, 0.9, 37)
    goals = np.array([robot.integrate(q, [a]) for a in angles])
    inside = (goals[:, 2] >= low) & (goals[:, 2] <= high)
    assert inside.any() and not inside.all()
    for rounds in (1, 2, 3, 5, 50):
        found = ik.solve(q, [robot.frame_pose(goals, "coupler")[:, :3, 3]], iterations=rounds)
        assert np.all(found.q[:, 2] >= low) and np.all(found.q[:, 2] <= high) and np.all(found.beyond == 0.0)
        assert robot.loop_error(found.q).max() <= 1e-10
    near = inside & (np.abs(angles) < 0.3)
    assert found.reached[near].all()
    outside = ~inside & (np.abs(angles) < 0.3)
    assert outside.any() and np.all(found.status[outside] == IKStatus.AT_LIMIT)
    edge = np.minimum(np.abs(found.q[outside, 2] - low), np.abs(found.q[outside, 2] - high))
    assert np.max(edge) < 1e-7  # as near as it may come
    assert "joint limits hold it back" in found.reasons[int(np.flatnonzero(outside)[0])]


@pytest.mark.parametrize("kind", ["planar", *(pytest.param(k, marks=pytest.mark.slow) for k in KINDS if k != "planar")])
def test_random_mechanisms_reach_what_is_near(kind):
    robot = kl.Robot(random_mechanism(np.random.default_rng(4), kind))
    frame, (q, v) = robot.body_names[-1], robot.random_state(1, size=4)
    goal = robot.integrate(q, 0.1 * v)
    found = InverseKinematics(robot, [PoseTask(frame), PostureTask(level=1)]).solve(
        q, [robot.frame_pose(goal, frame), q]
    )
    assert found.reached.all(), found.reasons
    assert robot.loop_error(found.q).max(initial=0.0) <= 1e-10


def arm(links: int = 3, **joint: float) -> kl.Robot:
    """A planar arm with links of 1 m."""
    b = Builder("arm")
    for k in range(links):
        b.body(
            f"link{k}",
            f"link{k - 1}" if k else "world",
            axis="y",
            at=(1.0 if k else 0.0, 0, 0),
            **bar(1.0, 1.0),
            **joint,
        )
    b.frame("hand", f"link{links - 1}", (1.0, 0, 0))
    return b.build()


def test_limits_of_joints_are_kept_from_starts_at_them_and_beyond():
    robot = arm(lower=-0.8, upper=0.8)
    ik = InverseKinematics(robot, [PositionTask("hand")])
    goal = robot.frame_pose(np.array([0.8, 0.2, -0.7]), "hand")[:3, 3]
    for start in ([0.8, 0.8, 0.8], [-0.8, 0.8, -0.8], [2.0, -1.5, 0.9]):
        found = ik.solve(np.array(start), [goal])
        assert found.reached and np.all(np.abs(found.q) <= 0.8), found.reasons
    free = InverseKinematics(robot, [PositionTask("hand")], limits=False).solve(
        np.array([0.1, 0.1, 0.1]), [[-1.0, 0, 0.5]]
    )
    assert free.reached and np.any(np.abs(free.q) > 0.8)


def test_targets_out_of_reach_say_so_and_come_as_near_as_they_can():
    robot = arm()
    ik = InverseKinematics(robot, [PositionTask("hand")])
    found = ik.solve(np.array([[0.3, 0.4, 0.2]] * 2), [[[5.0, 0.0, 0.0], [0.0, 0.0, -4.0]]])
    assert np.all(found.status == IKStatus.NOT_REACHED)
    np.testing.assert_allclose(found.residual[:, 0], [2.0, 1.0], atol=1e-5)
    assert found.reasons[0].startswith("PositionTask('hand') is off by 2 [m, rad]: no step from there")
    assert not found.reached.any()


def test_a_stretched_arm_is_singular_and_does_no_harm():
    robot = arm()
    ik = InverseKinematics(robot, [PositionTask("hand")])
    sideways = ik.solve(np.zeros(3), [[2.9, 0.0, 0.3]])  # off the line: there is a way
    assert sideways.reached
    along = ik.solve(np.zeros(3), [[2.0, 0.0, 0.0]])  # every direction is as good, and none
    assert along.status in (IKStatus.NOT_REACHED, IKStatus.REACHED) and np.isfinite(along.q).all()
    assert ik.solve(np.zeros(3), [[2.0, 0.0, 0.0]], attempts=4).reached


def test_contradicting_tasks_share_by_their_weights_or_obey_levels():
    robot = arm()
    here, there, start = np.array([1.5, 0.0, 0.5]), np.array([2.0, 0.0, 0.5]), np.array([0.3, 0.6, 0.4])
    hand = lambda **options: PositionTask("hand", **options)  # noqa: E731
    q = InverseKinematics(robot, [hand(weight=3.0), hand(weight=1.0)]).solve(start, [here, there])
    np.testing.assert_allclose(robot.frame_pose(q.q, "hand")[:3, 3], 0.75 * here + 0.25 * there, atol=1e-6)
    assert q.status == IKStatus.NOT_REACHED
    q = InverseKinematics(robot, [hand(), hand(level=1, weight=1e6)]).solve(start, [here, there])
    assert q.reached and q.residual[0] <= 1e-9
    assert q.residual[1] == pytest.approx(0.5, abs=1e-8)


def test_levels_use_what_freedom_is_left(tello, goals):
    """Feet and torso leave nothing; feet alone leave the torso to a second level, which is reached too."""
    q, targets = goals
    feet = [PoseTask(f) for f in LIMBS[:2]]
    both = InverseKinematics(tello, [*feet, PositionTask("torso", level=1)])
    found = both.solve(q[:8], [*(x[:8] for x in targets[:2]), targets[2][:8, :3, 3]])
    assert found.reached.all() and np.max(found.residual[:, :2]) <= 1e-9
    assert np.max(found.residual[:, 2]) <= 1e-6


def test_centre_of_mass_orientation_gaze_and_posture(tello):
    q = tello.random_state(5)[0]
    goal = tello.integrate(q, 0.1 * np.random.default_rng(1).normal(size=tello.nv))
    look = np.array([2.0, 0.5, 1.0])
    tasks = [CenterOfMassTask(), OrientationTask("left-foot"), GazeTask("torso")]
    found = InverseKinematics(tello, tasks).solve(
        q, [tello.center_of_mass(goal), tello.frame_pose(goal, "left-foot")[:3, :3], look]
    )
    assert found.reached, found.reasons
    np.testing.assert_allclose(tello.center_of_mass(found.q), tello.center_of_mass(goal), atol=1e-8)
    T = tello.frame_pose(found.q, "torso")
    np.testing.assert_allclose(np.cross(T[:3, 0], look - T[:3, 3]), 0.0, atol=1e-8)


def test_velocities_stay_within_limits_of_speed_and_lead_to_the_target():
    pytest.importorskip("qpsolvers")
    robot = arm(lower=-2.0, upper=2.0, max_velocity=0.5)
    ik, q = InverseKinematics(robot, [PositionTask("hand")]), np.array([0.3, 0.6, 0.4])
    goal = robot.frame_pose(np.array([-0.4, 0.9, 0.8]), "hand")[:3, 3]
    for _ in range(200):
        v = ik.velocity(q, [goal], dt=0.02, gain=0.5)
        assert np.max(np.abs(v)) <= 0.5 + 1e-9
        q = robot.integrate(q, v, 0.02)
    np.testing.assert_allclose(robot.frame_pose(q, "hand")[:3, 3], goal, atol=1e-6)


def test_bad_input_is_refused_by_name(tello, limbs, goals):
    q, targets = goals
    with pytest.raises(NonFiniteInput, match=r"target of PoseTask\('right-foot'\) is nan"):
        limbs.solve(q[0], [targets[0][0], np.full((4, 4), np.nan), targets[2][0]])
    with pytest.raises(NonFiniteInput, match="q is nan at index 3"):
        limbs.solve(np.where(np.arange(tello.nq) == 3, np.nan, q[0]), [x[0] for x in targets])
    with pytest.raises(LoopNotClosed):
        limbs.solve(q[0] + 0.1 * (np.arange(tello.nq) > 8), [x[0] for x in targets])
    with pytest.raises(MethodError, match=r"there are 3 tasks .*, and 1 targets were given"):
        limbs.solve(q[0], targets[:1])
    with pytest.raises(MethodError, match="iterations must be at most 1000"):
        limbs.solve(q[0], targets, iterations=10**6)
    with pytest.raises(MethodError, match="method 'dls' is not one of 'native', 'qp'"):
        limbs.solve(q[0], targets, method="dls")
    with pytest.raises(ShapeError):
        limbs.solve(q[0], [np.zeros(3)] * 3)
    with pytest.raises(UnknownName, match="no frame named 'left-fot'; did you mean 'left-foot'"):
        InverseKinematics(tello, [PoseTask("left-fot")])
    with pytest.raises(UnknownName, match="no joint named 'knee'"):
        InverseKinematics(tello, [PoseTask("torso")], limits={"knee": (0, 1)})
    with pytest.raises(MethodError, match="limits of joint 'left-thigh-to-shin' are from"):
        InverseKinematics(tello, [PoseTask("torso")], limits={"left-thigh-to-shin": (1, 0)})
    with pytest.raises(MethodError, match="joint 'torso-to-ground' has 6 coordinates"):
        InverseKinematics(tello, [PoseTask("torso")], limits={"torso-to-ground": (0, 1)})
    with pytest.raises(MethodError, match="needs at least one task"):
        InverseKinematics(tello, [])


def test_what_cannot_be_met_is_found_to_the_root_of_rounding():
    """Machine code and plain arithmetic round differently. Where a lower level cannot be met, its error has a minimum,
    and is as flat there as any minimum: the same to rounding over a stretch of configurations of 1e-8 to 1e-6."""
    robot = floating()
    q, v = robot.random_state(3)
    there = robot.frame_pose(robot.integrate(q, 0.1 * v), "tip")
    found, errors = [], []
    for one in (robot, kl.Robot(robot.mechanism, backend="numpy")):
        ik = InverseKinematics(one, [PoseTask("base"), PoseTask("tip", level=1)])
        targets = ik._rows(q, [robot.frame_pose(q, "base"), there])[1]
        found.append(np.asarray(ik.kernel(q, targets, np.array([1e-9, 60.0]))[0]))
        base, _, tip, J, *_ = ik.differential.rows(found[-1], targets)
        errors.append(np.linalg.norm(tip))
        assert np.abs(base).max() < 1e-12 and errors[-1] > 0.05
        free = np.asarray(J)[:, [robot.independent_names.index("crank_joint")]]  # what the first level leaves
        assert np.abs(free.T @ tip).max() < 1e-6 * errors[-1]
    assert abs(errors[0] - errors[1]) < 1e-14 * errors[0]
    assert np.abs(found[0] - found[1]).max() < 1e-6
