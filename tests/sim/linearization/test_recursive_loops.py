"""The recursion for robots whose loops bend is the derivative of the graph, and of the step itself."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import kinloop as kl
from kinloop.model import Builder
from kinloop.model.random import KINDS
from kinloop.robots.solid_inertias import bar, box
from kinloop.sim import ContactPoint, Motor, Plane, Simulator
from tests.helpers import drop, mechanism_of, state_of
from tests.sim.linearization.steps import MANY, Case, apart, differences, joined

AT = {"crank_joint": 0.5537869582738624, "coupler_joint": 0.16330713937663152, "rocker_joint": 1.5261034503900568}
"""Where the crank-rocker is."""


def add_crank(b, prefix="", parent=None, at=(0.0, 0.0, 0.0), **joints):
    """A crank-rocker on a body, with more numbers for some of its joints."""
    x, y, z = at
    options = {} if parent is None else {"parent": parent}
    more = {name: joints.get(name, {}) for name in ("crank", "coupler", "rocker")}
    b.body(f"{prefix}crank", **options, axis="y", at=at, **bar(0.5, 0.2), **more["crank"])
    b.body(f"{prefix}coupler", f"{prefix}crank", axis="y", at=(0.2, 0, 0), **bar(0.8, 0.6), **more["coupler"])
    b.body(f"{prefix}rocker", **options, axis="y", at=(x + 0.6, y, z), **bar(0.6, 0.5), **more["rocker"])
    pin = {"at": (0.6, 0, 0), "at_successor": (0.5, 0, 0)}
    b.loop(f"{prefix}pin", f"{prefix}coupler", f"{prefix}rocker", axis="y", **pin)


def crank(speed, motors=None, **joints):
    b = Builder("crank_rocker")
    add_crank(b, **joints)
    b.independent = ["crank_joint"]
    robot = b.build()
    q = np.array([AT[name] for name in robot.tree.top.coordinates])
    sim = Simulator(robot, motors=motors, iterations=MANY)
    return Case(sim, q, np.array([speed]), np.full(sim.nu, 0.3))


def around(joint, less, more):
    return {"lower": AT[joint] - less, "upper": AT[joint] + more}


SERVO = [Motor("rocker_joint", "position", kp=20.0, kd=1.0)]
WEAK = [Motor("rocker_joint", "position", kp=200.0, kd=1.0, limit=0.5)]

CRANKS = {
    "smooth": (lambda: crank(5.0), []),
    "a dependent joint at its lower stop": (lambda: crank(2.0, rocker=around("rocker_joint", 1e-4, 1e-4)), [2]),
    "a dependent joint at its upper stop": (lambda: crank(-2.0, rocker=around("rocker_joint", 1e-4, 1e-4)), [3]),
    "a dependent joint beyond its stop": (lambda: crank(0.0, rocker=around("rocker_joint", -0.01, 0.5)), [2]),
    "stops far away": (lambda: crank(2.0, coupler=around("coupler_joint", 1.0, 1.0)), [0]),
    "a dependent joint rubs": (lambda: crank(2.0, rocker={"friction": 0.3}), [0]),
    "a dependent joint is held": (lambda: crank(0.0, rocker={"friction": 30.0}), [1]),
    "a dependent servo and friction": (lambda: crank(2.0, SERVO, rocker={"friction": 0.2}), [0]),
    "a dependent servo at its limit": (lambda: crank(2.0, WEAK), []),
    "springs and dampers": (lambda: crank(2.0, coupler={"stiffness": 3.0, "damping": 0.1}), []),
}


@pytest.mark.parametrize("name", CRANKS)
@pytest.mark.sample(2)
def test_a_linkage(name):
    given, joints = CRANKS[name][0](), CRANKS[name][1]
    state = given.sim.state(given.q, given.v)
    one, other = (given.sim.linearize(state, given.u, method=m) for m in ("recursive", "graph"))
    assert one.joints[0].tolist() == other.joints[0].tolist() == joints
    assert apart(joined(one), joined(other)) < 1e-12
    assert apart(joined(one), differences(given)) < 1e-7


def trunk(**left):
    """A trunk on two crank-rockers, with more numbers for some joints of the left one."""
    b = Builder("walker")
    b.body("trunk", joint="free", **box(5.0, 0.3, 0.2, 0.1))
    add_crank(b, "left_", "trunk", (0.0, 0.1, -0.05), **left)
    add_crank(b, "right_", "trunk", (0.0, -0.1, -0.05))
    return b


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_a_robot_with_loops_that_flies(damping):
    """Its base's own columns are known without solving, unless something ties it to the world."""
    made = trunk().build()
    joints = [replace(j, damping=damping) if j.type.nv == 6 else j for j in made.mechanism.joints]
    robot = kl.Robot(replace(made.mechanism, joints=tuple(joints)), backend="numpy")
    sim, (q, v) = Simulator(robot, dt=5e-3), robot.random_state(0)
    u = np.random.default_rng(1).normal(size=sim.nu)
    one, other = (sim.linearize(sim.state(q, v), u, method=m) for m in ("recursive", "graph"))
    assert apart(joined(one), joined(other)) < 1e-12


@cache
def walker():
    """The same with servos, a stop and dry friction; states of its fall onto the ground."""
    robot = trunk(coupler={"lower": 0.0, "upper": 2.5}, crank={"friction": 0.05}).build()
    tips = [ContactPoint(f"{side}_rocker", (0.5, 0.0, 0.0)) for side in ("left", "right")]
    points = [*tips, ContactPoint("trunk", (-0.1, 0.0, -0.05)), ContactPoint("left_coupler", (0.3, 0.0, -0.1))]
    servos = [Motor(n, "position", kp=40.0, kd=1.0, limit=15.0) for n in robot.independent_names[6:]]
    sim = Simulator(robot, ground=Plane(0.4), contacts=points, motors=servos, iterations=MANY)
    q, rng = robot.close(robot.neutral()), np.random.default_rng(0)
    q[2] += 0.01 - sim.rollout(q, None, steps=1, record=["gap"]).gap.min()
    u = 0.5 * rng.normal(size=sim.nu)
    run = sim.rollout(q, 0.3 * rng.normal(size=robot.nv), u, steps=600, record=["q", "v"], every=50)
    return sim, run.q, run.v, u


def test_a_robot_with_loops_on_its_feet_and_stops():
    sim, q, v, u = walker()
    assert sim.linearizer.recursive_serves
    state = sim.state(q, v)
    one, other = (sim.linearize(state, u, method=m) for m in ("recursive", "graph"))
    assert np.array_equal(one.contacts, other.contacts) and np.array_equal(one.joints, other.joints)
    assert {0, 1, 2} == set(one.contacts.ravel())
    assert max(apart(joined(one, k), joined(other, k)) for k in range(len(q))) < 1e-12
    for k in (3, 8, 11):  # near the edges of friction cones: longer steps would cross them
        assert apart(joined(one, k), differences(Case(sim, q[k], v[k], u), e=1e-8)) < 1e-7


def test_a_batch_of_robots_with_loops_is_its_rows():
    sim, q, v, u = walker()
    every = sim.linearize(sim.state(q, v), u, threads=1)
    alone = sim.linearize(sim.state(q[5], v[5]), u)
    assert np.array_equal(alone.A[0], every.A[5]) and np.array_equal(alone.B[0], every.B[5])


WAYS = ("plain", "stops", "dry", "servos")


def dressed(made, state, rng, way):
    """A random mechanism with stops about a state, dry friction, springs and dampers."""
    joints = []
    for joint, at in zip(made.mechanism.joints, state.tree.top.q_of, strict=True):
        new = {}
        if joint.type.nv == 1 and way == "stops" and rng.random() < 0.7:
            new = {"lower": float(state.q[at][0] - rng.uniform(0, 2e-3)), "upper": float(state.q[at][0] + 1e-3)}
        elif joint.type.nv == 1 and way == "dry":
            new = {"friction": float(rng.uniform(0, 0.5)), "damping": 0.1, "stiffness": 1.0}
        joints.append(replace(joint, **new))
    return replace(made.mechanism, joints=tuple(joints))


def compared(seed, kind, way):
    """How far both methods are apart for a random mechanism and state; None where there is nothing to compare."""
    made = mechanism_of(seed, kind)
    state, rng = state_of(made), np.random.default_rng(seed)
    if state is None or not 0 < state.tree.nv < 8:
        return drop("large or badly conditioned mechanism")
    robot = kl.Robot(dressed(made, state, rng, way), backend="numpy")
    top, motors = robot.tree.top, None
    if way == "servos":
        names = [n for n, place in zip(top.coordinates, top.plain_places(), strict=True) if place >= 0]
        motors = [Motor(n, "position", kp=5.0, kd=0.1, limit=0.5 if k else 50.0) for k, n in enumerate(names[:2])]
    sim = Simulator(robot, motors=motors, iterations=MANY)
    u = rng.normal(size=sim.nu)
    one, other = (sim.linearize(sim.state(state.q, state.v), u, method=m) for m in ("recursive", "graph"))
    if not np.isfinite(other.A).all():
        return drop("step that is not taken whole")
    assert np.array_equal(one.joints, other.joints), made.name
    return apart(joined(one), joined(other)) / state.cond


@pytest.mark.parametrize(
    ("kind", "seed", "way"), [("multi_output", 9, "plain"), ("locked", 10, "plain"), ("rods", 0, "dry")]
)
def test_random_mechanisms(kind, seed, way):
    assert compared(seed, kind, way) < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_mechanisms_of_every_kind(kind, way):
    found = [x for seed in range(1) if (x := compared(seed, kind, way)) is not None]
    assert all(x < 1e-13 for x in found)
