# ruff: noqa: E501  (model text)
"""Touch, force and torque sensors and forces between links: MuJoCo's, weights at rest, and what is left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import ModelError
from kinloop.io import ModelWarning, save
from kinloop.model import Frame, Sensor
from kinloop.sim import Collisions, ExternalForce, Plane, Simulator, Spring
from tests.sim.file_models import spanning_state

mujoco = pytest.importorskip("mujoco")

TRIPOD = """<mujoco><option timestep="0.0005"/><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
<body name="base" pos="0 0 0.28"><freejoint name="free"/><geom name="trunk" type="box" size="0.2 0.1 0.05" mass="2"/>
<body name="front" pos="0.15 0 -0.05"><joint name="j1" axis="0 1 0" damping="5" stiffness="500" pos="0.01 0 0"/><geom name="shin" type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.3"/>
<body name="pad" pos="0 0 -0.2"><geom name="ball1" type="sphere" size="0.03" mass="0.2"/><site name="z1" type="sphere" size="0.035"/><site name="far" type="box" size="0.05 0.05 0.05" pos="0 0 0.2"/></body></body>
<body name="left" pos="-0.15 0.05 -0.05"><joint name="j2" axis="0 1 0" damping="5" stiffness="500"/><geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.3"/><geom name="ball2" type="sphere" size="0.03" pos="0 0 -0.2" mass="0.2"/><site name="z2" type="cylinder" size="0.04 0.04" pos="0 0 -0.2" euler="20 30 0"/></body>
<body name="right" pos="-0.15 -0.05 -0.05"><joint name="j3" axis="0 1 0" damping="5" stiffness="500"/><geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.3"/><geom name="ball3" type="sphere" size="0.03" pos="0 0 -0.2" mass="0.2"/><site name="z3" type="capsule" size="0.02 0.04" pos="0 0 -0.2" euler="10 0 0"/><site name="e3" type="ellipsoid" size="0.02 0.04 0.04" pos="0 0 -0.2"/></body>
</body><body name="ball" pos="0.05 0 0.4"><freejoint name="ball"/><geom name="ball" type="sphere" size="0.07" mass="0.5" condim="6" friction="1 0.1 0.01"/><site name="below" type="box" size="0.04 0.04 0.04" pos="0.02 0 -0.1"/></body></worldbody>
<sensor><touch name="t1" site="z1"/><touch name="none" site="far"/><touch name="t2" site="z2" cutoff="6"/><touch name="t3" site="z3"/><touch name="te" site="e3"/><touch name="tb" site="below"/>
<force name="f1" site="z1"/><torque name="m1" site="z1"/><force name="f2" site="z2"/><torque name="m2" site="z2"/><force name="fb" site="below"/><torque name="mb" site="below"/>
<contact name="c1" body1="pad" data="force" reduce="netforce"/><contact name="c2" geom1="floor" data="force" reduce="netforce"/><contact name="c3" geom1="ball" body2="base" data="force" reduce="netforce"/></sensor></mujoco>"""


@pytest.fixture(scope="module")
def tripod(tmp_path_factory):
    path = tmp_path_factory.mktemp("touch") / "tripod.xml"
    path.write_text(TRIPOD)
    return kl.load(path), mujoco.MjModel.from_xml_path(str(path))


def readings(model, data):
    ends = model.sensor_adr + model.sensor_dim
    return {model.sensor(s).name: data.sensordata[model.sensor_adr[s] : ends[s]].copy() for s in range(model.nsensor)}


def contacts_of(sim, model, data):
    """MuJoCo's contacts as what a step says of contacts."""
    names, rows = sim.contact.scene.pair_names, np.zeros(sim.contact.touching)
    for k in range(data.ncon):
        c, wrench = data.contact[k], np.zeros(6)
        mujoco.mj_contactForce(model, data, k, wrench)
        axes = c.frame.reshape(3, 3)
        pair = tuple(model.geom(g).name or "?" for g in c.geom)
        flip = pair not in names
        number, force = names.index(pair[::-1] if flip else pair), axes.T @ wrench[:3]
        sign = 1.0 if flip else -1.0  # MuJoCo's normal leads away from its first geom
        torque = [*(sign * (axes.T @ wrench[3:]))] if rows.shape[1] > 10 else []
        rows[k] = [*c.pos, *(sign * axes[0]), *(sign * force), *torque, number]
    return rows.ravel()


def test_contacts_of_a_state_are_felt_as_mujoco_feels_them(tripod):
    """With MuJoCo's own accelerations and contact forces, at states of a fall onto the floor and of a ball on it."""
    robot, model = tripod
    sim, data = Simulator(robot, collisions=True), mujoco.MjData(model)
    top, felt = robot.tree.top, set()
    for step in range(1200):
        mujoco.mj_step(model, data)
        if step % 80 or not data.ncon:
            continue
        mujoco.mj_forward(model, data)
        q, qd = spanning_state(top, model, data)
        velocity, data.qvel[:] = data.qvel.copy(), data.qacc
        _, qdd = spanning_state(top, model, data)
        data.qvel[:] = velocity
        for name in ("free", "ball"):  # MuJoCo's linear velocity of a free body is the world's, ours the body's
            at = top.v_of[top.joint_index[name]].start
            qdd[at + 3 : at + 6] -= np.cross(qd[at : at + 3], qd[at + 3 : at + 6])
        contacts, pushed = contacts_of(sim, model, data), np.zeros(len(qd))
        told = sim.engine.told(q, qd, qdd, np.zeros(sim.nu), contacts, pushed, np.zeros(1))
        found = sim.engine.sensors.split(np.asarray(told), np.zeros(()))
        for name, x in readings(model, data).items():
            felt |= {name} if np.any(x) else set()
            assert found[name] == pytest.approx(x, abs=1e-8 * (1 + np.abs(x).max())), name
    assert felt == {s.name for s in robot.mechanism.sensors} - {"none"}


@pytest.mark.parametrize("kind", ["slots", "points"])
def test_feet_at_rest_feel_the_weight(tripod, kind):
    """Of the tripod alone: half of the trunk's and its own on the front foot; what holds the pad is that less its own."""
    robot, _ = tripod
    more = (
        {"collisions": True}
        if kind == "slots"
        else {"ground": Plane(1.0), "contacts": ["pad", "left", "right", "ball"]}
    )
    sim = Simulator(robot, 1e-3, iterations=60, **more)
    q = robot.neutral()
    at = robot.tree.top.q_of[robot.tree.top.joint_index["ball"]]
    q[at] = [2.0, 0, 0.07, 1, 0, 0, 0]
    run = sim.rollout(q, None, steps=400, record=["t1", "t2", "t3", "f1", "c1", "fb", "contact_force"])
    assert run.status[0] == 1
    mean = {name: x[-200:].mean(axis=0) for name, x in run.records.items()}
    g = 9.81
    front = (2 / 2 + 0.5) * g
    assert mean["t1"] == pytest.approx([front], rel=1e-3)
    assert mean["t1"] + 2 * mean["t3"] == pytest.approx([(2 + 3 * 0.5) * g], rel=2e-2)
    assert mean["t2"] == pytest.approx([6.0]), "its cutoff"
    assert mean["f1"][2] == pytest.approx(0.2 * g - front, rel=2e-3)
    assert mean["c1"][2] == pytest.approx(-front, rel=1e-3), "the pad presses down"
    assert mean["fb"] == pytest.approx([0, 0, 0], abs=1e-2), "nothing holds a free body but the floor"
    now = sim.sensors(run.final)
    assert now["t1"][0] == pytest.approx(mean["t1"], rel=2e-2)


ARM = """<mujoco><worldbody><body name="upper" pos="0 0 1" euler="0 30 10"><joint name="s" axis="0 1 0" armature="0.2"/>
<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="1"/><body name="plate" pos="0.3 0 0" euler="20 0 40"><geom size="0.02" mass="0.1"/><site name="wrist" pos="0.01 0.02 0.03" euler="10 20 30"/>
<body name="tool" pos="0.05 0 0"><joint name="w" axis="0 0 1" pos="0.01 0.02 0"/><geom type="box" size="0.02 0.03 0.1" pos="0 0 0.1" mass="0.7"/></body></body></body></worldbody>
<sensor><force name="f" site="wrist"/><torque name="m" site="wrist"/></sensor></mujoco>"""


def test_a_hanging_arm_says_what_its_plate_bears(tmp_path):
    """A plate without a joint stays a body; at rest and in motion force and torque are MuJoCo's."""
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    robot, model = kl.load(path), mujoco.MjModel.from_xml_path(str(path))
    assert "plate" in robot.body_names and robot.nv == 2
    sim, data = Simulator(robot, 1e-4), mujoco.MjData(model)
    rng = np.random.default_rng(1)
    for scale in (0.0, 1.0, 3.0):
        data.qpos[:], data.qvel[:] = rng.normal(size=2), scale * rng.normal(size=2)
        mujoco.mj_forward(model, data)
        found = sim.sensors(sim.state(data.qpos, data.qvel))
        for name, x in readings(model, data).items():
            assert found[name][0] == pytest.approx(x, abs=2e-3 * (1 + np.abs(x).max())), name


def test_forces_of_users_on_what_hangs_on_a_sensor_count(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    robot = kl.load(path)

    def pull(q, u):
        d = np.array([0.0, 0.3, 1.0]) - robot.frame_pose(q, "tool")[:3, 3]
        return 60.0 * (np.linalg.norm(d) - 0.1) * d / np.linalg.norm(d)

    for force, pushed_by in (
        (ExternalForce("tool", (0.1, 0.2, 0.3, 4.0, 5.0, 6.0)), lambda q, u: np.array([4.0, 5.0, 6.0])),
        (
            ExternalForce("tool", lambda s: [0.0, 0.0, 0.0, 30.0 * s.t, 0.0, s.u[0]], inputs=["lift"]),
            lambda q, u: np.array([3.0, 0.0, u[-1]]),
        ),
        (Spring("world", "tool", 60.0, 0.1, at_first=(0.0, 0.3, 1.0)), pull),
    ):
        plain, sim = Simulator(robot, 1e-5), Simulator(robot, 1e-5, forces=[force])
        state = sim.state(t=0.1)
        q, u = state.q[0], np.array([2.0] * sim.nu)
        free, held = plain.sensors(plain.state())["f"][0], sim.sensors(state, u)["f"][0]
        tool = robot.frame_pose(q, "wrist")[:3, :3]
        # the sensor's force and the outside force move what it carries
        pushed = pushed_by(q, u)
        moved = momentum_rate(robot, sim, state, u) - momentum_rate(robot, plain, plain.state(), np.zeros(plain.nu))
        assert tool @ (held - free) == pytest.approx(moved - pushed, abs=2e-3)


def momentum_rate(robot, sim, state, u):
    """Rate of the linear momentum of plate and tool over a step, by their centres of mass."""
    after = sim.step(state, u)
    total = np.zeros(3)
    for sign, s in ((-1.0, state), (1.0, after)):
        for body in ("plate", "tool@w"):
            i = robot.body_names.index(body)
            b, d = robot.mechanism.bodies[i], 1e-6
            ends = [robot.frame_pose(s.q[0] + x * s.qd[0], body) for x in (-d, d)]
            v = ((ends[1] - ends[0]) / (2 * d)) @ np.append(b.com, 1.0)
            total += sign * b.mass * v[:3] / sim.dt
    return total


def test_environments_and_controllers_feel(tripod):
    robot, _ = tripod
    sim, seen = Simulator(robot, collisions=Collisions(contacts=6)), []

    def control(t, state):
        seen.append(sim.sensors(state)["t1"][:, 0])
        return np.zeros((len(state), sim.nu))

    q = np.stack([robot.neutral()] * 2)
    q[1, 2] += 0.5
    run = sim.rollout(q, None, control, steps=5, record=["t1"])
    assert np.array(seen)[:, 0].max() > 1.0 and not np.any(np.array(seen)[:, 1])
    assert run.t1.shape == (2, 5, 1) and not np.any(run.t1[1])


def test_what_is_left_out_and_refused(tripod, tmp_path):
    robot, _ = tripod
    path = tmp_path / "more.xml"
    path.write_text(
        TRIPOD.replace(
            "<sensor>", '<sensor><contact name="each" body1="pad" data="force"/><rangefinder name="see" site="z1"/>'
        )
    )
    with pytest.warns(ModelWarning, match="each.*is a sensor of a kind that kinloop does not model"):
        found = kl.load(path)
    assert "see" in found.mechanism.warnings[1]
    assert len(found.mechanism.sensors) == len(robot.mechanism.sensors)
    save(robot.mechanism, tmp_path / "own.json")
    again = kl.load(tmp_path / "own.json").mechanism.sensors
    assert [repr(s) for s in again] == [repr(s) for s in robot.mechanism.sensors]
    with pytest.raises(ModelError, match=r"sensor 'x' is of a missing contact: .*'pat'.*pad"):
        replace(robot.mechanism, sensors=(Sensor("x", "contact_force", "pat"),))
    with pytest.raises(ModelError, match="sensor 'x' is a touch; a touch, and nothing else, has a link and a zone"):
        Sensor("x", "touch", frame=Frame("f", "pad"))
    with pytest.raises(ModelError, match=r"sensor 'x' has the zone \('box', \(1.0,\)\); give a kind and as many"):
        Sensor("x", "touch", frame=Frame("f", "pad"), link="pad", zone=("box", (1.0,)))
