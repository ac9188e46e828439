# ruff: noqa: E501  (model text)
"""Actuators of MJCF: decoded kinds, a law that gives MuJoCo's forces, and the simulator's motors of them."""

from dataclasses import replace

import numpy as np
import pytest
from io_samples import MJCF, write

from kinloop.clusters import grow
from kinloop.errors import MethodError, ModelError
from kinloop.io import ModelWarning, load, to_mjcf
from kinloop.sim.actuators import make_drive, motor_forces
from kinloop.sim.file_motors import FileMotor, model_motors
from kinloop.sim.motors import Motor

mujoco = pytest.importorskip("mujoco")

MANY = """<mujoco><compiler angle="radian"/><worldbody>
<body name="one"><joint name="j1" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/>
<body name="two" pos="0.4 0 0"><joint name="j2" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/></body></body>
<body name="ball" pos="0 1 0"><joint name="s" type="ball"/><geom size="0.1" pos="0 0 0.2"/></body></worldbody>
<tendon><fixed name="both"><joint joint="j1" coef="0.5"/><joint joint="j2" coef="-2"/></fixed></tendon>
<actuator>
<motor name="motor" joint="j1" gear="5" ctrlrange="-1 1"/>
<position name="position" joint="j1" kp="10" kv="2" gear="3" forcerange="-4 6"/>
<velocity name="velocity" joint="j2" kv="3" gear="2"/>
<general name="offset" joint="j2" gainprm="7" biastype="affine" biasprm="0.5 -7 -1"/>
<general name="uneven" joint="j2" gainprm="7" biastype="affine" biasprm="0 -2 -1"/>
<general name="damper" joint="j2" gainprm="0" biastype="affine" biasprm="0 0 -1.5"/>
<general name="pushed" joint="j2" gainprm="2" biastype="affine" biasprm="0 0 -1"/>
<general name="scaled" joint="j1" gaintype="affine" gainprm="2 1 0.5"/>
<motor name="belt" tendon="both" gear="2"/>
<motor name="about_y" joint="s" gear="0 3 0"/>
<motor name="about_yz" joint="s" gear="0 3 1"/>
</actuator></mujoco>"""
KINDS = {
    "motor": ("torque", True), "position": ("position", True), "velocity": ("velocity", True),
    "offset": ("position", False), "uneven": ("position", False), "damper": ("position", True),
    "pushed": ("velocity", False), "scaled": ("torque", False), "belt": ("torque", True),
    "about_y": ("torque", True), "about_yz": ("torque", True),
}  # fmt: skip


@pytest.fixture
def many(tmp_path):
    path = write(tmp_path, MANY)
    return load(path), mujoco.MjModel.from_xml_path(str(path))


def test_actuators_of_the_sample_are_decoded(tmp_path):
    ma, pb, vc = load(write(tmp_path, MJCF)).actuators
    assert (ma.kind, ma.transmission, ma.control_range) == ("torque", (("a", (5.0,)),), (-1.0, 1.0))
    assert (pb.kind, pb.gain[0], pb.bias[1], pb.kp) == ("position", 10.0, -10.0, 10.0)
    assert (vc.kind, vc.gain[0], vc.bias[2], vc.kd) == ("velocity", 3.0, -3.0, 3.0)
    assert all(a.exact and a.force_range == (-np.inf, np.inf) for a in (ma, pb, vc))


def test_every_actuator_has_its_kind_and_says_whether_that_is_all(many):
    m, _ = many
    assert {a.name: (a.kind, a.exact) for a in m.actuators} == KINDS
    by_name = {a.name: a for a in m.actuators}
    assert by_name["belt"].transmission == (("j1", (1.0,)), ("j2", (-4.0,))) and by_name["belt"].coordinate is None
    assert by_name["about_y"].coordinate == ("s[1]", 3.0) and by_name["about_yz"].coordinate is None


def test_the_law_gives_mujocos_forces(many):
    m, model = many
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    data.qpos[:2], data.qvel[:2], data.ctrl[:] = rng.normal(size=2), rng.normal(size=2), 2 * rng.normal(size=model.nu)
    mujoco.mj_forward(model, data)
    q, qd = {"j1": data.qpos[0], "j2": data.qpos[1]}, {"j1": data.qvel[0], "j2": data.qvel[1]}
    compared = 0
    for k, a in enumerate(m.actuators):
        if "s" in a.joints:
            continue  # a ball has no position that a gear could multiply
        at = np.array([1.0, *(sum(t.gear[0] * x[t.joint] for t in a.transmission) for x in (q, qd))])
        force = np.dot(a.gain, at) * np.clip(data.ctrl[k], *a.control_range) + np.dot(a.bias, at)
        assert np.clip(force, *a.force_range) == pytest.approx(data.actuator_force[k], rel=1e-12), a.name
        compared += 1
    assert compared == 9


def test_motors_of_the_simulator_are_those_of_the_file(many):
    """One coordinate and a law of a `Motor` make one; all else is a `FileMotor`."""
    m, _ = many
    plain = {}
    for a in m.actuators:
        ((made,), bounds) = model_motors(_tree(m, (a,)))
        assert not bounds
        if isinstance(made, Motor):
            plain[a.name] = (made.joint, made.kind, made.kp, made.kd, made.limit, made.gear)
        else:
            assert made.actuator is a and made.joint == (a.coordinate.name if a.coordinate else a.name)
    assert plain == {
        "motor": ("j1", "torque", 0.0, 0.0, 1.0, 5.0),
        "velocity": ("j2", "velocity", 0.0, 3.0, np.inf, 2.0),
        "damper": ("j2", "position", 0.0, 1.5, np.inf, 1.0),
        "about_y": ("s[1]", "torque", 0.0, 0.0, np.inf, 3.0),
    }


@pytest.mark.parametrize(
    "old, new, why",
    [
        ('gear="5" ctrlrange="-1 1"', 'gear="5" armature="1"', "has inertia or damping of its own"),
        ("<motor name", "<muscle name", "is a muscle"),
        ("<motor name", '<general gaintype="user" name', "has a law of the user's own"),
        ("<motor name", '<general dyntype="user" name', "has dynamics of the user's own"),
    ],
)
def test_what_nothing_here_does_is_announced_and_refused_by_name(tmp_path, old, new, why):
    head, tail = MANY.split("<actuator>")
    motor = next(line for line in tail.splitlines() if 'name="motor"' in line)
    text = (head + "<actuator>" + motor + "</actuator></mujoco>").replace(old, new)
    with pytest.warns(ModelWarning, match=f"actuator 'motor': {why}"):
        m = load(write(tmp_path, text.replace('gear="5" ', "") if "muscle" in new else text))
    with pytest.raises(MethodError, match=f"actuator 'motor' {why}"):
        model_motors(grow(m))


def test_bounds_of_joints_bound_their_motors(tmp_path):
    bounded = MANY.replace('<joint name="j1"', '<joint actuatorfrcrange="-10 10" name="j1"')
    m = load(write(tmp_path, bounded))
    motor, belt = m.actuators[0], next(a for a in m.actuators if a.name == "belt")
    ((made,), _) = model_motors(_tree(m, (motor,)))
    assert made.limit == 1.0  # 5 N m at the joint, by the range of its control
    ((made,), _) = model_motors(_tree(m, (replace(motor, control_range=(-9.0, 9.0)),)))
    assert made.limit == pytest.approx(2.0)  # 10 N m at the joint, by the bound there
    ((made,), _) = model_motors(_tree(m, (replace(motor, gain=(4.0, 0, 0), force_range=(-2.0, 2.0)),)))
    assert (made.limit, made.gear) == (0.5, 20.0)  # 2 N m before the gear, whatever the gain
    motors, bounds = model_motors(_tree(m, (motor, belt)))
    assert all(isinstance(x, FileMotor) for x in motors) and bounds == [(0, -10.0, 10.0)], "of both together"


@pytest.mark.parametrize(
    "kind", ["motor", 'position kp="3"', 'velocity kv="3"', 'general gainprm="2" biastype="affine" biasprm="1 -3 -2"']
)
@pytest.mark.parametrize("ranges", ['ctrlrange="-4 4" forcerange="-8 8"', 'ctrlrange="-1 4" forcerange="-2 8"', ""])
@pytest.mark.parametrize("bound", ["-20 20", "-3 9"])
def test_motors_give_mujocos_forces_within_ranges(tmp_path, kind, ranges, bound):
    text = f"""<mujoco><worldbody><body><joint name="j" axis="0 1 0" actuatorfrcrange="{bound}"/><geom size="0.1"/></body></worldbody>
    <actuator><{kind} joint="j" gear="3" {ranges}/><motor joint="j"/></actuator></mujoco>"""
    for both in (True, False):
        path = write(tmp_path, text if both else text.replace('<motor joint="j"/>', ""))
        drive, model = make_drive(grow(load(path)), "model"), mujoco.MjModel.from_xml_path(str(path))
        data = mujoco.MjData(model)
        for u in (-9.0, -3.5, 0.1, 3.0, 9.0):
            data.qpos[0], data.qvel[0], data.ctrl[:] = 0.3, -0.2, u
            mujoco.mj_forward(model, data)
            found = motor_forces(drive, data.qpos, data.qvel, data.ctrl)
            assert sum(x for _, x in found) == pytest.approx(data.qfrc_actuator[0], rel=1e-12)


def test_actuators_of_free_bodies_turn_before_they_push(tmp_path):
    text = """<mujoco><worldbody><body><freejoint name="f"/><geom size="0.1"/></body></worldbody>
    <actuator><motor name="yaw" joint="f" gear="0 0 0 0 0 2"/><motor name="push" joint="f" gear="0 0 1 0 0 0"/></actuator></mujoco>"""
    yaw, push = load(write(tmp_path, text)).actuators
    assert yaw.coordinate == ("f[2]", 2.0) and yaw.exact and not push.exact


def _tree(m, actuators):
    return grow(replace(m, actuators=actuators))


def test_actuators_with_dynamics_of_their_own_are_not_exact(tmp_path):
    text = MANY.replace('<motor name="motor"', '<general name="motor" dyntype="filter" dynprm="0.1" actrange="-2 3"')
    motor = load(write(tmp_path, text)).actuators[0]
    assert (motor.kind, motor.exact, motor.dynamics, motor.time_constant) == ("torque", False, "filter", 0.1)
    assert motor.activation_range == (-2.0, 3.0)


def test_an_actuator_at_a_site_pushes_there(tmp_path):
    text = MANY.replace('<motor name="motor" joint="j1" gear="5"', '<motor name="motor" site="tip" gear="1 2 3 4 5 6"')
    text = text.replace('<body name="two"', '<site name="tip" pos="0.1 0 0"/><body name="two"')
    motor = load(write(tmp_path, text)).actuators[0]
    assert motor.transmission == () and motor.coordinate is None and motor.wrench == (4, 5, 6, 1, 2, 3)
    assert (motor.site.name, motor.site.body, motor.site.placement.p.tolist()) == ("tip", "one", [0.1, 0.0, 0.0])


def test_bounds_of_joints_that_are_not_the_same_in_both_directions_are_kept(tmp_path):
    m = load(write(tmp_path, MANY.replace('<joint name="j1"', '<joint actuatorfrcrange="-1 2" name="j1"')))
    assert (m.joints[0].min_force, m.joints[0].max_force, m.joints[1].min_force) == (-1.0, 2.0, None)
    to_mjcf(m, tmp_path / "again.xml")
    again = load(tmp_path / "again.xml").joints[0]
    assert again.force_range == (-1.0, 2.0)
    with pytest.raises(ModelError, match=r"joint 'j1' bounds forces from 3 to 2.0; the lower bound must not be above"):
        replace(m.joints[0], min_force=3)
