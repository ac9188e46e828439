"""Forces at joints: laws of motors, their limits and gears, passive forces, and what implicit steps add."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.errors import KinloopError
from kinloop.sim import Motor, Simulator
from kinloop.sim.actuators import joint_forces, make_drive, spring_energy
from kinloop.sim.implicit_motors import implicit, with_armature
from kinloop.sim.motors import motor_force
from tests.sim.mechanisms import RECORD, crank_rocker, drift, free_box, pendulum

INERTIA = 2.0


def slide(**joint):
    """A body of 2 kg on a rail, without gravity."""
    b = kl.Builder("slide", gravity=(0, 0, 0))
    b.body("cart", joint="prismatic", axis="x", mass=INERTIA, inertia=(1, 1, 1), **joint)
    return b.build()


@pytest.mark.parametrize(
    ("motor", "expected"),
    [
        (Motor("j"), 0.7),
        (Motor("j", "position", kp=10.0, kd=2.0), 10.0 * (0.7 - 0.2) - 2.0 * 0.3),
        (Motor("j", "velocity", kd=2.0), 2.0 * (0.7 - 0.3)),
    ],
)
def test_motors_push_by_their_laws(motor, expected):
    assert motor_force(motor, 0.7, 0.2, 0.3) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("kind", ["torque", "position", "velocity"])
def test_a_gear_keeps_power(kind):
    """A motor behind a gear g is the motor at g times the motion, and as much work leaves it as reaches the joint."""
    g, q, qd, u = 6.0, 0.2, 0.3, 0.7
    own = Motor("j", kind, kp=10.0, kd=2.0)
    geared = Motor("j", kind, kp=10.0, kd=2.0, gear=g)
    force = motor_force(geared, u, q, qd)
    assert force == pytest.approx(g * motor_force(own, u, g * q, g * qd), rel=1e-15)
    assert force * qd == pytest.approx(motor_force(own, u, g * q, g * qd) * (g * qd), rel=1e-14)


@pytest.mark.parametrize("kind", ["torque", "position", "velocity"])
def test_a_limit_bounds_the_force_on_the_motor_side(kind):
    motor = Motor("j", kind, kp=2.0, kd=2.0, limit=3.0, gear=4.0)
    free = Motor("j", kind, kp=2.0, kd=2.0, gear=4.0)
    rng = np.random.default_rng(0)
    clipped = 0
    for u, q, qd in rng.normal(scale=(3.0, 0.05, 0.05), size=(50, 3)):
        wanted = motor_force(free, u, q, qd)
        clipped += abs(wanted) > 12.0
        assert motor_force(motor, u, q, qd) == pytest.approx(np.clip(wanted, -12.0, 12.0), rel=1e-14)
    assert 5 < clipped < 50
    assert motor_force(Motor("j", limit=3.0, gear=4.0), 5.0, 0.0, 0.0) == 12.0


def test_symbols_give_what_numbers_give():
    motor = Motor("j", "position", kp=10.0, kd=1.0, limit=2.0, gear=3.0)
    traced = sc.trace(lambda x: {"f": np.array([motor_force(motor, x[0], x[1], x[2])])}, {"x": 3})
    for x in np.random.default_rng(1).normal(size=(10, 3)):
        assert traced(x)[0] == motor_force(motor, *x)


def test_forces_of_all_joints_add_up():
    robot = crank_rocker()
    tree = robot.tree
    drive = make_drive(tree, ["crank_joint", Motor("rocker_joint", "velocity", kd=2.0), "crank_joint"])
    q, qd = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    f = joint_forces(drive, q, qd, np.array([0.5, 0.0, 0.25]))
    assert f.tolist() == [0.75, 0.0, -6.0]


def test_passive_forces_damp_and_spring_back():
    drive = make_drive(slide(damping=0.5, stiffness=20.0, rest=0.1).tree, [])
    f = joint_forces(drive, np.array([0.3]), np.array([2.0]), np.zeros(0))
    assert f == pytest.approx([-0.5 * 2.0 - 20.0 * 0.2])
    h = 1e-6
    slope = (spring_energy(drive, np.array([0.3 + h])) - spring_energy(drive, np.array([0.3 - h]))) / (2 * h)
    assert slope == pytest.approx(20.0 * 0.2, rel=1e-8)
    assert np.array_equal(spring_energy(drive, np.array([[0.1], [1.1]])), [0.0, 10.0])
    assert spring_energy(make_drive(slide().tree, None), np.zeros((3, 1))) == 0.0


def test_the_default_drive_pushes_independent_coordinates():
    robot = crank_rocker("coupler_joint")
    drive = make_drive(robot.tree, None)
    assert [m.joint for m in drive.motors] == ["coupler_joint"] and drive.dofs == (1,) and drive.places == (1,)
    assert drive.key != make_drive(robot.tree, ["crank_joint"]).key
    base = make_drive(free_box().tree, None)
    assert len(base.dofs) == 6 and set(base.places) == {-1}, "a free joint's rates are not rates of positions"


def test_mistakes_are_named():
    robot = crank_rocker()
    with pytest.raises(KinloopError, match="no coordinate named 'crank'; did you mean 'crank_joint'"):
        make_drive(robot.tree, ["crank"])
    with pytest.raises(KinloopError, match="has no plain position; a position servo needs one"):
        make_drive(free_box().tree, [Motor("box_joint[0]", "position", kp=1.0)])
    with pytest.raises(KinloopError, match="motors 'all' is not None, 'model' or a list"):
        make_drive(robot.tree, "all")
    with pytest.raises(KinloopError, match="describes no actuators"):
        make_drive(robot.tree, "model")
    with pytest.raises(KinloopError, match="motor kind 'muscle' of 'j' is not one of torque, position, velocity"):
        Motor("j", "muscle")
    for wrong in ({"kp": -1.0}, {"kd": -1.0}, {"limit": -1.0}, {"kp": np.nan}):
        with pytest.raises(KinloopError, match="must not be negative"):
            Motor("j", "position", **wrong)


def test_implicit_steps_add_the_armature_of_their_forces():
    h = 1e-2
    tree = slide(damping=3.0, stiffness=70.0).tree
    motors = [Motor("cart_joint", "position", kp=50.0, kd=2.0, gear=3.0), Motor("cart_joint", "velocity", kd=5.0)]
    still = np.zeros(1)
    added = implicit(make_drive(tree, motors), still, still, still, np.zeros(2), h).armature
    extra = with_armature(tree, added).top.armature - tree.top.armature
    expected = h * 3.0 + h**2 / 4 * 70.0 + 9.0 * (h * 2.0 + h**2 / 4 * 50.0) + h * 5.0
    assert extra == pytest.approx([expected], rel=1e-14)
    assert tree.top.armature.tolist() == [0.0], "the tree itself stays"
    plain = slide().tree
    none = implicit(make_drive(plain, None), still, still, still, np.ones(1), h).armature
    assert with_armature(plain, none) is plain, "forces that do not depend on the motion add none"


@pytest.mark.parametrize("gear", [1.0, 4.0])
def test_a_servo_adds_no_armature_where_it_will_be_at_its_limit(gear):
    """Limit and target are on the motor's side of the gear, position and rate on the other."""
    h, limit = 1e-2, 3.0
    drive = make_drive(slide().tree, [Motor("cart_joint", "position", kp=50.0, kd=2.0, limit=limit, gear=gear)])

    def added(target, qd=0.0, before=0.0):
        found = implicit(drive, np.zeros(1), np.array([qd]), np.array([before]), np.array([target]), h)
        assert (found.armature[0] > 0) == found.linear[0]
        return float(found.armature[0])

    full = gear**2 * (h * 2.0 + h**2 / 4 * 50.0)
    assert added(0.99 * limit / 50.0) == pytest.approx(full) and added(1.01 * limit / 50.0) == 0.0
    assert added(-1.01 * limit / 50.0) == 0.0
    most = limit / (gear * (2.0 + 0.5 * h * 50.0))  # the rate at which braking needs all that there is
    assert added(0.0, qd=0.99 * most) == pytest.approx(full)
    assert added(0.0, qd=1.01 * most) == 0.0, "braking needs more than it has"
    enough = 0.5 * limit * gear / full / 1.1  # the acceleration that lets half the limit go in a step
    for way in (1.0, -1.0):
        assert added(1.5 * limit / 50.0, before=1.01 * way * enough) == pytest.approx(full), "within at the end"
        assert added(1.5 * limit / 50.0, before=0.99 * way * enough) == 0.0


@pytest.mark.parametrize("kp, kd", [(0.0, 1e5), (0.0, 1e9), (1e9, 1e9), (1e6, 1e4), (400.0, 40.0)])
def test_servos_with_a_limit_settle_whatever_their_gain(kp, kd):
    """At their limit they push with all of it; where they are to rest they do not jump to and fro between its ends."""
    limit, h = 50.0, 1e-3
    motor = Motor("cart_joint", "position" if kp else "velocity", kp=kp, kd=kd, limit=limit)
    run = Simulator(slide(), dt=h, motors=[motor]).rollout(np.zeros(1), None, [0.3], steps=2500, record=["q", "v"])
    most = h * limit / INERTIA
    assert np.abs(np.diff(run.v[:, 0])).max() <= 1.1 * most
    assert run.v[:5, 0] == pytest.approx(most * np.arange(1, 6), rel=1e-9), "at its limit it gives all it has"
    if kp == 0.0:
        assert run.v[-1, 0] == pytest.approx(0.3, abs=1e-9)
    elif kd < 1e9:
        assert run.q[-1, 0] == pytest.approx(0.3, abs=1e-9)
    assert np.abs(np.diff(run.v[-100:, 0])).max() < 1e-2 * most


@pytest.mark.parametrize(
    ("joint", "motors", "k", "d"),
    [
        ({"stiffness": 800.0, "damping": 6.0}, [], 800.0, 6.0),
        ({}, [Motor("cart_joint", "position", kp=200.0, kd=1.5, gear=2.0)], 800.0, 6.0),
    ],
)
def test_a_step_takes_springs_at_the_mean_of_its_ends_and_damping_at_its_end(joint, motors, k, d):
    """The step solved by hand: m a = -d (v + h a) - k (x + h v / 2 + h^2 a / 4), x' by the mean of both velocities."""
    h, x, v = 1e-2, 0.3, -0.7
    sim = Simulator(slide(**joint), h, motors=motors)
    a = (-d * v - k * (x + 0.5 * h * v)) / (INERTIA + h * d + 0.25 * h * h * k)
    end = sim.step(sim.state([x], [v]), np.zeros(sim.nu))
    assert end.qd[0, 0] == pytest.approx(v + h * a, rel=1e-12)
    assert end.q[0, 0] == pytest.approx(x + h * (v + 0.5 * h * a), rel=1e-12)


def test_an_undamped_spring_keeps_its_energy_at_any_step():
    for k in (1.0, 1e4, 1e8):
        sim = Simulator(slide(stiffness=k), 1e-2)
        run = sim.rollout([0.1], [0.0], steps=300, record=("energy",))
        assert np.ptp(run.energy) < 1e-9 * run.energy[0]


def test_motors_act_on_rotor_or_joint_side():
    b = kl.Builder("geared", gravity=(0, 0, 0))
    b.body("link", axis="z", mass=1.0, inertia=(0.1, 0.1, 0.1), joint_name="joint")
    b.body("rotor", axis="z", mass=0.1, inertia=(1e-3, 1e-3, 1e-3), joint_name="motor")
    b.gear("motor", "joint", 6.0)
    b.independent = ["joint"]
    robot = b.build()
    side = {
        name: Simulator(robot, 1e-3, motors=[name]).rollout(None, None, np.array([torque]), steps=100).v[-1, 0]
        for name, torque in (("joint", 6.0), ("motor", 1.0))
    }
    assert side["joint"] == pytest.approx(side["motor"], rel=1e-12)


def test_stiff_servo_and_damping_are_stable():
    robot = pendulum(damping=1e4, stiffness=0.0)
    r = Simulator(robot, 1e-3).rollout(np.array([1.0]), np.array([5.0]), steps=100)
    assert np.all(np.isfinite(r.q)) and abs(r.v[-1, 0]) < 1e-2
    stiff = Simulator(pendulum(), 1e-3, motors=[Motor("rod_joint", "position", kp=1e7, kd=1e3)])
    r = stiff.rollout(np.array([1.0]), None, np.array([0.3]), steps=300)
    assert abs(r.q[-1, 0] - 0.3) < 1e-4
    speed = Simulator(pendulum(), 1e-3, motors=[Motor("rod_joint", "velocity", kd=1e5)])
    assert speed.rollout(None, None, np.array([2.0]), steps=300).v[-1, 0] == pytest.approx(2.0, abs=1e-3)


def test_spring_keeps_its_energy():
    robot = pendulum(stiffness=50.0, rest=0.4)
    r = Simulator(robot, 1e-3, integrator="rk4").rollout(np.zeros(1), None, steps=2000, record=RECORD)
    assert drift(r) < 1e-8
