"""Derivatives of steps with contact between bodies: against differences of order 4."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from kinloop.errors import MethodError
from kinloop.model import Builder, Geometry, Surface
from kinloop.robots.solid_inertias import bar, box
from kinloop.sim import Collisions, Motor, Plane, Simulator, Spring
from kinloop.sim.linearization.slot_slopes import solved
from kinloop.spatial import Transform
from tests.sim.linearization.steps import MANY, Case, apart, differences, joined

EXACT = 1e-7
ALONG_X = Transform(np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]), np.array([0.15, 0.0, 0.0]))


def _balls(v, surface=None, **options):
    """A ball on the ground, and another that falls on it from the side."""
    b = Builder("balls")
    for k in range(2):
        shape = (Geometry("sphere", (0.1,), surface=surface),)
        b.body(f"b{k}", joint="free", mass=1.0 + k, inertia=(0.01, 0.011, 0.012), geometry=shape)
    robot = b.build()
    given = {"collisions": Collisions(contacts=3), **options}
    sim = Simulator(robot, ground=Plane(0.2), iterations=100 * MANY, **given)  # rounds end at 1e-5 m/s by their number
    q = robot.neutral()
    q[2], q[7:10] = 0.1 + 2e-5, [0.12, 0.0, 0.26 + 6e-5]
    return Case(sim, q, np.array(v, dtype=float), np.linspace(-0.3, 0.4, 12))


ROLLING = (0.1, 0.2, 0.3, 0.1, 0.05, -0.1, 0.2, 0.1, 0.0, -0.3, 0.1, -0.5)


FLYING = (0.1, 0.2, 0.3, 0.1, 0.05, 0.4, 0.2, 0.1, 0.0, 0.3, 0.1, 0.9)


def _arm(q, v, **options):
    """An arm with dry friction and a stop, whose forearm (a capsule) hits a block on the ground."""
    b = Builder("arm")
    b.body("upper", axis="y", at=(0, 0, 0.5), friction=0.05, **bar(1.0, 0.3))
    rod = (Geometry("capsule", (0.02, 0.2), ALONG_X),)
    b.body("fore", "upper", axis="y", at=(0.3, 0, 0), lower=-1.5, upper=-0.6999, **bar(0.6, 0.3), geometry=rod)
    b.body("block", joint="free", **box(0.4, 0.1, 0.12, 0.1), geometry=(Geometry("box", (0.1, 0.12, 0.1)),))
    servos = [Motor(f"{n}_joint", "position", kp=30.0, kd=1.0) for n in ("upper", "fore")]
    robot = b.build()
    sim = Simulator(
        robot, ground=Plane(0.6), collisions=Collisions(contacts=6), iterations=MANY, motors=servos, **options
    )
    start = robot.neutral()
    start[:2], start[2:5] = q, (0.55, 0.01, 0.0525)
    start = robot.integrate(start, np.array([0, 0, 0.02, 0.03, 0.2, 0, 0, 0]))
    gap = sim.rollout(start, None, steps=1, record=["gap", "contact_pair"])
    ground = [
        k for k, x in enumerate(gap.contact_pair[0]) if x >= 0 and "ground" in sim.contact.scene.pair_names[int(x)]
    ]
    start[4] -= gap.gap[0][ground].min() - 1e-5
    return Case(sim, start, np.array(v, dtype=float), np.array([1.1, -0.5]))


def _slider():
    """A crank whose slider, the end of a closed loop, pushes a ball over the ground."""
    b = Builder("crank_slider")
    b.body("crank", mass=0.5, com=(0.05, 0, 0), inertia=(1e-5, 4e-4, 4e-4), axis="y")
    b.body("rod", "crank", at=(0.1, 0, 0), mass=0.8, com=(0.15, 0, 0), inertia=(1e-4, 6e-3, 6e-3), axis="y")
    shape = (Geometry("box", (0.1, 0.1, 0.1)),)
    b.body("slider", at=(0.4, 0, 0), mass=1.0, inertia=(1e-3,) * 3, joint="prismatic", axis="x", geometry=shape)
    b.body("ball", joint="free", mass=0.3, inertia=(3e-4,) * 3, geometry=(Geometry("sphere", (0.05,)),))
    b.loop("pin", "rod", "slider", axis="y", at=(0.3, 0, 0))
    robot = b.build()
    q = robot.neutral()
    q[robot.tree.top.q_of[0]] = -1.2
    q = robot.close(q)
    sim = Simulator(robot, ground=Plane(0.3, height=-0.05), collisions=Collisions(contacts=4), iterations=MANY)
    at = robot.tree.top.q_of[robot.tree.top.joint_index["ball_joint"]]
    side = robot.frame_pose(q, "slider")[0, 3] + 0.05
    q[at.start : at.start + 3] = side + 0.05 + 3e-5, 0.01, 2e-5
    v = np.zeros(robot.nv)
    v[0], v[-3:] = 4.0, (-0.1, 0.2, -0.1)
    return Case(sim, q, v, np.linspace(-0.2, 0.3, robot.nv))


def _pressed():
    """An arm whose forearm comes down on a block that stands on the ground."""
    plain = _arm((0.5, -0.9), np.zeros(8))
    robot = plain.sim.robot
    q = robot.neutral()
    q[:2] = 0.5, -0.9
    ends = [(robot.frame_pose(q, "fore") @ [x, 0.0, 0.0, 1.0])[:3] for x in (0.05, 0.25)]
    end = min(ends, key=lambda x: x[2])
    q[2:5] = end[0], 0.01, end[2] - 0.02 - 0.05 - 3e-5
    q = robot.integrate(q, np.array([0, 0, 0, 0, 0.3, 0, 0, 0]))
    ground = Plane(0.6, height=float(q[4]) - 0.05 - 2e-5)
    sim = Simulator(
        robot, ground=ground, collisions=Collisions(contacts=6), iterations=MANY, motors=plain.sim.drive.motors
    )
    v = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.1])
    return Case(sim, q, v, np.array([1.1, -0.5]))


CASES = {
    "two balls": lambda: _balls(ROLLING),  # modes: 0 open, 1 sticking, 2 sliding
    "balls that slide": lambda: _balls(
        (0.1, 0.2, 0.3, 1.0, 0.5, -0.1, 0.2, 3.1, 0.0, -0.3, 0.1, -0.5), collisions=Collisions(contacts=3, friction=0.1)
    ),
    "balls in flight": lambda: _balls(FLYING),
    "balls that bounce": lambda: _balls(
        (0.1, 0.2, 0.3, 0.1, 0.05, -0.9, 0.2, 0.1, 0.0, -0.3, 0.1, -1.5),
        collisions=Collisions(contacts=3, restitution=0.4),
    ),
    "balls on a spring": lambda: _balls(ROLLING, forces=[Spring("b0", "b1", 300.0, length=0.1, damping=2.0)]),
    "balls that resist turning": lambda: _balls(ROLLING, Surface(friction=(0.5, 0.02, 0.01), condim=6)),
    "balls that spin": lambda: _balls(
        (3.1, 0.2, 9.0, 0.1, 0.05, -0.1, 0.2, 0.1, -9.0, -0.3, 0.1, -0.5), Surface(friction=(0.5, 1e-4, 1e-4), condim=6)
    ),
    "balls with torsion": lambda: _balls(ROLLING, Surface(friction=(0.5, 0.02, 0.01), condim=4)),
    "a block on a corner": lambda: _arm((0.3, -0.9), (0.5, 0.3, 0.1, 0.2, 0.3, 0.3, 0.2, -0.6)),
    "an arm at its stop": lambda: _arm((0.3, -0.7), (0.5, 1.3, 0.1, 0.2, 0.3, 0.3, 0.2, -0.6)),
    "an arm that presses a block": _pressed,
    "a slider of a loop": _slider,
}


@cache
def case(name):
    return CASES[name]()


MODES = {"balls that slide": [2, 2, 0], "balls in flight": [0] * 3, "an arm that presses a block": [2, 1, 1, 1, 1, 0]}
JOINTS = {"an arm at its stop": [0, 3]}


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in CASES if name.startswith("balls") or "loop" in name]


@pytest.mark.parametrize(
    "name", [*(name for name in CASES if not name.startswith("balls") and "loop" not in name), *SLOW]
)
@pytest.mark.sample(2)
def test_a_step_between_bodies_is_linear_with_A_and_B(name):
    given = case(name)
    found = given.sim.linearize(given.sim.state(given.q, given.v), given.u)
    contacts = [1, 1, 0] if name.startswith(("two balls", "balls")) else found.contacts[0].tolist()
    assert found.contacts[0].tolist() == MODES.get(name, contacts) and found.contacts.any() == (
        name != "balls in flight"
    )
    assert found.joints[0].tolist() == JOINTS.get(name, found.joints[0].tolist())
    assert found.residual[0] < 1e-9
    # several contacts at once are solved to 1e-8 m/s by then, of which differences see a part of 1e-6
    several = np.count_nonzero(found.contacts) > 2
    assert apart(joined(found), differences(given, 3e-6 if several else 1e-6)) < (1e-6 if several else EXACT)


def test_a_batch_between_bodies_is_its_rows():
    given = case("two balls")
    q, v = np.stack([given.q] * 3), np.stack([given.v] * 3)
    v[1, 9], v[2] = 3.0, FLYING
    every = given.sim.linearize(given.sim.state(q, v), given.u)
    for k in range(3):
        alone = given.sim.linearize(given.sim.state(q[k], v[k]), given.u)
        assert np.array_equal(alone.A[0], every.A[k]) and np.array_equal(alone.B[0], every.B[k])
    assert every.contacts[[0, 2]].tolist() == [[1, 1, 0], [0, 0, 0]]


@pytest.mark.slow
def test_the_gradient_of_a_rollout_goes_through_collisions():
    """Along controls, the beginning and a mass, by differences of order 4 of the same rollout."""
    sim, q, v, _ = case("two balls")
    u = 0.2 * np.random.default_rng(0).normal(size=(3, 12))

    def cost(q, v, u, t):
        return q[7] * q[7] + 0.1 * (v @ v) + 0.01 * (u @ u)

    def total(sim, v, u):
        return float(sim.rollout_gradient(cost, q, v, u, terminal=lambda q, v: q[9] * q[9]).cost)

    found = sim.rollout_gradient(cost, q, v, u, terminal=lambda q, v: q[9] * q[9], parameters=["b1.mass"])
    for x, slope in ((np.eye(12)[9], found.v0[9]), (np.eye(12)[2], found.v0[2])):
        assert _difference(lambda e, x=x: total(sim, v + e * x, u)) == pytest.approx(slope, rel=1e-6, abs=1e-9)
    push = np.zeros((3, 12))
    push[1, 9] = 1.0
    assert _difference(lambda e: total(sim, v, u + e * push)) == pytest.approx(found.controls[1, 9], rel=1e-6, abs=1e-9)

    def heavier(e):
        bodies = tuple(replace(b, mass=b.mass + e) if b.name == "b1" else b for b in sim.robot.mechanism.bodies)
        robot = replace(sim.robot.mechanism, bodies=bodies).build()
        return total(Simulator(robot, ground=sim.ground, collisions=Collisions(contacts=3), iterations=MANY), v, u)

    assert _difference(heavier) == pytest.approx(found.parameters["b1.mass"][0], rel=1e-5)


def _difference(f, e=1e-6):
    return (8.0 * (f(e) - f(-e)) - (f(2 * e) - f(-2 * e))) / (12.0 * e)


def test_rows_that_depend_on_each_other_share_what_they_bear():
    K = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1e-4]])
    assert solved(K, np.array([[2.0], [2.0], [3e-4]]))[:, 0] == pytest.approx([1.0, 1.0, 3.0])
    assert solved(np.zeros((0, 0)), np.zeros((0, 5))).shape == (0, 5)


def test_the_recursive_method_is_refused_for_contact_between_bodies():
    with pytest.raises(MethodError, match="method 'recursive' of linearize takes"):
        case("two balls").sim.linearize(case("two balls").sim.state(), method="recursive")


WEDGE = np.array([[0.0, 0.03, 0.02], [0.0, -0.03, 0.02], [0.2, 0.0, -0.01], [0.0, 0.0, -0.03], [0.19, 0.02, 0.0]])


def _crossed(kind, size):
    """An arm of a kind of shape that comes down on a wheel, a cylinder that turns about its axis."""
    b = Builder("wheel")
    turned = Transform(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]), np.zeros(3))
    wheel = (Geometry("cylinder", (0.1, 0.08), turned),)
    b.body("wheel", axis="y", at=(0.15, 0, 0), mass=1.0, inertia=(0.01,) * 3, geometry=wheel)
    given = {"vertices": WEDGE} if kind == "mesh" else {}
    shape = (Geometry(kind, size, Transform(np.eye(3), np.zeros(3)) if kind == "mesh" else ALONG_X, **given),)
    b.body("swing", axis="z", at=(0, 0, 0.14), mass=0.2, inertia=(1e-3,) * 3)
    b.body("arm", "swing", axis="y", **bar(0.6, 0.3), geometry=shape)
    robot = b.build()
    sim = Simulator(robot, collisions=Collisions(contacts=4, friction=0.7), iterations=MANY)
    low, high = 0.0, 0.5
    for _ in range(50):  # the arm turns down until it is as near as it should be
        q = np.array([0.1, 0.05, 0.5 * (low + high)])
        gap = sim.rollout(q, np.zeros(3), steps=1, record=["gap"]).gap.min()
        low, high = (q[2], high) if gap > 2e-5 else (low, q[2])
    return Case(sim, q, np.array([0.5, 0.1, 0.3]), np.array([0.1, -0.1, 0.2]))


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind, size", [("capsule", (0.02, 0.2)), ("mesh", (1.0, 1.0, 1.0)), ("cylinder", (0.02, 0.2))])
def test_steps_with_pairs_that_are_searched_for_are_linear_with_A_and_B(kind, size):
    pytest.importorskip("coal")
    given = _crossed(kind, size)
    found = given.sim.linearize(given.sim.state(given.q, given.v), given.u)
    assert found.contacts.any() and np.isfinite(found.A).all()
    assert apart(joined(found), differences(given, 1e-6)) < 1e-6


def test_steps_whose_contacts_only_the_search_between_them_finds_have_no_derivatives():
    pytest.importorskip("coal")
    given = _crossed("cylinder", (0.02, 0.2))
    q = given.q + np.array([0.0, 0.0, 0.1])  # deep in the wheel
    assert np.isnan(given.sim.linearize(given.sim.state(q, given.v), given.u).A).all()
