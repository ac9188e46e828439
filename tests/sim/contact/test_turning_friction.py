"""Friction about the normal and against rolling: things stop when and where closed forms say."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

import kinloop as kl
from kinloop.model import Builder, Geometry, Surface
from kinloop.sim import Collisions, Plane, Status

R, G = 0.05, 9.81


@cache
def ball(friction=(1.0, 0.0, 0.0), condim=6, mass=1.0, count=1):
    b = Builder("ball")
    for k in range(count):
        shape = Geometry("sphere", (R,), name=f"ball{k}", surface=Surface(friction, condim))
        b.body(f"b{k}", mass=mass, inertia=[0.4 * mass * R**2] * 3, joint="free", geometry=(shape,))
    return b.build()


def on_the_ground(robot):
    q = robot.neutral()
    q[2] = R
    return q


def run(robot, v, steps, dt=1e-3, **record):
    sim = kl.Simulator(robot, dt=dt, ground=Plane(friction=0.5), collisions=Collisions())
    out = sim.rollout(on_the_ground(robot), v, steps=steps, record=["q", "v", "contact_torque"], **record)
    assert out.status == [Status.RUNNING]
    return out


@pytest.mark.parametrize("condim", [4, 6])
def test_a_spinning_ball_stops_when_friction_about_the_normal_says(condim):
    mu, spin = 0.002, 20.0
    end = 0.4 * R**2 * spin / (mu * G)
    out = run(ball((1.0, mu, 0.0), condim), [0, 0, spin, 0, 0, 0], round(1.1 * end / 1e-3))
    t = 1e-3 * np.arange(1, len(out.v) + 1)
    np.testing.assert_allclose(out.v[:, 2], spin * np.maximum(0.0, 1.0 - t / end), atol=1e-6)
    np.testing.assert_allclose(out.contact_torque[10, 0], [0, 0, -mu * G], rtol=1e-6)
    np.testing.assert_allclose(out.q[-1][:3], [0, 0, R], atol=1e-9)


@pytest.mark.parametrize("direction", [0.0, 0.7])
def test_a_rolling_ball_stops_where_rolling_friction_says(direction):
    mu, speed = 0.001, 0.5
    slows = mu * G * R / (0.4 * R**2 + R**2)
    d = np.array([np.cos(direction), np.sin(direction), 0.0])
    axis = np.cross([0, 0, 1.0], d)
    out = run(ball((1.0, 0.0, mu)), [*(axis * speed / R), *(d * speed)], round(1.1 * speed / slows / 1e-3))
    way = speed**2 / (2 * slows)
    way -= 0.5e-3 * speed  # a step with contact moves by its last velocity
    np.testing.assert_allclose(out.q[-1][:2], way * d[:2], atol=1e-4 * way)
    assert np.max(np.abs(out.v[-1])) < 1e-9
    k = len(out.v) // 2
    assert np.linalg.norm(out.contact_torque[k, 0]) == pytest.approx(
        mu * G, rel=1e-4
    )  # of second order in what it turns in a step


def test_a_ball_on_a_slope_rolls_or_stays_where_rolling_friction_says():
    """It rolls where tan(angle) > mu / r."""
    mu = 0.002
    for part, rolls in ((0.99, False), (1.01, True)):
        angle = np.arctan(part * mu / R)
        n = np.array([np.sin(angle), 0.0, np.cos(angle)])
        robot = ball((1.0, 0.0, mu))
        sim = kl.Simulator(robot, ground=Plane(1.0, normal=n), collisions=Collisions())
        q = robot.neutral()
        q[:3] = R * n
        out = sim.rollout(q, None, steps=300, record=["v"])
        speed = 0.3 * (G * (np.sin(angle) - np.cos(angle) * mu / R)) / 1.4
        assert np.linalg.norm(out.v[-1][3:]) == pytest.approx(speed if rolls else 0.0, abs=1e-5)  # the solver's


def test_what_has_less_than_condim_4_knows_nothing_of_it():
    plain = kl.Simulator(ball((1.0, 0.1, 0.1), 3), ground=Plane(), collisions=True)
    assert plain.contact.rows == 3 and "contact_torque" not in plain.contact.records
    assert kl.Simulator(ball((1.0, 0.1, 0.1), 4), ground=Plane(), collisions=True).contact.rows == 4
    assert kl.Simulator(ball((1.0, 0.1, 0.1), 6), ground=Plane(), collisions=True).contact.rows == 6


@pytest.mark.parametrize(("mu", "left"), [(0.01, 2.5), (0.001, 4.0)])
def test_torques_between_two_bodies_are_equal_and_opposite(mu, left):
    """Two balls meet in free space and stop; the spin of one about the normal is shared, as far as friction goes."""
    weightless = dataclasses.replace(ball((1.0, mu, 0.003), 6, 1.0, 2).mechanism, gravity=np.zeros(3))
    sim = kl.Simulator(kl.Robot(weightless), collisions=Collisions())
    q, v = sim.robot.neutral(), np.zeros(12)
    q[7] = 2 * R
    v[0], v[3], v[9] = 5.0, 1.0, -1.0
    out = sim.rollout(q, v, steps=3, record=["q", "v"])
    assert out.status == [Status.RUNNING]
    np.testing.assert_allclose(out.v[-1][[0, 6]], [left, 5.0 - left], rtol=1e-9)
    np.testing.assert_allclose(out.v[-1][[3, 9]], 0.0, atol=1e-12)


MODEL = """<mujoco><option cone="elliptic" impratio="100" timestep="0.001"/>
<worldbody><geom name="floor" type="plane" size="1 1 1" friction="0.5 0.001 0.0001" solref="0.004 1"/>
<body pos="0 0 0.05"><freejoint/><geom name="ball" type="sphere" size="0.05" mass="1" condim="{condim}"
friction="1 {torsion} {rolling}" solref="0.004 1"/></body></worldbody></mujoco>"""


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("condim", "torsion", "rolling", "v"),
    [
        (3, 0.02, 0.01, (0, 0, 30, 0, 0, 0)),
        (4, 0.003, 0.01, (0, 0, 30, 0, 0, 0)),
        (6, 0.003, 0.002, (0, 10, 0, 0.5, 0, 0)),
        (6, 0.0005, 0.002, (0, 0, 30, 0, 0, 0)),
    ],
)
def test_balls_of_a_file_slow_down_as_mujoco_has_them(tmp_path, condim, torsion, rolling, v):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "ball.xml"
    path.write_text(MODEL.format(condim=condim, torsion=torsion, rolling=rolling))
    robot = kl.load(path)
    sim = kl.Simulator(robot, dt=1e-3, collisions=True)
    run = sim.rollout(on_the_ground(robot), v, steps=150)
    assert run.status == [Status.RUNNING]
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qvel[:] = *v[3:], *v[:3]
    for _ in range(150):
        mujoco.mj_step(model, data)
    turning, speed = np.linalg.norm(run.final.qd[0].reshape(2, 3), axis=1)
    lost = np.linalg.norm(v[:3]) - turning
    assert turning == pytest.approx(np.linalg.norm(data.qvel[3:]), abs=0.02 * abs(lost) + 1e-3)
    assert speed == pytest.approx(np.linalg.norm(data.qvel[:2]), abs=2e-3)
    assert (lost > 0.5) == (condim > 3)


def test_a_spinning_disc_stops_when_its_rim_and_its_patch_say():
    """A disc rests on points of its rim, which slide, and each of them resists turning too: mu r + mu_t in all."""
    r, mu, torsion, spin = 0.1, 0.3, 0.02, 20.0
    b = Builder("disc")
    shape = Geometry("cylinder", (r, 0.04), name="disc", surface=Surface((mu, torsion, 0.0), 4))
    b.body("disc", mass=2.0, inertia=(0.006, 0.006, r**2), joint="free", geometry=(shape,))
    robot = b.build()
    sim = kl.Simulator(robot, ground=Plane(friction=mu), collisions=Collisions())
    q = robot.neutral()
    q[2] = 0.02
    slows = G * (mu * r + torsion) / (0.5 * r**2)
    out = sim.rollout(q, [0, 0, spin, 0, 0, 0], steps=round(1.2e3 * spin / slows), record=["v"])
    assert out.status == [Status.RUNNING]
    t = 1e-3 * np.arange(1, len(out.v) + 1)
    np.testing.assert_allclose(out.v[:, 2], np.maximum(0.0, spin - slows * t), atol=0.01 * spin)
    assert np.max(np.abs(out.v[-1])) < 1e-4
