"""Sensors: MuJoCo's sensordata, recorded by name, in steps and rollouts alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import KinloopError, ModelError
from kinloop.io import ModelWarning
from kinloop.model import Frame, Sensor
from kinloop.sim import Simulator
from kinloop.sim.sensors import Sensors, needed
from tests.sim.file_models import SENSORS as MODEL
from tests.sim.file_models import random_state, spanning_state

mujoco = pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("sensors") / "sensors.xml"
    path.write_text(MODEL)
    sim = Simulator(kl.load(path), dt=1e-4, motors="model")
    return sim, mujoco.MjModel.from_xml_path(str(path))


def readings(model, data):
    """MuJoCo's sensordata by name."""
    out = {}
    for s in range(model.nsensor):
        start = model.sensor_adr[s]
        out[model.sensor(s).name] = data.sensordata[start : start + model.sensor_dim[s]].copy()
    return out


def assert_told(found, expected, tolerance):
    assert set(found) == set(expected)
    for name, x in expected.items():
        y = found[name] if "q" not in name else found[name] * np.sign(found[name] @ x)
        assert y == pytest.approx(x, abs=tolerance), name


def test_all_kinds_tell_what_mujocos_do(robot):
    """At states with their accelerations; a quaternion and its negative are one rotation."""
    sim, model = robot
    data, rng, top = mujoco.MjData(model), np.random.default_rng(0), sim.robot.tree.top
    for _ in range(5):
        random_state(mujoco, model, data, rng, 0.4)
        q, qd = spanning_state(top, model, data)
        data.qvel, velocity = data.qacc, data.qvel.copy()
        _, qdd = spanning_state(top, model, data)
        data.qvel = velocity
        # MuJoCo's linear velocity of a free body is the world's, ours the body's: it turns
        qdd[3:6] = qdd[3:6] - np.cross(qd[:3], qd[3:6])
        found = sim.engine.sensors.split(
            np.asarray(sim.engine.told(q, qd, qdd, data.ctrl, np.zeros(0), np.zeros(len(qd)), np.zeros(1))),
            np.array(data.time),
        )
        assert_told(found, readings(model, data), 1e-9)


def test_steps_rollouts_and_single_states_tell_the_same(robot):
    sim, model = robot
    names = sorted(readings(model, mujoco.MjData(model)))
    state, u = sim.state(sim.robot.neutral(), 0.3 * np.ones(sim.robot.nv), t=0.5), np.array([0.3, 0.2, -0.4])
    run = sim.rollout(state=state, controls=u, steps=6, record=[*names, "q"], every=2)
    path = [state]
    for _ in range(6):
        path.append(sim.step(path[-1], u))
    accelerations = ("acc", "la", "wa")
    for k, n in enumerate((2, 4, 6)):
        at, before = sim.sensors(path[n], u), sim.sensors(path[n - 1], u)
        for name in names:
            if name in (*accelerations, "clock"):  # over the step before, at its end
                found = before[name][0] if name != "clock" else [0.5 + n * 1e-4]
                assert run.records[name][0, k] == pytest.approx(found, abs=1e-3 * np.linalg.norm(found)), name
            else:
                assert run.records[name][0, k].tolist() == at[name][0].tolist(), name
    data = mujoco.MjData(model)
    top = sim.robot.tree.top
    q, _ = spanning_state(top, model, data)
    rest = sim.sensors(sim.state(q))
    mujoco.mj_forward(model, data)
    assert_told({k: x[0] for k, x in rest.items()}, readings(model, data), 1e-3)
    several = sim.sensors(sim.state(np.stack([q, q])), np.zeros((2, 3)))
    assert several["acc"][1].tolist() == rest["acc"][0].tolist()


def test_one_row_under_a_function_records_sensors_too(robot):
    sim, _ = robot
    seen = []

    def control(t, state):
        seen.append(sim.sensors(state)["gyro"][0])
        return np.zeros(3)

    run = sim.rollout(None, 0.2 * np.ones(sim.robot.nv), control, steps=4, record=["gyro", "acc", "af"])
    table = sim.rollout(None, 0.2 * np.ones(sim.robot.nv), np.zeros(3), steps=4, record=["gyro", "acc", "af"])
    assert all(run.records[n].tolist() == table.records[n].tolist() for n in ("gyro", "acc", "af"))
    assert run.records["gyro"][:3].tolist() == [x.tolist() for x in seen[1:]]


def test_every_integrator_tells_of_accelerations_and_forces(robot):
    """Steps tell their means, and what has no steps tells of the state itself."""
    model = robot[0].robot
    found = {}
    for name in ("semi_implicit", "rk4", "adaptive"):
        sim = Simulator(model, 1e-5, integrator=name, motors="model")
        state, u = sim.state(None, 0.2 * np.ones(model.nv)), np.array([0.3, 0.5, 0.1])
        run = sim.rollout(state=state, controls=u, steps=2, record=["acc", "af", "jf"], record_start=True)
        assert np.isnan(run.records["acc"][0, 0]).all() and np.isnan(run.records["af"][0, 0]).all(), "no step led there"
        found[name] = sim.sensors(state, u), {k: x[:, -1] for k, x in run.records.items()}
    for now, then in (found["rk4"], found["adaptive"]):
        for told, expected in zip((now, then), found["semi_implicit"], strict=True):
            for key in ("acc", "af", "jf"):
                assert told[key] == pytest.approx(expected[key], rel=2e-3, abs=2e-3), key


def test_what_there_is_not_is_said(robot, tmp_path):
    sim, _ = robot
    with pytest.raises(KinloopError, match=r"cannot record 'gyrp'; this simulator records .*gyro"):
        sim.rollout(steps=1, record=["gyrp"])
    assert "af" not in Sensors(sim.robot.tree, Simulator(sim.robot).drive, 1).names, (
        "forces of actuators that are not there"
    )
    gyro = Sensor("a", "gyro", frame=Frame("f", "base"))
    assert needed(replace(sim.robot.mechanism, sensors=(gyro,))) == ()
    path = tmp_path / "touch.xml"
    path.write_text(MODEL.replace("<sensor>", '<sensor><rangefinder name="feel" site="tip"/>'))
    with pytest.warns(ModelWarning, match="rangefinder.*is a sensor of a kind that kinloop does not model"):
        kl.load(path)
    with pytest.raises(ModelError, match="sensor 'x' has the kind 'smell'; it must be one of"):
        Sensor("x", "smell")
    with pytest.raises(ModelError, match="sensor 'x' is a gyro and needs a frame alone"):
        Sensor("x", "gyro", "j")


def test_subtrees_that_are_no_bodies_of_their_own_are_left_out_by_name(tmp_path):
    arm = '<body name="arm"><joint axis="0 1 0"/><geom size="0.1"/><body name="tool"><geom size="0.1"/></body></body>'
    sensors = (
        '<subtreecom name="all" body="world"/><subtreecom name="tip" body="tool"/><subtreecom name="a" body="arm"/>'
    )
    (tmp_path / "arm.xml").write_text(
        f'<mujoco><worldbody><body name="stand"><geom size="0.2" mass="3"/></body>{arm}</worldbody>'
        f"<sensor>{sensors}</sensor></mujoco>"
    )
    with pytest.warns(ModelWarning) as seen:
        robot = kl.load(tmp_path / "arm.xml")
    assert "'all': is left out: it is of the world, to which 3 kg are fixed" in str(seen[0].message)
    assert "'tool' is fixed to its parent" in " ".join(robot.mechanism.warnings)
    assert [s.name for s in robot.mechanism.sensors] == ["a"]
