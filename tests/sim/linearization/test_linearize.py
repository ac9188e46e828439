"""A and B of a step are its derivatives: against differences, one method against the other, row by row."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import MethodError
from kinloop.io import MjcfOptions, mjcf_text
from kinloop.model import Builder
from kinloop.robots.solid_inertias import bar, box
from kinloop.sim import ContactPoint, Plane, Simulator
from tests.sim.linearization.steps import CASES, MANY, Case, apart, case, cheetah, differences, joined, walker
from tests.sim.mechanisms import pendulum

EXACT = 1e-7
"""What differences of order 4 with a step of 1e-6 are good for, where slopes are as large as 1 / dt."""


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(4)
def test_a_step_is_linear_with_A_and_B(name):
    given = case(name)
    found = given.sim.linearize(given.sim.state(given.q, given.v), given.u, method="graph")
    contacts, joints = CASES[name][1:]
    assert contacts is None or found.contacts[0].tolist() == contacts
    assert found.joints[0].tolist() == joints
    assert found.residual[0] < 1e-9
    assert apart(joined(found), differences(given)) < EXACT


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(8)
def test_the_recursion_is_the_graph(name):
    given = case(name)
    if not given.sim.linearizer.recursive_serves:
        assert name in ("restitution", "tip of a hinge", "rk4")
        with pytest.raises(MethodError, match="method 'recursive' of linearize takes"):
            given.sim.linearize(given.sim.state(given.q, given.v), given.u, method="recursive")
        return
    state = given.sim.state(given.q, given.v)
    one, other = (given.sim.linearize(state, given.u, method=m) for m in ("recursive", "graph"))
    assert apart(joined(one), joined(other)) < 1e-12
    assert np.array_equal(one.contacts, other.contacts) and np.array_equal(one.joints, other.joints)


def _agree(sim, q, v, u):
    """Both methods at all these states, and differences at the last one; the modes that were met."""
    state = sim.state(q, v)
    one, other = sim.linearize(state, u, method="recursive"), sim.linearize(state, u, method="graph")
    assert np.array_equal(one.contacts, other.contacts) and np.array_equal(one.joints, other.joints)
    assert max(apart(joined(one, k), joined(other, k)) for k in range(len(q))) < 1e-11
    assert apart(joined(one, -1), differences(Case(sim, q[-1], v[-1], u))) < EXACT
    return one


@pytest.mark.sample(3)
def test_a_robot_on_its_feet_and_stops():
    sim, q, v, u = walker()
    found = _agree(sim, q, v, u)
    assert {0, 1, 2} == set(found.contacts.ravel()) and {0, 3} == set(found.joints.ravel())
    assert found.joint_names == tuple(sim.robot.independent_names[6:])


@pytest.mark.parametrize("speed", [0.0, 1.0], ids=["lying", "sliding"])
def test_more_contacts_than_the_robot_can_feel(speed):
    """A board with two flaps flat on the ground: 24 rows on three bodies, where velocities have 8 numbers."""
    b = Builder("board")
    b.body("board", joint="free", **box(3.0, 0.4, 0.3, 0.05))
    contacts = [ContactPoint("board", (x, y, -0.025)) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    for name, side in (("left", 1.0), ("right", -1.0)):
        b.body(name, "board", axis="x", at=(0.0, 0.15 * side, 0.0), **bar(0.4, 0.2, along="y", sign=side))
        contacts += [ContactPoint(name, (x, 0.2 * side, -0.025)) for x in (-0.1, 0.1)]
    robot = b.build()
    sim = Simulator(robot, ground=Plane(0.4), contacts=contacts, iterations=3000)
    q, v, u = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
    q[2], v[4] = 0.025, speed
    found = sim.linearize(sim.state(q, v), u)
    assert set(found.contacts[0]) == {2 if speed else 1}, "all of them press"
    assert apart(joined(found), differences(Case(sim, q, v, u))) < EXACT


@pytest.mark.slow
def test_mini_cheetah_with_its_rotors():
    found = _agree(*cheetah())
    assert {0, 1, 2} == set(found.contacts.ravel()) and {0, 3} <= set(found.joints.ravel())


@pytest.mark.parametrize("method", ["recursive", "graph"])
def test_a_batch_is_its_rows(method):
    sim, q, v, u = walker()
    every = sim.linearize(sim.state(q, v), u, method=method)
    again = sim.linearize(sim.state(q, v), np.tile(u, (len(q), 1)), method=method, threads=1)
    for x, y in zip(every, again, strict=True):
        assert np.array_equal(x, y)
    alone = sim.linearize(sim.state(q[5], v[5]), u, method=method)
    assert np.array_equal(alone.A[0], every.A[5]) and np.array_equal(alone.B[0], every.B[5])
    assert np.array_equal(every.next.q, sim.step(sim.state(q, v), u).q)


def test_what_a_state_remembers_does_not_count():
    sim, q, v, u = walker()
    late = sim.rollout(q[-1], v[-1], u, steps=3).final
    fresh = sim.linearize(sim.state(late.q, qd=late.qd), u)
    for x, y in zip(sim.linearize(late, u), fresh, strict=True):
        assert np.array_equal(x, y)


def test_a_state_that_cannot_take_the_step_whole_has_no_derivative():
    given = case("tree")
    fast = given.sim.linearize(given.sim.state(np.zeros((2, 1)), np.array([[1.0], [500.0]])))
    assert np.isfinite(fast.A[0]).all() and np.isnan(fast.A[1]).all() and np.isnan(fast.B[1]).all()


def test_a_state_that_asks_for_what_is_impossible_has_no_derivative():
    """A tip in the ground, which could only come up beyond a stop: the step rests there, by a search without slopes."""
    tip = ContactPoint("rod", (0.0, 0.0, -0.5))
    sim = Simulator(pendulum(lower=-0.3, upper=0.3), ground=Plane(0.3, height=-0.4), contacts=[tip])
    assert np.abs(sim.rollout([0.3], [0.0], steps=1).final.qd).max() < 1e-3
    assert np.isnan(sim.linearize(sim.state([0.3], [0.0])).A).all()


def test_the_adaptive_integrator_is_refused():
    sim = Simulator(pendulum(), integrator="adaptive")
    with pytest.raises(
        MethodError, match="adaptive integrator has no single step to linearise; use semi_implicit or rk4"
    ):
        sim.linearize(sim.state())


def test_a_method_that_there_is_not_is_refused():
    given = case("tree")
    with pytest.raises(MethodError, match="method 'sweeps' of linearize is not one of 'recursive', 'graph'"):
        given.sim.linearize(given.sim.state(given.q), given.u, method="sweeps")


def test_it_unpacks_as_A_and_B():
    given = case("tree")
    A, B = given.sim.linearize(given.sim.state(given.q, given.v), given.u)
    assert A.shape == (1, 2, 2) and B.shape == (1, 2, 1)


@pytest.mark.slow
def test_tello_on_its_feet():
    robot = kl.robots.load("tello")
    sim = Simulator(robot, ground=Plane(0.6), iterations=1000)
    q, v = robot.neutral(), 0.05 * np.random.default_rng(0).normal(size=robot.nv)
    q[2] += 1e-5 - sim.rollout(q, None, steps=1, record=["gap"]).gap.min()
    v[5] = -0.3
    given = Case(sim, q, v, np.zeros(sim.nu))
    found, other = (sim.linearize(sim.state(q, v), given.u, method=m) for m in ("recursive", "graph"))
    assert found.contacts.any() and apart(joined(found), joined(other)) < 1e-11
    assert apart(joined(found), differences(given)) < 1e-6


def _leg_over(normal, count):
    """A leg that moves in the plane z = 0, with some points on it just in a ground with this normal."""
    robot = kl.robots.load("planar_leg_linkage")
    places = [(0.05, 0.0, 0.0), (0.1, 0.0, 0.0), (0.05, 0.01, 0.0), (0.02, 0.02, 0.0)]
    points, q = [ContactPoint("foot", place) for place in places[:count]], robot.neutral()
    T = robot.frame_pose(q, "foot")
    lowest = min(float(np.dot(normal, T[:3, 3] + T[:3, :3] @ np.array(p.at))) for p in points)
    sim = Simulator(robot, ground=Plane(0.5, normal=normal, height=lowest + 1e-5), contacts=points, iterations=MANY)
    return Case(sim, q, np.array([0.5, -1.0]), np.array([0.1, -0.2]))


@pytest.mark.parametrize("count", [1, 2])
def test_points_that_nothing_can_move_towards_the_ground_change_nothing(count):
    given = _leg_over((0.0, 0.0, 1.0), count)
    found = given.sim.linearize(given.sim.state(given.q, given.v), given.u)
    alone = Simulator(given.sim.robot)
    free = alone.linearize(alone.state(given.q, given.v), given.u, method="graph")
    assert found.residual[0] < 1e-12 and apart(joined(found), joined(free)) < 1e-12


def test_redundant_points_of_a_leg_in_a_plane():
    given = _leg_over((0.0, 1.0, 0.0), 4)
    found = given.sim.linearize(given.sim.state(given.q, given.v), given.u)
    assert found.contacts.any() and found.residual[0] < 1e-12
    assert apart(joined(found), differences(given)) < EXACT


@pytest.mark.parametrize("method", ["recursive", "graph"])
def test_without_a_compiler_it_is_the_same(method):
    robot = kl.Robot(pendulum(damping=0.2, upper=0.5).mechanism, backend="numpy")
    other = Simulator(pendulum(damping=0.2, upper=0.5))
    for q, v in ((0.3, 1.0), (0.4999, 2.0)):
        one, two = (s.linearize(s.state([q], [v]), [0.1], method=method) for s in (Simulator(robot), other))
        assert apart(joined(one), joined(two)) < 1e-13 and one.joints == two.joints


def test_mujoco_finds_the_same_but_for_its_first_order():
    mujoco = pytest.importorskip("mujoco")
    b = kl.Builder("arm")
    b.body("upper", axis="y", damping=0.1, **bar(1.0, 0.4, along="z", sign=-1.0))
    b.body("lower", "upper", axis="x", at=(0.0, 0.0, -0.4), stiffness=2.0, **bar(0.5, 0.3, along="z", sign=-1.0))
    robot, dt = b.build(), 1e-4
    sim, q, v, u = Simulator(robot, dt), np.array([0.4, -0.7]), np.array([1.0, -2.0]), np.array([0.3, 0.2])
    model = mujoco.MjModel.from_xml_string(mjcf_text(robot, MjcfOptions(timestep=dt)))
    data, A = mujoco.MjData(model), np.zeros((4, 4))
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, u
    mujoco.mjd_transitionFD(model, data, 1e-6, 1, A, None, None, None)
    found = sim.linearize(sim.state(q, v), u).A[0]
    rate = (found - np.eye(4)) / dt
    assert np.abs(rate - (A - np.eye(4)) / dt).max() < 20.0 * dt * np.abs(rate).max()
