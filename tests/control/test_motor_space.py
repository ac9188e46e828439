"""Maps between motors and joints: against geometry, by power, through singularities."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kinloop as kl
from kinloop.control import FrameAngles, MotorSpace
from kinloop.errors import KinloopError, MethodError, ModelError, ShapeError, SingularConfiguration, UnknownName
from kinloop.sim import Motor

ROTORS = [f"left-thigh-to-knee-ankle-rotor-{k}" for k in (1, 2)]
ANKLE = ["left-thigh-to-shin", "left-shin-to-foot"]
HIP_ROTORS = [f"left-hip-clamp-to-hip-rotor-{k}" for k in (1, 2)]
HIP = ["left-hip-clamp-to-gimbal", "left-gimbal-to-thigh"]
STEP = 1e-5


@pytest.fixture(scope="module")
def tello():
    return kl.robots.load("tello")


@pytest.fixture(scope="module")
def ankle(tello):
    return MotorSpace(tello, ROTORS, ANKLE)


@pytest.fixture(scope="module")
def leg(tello):
    return MotorSpace(tello, [*ROTORS, *HIP_ROTORS], [*HIP, *ANKLE])


def rod_between_balls(length: float = 0.5) -> kl.Builder:
    """A pulled arm: a motor's crank and a rod with a ball at both ends, the arm on the world, a heavy base below."""
    b = kl.Builder("pulled_arm")
    b.body("base", mass=5.0, inertia=(0.1, 0.1, 0.1), joint="free")
    b.body("crank", "base", mass=0.2, com=(0.1, 0, 0), inertia=(1e-3, 1e-3, 1e-3), axis="y")
    b.body("rod", "crank", mass=0.1, com=(0.25, 0, 0), inertia=(1e-4, 1e-3, 1e-3), joint="spherical", at=(0.2, 0, 0))
    b.body("arm", "base", mass=1.0, com=(0, 0, 0.2), inertia=(0.01, 0.01, 0.01), axis="y", at=(0.6, 0, 0.05))
    b.loop("end", "rod", "arm", "spherical", at=(length, 0, 0), at_successor=(0.0, 0.05, 0.3))
    return b


def slopes(function, x):
    """Central differences of a vector function."""
    return np.array([(function(x + d) - function(x - d)) / (2 * STEP) for d in STEP * np.eye(len(x))]).T


def check_maps(space: MotorSpace, x, rng) -> None:
    """Everything at one position, against closed positions near it."""
    n, m = len(space.joint_names), len(space.motor_names)
    J, scale = space.jacobian(x), 1.0 + space.condition(x) ** 2
    assert np.allclose(slopes(space.motor_position, x), J, atol=1e-8 * scale * (1 + np.abs(J).max()))
    assert space.robot.loop_error(space.configuration(x)).max() < 1e-13
    f, xd, fy = rng.normal(size=n), rng.normal(size=n), rng.normal(size=m)
    motors = space.motor_force(x, f)
    power = np.abs(motors) @ np.abs(space.motor_velocity(x, xd))
    assert abs(motors @ space.motor_velocity(x, xd) - f @ xd) < 1e-14 * scale * (1 + power)
    assert np.allclose(space.joint_force(x, motors), f, atol=1e-13 * scale)
    assert np.allclose(space.joint_velocity(x, space.motor_velocity(x, xd)), xd, atol=1e-13 * scale)
    H = space.geometric_stiffness(x, fy)
    assert np.allclose(slopes(lambda z: space.joint_force(z, fy), x), H, atol=1e-7 * scale * (1 + np.abs(H).max()))
    assert np.array_equal(H, H.T)


@pytest.mark.parametrize(
    ("motors", "joints"),
    [(ROTORS, ANKLE), (HIP_ROTORS, HIP), (HIP, HIP_ROTORS), ([*HIP_ROTORS, *ROTORS], [*ANKLE, *HIP])],
)
def test_maps_of_tello_are_those_of_closed_positions(tello, motors, joints):
    rng, space = np.random.default_rng(0), MotorSpace(tello, motors, joints)
    for x in rng.uniform(-0.4, 0.4, (4, len(joints))):
        check_maps(space, x, rng)
        assert np.allclose(space.joint_position(space.motor_position(x)), x, atol=1e-13)


def test_the_rods_have_their_lengths(leg, tello):
    """Geometry that no row of a loop knows: the mean of the cranks is the shin's angle, at every x."""
    x = np.random.default_rng(1).uniform(-0.5, 0.5, (20, 4))
    y = leg.motor_position(x)
    assert np.allclose(y[:, :2].sum(axis=1) / 12.0, x[:, 2], atol=1e-14)
    q = leg.configuration(x)
    assert np.allclose(q[:, [tello.q_index(n).start for n in [*ROTORS, *HIP_ROTORS]]], y)
    assert np.allclose(q[:, [tello.q_index(n).start for n in [*HIP, *ANKLE]]], x, atol=0.0)


def test_batches_are_single_states_bit_for_bit(ankle):
    rng = np.random.default_rng(2)
    x, f = rng.uniform(-0.6, 0.6, (37, 2)), rng.normal(size=(37, 2))
    for name, given in (("motor_position", (x,)), ("jacobian", (x,)), ("motor_force", (x, f)), ("joint_force", (x, f))):
        whole = getattr(ankle, name)(*given)
        for k in range(37):
            assert np.array_equal(whole[k], getattr(ankle, name)(*(a[k] for a in given))), name
    assert ankle.motor_force(x.reshape(37, 1, 2), f[0]).shape == (37, 1, 2)
    assert ankle.configuration(x.reshape(37, 1, 2)).shape == (37, 1, ankle.robot.nq)


def test_the_map_has_everything_at_once(ankle):
    x, f = np.array([0.2, -0.4]), np.array([3.0, -1.0])
    y, force, J = ankle.map(x, f)
    assert np.array_equal(y, ankle.motor_position(x)) and np.array_equal(J, ankle.jacobian(x))
    assert np.array_equal(force, ankle.motor_force(x, f))


def test_a_gear_multiplies_positions_and_divides_forces(tello, ankle):
    space = MotorSpace(tello, [Motor(ROTORS[0], gear=2.0), Motor(ROTORS[1], gear=-0.5)], ANKLE)
    x, f, gear = np.array([0.1, 0.3]), np.array([1.0, 2.0]), np.array([2.0, -0.5])
    assert np.allclose(space.motor_position(x), gear * ankle.motor_position(x), atol=1e-14)
    assert np.allclose(space.motor_force(x, f), ankle.motor_force(x, f) / gear, atol=1e-14)
    assert np.allclose(space.joint_position(space.motor_position(x)), x, atol=1e-13)
    assert np.allclose(space.reflected_inertia(x), ankle.reflected_inertia(x), atol=1e-15)


def test_frame_angles_are_those_of_the_poses(tello):
    """Pitch of the shin against the thigh, and of the foot against the shin, without naming their joints."""
    space = MotorSpace(
        tello, ROTORS, [FrameAngles("left-shin", "left-thigh", "y"), FrameAngles("left-foot", "left-shin", "y")]
    )
    rng = np.random.default_rng(3)
    for x in rng.uniform(-0.5, 0.5, (3, 2)):
        check_maps(space, x, rng)
        q = space.configuration(x)
        R = [tello.frame_pose(q, name)[:3, :3] for name in ("left-thigh", "left-shin", "left-foot")]
        for a, b, angle in ((R[0], R[1], x[0]), (R[1], R[2], x[1])):
            assert np.isclose((a.T @ b)[0, 2], np.sin(angle), atol=1e-13)


@pytest.mark.parametrize("axes", ["x", "zy", "yx", "xyz", "zxy", "yzx"])
def test_angles_turn_back_into_the_rotation(axes):
    from kinloop.control.frame_angles import angles
    from kinloop.spatial.rotation import axis_rotation

    given = np.random.default_rng(4).uniform(-1.2, 1.2, len(axes))
    R = np.eye(3)
    for axis, x in zip(axes, given, strict=True):
        R = R @ axis_rotation(tuple(np.eye(3)["xyz".index(axis)]), x)
    assert np.allclose(angles(R, axes), given, atol=1e-14)


def test_pitch_and_roll_of_a_foot_on_two_rods():
    """A parallel ankle whose foot hangs in a ball and is turned by two rods and a yaw stop: no joint has its angles."""
    b = kl.Builder("ankle")
    heavy = {"mass": 1.0, "inertia": (0.01, 0.01, 0.01)}
    b.body("foot", joint="spherical", **heavy)
    for k, y in enumerate((0.05, -0.05)):
        b.body(f"crank{k}", axis="y", at=(-0.04, y, 0.3), **heavy)
        b.rod(f"rod{k}", f"crank{k}", "foot", (-0.05, 0, 0), (-0.09, y, 0.02), 0.28)
    b.loop_function("no_yaw", ["foot_joint"], lambda q: q[0] * q[3] - q[1] * q[2])
    space = MotorSpace(b.build(), ["crank0_joint", "crank1_joint"], [FrameAngles("foot", "world", "yx")])
    rng = np.random.default_rng(5)
    for x in rng.uniform(-0.3, 0.3, (3, 2)):
        check_maps(space, x, rng)
        assert np.allclose(space.joint_position(space.motor_position(x)), x, atol=1e-12)


def test_what_is_held_stays_and_the_spin_of_a_rod_is_nobodys_joint():
    robot = rod_between_balls().build()
    spin = next(n for n in robot.tree.top.coordinates if n.startswith("rod_joint"))
    space = MotorSpace(robot, ["crank_joint"], ["arm_joint"], held={spin: None})
    rng = np.random.default_rng(6)
    x0 = space.joint_position(np.zeros(1))
    for d in (-0.1, 0.05, 0.1):
        check_maps(space, x0 + d, rng)
        assert np.allclose(space.joint_position(space.motor_position(x0 + d)), x0 + d, atol=1e-13)
    with pytest.raises(ModelError, match=r"joints \['arm_joint'\] do not determine .* 2 freedoms"):
        MotorSpace(robot, ["crank_joint"], ["arm_joint"])


def test_gains_at_motors_give_those_at_the_joints_under_load(ankle):
    """A law at the motors, K_y about y0 with a force f0, is felt at the joints as the stiffness that was asked for."""
    x, K = np.array([0.2, -0.3]), np.array([[80.0, 5.0], [5.0, 40.0]])
    f0, D = np.array([4.0, -2.5]), np.diag([3.0, 1.0])
    Ky, Dy = ankle.motor_gains(x, K, D, f0)
    y0 = ankle.motor_position(x)

    def law(z):
        return ankle.joint_force(z, f0 - Ky @ (ankle.motor_position(z) - y0))

    assert np.allclose(-slopes(law, x), K, atol=1e-6)
    back, damping = ankle.joint_gains(x, Ky, Dy, f0)
    assert np.allclose(back, K, atol=1e-12) and np.allclose(damping, D, atol=1e-13)
    without = ankle.motor_gains(x, K)[0]
    assert np.abs(ankle.joint_gains(x, without, force=f0)[0] - K).max() > 0.1, "load changes what gains do"


def test_reflected_inertia_is_the_kinetic_energy_of_the_rotors(tello, ankle):
    x, xd = np.array([0.3, 0.2]), np.array([1.0, -2.0])
    yd, I = ankle.motor_velocity(x, xd), 5.1512e-05
    assert np.isclose(xd @ ankle.reflected_inertia(x) @ xd, I * yd @ yd, rtol=1e-12)
    given = ankle.reflected_inertia(x, [1.0, 2.0])
    assert np.isclose(xd @ given @ xd, yd @ (yd * [1.0, 2.0]), rtol=1e-12)


def test_far_positions_are_reached_along_the_way_or_refused(ankle):
    """Where the foot's rod stretches out, an error says how far the joints get; short of it positions are found."""
    kernel = ankle.compile("motor_position")
    grid = np.array([[0.0, a] for a in np.linspace(0.0, 2.5, 126)])
    given_up = ~np.isfinite(kernel(grid)).all(axis=1)
    found = []
    for x in grid[given_up]:
        try:
            found.append(ankle.robot.loop_error(ankle.configuration(x)).max())
        except SingularConfiguration as error:
            assert "% of the way" in str(error) and "differential" in str(error)
    assert given_up.any() and (~given_up).any() and all(e < 1e-12 for e in found)
    assert all(e < 1e-12 for e in ankle.robot.loop_error(ankle.configuration(grid[~given_up])).max(axis=1))


def test_near_picks_the_way_in_which_loops_are_assembled():
    """The knee of a four-bar bends both ways; each configuration leads to its own motor positions."""
    robot = kl.robots.load("four_bar")
    names = robot.tree.top.coordinates
    space = MotorSpace(robot, [names[2]], [names[0]])
    x = space._kernels.reference[space._kernels.linkage.positions(space._kernels.linkage.joint_dofs)]
    first = space.motor_position(x)
    for k in range(40):
        q = robot.random_state(k)[0]
        other = MotorSpace(robot, [names[2]], [names[0]], at=q)
        z = q[[robot.tree.top.plain_places()[0]]]
        assert np.allclose(other.motor_position(z), q[[robot.tree.top.plain_places()[2]]], atol=1e-9)
        assert np.allclose(space.motor_position(z, near=q), other.motor_position(z), atol=1e-12)
    assert np.allclose(space.motor_position(x), first)


def test_motors_at_a_dead_centre_are_refused():
    """A crank in line with its rod does not hold the slider: forces have no answer there, and the error says why."""
    b = kl.Builder("press")
    link = {"mass": 1.0, "inertia": (0.01, 0.01, 0.01)}
    b.body("crank", axis="y", **link)
    b.body("slider", joint="prismatic", axis="x", **link)
    b.rod("rod", "crank", "slider", (0.2, 0, 0), (0, 0, 0), 0.5)
    robot = b.build()
    start = robot.close([1.2, 0.45])
    space = MotorSpace(robot, ["slider_joint"], ["crank_joint"], at=start)
    assert np.isfinite(space.motor_force([1.0], [1.0])).all() and 1.0 <= space.condition([1.0]) < 3.0
    with pytest.raises(SingularConfiguration, match="do not hold the joints"):
        space.motor_force([0.0], [1.0])
    assert space.condition([1e-9]) > 1e8 and np.isinf(space.condition([0.0]))
    with pytest.raises(SingularConfiguration, match="so that no gains"):
        space.motor_gains([0.0], [[1.0]])
    with pytest.raises(SingularConfiguration, match="% of the way"):
        MotorSpace(robot, ["crank_joint"], ["slider_joint"], at=start).motor_position([0.71])


def test_more_motors_than_joints_share_the_force(tello):
    space = MotorSpace(tello, [*ROTORS, "left-thigh-to-shin"], ANKLE)
    x, f = np.array([0.1, -0.2]), np.array([2.0, 1.0])
    motors, J = space.motor_force(x, f), space.jacobian(x)
    assert np.allclose(J.T @ motors, f, atol=1e-13) and np.allclose(motors, np.linalg.pinv(J.T) @ f, atol=1e-13)
    with pytest.raises(MethodError, match="do not determine the motion"):
        space.joint_position(np.zeros(3))


def test_too_few_motors_are_told_so(tello):
    space = MotorSpace(tello, ROTORS[:1], ANKLE)
    assert space.joint_force([0.1, 0.2], [1.0]).shape == (2,)
    with pytest.raises(MethodError, match="cannot make any force"):
        space.motor_force([0.1, 0.2], [1.0, 1.0])
    assert np.isinf(space.condition([0.1, 0.2]))


@pytest.mark.parametrize(
    ("motors", "joints", "options", "error", "words"),
    [
        (["rotor"], ANKLE, {}, UnknownName, "no actuator or coordinate named 'rotor'"),
        (ROTORS, ["knee"], {}, UnknownName, "no coordinate named 'knee'"),
        (ROTORS, ANKLE[:1], {}, ModelError, "which has 2 freedoms"),
        (ROTORS, [*ANKLE, ANKLE[0]], {}, MethodError, "is named twice"),
        ([], ANKLE, {}, MethodError, "needs motors"),
        (ROTORS, [], {}, MethodError, "needs joints"),
        (ROTORS, ANKLE, {"held": {ANKLE[0]: 0.0}}, MethodError, "is held and among the joints"),
        (ROTORS, ANKLE[1:], {"held": {ANKLE[0]: np.nan}}, MethodError, "held 'left-thigh-to-shin' must"),
        ([*ROTORS, *HIP_ROTORS], ANKLE, {}, ModelError, r"joints \[\] do not determine"),
        (ROTORS, ["torso-to-ground[0]"], {}, MethodError, "has no plain position"),
        ([Motor(ROTORS[0], gear=0.0)], ANKLE, {}, MethodError, "has gear 0"),
        (ROTORS, [FrameAngles("left-shin", "left-shin")], {}, MethodError, "fixed to each other"),
        (ROTORS, ANKLE, {"at": np.zeros(3)}, ShapeError, "at must have shape"),
    ],
)
def test_bad_spaces_name_the_culprit(tello, motors, joints, options, error, words):
    with pytest.raises(error, match=words):
        MotorSpace(tello, motors, joints, **options)


def test_bad_arguments_name_the_culprit(ankle):
    with pytest.raises(ShapeError, match=r"x must have shape \(2,\)"):
        ankle.motor_position(np.zeros(3))
    with pytest.raises(KinloopError, match="x is nan"):
        ankle.jacobian([0.0, np.nan])
    with pytest.raises(ShapeError, match=r"stiffness must have shape \(2, 2\)"):
        ankle.motor_gains([0.1, 0.1], [1.0, 2.0])
    with pytest.raises(UnknownName, match="no map named 'motor_torque'"):
        ankle.compile("motor_torque")
    with pytest.raises(MethodError, match="axes of 'foot'"):
        FrameAngles("foot", "shin", "xx")


def test_the_numpy_backend_agrees(ankle):
    plain = MotorSpace(kl.Robot(kl.robots.mechanism("tello"), backend="numpy"), ROTORS, ANKLE)
    x, f = np.array([[0.3, -0.2], [0.1, 0.5]]), np.array([1.0, 2.0])
    for a, b in zip(plain.map(x, f), ankle.map(x, f), strict=True):
        assert np.allclose(a, b, atol=1e-13)
    with pytest.raises(MethodError, match="has no kernel"):
        plain.compile("map")


def test_spaces_pickle(ankle):
    x = np.array([0.3, 0.1])
    assert np.array_equal(pickle.loads(pickle.dumps(ankle)).motor_position(x), ankle.motor_position(x))


def test_motors_of_a_robot_are_those_of_its_file_or_by_name(tello):
    motors = tello.motors([*ROTORS])
    assert [m.joint for m in motors] == ROTORS and motors[0].kind == "torque"
    assert np.array_equal(
        MotorSpace(tello, motors, ANKLE).jacobian([0.1, 0.1]), MotorSpace(tello, ROTORS, ANKLE).jacobian([0.1, 0.1])
    )
    with pytest.raises(MethodError, match="describes no actuators"):
        tello.motors()
    with pytest.raises(UnknownName, match="did you mean"):
        tello.motors(["left-thigh-to-knee-ankle-rotor"])


def test_motors_that_loops_hold_have_no_hold_on_joints():
    """A coordinate that cannot move as a motor: its line of J is zero, and nothing can be asked of it."""
    b = kl.Builder("planar", gravity=(0.0, 0.0, 0.0))
    link = {"mass": 1.0, "inertia": (0.01, 0.01, 0.01)}
    b.body("crank", axis="y", **link)
    b.body("coupler", "crank", axis="y", at=(0.2, 0, 0), **link)
    b.body("rocker", axis="y", at=(0.5, 0, 0), **link)
    b.body("side", "rocker", joint="prismatic", axis="y", **link)
    b.loop("pin", "coupler", "side", "revolute", axis="y", at=(0.6, 0, 0), at_successor=(0.4, 0, 0))
    robot = b.build()
    q = robot.close([-0.5, 0.3, -1.5, 0.0])
    space = MotorSpace(robot, ["side_joint"], ["crank_joint"], at=q)
    assert np.array_equal(space.jacobian(q[:1]), [[0.0]]) and np.isinf(space.condition(q[:1]))
    with pytest.raises(SingularConfiguration, match="do not hold the joints"):
        space.motor_force(q[:1], [1.0])
    with pytest.raises(SingularConfiguration, match="no gains"):
        space.motor_gains(q[:1], [[1.0]])
