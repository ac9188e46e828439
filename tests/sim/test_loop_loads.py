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

STILL = '<mujoco><option gravity="0 0 0"/>'


def cut_at(where: str, folder, stop: float, rub: float, text: str = CUT) -> kl.Robot:
    """A flat four-bar with a stop and a joint that rubs, under a ball: its coupler hangs on the crank, or on the rocker."""
    hung = {
        "rocker": (COUPLER.format("0.1 0 0.2", "0 0 0 0.4 0 0.05"), "", "rocker", "0.4 0 0.05"),
        "crank": ("", COUPLER.format("0 0 0.25", "-0.4 0 -0.05 0 0 0"), "crank", "-0.4 0 -0.05"),
    }
    path = folder / f"{where}.xml"
    path.write_text(text.format(*hung[where], stop=stop, rub=rub))
    return with_sensors(kl.load(path).mechanism).build()


NAMES = [f"{kind} {body}" for body in ("crank", "rocker") for kind in ("force", "torque")]


def pushed(folder, stop: float, rub: float, dt: float):
    """Records of that four-bar, pushed and sprung and hit by the ball for 0.15 s, cut at either end."""
    out = []
    for where in ("rocker", "crank"):
        robot = cut_at(where, folder, stop, rub)
        forces = [ExternalForce("crank", (0.0, 0.0, 0.0, 3.0, 0.0, -2.0)), JointSpring("rocker", 5.0, 0.2)]
        sim = Simulator(robot, dt, collisions=True, motors=["crank"], forces=forces, iterations=50)
        record = [*NAMES, "joint_impulse", "contact_force", "q"]
        out.append(sim.rollout(robot.neutral(), None, [0.4], steps=round(0.15 / dt), record=record).records)
    return out


@pytest.mark.parametrize(("stop", "rub"), [(5.0, 0.0), (90.0, 0.3)], ids=["a stop", "a joint that rubs"])
def test_where_a_loop_is_cut_does_not_matter(tmp_path, stop, rub):
    """It has a stop or a joint that rubs: of both, either could hold it, and how they share the load is not determined."""
    one, other = pushed(tmp_path, stop, rub, 2.5e-4)
    assert np.abs(one["joint_impulse"]).max() > 5e-5, "the stop is met, or the joint rubs"
    assert np.abs(one["contact_force"]).max() > 1.0, "the ball hits"
    for name in NAMES:  # what came by each time: a blow may fall into one step or the next
        mine, its = (np.cumsum(run[name], axis=0) * 2.5e-4 for run in (one, other))
        size = np.abs(mine).max()
        assert size > (1.0 if name.startswith("force") else 0.03)
        assert its == pytest.approx(mine, abs=(2e-3 if rub else 1e-3) * size), name


def test_the_blow_of_a_stop_differs_by_its_time_alone_wherever_a_loop_is_cut(tmp_path):
    """A blow is divided between two steps by when in the first of them the stop is met.

    Steps with damping and contact are of order 1 and put that moment a fixed part of a step apart, however short the
    step: the difference of what came by in the middle of the blow stays. What came by before it and after it converges.
    """
    left = {}
    for dt in (5e-4, 1.25e-4):
        runs = pushed(tmp_path, 5.0, 0.0, dt)
        first = [np.flatnonzero(run["joint_impulse"])[0] for run in runs]
        k = first[0]
        assert first == [k, k]
        ways = [run["q"][k - 2 : k, 0] for run in runs]
        met = [(np.deg2rad(5.0) - way[1]) / np.diff(way)[0] for way in ways]  # in steps
        sums = [np.cumsum(run["force crank"], axis=0) * dt for run in runs]
        blow, apart = np.linalg.norm(sums[0][k + 2] - sums[0][k - 1]), sums[0] - sums[1]
        assert abs(met[0] - met[1]) > 5e-4
        share = [run["joint_impulse"][k, 0] / run["joint_impulse"][k : k + 3, 0].sum() for run in runs]
        assert share[1] - share[0] == pytest.approx(met[0] - met[1], rel=0.05)
        left[dt] = max(np.abs(apart[:k]).max(), np.abs(apart[k + 2 :]).max()) / blow
    assert left[1.25e-4] < 1e-4 and left[1.25e-4] < 0.35 * left[5e-4]


def flat_four_bar(crank: float, bodies: list[tuple[float, float]], armature: float):
    """That four-bar as three flat bodies, (x, z, angle about y) of each: masses, rows of the four pins, motion.

    `bodies` has mass and inertia of crank, coupler and rocker, whose centres are halfway between their pins. The crank
    turns at 1 rad/s in the motion that is told.
    """
    c, s = np.cos(crank), np.sin(crank)
    one, far = np.array([0.1 * c + 0.2 * s, 0.2 * c - 0.1 * s]), np.array([0.5, 0.0])
    bar, rocker = np.hypot(0.4, 0.05), 0.25
    d = far - one
    along = (bar**2 - rocker**2 + d @ d) / (2.0 * np.sqrt(d @ d))
    e = d / np.sqrt(d @ d)
    other = one + along * e + np.sqrt(bar**2 - along**2) * np.array([-e[1], e[0]])
    pins = [np.zeros(2), one, other, far]
    rows = np.zeros((8, 9))
    for k, pin in enumerate(pins):
        for body, sign in ((k - 1, -1.0), (k, 1.0)):
            if 0 <= body < 3:
                x, z = pin - 0.5 * (pins[body] + pins[body + 1])
                rows[2 * k : 2 * k + 2, 3 * body : 3 * body + 3] = sign * np.array([[1.0, 0.0, z], [0.0, 1.0, -x]])
    M = np.diag([x for m, inertia in bodies for x in (m, m, inertia)])
    M[8, 8] += armature
    motion = np.linalg.svd(rows)[2][-1]
    return M, rows, motion / motion[2]


@pytest.mark.parametrize("where", ["rocker", "crank"])
def test_the_blow_of_a_stop_is_that_of_three_bodies_and_four_pins(tmp_path, where):
    """Without other forces the kinetic energy says how fast the stop is met, and all come to rest there."""
    text = CUT.replace('damping="0.1"', "").replace('stiffness="2"', "").replace("<mujoco>", STILL)
    robot = cut_at(where, tmp_path, 5.0, 0.0, text)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / f"{where}.xml"))
    bodies = [(model.body(b).mass[0], max(model.body(b).inertia)) for b in ("crank", "coupler", "rocker")]
    M, _, n = flat_four_bar(0.0, bodies, 0.01)
    rate = {"crank": n[2], "rocker": n[8], "pin": n[5] - (n[2] if where == "rocker" else n[8])}
    qd = np.array([1.5 * rate.get(x, 0.0) for x in robot.tree.top.coordinates])
    M_there, rows, there = flat_four_bar(np.deg2rad(5.0), bodies, 0.01)
    v = 1.5 * np.sqrt((n @ M @ n) / (there @ M_there @ there)) * there
    found = np.linalg.solve(np.column_stack([rows.T, np.eye(9)[2]]), -M_there @ v)
    expected = [abs(found[8]), np.linalg.norm(found[:2]), np.linalg.norm(found[6:8])]
    for dt in (1e-3, 6.25e-5):
        sim = Simulator(robot, dt)
        state = sim.state(robot.neutral(), qd=qd)
        run = sim.rollout(state=state, steps=round(0.1 / dt), record=[*NAMES, "joint_impulse"]).records
        k = np.flatnonzero(run["joint_impulse"][0])[0]
        pins = [np.linalg.norm(run[f"force {b}"][0, k:].sum(axis=0)) * dt for b in ("crank", "rocker")]
        assert [-run["joint_impulse"].sum(), *pins] == pytest.approx(expected, rel=5.0 * dt)
