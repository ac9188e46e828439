"""Springs and servos of any stiffness are stable where something touches, and soft ones are as they were."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.model import Builder, Geometry
from kinloop.robots.solid_inertias import box
from kinloop.sim import ContactPoint, Motor, Plane, Simulator
from kinloop.sim.stiff_gains import NOTHING, StiffGains, mobilities
from tests.sim.linearization.steps import Case, apart, differences, joined
from tests.sim.mechanisms import crank_rocker


def hopper(**joint):
    """A base on a foot, which slides up and down under it."""
    b = Builder("hopper")
    b.body("base", joint="free", **box(2.0, 0.2, 0.2, 0.1))
    shape = (Geometry("box", (0.1, 0.1, 0.05)),)
    foot = box(0.5, 0.1, 0.1, 0.05)
    b.body("foot", "base", joint="prismatic", axis="z", at=(0, 0, -0.3), **foot, geometry=shape, **joint)
    return b.build()


SOLE = [ContactPoint("foot", (x, y, -0.025)) for x in (-0.05, 0.05) for y in (-0.05, 0.05)]
CONTACT = {"points": {"contacts": SOLE}, "slots": {"collisions": True}}


@pytest.mark.parametrize("contact", CONTACT)
@pytest.mark.parametrize("stiffness", [1e6, 1e8, 1e10])
@pytest.mark.parametrize("kind", ["spring", "servo"])
@pytest.mark.sample(4)
def test_what_falls_on_a_stiff_foot_comes_to_rest(kind, stiffness, contact):
    robot = hopper(**({"stiffness": stiffness} if kind == "spring" else {}))
    motors = [] if kind == "spring" else [Motor("foot_joint", "position", kp=stiffness)]
    sim = Simulator(robot, 1e-3, ground=Plane(0.5), motors=motors, monitor=True, **CONTACT[contact])
    assert sim.drive.stiff is not None
    q = robot.neutral()
    q[2] = 0.5
    run = sim.rollout(q, None, steps=600, record=["q", "v", "contact_force"], every=600)
    assert run.status.tolist() == [1], run.reasons
    assert run.q[-1, 2] == pytest.approx(0.325 - 2 * 9.81 / stiffness, abs=2e-6) and np.abs(run.v[-1]).max() < 2e-3
    assert run.contact_force[-1].sum(axis=0)[2] == pytest.approx(2.5 * 9.81, rel=0.05)


def test_a_stiff_servo_at_its_limit_pushes_no_more_than_that():
    """A fading that were not part of the servo would hold the foot back: it moves as under the limit alone."""
    sim = Simulator(
        hopper(), 1e-3, ground=Plane(0.5), contacts=SOLE, motors=[Motor("foot_joint", "position", kp=1e8, limit=4.0)]
    )
    q = sim.robot.neutral()
    q[2] = 5.0
    run = sim.rollout(q, None, [-1.0], steps=20)
    mobility = 1 / 0.5 + 1 / 2.0
    assert run.v[-1, -1] == pytest.approx(-4.0 * mobility * 0.02, rel=1e-9)


def test_soft_springs_and_simulations_without_contact_are_as_they_were():
    soft = Simulator(hopper(stiffness=1e4), 1e-3, ground=Plane(), contacts=SOLE)
    assert soft.drive.stiff is None
    assert Simulator(hopper(stiffness=1e8), 1e-3).drive.stiff is None
    gains = StiffGains((2.5,), 1e-3)
    assert gains.faded(9e4, {0: 1.0}, 1e-3) is NOTHING and gains.faded(0.0, {0: 1.0}, 1e-3) is NOTHING
    b = (2.5 / 6.5) ** 2
    damping, armature = gains.faded(1e6, {0: -1.0}, 1e-3)
    assert damping == pytest.approx(b * 1e6 * 5e-4) and armature == pytest.approx(0.75 * b)


def test_mobilities_are_inverses_of_felt_inertias():
    assert mobilities(hopper())[-1] == pytest.approx(1 / 0.5 + 1 / 2.0)
    robot = crank_rocker()
    q = robot.neutral()
    G, M = robot.tree.spanning_jacobian(q), robot.mass_matrix(q)
    np.testing.assert_allclose(mobilities(robot), np.diag(G @ np.linalg.solve(M, G.T)), rtol=1e-9)


def test_steps_with_stiff_servos_are_linearised():
    sim = Simulator(hopper(stiffness=1e7), 1e-3, ground=Plane(0.5), contacts=SOLE, iterations=300)
    q, v = sim.robot.neutral(), np.array([0.0, 0, 0, 0.1, 0, -0.4, 0.1])
    q[2] = 0.325 + 2e-5
    expected = differences(Case(sim, q, v, np.zeros(sim.nu)))
    for method in ("recursive", "graph"):
        found = sim.linearize(sim.state(q, v), method=method)
        assert found.contacts.any() and apart(joined(found), expected) < 1e-7
