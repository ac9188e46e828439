"""Stops and dry friction of joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kinloop as kl
from kinloop.model import Builder
from kinloop.sim import Plane, Simulator, Status
from kinloop.sim.actuators import make_drive
from kinloop.sim.contact import joint_stops as stops
from kinloop.sim.contact.joint_limits import FASTEST, OVER, joint_limits
from kinloop.sim.contact.joint_stops import NEAR_STOP, JointPath, joint_paths, solve_with_joints
from tests.sim.mechanisms import crank_rocker, leg, leg_states, pendulum, smooth_motion

H = 1e-3


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_a_joint_that_begins_beyond_a_stop_is_back_within_a_second(damping):
    """As fast as it may be brought back; with damping, which has to be overcome, it rests at the stop."""
    b = Builder("arm")
    b.body("arm", mass=1.0, com=(0.2, 0, 0), inertia=(0.01,) * 3, axis="z", lower=0.4, upper=1.0, damping=damping)
    run = Simulator(b.build(), H).rollout([0.0], None, steps=1500, record=["q", "v"])
    assert run.status == [Status.RUNNING] and np.max(run.v) < FASTEST + 0.01 and run.q[1000, 0] > 0.4 - 5e-3
    assert not damping or run.q[-1, 0] == pytest.approx(0.4, abs=0.01)


def test_paths_say_where_they_lead():
    inside = JointPath(1.0, -500.0, 500.0, 0.0, {})
    assert inside.inside and not inside.near
    near = JointPath(500.0 - 0.5 * NEAR_STOP, -500.0, 500.0, 0.0, {})
    assert near.inside and near.near
    assert not JointPath(501.0, -500.0, 500.0, 0.0, {}).inside


def state_of(robot, q, v):
    drive = make_drive(robot.tree, None)
    return joint_limits(robot.tree, drive, True), smooth_motion(robot.tree, drive, q, v, np.zeros(robot.nv))


def test_paths_start_half_a_step_before_the_middle():
    robot = pendulum(lower=-0.5, upper=0.5)
    q, v, v_free = np.array([0.3]), np.array([2.0]), np.array([2.5])
    limits, s = state_of(robot, q, v)
    (path,) = joint_paths(limits, robot.tree, s, q, v, v_free, np.zeros(1), H)
    assert path.rate == 2.5 and path.high == pytest.approx((0.5 - (0.3 - 0.5 * H * 2.0)) / H)
    (path,) = joint_paths(limits, robot.tree, s, q, v, v_free, np.array([1e-3]), H)
    assert path.high == pytest.approx((0.5 - (0.3 - 0.5 * H * 2.0 - 1e-3)) / H), "the middle was reached with a drift"


def test_paths_of_joints_in_loops_bend_with_the_loop():
    """While the crank turns evenly, the rocker is slower or faster half a step before and after the middle.

    Its velocity at the end keeps as far below the bound as its position there keeps from the stop.
    """
    m = crank_rocker("crank_joint").mechanism
    joints = [replace(j, lower=-3.0, upper=3.0) if j.name == "rocker_joint" else j for j in m.joints]
    robot = replace(m, joints=tuple(joints)).build()
    q, v = robot.neutral(), np.array([20.0])
    limits, s = state_of(robot, q, v)
    (path,) = joint_paths(limits, robot.tree, s, q, v, v, np.zeros(1), H)
    before, after = (robot.spanning_velocity(robot.integrate(q, v, t), v)[2] for t in (-0.5 * H, 0.5 * H))
    assert abs(after - before) > 0.05, "it bends enough to be seen"
    assert path.rate == pytest.approx(after, abs=2e-3)
    end = robot.integrate(q, v, 0.5 * H)[2]
    assert 3.0 - H * (path.high - path.rate) == pytest.approx(end, abs=2e-6), "its bend is 3e-4 rad"


@pytest.mark.parametrize("speed", [12.0, -12.0])
def test_a_stop_on_a_dependent_joint_is_met_where_it_is(speed):
    """The rocker of a four-bar bends by 12 rad/s^2 on its way to a stop: it went 5/8 of h^2 times that too far."""
    m = crank_rocker("crank_joint").mechanism
    start = np.array([2.18510932, -1.66662552, 1.96955319])
    joints = [replace(j, lower=1.7453, upper=2.1943) if j.name == "rocker_joint" else j for j in m.joints]
    robot = replace(m, joints=tuple(joints), gravity=(0, 0, 0)).build()
    for h in (1e-3, 5e-4, 2.5e-4):
        run = Simulator(robot, h).rollout(robot.close(start), np.array([speed]), steps=round(0.2 / h), record=["q"])
        q = run.q[:, 2]
        assert -1e-3 < max(q.max() - 2.1943, 1.7453 - q.min()) < 2.0 * h**2


@pytest.mark.parametrize(("h", "apart"), [(1e-3, 1e-5), (2.5e-4, 1e-6)])
def test_of_stops_that_a_loop_meets_at_once_the_nearest_pushes(h, apart):
    """Three stops of a four-bar in one step: rounds hand the blow on to the nearest, by as little as they are apart."""
    m = crank_rocker("crank_joint").mechanism
    met = {"crank_joint": 2.4927, "coupler_joint": -1.94302, "rocker_joint": 2.18918}
    q = crank_rocker("crank_joint").close(np.array(list(met.values())))
    bounds = {"crank_joint": (-9.0, q[0]), "coupler_joint": (q[1] + apart, 9.0), "rocker_joint": (-9.0, q[2] - apart)}
    joints = [replace(j, lower=bounds[j.name][0], upper=bounds[j.name][1]) for j in m.joints]
    robot = replace(m, joints=tuple(joints), gravity=(0, 0, 0)).build()
    start = robot.close(np.array([2.18510932, -1.66662552, 1.96955319]))
    run = Simulator(robot, h).rollout(start, np.array([12.0]), steps=round(0.1 / h), record=["joint_impulse", "v"])
    pushes = run.joint_impulse != 0.0
    assert run.status == [Status.RUNNING] and np.max(run.peaks["residual"]) < 1e-4
    assert np.sum(pushes) >= 2 and np.max(np.sum(pushes, axis=1)) == 1 and abs(run.v[-1, 0]) < 0.03


def test_impulses_of_all_joints_come_back_in_their_order():
    """Joints with dry friction and mere stops are solved in different lists; what comes out is by joint."""
    b = kl.Builder("rails", gravity=(0, 0, 0))
    for k, joint in enumerate(({"upper": 0.0}, {"friction": 2.0}, {"upper": 0.0}, {"friction": 3.0})):
        b.body(f"b{k}", joint="prismatic", axis="x", mass=1.0 + k, inertia=(1, 1, 1), **joint)
    robot = b.build()
    q, v = np.zeros(4), np.array([5.0, 6.0, 7.0, 8.0])
    limits, s = state_of(robot, q, v)
    paths = joint_paths(limits, robot.tree, s, q, v, v, np.zeros(4), H)
    found, impulses = solve_with_joints(limits, paths, robot.tree, s, [], True, 20, np.zeros(4))
    # half a step before the middle the stops are half a step away; friction gives what it has
    np.testing.assert_allclose(impulses, [-2.5 * 1.0, -2.0 * H, -3.5 * 3.0, -3.0 * H], rtol=1e-8)
    assert len(found.joints) == 2 and len(found.stops) == 2


def test_joint_stops_hold():
    robot = pendulum(lower=-0.5, upper=0.5)
    r = Simulator(robot, 1e-3).rollout(np.zeros(1), np.array([8.0]), steps=2000, record=("q", "v", "energy"))
    assert np.max(np.abs(r.q)) <= 0.5 + 1e-6
    assert np.max(r.q) > 0.49 and np.max(np.diff(r.energy)) < 1e-3


@pytest.mark.parametrize("knee", [{}, {"friction": 0.2}])
def test_stops_that_only_some_rows_reach_change_nothing_for_the_others(knee):
    robot = leg(**knee)
    sim = Simulator(robot, 1e-3, ground=Plane(0.7), contacts=["foot"])
    Q, V = leg_states(robot, 9)
    many = sim.rollout(Q, V, steps=300, record=("q", "v", "joint_impulse"))
    assert np.all(many.status == 1)
    assert np.max(many.q[..., 8]) < 1.4 + 1e-5 and np.min(many.q[..., 8]) > 0.1 - 1e-5
    stopped = np.abs(many.joint_impulse[..., 1]) > 3e-4  # more than dry friction
    assert np.any(stopped) and not np.all(np.any(stopped[:, :120], axis=1))
    for k in range(9):
        one = sim.rollout(Q[k], V[k], steps=300, record=("q", "v"))
        assert np.array_equal(many.q[k], one.q) and np.array_equal(many.v[k], one.v)


def test_stops_left_out_where_far_are_not_missed(monkeypatch):
    robot = leg()
    Q, V = leg_states(robot, 2)
    Q[0, 8] = 1.38
    runs = []
    for near in (stops.NEAR_STOP, 1e20):
        monkeypatch.setattr(stops, "NEAR_STOP", near)
        sim = Simulator(kl.Robot(robot.mechanism, backend="numpy"), 1e-3, ground=Plane(0.7), contacts=["foot"])
        runs.append(sim.rollout(Q, V, steps=6, record=("q", "joint_impulse")))
    assert np.any(runs[0].joint_impulse[0]) and not np.any(runs[0].joint_impulse[1])
    assert np.max(np.abs(runs[0].q - runs[1].q)) < 1e-12


def test_dry_friction_stops_a_joint_in_finite_time():
    robot = pendulum(friction=1.0)
    r = Simulator(robot, 1e-3).rollout(np.array([0.2]), None, steps=100)
    assert (
        np.max(np.abs(r.v)) < 1e-15 and np.max(np.abs(r.q - 0.2)) < 1e-15
    )  # m g l / 2 sin(0.2) = 0.49 N m does not move it
    r = Simulator(robot, 1e-3).rollout(np.array([1.2]), None, steps=3000)
    assert np.max(np.abs(r.v[-100:])) < 1e-12 and abs(r.q[-1, 0]) < 0.45


def slider_crank_with_a_stop(before: float) -> kl.Robot:
    """A slider-crank whose slider has a stop so far before its dead centre [m]."""
    m = kl.robots.mechanism("slider_crank")
    joints = [replace(j, upper=-before) if j.name == "slider_joint" else j for j in m.joints]
    return replace(m, joints=tuple(joints), gravity=(0, 0, 0)).build()


@pytest.mark.parametrize("angle", [1e-8, 1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("before", [1e-7, 1e-5, 1e-3])
def test_a_stop_brings_nothing_back_in_haste_near_a_dead_centre(before, angle):
    """There the slider hardly moves: to bring it back at 5 mm/s a crank would turn at 3,700 rad/s, from rest."""
    robot = slider_crank_with_a_stop(before)
    q = robot.close(np.array([angle, -angle * 4 / 3, 0.0]))
    run = Simulator(robot, 1e-3).rollout(q, None, steps=50, record=["v", "energy", "joint_impulse"])
    assert run.status[0] == 1
    assert np.max(np.abs(run.v)) < 0.1 and np.max(run.energy) < 1e-4 and np.max(np.abs(run.joint_impulse)) < 1.0


def test_a_stop_before_a_dead_centre_holds_what_hits_it():
    for before, bound in ((1e-2, 0.1), (1e-3, 0.35), (1e-4, 0.35)):
        robot = slider_crank_with_a_stop(before)
        q = robot.close(np.array([-0.5, 0.7, 0.0]))
        run = Simulator(robot, 1e-3).rollout(q, np.array([10.0]), steps=200, record=["q", "v"])
        assert np.max(run.q[:, 2]) < -before + 3e-5, "no deeper than the path bends in a step"
        assert np.max(run.v) > 10.0 and abs(run.v[-1, 0]) < bound, "an inelastic stop"


@pytest.mark.parametrize("speed", [1.0, 10.0, 40.0])
@pytest.mark.parametrize("before", [1e-4, 3e-5, 1e-5, 3e-6])
def test_no_stop_before_a_dead_centre_is_stepped_over(before, speed):
    """The path bends by 3e-5 m in a step at 10 rad/s: slider and crank went on beyond the dead centre, unflagged."""
    robot = slider_crank_with_a_stop(before)
    q = robot.close(np.array([-0.5, 0.7, 0.0]))
    run = Simulator(robot, 1e-3).rollout(q, np.array([speed]), steps=int(2000 / speed), record=["q", "v"])
    assert run.status.tolist() == [1] and not run.singular[0]
    assert np.max(run.q[:, 2]) < -before + 1.5 * OVER and np.max(run.q[:, 0]) < 0.0, "it stays before the dead centre"
    assert abs(run.v[-1, 0]) < 0.1 * speed


@pytest.mark.parametrize("before", [1e-7, 0.0, -1e-3])
def test_a_stop_at_a_dead_centre_or_beyond_is_none(before):
    robot = slider_crank_with_a_stop(before)
    q = robot.close(np.array([-0.5, 0.7, 0.0]))
    run = Simulator(robot, 1e-3).rollout(q, np.array([10.0]), steps=200, record=["q", "v"])
    assert run.status.tolist() == [1] and run.substeps.tolist() == [0] and run.q[-1, 0] > 1.0


SLIDERS = """<mujoco><option gravity="0 0 0" timestep="0.0005"/><worldbody><site name="w" pos="0 0 1"/>
<body name="a"><joint name="a" type="slide" axis="1 0 0"/><geom size="0.1" mass="2"/></body>
<body name="b" pos="0 1 0"><joint name="b" type="slide" axis="1 0 0"/><geom size="0.1" mass="1"/></body>
<body name="c" pos="0 0 0.5"><joint name="c" type="slide" axis="0 0 1"/><geom size="0.1" mass="1"/><site name="c"/>
</body></worldbody><tendon>
<fixed name="t" frictionloss="3"><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed>
<spatial name="s" frictionloss="0.5"><site site="w"/><site site="c"/></spatial></tendon></mujoco>"""


@pytest.mark.parametrize("collisions", [False, True])
def test_dry_friction_of_tendons_stops_what_they_move(tmp_path, collisions):
    """a - 2 b slows down by f (1/2 + 4) and stays; a straight tendon brakes what hangs on it by f; all as by hand."""
    pytest.importorskip("mujoco")
    path = tmp_path / "sliders.xml"
    path.write_text(SLIDERS)
    robot = kl.load(path)
    sim = Simulator(robot, 5e-4, collisions=collisions)
    run = sim.rollout([0.0, 0.0, 0.0], [1.0, -0.2, 0.4], steps=2000, record=["q", "v", "joint_impulse"], every=1)
    assert run.status.tolist() == [1]
    k = 100  # 0.05 s later
    t = run.t[k]
    np.testing.assert_allclose(run.v[k], [1.0 - 1.5 * t, -0.2 + 6.0 * t, 0.4 - 0.5 * t], atol=2e-9)
    slide = run.v[:, 0] - 2 * run.v[:, 1]
    stop = 1.4 / (3 * (0.5 + 4))
    assert np.abs(slide[run.t > stop + 1e-3]).max() < 1e-9 and slide[run.t < stop - 1e-3].min() > 0.0
    assert np.abs(run.v[run.t > 0.801, 2]).max() < 1e-9, "0.4 m/s at 0.5 m/s^2"
    assert run.v[-1, :2] == pytest.approx([1.0 - 1.5 * stop, -0.2 + 6.0 * stop], abs=1e-6)
    with pytest.warns(UserWarning, match="ignores the stops and the dry friction of 't', 's'"):
        Simulator(robot, integrator="rk4")
    found = sim.linearize(sim.state(run.q[k], run.v[k]))
    assert found.joint_names == ("t", "s") and found.joints[0].tolist() == [0, 0]
    assert sim.linearize(sim.state(run.q[-1], run.v[-1])).joints[0].tolist() == [1, 1]


def test_dry_friction_of_a_tendon_is_mujocos(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "sliders.xml"
    path.write_text(SLIDERS)
    model, sim = mujoco.MjModel.from_xml_path(str(path)), Simulator(kl.load(path), 5e-4)
    data = mujoco.MjData(model)
    data.qvel[:] = 1.0, -0.2, 0.4
    run = sim.rollout([0.0, 0.0, 0.0], data.qvel, steps=1500, every=1500)
    for _ in range(1500):
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(run.q[-1], data.qpos, atol=2e-3)
