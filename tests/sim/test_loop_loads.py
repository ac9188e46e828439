# ruff: noqa: E501  (model text)
"""Force sensors of bodies that loops hold too: bearing loads of all joints, MuJoCo's, and the same wherever a loop is cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers import State, assert_agree, assert_enough, states

import kinloop as kl
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.reactions import Reactions, reactions
from kinloop.clusters import grow
from kinloop.clusters.framing import framed
from kinloop.model import Frame, Sensor, cut_loops
from kinloop.sim import ExternalForce, JointSpring, Simulator
from kinloop.sim.actuators import make_drive
from kinloop.sim.sensors import Sensors

mujoco = pytest.importorskip("mujoco")


def with_sensors(mechanism):
    """A mechanism that says what every joint bears, at the origin of its child."""
    kinds = [(b.name, kind) for b in mechanism.bodies for kind in ("force", "torque")]
    return replace(mechanism, sensors=tuple(Sensor(f"{k} {b}", k, frame=Frame(b, b)) for b, k in kinds))


def told(s: State) -> tuple[dict[str, np.ndarray], int]:
    """What these sensors tell in the exact motion of a state, and how many of them are of bodies that loops hold."""
    mechanism = with_sensors(s.tree.top.mechanism)
    tree = grow(mechanism)
    drive = make_drive(tree, None)
    sensors = Sensors(framed(tree), drive, len(drive.motors))
    G, qd, g = s.tree.spanning_motion(s.q, s.v)
    qdd = G @ cluster_aba(s.tree, s.q, s.v, s.tau) + g
    pushed = np.zeros(len(qd))
    pushed[s.tree.independent_dofs] = s.tau
    found = sensors(s.q, qd, qdd, np.zeros(sensors.nu), np.zeros(0), pushed, np.zeros(1))["told"]
    return sensors.split(found, np.zeros(())), sum(bool(cut_loops(mechanism, x)) for x in mechanism.sensors)


def test_sensors_of_joints_tell_their_bearing_loads():
    """On random mechanisms with loops of all kinds, redundant ones among them."""
    cut = 0
    for s in states(24, seed=3, per=1):
        found, count = told(s)
        cut += count
        r, top = Reactions(s.tree, reactions(s.tree, s.q, s.v, s.tau)), s.tree.top
        scale = max(float(np.max(np.abs(x))) for x in [*r.joints.values(), *r.loops.values()])
        for joint, body in zip(top.joints, top.bodies, strict=True):
            both = np.concatenate([found[f"torque {body.name}"], found[f"force {body.name}"]])
            assert_agree(both, r.joints[joint.name], s.cond, f"{s.name}: {body.name}", scale)
    assert_enough(cut, 100, "sensors of bodies that loops hold")


LINKAGE = """<mujoco><option timestep="1e-5" gravity="0 1 -9.81"/><default><equality solref="0.0002 1" solimp="0.9999 0.9999 0.001"/></default><worldbody>
<body name="crank" euler="0 0 10"><joint name="crank" axis="0.1 1 0" damping="0.2" stiffness="3" springref="0.3"/><geom type="capsule" fromto="0 0 0 0.1 0 0.2" size="0.02" mass="1"/>
<site name="pin" pos="0.01 0 0.02" euler="20 0 30"/>
<body name="coupler" pos="0.1 0 0.2"><joint name="coupler" type="ball"/><geom type="capsule" fromto="0 0 0 0.4 0 0.05" size="0.02" mass="0.7"/><site name="elbow" euler="0 40 0"/></body></body>
<body name="rocker" pos="0.55 0.05 0"><joint name="rocker" axis="0 1 0" armature="0.05" damping="0.4"/><geom type="capsule" fromto="0 0 0 0 0 0.25" size="0.02" mass="2"/><site name="foot" pos="0 0 0.1"/></body></worldbody>
<equality><connect body1="coupler" body2="rocker" anchor="0.4 0 0.05"/></equality>
<actuator><motor joint="rocker"/><position joint="crank" kp="20" kv="1"/></actuator>
<sensor><force name="f_pin" site="pin"/><torque name="m_pin" site="pin"/><force name="f_elbow" site="elbow"/><torque name="m_elbow" site="elbow"/><force name="f_foot" site="foot"/><torque name="m_foot" site="foot"/></sensor></mujoco>"""


def test_sensors_on_loops_tell_what_mujoco_tells_with_a_stiff_equality(tmp_path):
    path = tmp_path / "linkage.xml"
    path.write_text(LINKAGE)
    robot, model = kl.load(path), mujoco.MjModel.from_xml_path(str(path))
    sim, data = Simulator(robot, 1e-5, motors="model"), mujoco.MjData(model)
    assert set(sim.engine.sensors.names) == {s.name for s in robot.mechanism.sensors}, "none is left out"
    rng = np.random.default_rng(0)
    for scale in (0.0, 1.0):
        q = robot.close(robot.integrate(robot.neutral(), 0.1 * rng.normal(size=robot.nv)))
        v, u = scale * rng.normal(size=robot.nv), rng.normal(size=2)
        data.qpos[:], data.qvel[:], _ = kl.io.convert.to_mujoco(robot, model, q, v, np.zeros(robot.nv))
        data.ctrl[:] = u
        mujoco.mj_forward(model, data)
        found = sim.sensors(sim.state(q, v), u)
        for s in range(model.nsensor):
            expected = data.sensordata[model.sensor_adr[s] : model.sensor_adr[s] + 3]
            assert found[model.sensor(s).name][0] == pytest.approx(expected, abs=2e-3 * (1 + np.abs(expected).max())), s


COUPLER = """<body name="coupler" pos="{}"><joint name="pin" axis="0 1 0"/><geom type="capsule" fromto="{}" size="0.02" mass="0.7"/></body>"""
CUT = """<mujoco><worldbody><body name="crank"><joint name="crank" axis="0 1 0" range="-10 {stop}" damping="0.1"/>
<geom type="capsule" fromto="0 0 0 0.1 0 0.2" size="0.02" mass="1"/>{}</body>
<body name="rocker" pos="0.5 0 0"><joint name="rocker" axis="0 1 0" stiffness="2" armature="0.01" frictionloss="{rub}"/>
<geom type="capsule" fromto="0 0 0 0 0 0.25" size="0.02" mass="2"/>{}</body>
<body name="ball" pos="0.3 0 0.32"><freejoint name="ball"/><geom size="0.03" mass="0.5"/></body></worldbody>
<contact><exclude body1="crank" body2="coupler"/><exclude body1="rocker" body2="coupler"/></contact>
<equality><connect body1="coupler" body2="{}" anchor="{}"/></equality></mujoco>"""


def cut_at(where: str, folder, stop: float, rub: float) -> kl.Robot:
    """A flat four-bar with a stop and a joint that rubs, under a ball: its coupler hangs on the crank, or on the rocker."""
    hung = {
        "rocker": (COUPLER.format("0.1 0 0.2", "0 0 0 0.4 0 0.05"), "", "rocker", "0.4 0 0.05"),
        "crank": ("", COUPLER.format("0 0 0.25", "-0.4 0 -0.05 0 0 0"), "crank", "-0.4 0 -0.05"),
    }
    path = folder / f"{where}.xml"
    path.write_text(CUT.format(*hung[where], stop=stop, rub=rub))
    return with_sensors(kl.load(path).mechanism).build()


@pytest.mark.parametrize(("stop", "rub"), [(5.0, 0.0), (90.0, 0.3)], ids=["a stop", "a joint that rubs"])
def test_where_a_loop_is_cut_does_not_matter(tmp_path, stop, rub):
    """Pins of a four-bar that is pushed and sprung and hit by a ball, cut at either end.

    It has a stop or a joint that rubs: of both, either could hold it, and how they share the load is not determined.
    """
    names = [f"{kind} {body}" for body in ("crank", "rocker") for kind in ("force", "torque")]
    runs = []
    for where in ("rocker", "crank"):
        robot = cut_at(where, tmp_path, stop, rub)
        forces = [ExternalForce("crank", (0.0, 0.0, 0.0, 3.0, 0.0, -2.0)), JointSpring("rocker", 5.0, 0.2)]
        sim = Simulator(robot, 2.5e-4, collisions=True, motors=["crank"], forces=forces, iterations=50)
        runs.append(
            sim.rollout(robot.neutral(), None, [0.4], steps=600, record=[*names, "joint_impulse", "contact_force"])
        )
    one, other = (run.records for run in runs)
    assert np.abs(one["joint_impulse"]).max() > 5e-5, "the stop is met, or the joint rubs"
    assert np.abs(one["contact_force"]).max() > 1.0, "the ball hits"
    for name in names:  # what came by each time: a blow may fall into one step or the next
        mine, its = (np.cumsum(run[name], axis=0) * sim.dt for run in (one, other))
        size = np.abs(mine).max()
        assert size > (1.0 if name.startswith("force") else 0.03)
        assert its == pytest.approx(mine, abs=2e-3 * size), name
