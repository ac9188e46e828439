# ruff: noqa: E501  (model text)
"""Motors of model files in motion: beside MuJoCo, with activations, within bounds whatever their gains, at keyframes."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import KinloopError, MethodError
from kinloop.sim import Simulator, Status
from kinloop.sim.actuators import joint_forces, resting_controls
from kinloop.sim.implicit_motors import implicit
from kinloop.sim.transmissions import Setting, along_tendon

mujoco = pytest.importorskip("mujoco")

ARM = """<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81" timestep="0.0001"/><worldbody>
<site name="w" pos="0 0 0.3"/>
<body name="one" gravcomp="0.5"><joint name="j1" axis="0 1 0" damping="0.1" actuatorfrcrange="-6 9"/><geom size="0.05" pos="0.2 0 0" mass="1"/>
<geom name="drum" type="cylinder" size="0.06 0.1" pos="0.2 0 0.05" euler="1.57 0 0" contype="0" conaffinity="0"/>
<body name="two" pos="0.4 0 0"><joint name="j2" axis="0 1 0" damping="0.1"/><geom size="0.05" pos="0.2 0 0" mass="0.5"/><site name="tip" pos="0.2 0 0.02"/></body></body></worldbody>
<tendon><spatial name="cable" stiffness="20" springlength="0.3"><site site="w"/><geom geom="drum"/><site site="tip"/></spatial>
<fixed name="sum"><joint joint="j1" coef="1"/><joint joint="j2" coef="0.5"/></fixed></tendon>
<actuator><position name="p" joint="j1" kp="30" kv="2" ctrlrange="-0.5 0.5"/><motor name="m" joint="j1" gear="2"/>
<general name="f" joint="j2" dyntype="filterexact" dynprm="0.05" gainprm="2"/>
<general name="i" joint="j2" dyntype="integrator" gainprm="3" biastype="affine" biasprm="0 -3 -0.2" actrange="-0.2 0.2" actlimited="true"/>
<position name="s" tendon="sum" kp="10" kv="1"/><motor name="c" tendon="cable"/></actuator>
<keyframe><key name="home" qpos="0.1 0.2" ctrl="1 0.5 0.4 1 0.3 -2" act="0.1 0.05"/></keyframe></mujoco>"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    return path, Simulator(kl.load(path), dt=1e-3, motors="model")


def test_motion_and_activations_are_mujocos(arm):
    path, sim = arm
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    start, u = sim.keyframe("home")
    assert u.tolist() == data.ctrl.tolist() and sim.activations(start).tolist() == [data.act.tolist()]
    assert start.q[0].tolist() == data.qpos.tolist()
    ends = [sim.rollout(state=start, controls=u, steps=300).final]
    state = start
    for _ in range(300):
        state = sim.step(state, u)
    assert state.q.tolist() == ends[0].q.tolist() and state.memory.tolist() == ends[0].memory.tolist()
    mujoco.mj_step(model, data, nstep=3000)
    assert sim.activations(state)[0] == pytest.approx(data.act, abs=1e-3)
    assert state.q[0] == pytest.approx(data.qpos, abs=2e-3) and abs(data.qpos[0] - 0.1) > 0.1
    assert sim.activations(sim.state(start.q, act=[0.7, 0.1])).tolist() == [[0.7, 0.1]]


def test_what_has_no_activations_says_so(arm):
    sim = arm[1]
    with pytest.raises(MethodError, match="integrator 'rk4' has no activations of motors \\('j2', 'j2'\\)"):
        Simulator(sim.robot, integrator="rk4", motors="model")
    with pytest.raises(MethodError, match="steps with activations have no derivatives \\('j2', 'j2'\\)"):
        sim.linearize(sim.state(), np.zeros(6))
    with pytest.raises(KinloopError, match=r"keyframe named 'hone'.*'home'"):
        sim.keyframe("hone")


def test_bounds_hold_for_all_motors_of_a_joint_and_position_servos_rest_where_told(arm):
    drive = arm[1].drive
    q, qd = np.array([0.1, 0.2]), np.zeros(2)
    none = joint_forces(drive, q, qd, np.zeros(6))
    pushed = [joint_forces(drive, q, qd, np.array([0, x, 0, 0, 0, 0.0])) for x in (100.0, -100.0)]
    assert pushed[0][0] - pushed[1][0] == pytest.approx(15.0) and pushed[0][1] == none[1]
    assert resting_controls(drive, q) == pytest.approx([0.1, 0, 0, 0.2, 0.2, 0])
    assert resting_controls(drive, np.array([0.9, 0.0]))[0] == 0.5, "within the range of its control"


def test_implicit_inertia_along_a_tendon_is_never_less_than_its_own(arm):
    """c |J_d| sum |J| on every joint, against c J J^T; equal along motions in which all joints move alike."""
    drive, h = arm[1].drive, 1e-3
    q = np.array([0.1, 0.2])
    extra = implicit(drive, q, np.zeros(2), np.zeros(2), np.zeros(6), h).armature
    joints = np.diag(h * np.array([0.1, 0.1 + 0.2]) + h * h / 4 * np.array([0.0, 3.0]) + h * np.array([2.0, 0.0]))
    joints[0, 0] += h * h / 4 * 30.0
    J = np.array([1.0, 0.5])
    exact = joints + (h * 1.0 + h * h / 4 * 10.0) * np.outer(J, J)
    assert np.linalg.eigvalsh(np.diag(extra) - exact).min() > -1e-15
    spread = (h * 1.0 + h * h / 4 * 10.0) * np.abs(J) * np.abs(J).sum()
    cable = along_tendon(drive.tendons[0].tendon, Setting(drive.top, q)).arms
    pulled = h * h / 4 * 20.0 * np.abs([cable[0], cable[1]]) * np.abs([cable[0], cable[1]]).sum()
    assert extra == pytest.approx(np.diag(joints) + spread + pulled, rel=1e-12)


@pytest.mark.parametrize("ranges", [('forcerange="-30 50"', 'forcerange="-30 20"'), ("", "")])
@pytest.mark.parametrize("gain", [1e3, 1e9])
def test_servos_of_files_settle_within_their_bounds_whatever_their_gain(tmp_path, gain, ranges):
    """Within their own, and together within that of their joint."""
    path = tmp_path / "servo.xml"
    path.write_text(f"""<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="x" type="slide" axis="1 0 0" actuatorfrcrange="-40 60"/><geom size="0.1" mass="2"/></body></worldbody>
    <actuator><velocity joint="x" kv="{gain}" {ranges[0]}/><velocity joint="x" kv="{gain}" {ranges[1]}/></actuator></mujoco>""")
    run = Simulator(kl.load(path), motors="model").rollout(np.zeros(1), None, [0.3, 0.3], steps=100, record=["v"])
    most = 1e-3 * 60.0 / 2.0
    assert run.v[0, 0] == pytest.approx(most) and np.diff(run.v[:, 0]).max() < 1.1 * most
    assert run.v[-1, 0] == pytest.approx(0.3, abs=1e-6 + 1e-2 * (gain < 1e4)), "it does not jump to and fro"
    assert np.abs(np.diff(run.v[-20:, 0])).max() < 0.05 * most


def test_activations_act_from_the_middle_of_steps(tmp_path):
    """A filter on a free mass, against the integral of its exact answer to a step: of order 2, also in long steps."""
    path = tmp_path / "filter.xml"
    path.write_text("""<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="2"/></body></worldbody>
    <actuator><general joint="x" dyntype="filter" dynprm="0.05" gainprm="3"/></actuator></mujoco>""")
    sim, tau, t = Simulator(kl.load(path), dt=5e-3, motors="model"), 0.05, 0.1
    end = sim.rollout(None, None, [2.0], steps=20).final
    assert sim.activations(end)[0, 0] == pytest.approx(2.0 * (1.0 - np.exp(-t / tau)), rel=1e-12)
    assert end.qd[0, 0] == pytest.approx(3.0 * (t - tau * (1.0 - np.exp(-t / tau))), rel=2e-3)


@pytest.mark.parametrize("solref", ["0.02 1", "0.05 0.7", "-300 -20"])
def test_what_hangs_on_the_limit_of_a_tendon_hangs_as_deep_as_in_mujoco(tmp_path, solref):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "hanging.xml"
    path.write_text(f"""<mujoco><worldbody><site name="w" pos="0 0 1"/><body pos="0 0 0.6"><joint name="z" type="slide" axis="0 0 1"/><geom size="0.05" mass="2"/><site name="s"/></body>
    </worldbody><tendon><spatial name="t" limited="true" range="0 0.4" solreflimit="{solref}" solimplimit="0.9 0.9 0.001"><site site="w"/><site site="s"/></spatial></tendon></mujoco>""")
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 5000)
    run = Simulator(kl.load(path)).rollout(steps=5000, record=["q"], every=5000)
    assert data.qpos[0] < -1e-4 and run.q[-1, 0] == pytest.approx(data.qpos[0], rel=1e-3)


def test_a_box_swings_on_a_rope_whatever_the_step(tmp_path):
    """Its hook is at a corner, and the rope begins taut. Where every coordinate of the box had an inertia in place of the
    rope's own it was 12 mm off at 1 ms."""
    path = tmp_path / "rope.xml"
    path.write_text("""<mujoco><worldbody><site pos="0 0 0.2" name="anchor"/><body pos="0 0 0.15"><freejoint/>
    <geom type="box" size="0.015 0.015 0.015"/><site pos="0.015 0.015 0.015" name="hook"/></body></worldbody>
    <tendon><spatial limited="true" range="0 0.041"><site site="hook"/><site site="anchor"/></spatial></tendon></mujoco>""")
    robot = kl.load(path)
    exact = Simulator(robot, 1e-3, integrator="adaptive").rollout(None, None, until=0.3).q[-1, :3]
    for dt in (1e-3, 2.5e-4):
        run = Simulator(robot, dt, monitor=True).rollout(None, None, until=0.3)
        assert run.q[-1, :3] == pytest.approx(exact, abs=1.2 * dt) and run.status.tolist() == [Status.RUNNING]


def test_slopes_of_a_step_on_a_taut_tendon_are_those_of_differences(tmp_path):
    path = tmp_path / "taut.xml"
    path.write_text("""<mujoco><worldbody><site pos="0 0 1" name="w"/><body pos="0 0 0.6"><joint type="slide" axis="0 0 1"/><joint type="slide" axis="1 0 0"/>
    <geom size="0.05" mass="2"/><site name="s"/></body></worldbody><tendon><spatial limited="true" range="0 0.39"><site site="w"/><site site="s"/></spatial></tendon></mujoco>""")
    sim = Simulator(kl.load(path), 1e-3)
    x, u, small = np.array([-0.002, 0.05, -0.1, 0.3]), np.zeros(sim.nu), 1e-6

    def end(x):
        after = sim.step(sim.state(x[:2], x[2:]), u)
        return np.concatenate([after.q[0], after.qd[0]])

    expected = np.transpose([(end(x + small * e) - end(x - small * e)) / (2.0 * small) for e in np.eye(4)])
    assert expected[2, 0] < -10.0, "the tendon is taut"
    assert sim.linearize(sim.state(x[:2], x[2:]), u).A[0] == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_carried_weights_and_slack_tendons_do_what_they_say(tmp_path):
    path = tmp_path / "held.xml"
    path.write_text("""<mujoco><worldbody><site name="w" pos="0 0 1"/><body name="up" gravcomp="1"><joint name="z" type="slide" axis="0 0 1"/><geom size="0.1" mass="2"/><site name="s"/></body>
    </worldbody><tendon><spatial name="t" limited="true" range="0 1.1" solreflimit="0.01 1"><site site="w"/><site site="s"/></spatial></tendon></mujoco>""")
    sim = Simulator(kl.load(path))
    run = sim.rollout(np.zeros(1), None, [0.0], steps=200)
    assert np.abs(run.q).max() < 1e-15, "its weight is carried"
    run = sim.rollout(np.zeros(1), None, [-50.0], steps=3000, record=["q", "potential_energy"])
    (tendon,) = sim.drive.tendons
    depth = 50.0 / tendon.tendon.limit_stiffness
    assert run.q[-1, 0] == pytest.approx(-0.1 - depth, abs=1e-6), "the tendon holds it at its limit"
    stored = 0.5 * tendon.tendon.limit_stiffness * depth**2
    assert run.potential_energy[-1] == pytest.approx(2 * 9.81 * run.q[-1, 0] + stored, abs=1e-4)
