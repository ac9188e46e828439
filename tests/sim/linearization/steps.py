"""Steps that the tests of linearisation share, and their derivatives by differences."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

import kinloop as kl
from kinloop import scalar as sc
from kinloop.model import Builder
from kinloop.robots.solid_inertias import bar, box
from kinloop.sim import ContactPoint, HeightField, Motor, Plane, Simulator, box_corners
from kinloop.spatial.rotation import quaternion_rotation
from tests.sim.mechanisms import SIZE, free_box, pendulum, started

MANY = 300
"""Sweeps that leave nothing of a contact problem, so that differences of steps are those of its solution."""


CORNERS = box_corners("box", SIZE)[::2]
"""The four lower ones."""


class Case(NamedTuple):
    sim: Simulator
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray


def led(sim, q, v, u):
    """(q', v') of a step from a fresh state, as the derivatives are of."""
    after = sim.step(sim.state(q, v), u)
    qd = sim.engine.allowed(after.q, after.qd) if sim.robot.mechanism.closures else after.qd
    return after.q[0], np.asarray(qd).reshape(-1)[sim.robot.tree.independent_dofs]


def differences(case, e=1e-6):
    """(A B) by differences of order 4 along closed motions."""
    sim, q, v, u = case
    nv, nu, robot = len(v), len(u), sim.robot
    q0, v0 = led(sim, q, v, u)
    columns = []
    for step in e * np.eye(2 * nv + nu):
        total = 0.0
        for k, weight in ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0)):
            x = k * step
            q1, v1 = led(sim, robot.integrate(q, x[:nv]), v + x[nv : 2 * nv], u + x[2 * nv :])
            total = total + weight * np.concatenate([robot.difference(q0, q1), v1 - v0])
        columns.append(total / (12.0 * e))
    return np.stack(columns, axis=1)


def apart(found, expected):
    """The largest difference relative to the largest entry, or to 1; positions and velocities each for themselves."""
    halves = zip(np.split(found, 2), np.split(expected, 2), strict=True)
    return max(np.abs(x - y).max() / max(1.0, np.abs(y).max()) for x, y in halves)


def joined(found, row=0):
    return np.concatenate([found.A[row], found.B[row]], axis=1)


def _box_over(gap, turn, v, **ground):
    """A box of which the lowest corner is so high, which touches with its corners."""
    robot = free_box()
    sim = Simulator(robot, ground=Plane(0.5, **ground), contacts=CORNERS, iterations=MANY)
    q = robot.integrate(robot.neutral(), np.array([*turn, 0.0, 0.0, 0.0]))
    corners = np.array([c.at for c in CORNERS])
    q[2] = gap - (corners @ quaternion_rotation(q[3:]).T)[:, 2].min()
    return Case(sim, q, np.array(v, dtype=float), np.array([0.0, 0.0, 0.0, 1.0, -2.0, 0.5]))


def _joint(q, v, u, **joint):
    return Case(Simulator(pendulum(**joint), iterations=MANY), np.array([q]), np.array([v]), np.array([u]))


def _crank(speed=5.0, **options):
    robot, q, v = started("crank_joint", speed)
    return Case(Simulator(robot, **options), q, v, np.array([0.3]))


def _hills():
    robot = free_box()
    ground = HeightField(lambda x, y: 0.1 * sc.sin(3.0 * x + y) - 0.3, friction=0.5)
    sim = Simulator(robot, ground=ground, contacts=CORNERS[:1], iterations=MANY)
    q = robot.integrate(robot.neutral(), np.array([0.1, 0.2, 0.5, 0.3, 0.1, 0.0]))
    q[2] -= sim.rollout(q, None, steps=1, record=["gap"]).gap.min() - 1e-5
    return Case(sim, q, np.array([0.1, 0.2, 0.3, 0.4, 0.5, -1.0]), np.zeros(6))


def _ball():
    robot = free_box()
    sim = Simulator(
        robot,
        ground=Plane(0.5, normal=(0.1, 0.0, 1.0)),
        contacts=[ContactPoint("box", (0.02, 0.0, -0.03), 0.1)],
        iterations=MANY,
    )
    q = robot.integrate(robot.neutral(), np.array([0.3, 0.2, 0.5, 0.0, 0.0, 0.5]))
    q[2] -= sim.rollout(q, None, steps=1, record=["gap"]).gap.min() / np.cos(0.1) - 1e-5
    return Case(sim, q, np.array([0.4, 0.1, 0.2, 0.05, -0.02, -1.0]), np.zeros(6))


def _hinge():
    """The tip of a hinge, which cannot move in all directions, on the ground."""
    sim = Simulator(
        pendulum(), ground=Plane(0.3, height=-0.4), contacts=[ContactPoint("rod", (0.0, 0.0, -0.5))], iterations=MANY
    )
    return Case(sim, np.array([np.arccos(0.8) + 1e-5]), np.array([-2.0]), np.array([0.5]))


def _servo(u, kp=50.0, kd=2.0, joint=(), **motor):
    motor = Motor("rod_joint", "position", kp=kp, kd=kd, **motor)
    robot = pendulum(stiffness=3.0, damping=0.1, **dict(joint))
    return Case(Simulator(robot, motors=[motor]), np.array([0.3]), np.array([1.0]), np.array([u]))


STOPS = {"lower": -0.5, "upper": 0.5}


CASES = {
    "tree": (lambda: _joint(0.3, 1.0, 0.5), [], []),
    "spring and damping": (lambda: _joint(0.3, 1.0, 0.5, damping=0.3, stiffness=5.0), [], []),
    "servo": (lambda: _servo(0.5), [], []),
    "stiff spring": (lambda: _joint(1e-4, 0.01, 0.5, stiffness=3e5, damping=0.3, **STOPS), [], [0]),
    "stiff servo": (lambda: _servo(0.3, 2e5, 1.0, STOPS), [], [0]),
    "servo at its limit": (lambda: _servo(0.9, limit=2.0), [], []),
    "at a stop": (lambda: _joint(0.4999, 2.0, 0.5, lower=-0.5, upper=0.5), [], [3]),
    "beyond a stop": (lambda: _joint(-0.51, 0.0, -2.0, lower=-0.5, upper=0.5, friction=0.2), [], [2]),
    "held": (lambda: _joint(0.0, 0.0, 0.05, friction=0.2), [], [1]),
    "rubbing": (lambda: _joint(0.0, 1.0, 0.05, friction=0.2), [], [0]),
    "flight": (lambda: _box_over(0.1, (0.1, 0.2, 0.5), (0.3, -0.2, 0.4, 0.5, 0.3, -1.0)), [0] * 4, []),
    "sticking on four corners": (lambda: _box_over(2e-5, (0.0, 0.0, 0.5), (0, 0, 0, 0, 0, -0.1)), [1] * 4, []),
    "sliding on four corners": (lambda: _box_over(2e-5, (0.0, 0.0, 0.5), (0, 0, 0, 0.5, 0.3, -0.1)), [2] * 4, []),
    "on a corner": (
        lambda: _box_over(1e-5, (0.1, 0.2, 0.5), (0.1, 0.2, 0.3, 0.4, 0.5, -1.0)),
        [0, 0, 2, 0],
        [],
    ),
    "in the ground": (lambda: _box_over(-1e-3, (0.1, 0.2, 0.5), (0.1, 0.2, 0.3, 0.0, 0.0, 0.0)), None, []),
    "restitution": (
        lambda: _box_over(5e-4, (0.1, 0.2, 0.5), (0.1, 0.2, 0.3, 0.4, 0.5, -1.0), restitution=0.5),
        None,
        [],
    ),
    "hills": (_hills, None, []),
    "rolling ball": (_ball, [1], []),
    "tip of a hinge": (_hinge, None, []),
    "loop": (_crank, [], []),
    "loop with a servo": (lambda: _crank(motors=[Motor("crank_joint", "position", kp=20.0, kd=1.0)]), [], []),
    "rk4": (lambda: _crank(integrator="rk4", substeps=2), [], []),
}
"""What makes each case, and the modes that its contacts and joints have, where told."""


@cache
def case(name):
    return CASES[name][0]()


@cache
def walker():
    """A trunk on two legs with feet of two points, hips with dry friction, knees at their stops; states of it."""
    b = Builder("walker")
    b.body("trunk", joint="free", **box(8.0, 0.3, 0.2, 0.1))
    for side, y in (("left", 0.1), ("right", -0.1)):
        b.body(
            f"{side}_thigh", "trunk", axis="y", at=(0.0, y, -0.05), friction=0.05, **bar(1.0, 0.3, along="z", sign=-1.0)
        )
        shank = bar(0.5, 0.3, along="z", sign=-1.0)
        b.body(f"{side}_shank", f"{side}_thigh", axis="y", at=(0.0, 0.0, -0.3), lower=-1.5, upper=0.0, **shank)
    robot = b.build()
    feet = [ContactPoint(f"{side}_shank", (x, 0.0, -0.3)) for side in ("left", "right") for x in (-0.1, 0.1)]
    servos = [Motor(n, "position", kp=40.0, kd=1.0, limit=15.0) for n in robot.independent_names[6:]]
    sim = Simulator(robot, ground=Plane(friction=0.3), contacts=feet, motors=servos, iterations=MANY)
    q, u = robot.neutral(), np.array([0.3, 0.2, -0.2, 0.1])
    q[2], v = 0.66, np.zeros(robot.nv)
    v[3] = 0.4
    run = sim.rollout(q, v, u, steps=120, record=["q", "v"], every=15)
    return sim, run.q, run.v, u


@cache
def cheetah():
    """Mini Cheetah, standing and sliding on knees at their stops, with dry friction; states of it."""
    m = kl.robots.mechanism("mini_cheetah")
    knees = {"lower": -2.0, "upper": 1.2, "friction": 0.1}
    joints = tuple(replace(j, **knees) if j.name.endswith("knee_link_joint") else j for j in m.joints)
    robot = replace(m, joints=joints).build()
    servos = [
        Motor(n, "position", kp=40.0, kd=1.0, limit=17.0) for n in robot.independent_names if n.endswith("link_joint")
    ]
    feet = [f for f in robot.frame_names if f.endswith("foot_contact")]
    sim = Simulator(robot, ground=Plane(friction=0.3), contacts=feet, motors=servos, iterations=MANY)
    q, u = robot.neutral(), np.array([0.0, -0.8, 1.6] * 4)
    q[2] = 0.45
    run = sim.rollout(q, None, u, steps=300, record=["q", "v"], every=25)
    return sim, run.q, run.v, u
