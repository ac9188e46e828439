"""Contact between bodies: the laws it has to keep; slots, batches and first guesses are no part of the answer."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import MethodError
from kinloop.model import Builder, Geometry
from kinloop.sim import Collisions, ExternalForce, Plane, Spring, Status
from kinloop.sim.contact.slot_solver import ROUGH
from kinloop.sim.contact.small_steps import JAMMED
from kinloop.spatial import Transform
from kinloop.spatial.rotation import quaternion_rotation

RADIUS = 0.1


@cache
def balls(count: int, gravity: float = 0.0, heavy: float = 1.0):
    """Free balls, the last one so many times as heavy."""
    b = Builder("balls", gravity=(0, 0, -gravity))
    for k in range(count):
        m = heavy if k == count - 1 else 1.0
        shape = (Geometry("sphere", (RADIUS,), name=f"ball{k}"),)
        b.body(f"ball{k}", mass=m, inertia=[0.4 * m * RADIUS**2] * 3, joint="free", geometry=shape)
    return b.build()


@cache
def boxes(count: int, side: float = 0.1, heavy: float = 1.0):
    b = Builder("boxes")
    for k in range(count):
        m = heavy if k == count - 1 else 1.0
        b.body(f"b{k}", mass=m, inertia=[m * side**2 / 6] * 3, joint="free", geometry=(Geometry("box", (side,) * 3),))
    return b.build()


def placed(robot, positions):
    q = robot.neutral()
    for k, x in enumerate(positions):
        q[7 * k : 7 * k + 3] = x
    return q


def momenta(robot, q, v, heavy=1.0):
    """Linear momentum of free balls, and energy."""
    p, energy = np.zeros(3), 0.0
    for k in range(len(q) // 7):
        m = heavy if 7 * (k + 1) == len(q) else 1.0
        u = quaternion_rotation(q[7 * k + 3 : 7 * k + 7]) @ v[6 * k + 3 : 6 * k + 6]
        p, energy = p + m * u, energy + 0.5 * m * u @ u + 0.2 * m * RADIUS**2 * np.sum(v[6 * k : 6 * k + 3] ** 2)
    return p, energy


@pytest.mark.parametrize("heavy", [1.0, 1e4])
def test_balls_that_meet_keep_their_momentum_and_give_back_their_energy(heavy):
    robot = balls(2, 0.0, heavy)
    q, v = placed(robot, [(-0.3, 0.05, 0.02), (0.3, 0, 0)]), np.zeros(12)
    v[3], v[9] = 2.0, -1.0
    for e, friction in ((0.0, 0.0), (1.0, 0.0)):
        sim = kl.Simulator(robot, collisions=Collisions(friction, e))
        run = sim.rollout(q, v, steps=400, record=["q", "v", "gap"])
        before, after = (momenta(robot, *x, heavy) for x in ((q, v), (run.q[-1], run.v[-1])))
        assert run.status == [Status.RUNNING] and run.peaks["penetration"][0] < 2e-6
        np.testing.assert_allclose(after[0], before[0], atol=1e-10 * heavy)
        assert after[1] <= before[1] * (1 + 1e-9)
        if e:
            assert after[1] > 0.999 * before[1]
        assert abs(run.v[-1][3] - v[3]) > 0.5


def test_a_cradle_hands_the_motion_to_the_last_ball():
    b = Builder("cradle")
    for k in range(4):
        b.body(f"b{k}", mass=1.0, com=(0, 0, -1), inertia=(1e-3,) * 3, axis="y", at=(0.1005 * k, 0, 0),
               geometry=(Geometry("sphere", (0.05,), Transform(np.eye(3), np.array([0.0, 0.0, -1.0]))),))  # fmt: skip
    robot = b.build()
    sim = kl.Simulator(robot, dt=2e-4, collisions=Collisions(0.0, 1.0))
    q = np.array([0.3, 0.0, 0.0, 0.0])
    run = sim.rollout(q, None, steps=5200, record=["q", "v", "energy"], every=20)
    assert run.status == [Status.RUNNING]
    far = np.argmin(run.q[:, 3])
    assert run.q[far, 3] == pytest.approx(-0.3, abs=0.02) and np.max(np.abs(run.q[far, :3])) < 0.05
    assert np.max(run.energy) <= run.energy[0] + 1e-6


def test_two_boxes_stand_on_each_other_and_on_the_ground():
    robot = boxes(2)
    sim = kl.Simulator(robot, dt=2e-3, ground=Plane(friction=0.6), collisions=Collisions(contacts=12))
    q = placed(robot, [(0, 0, 0.05), (0.02, 0.01, 0.15)])
    run = sim.rollout(q, None, steps=500, record=["q", "v", "contact_force"])
    assert run.status == [Status.RUNNING]
    np.testing.assert_allclose(run.q[-1][[0, 1, 2, 7, 8, 9]], q[[0, 1, 2, 7, 8, 9]], atol=2e-6)
    np.testing.assert_allclose(np.abs(run.contact_force[-1][:, 2]).sum(), 3 * 9.81, rtol=1e-4)


def test_a_stack_stands_whatever_the_weight_on_top():
    for heavy in (1.0, 100.0):
        robot = boxes(3, 0.1, heavy)
        options = Collisions(contacts=12, pairs=3, friction=0.6)
        sim = kl.Simulator(robot, dt=2e-3, ground=Plane(friction=0.6), collisions=options)
        q = placed(robot, [(0, 0, 0.05 + 0.1 * k) for k in range(3)])
        run = sim.rollout(q, None, steps=500)
        assert run.status == [Status.RUNNING] and run.peaks["penetration"][0] < 1e-5
        np.testing.assert_allclose(run.final.q[0], q, atol=2e-4 if heavy > 1 else 2e-6)


@pytest.mark.parametrize("friction", [0.4, 0.6])
def test_a_box_on_a_slope_slides_or_sticks_where_friction_says(friction):
    robot, angle = boxes(1), np.arctan(0.5)
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    sim = kl.Simulator(robot, ground=Plane(friction, normal=normal), collisions=Collisions(friction))
    q = robot.neutral()
    q[:3], q[3:7] = 0.05 * normal, [np.cos(angle / 2), 0, np.sin(angle / 2), 0]
    run = sim.rollout(q, None, steps=300, record=["v"])
    speed = max(0.0, 9.81 * (np.sin(angle) - friction * np.cos(angle))) * 0.3
    assert abs(run.v[-1][3]) == pytest.approx(speed, abs=0.003)


def test_bodies_of_one_chain_touch_and_forces_inside_do_not_move_it():
    """A closing pair of fingers on a free base: its momentum stays."""
    b = Builder("tongs", gravity=(0, 0, 0))
    b.body("base", mass=2.0, inertia=(0.01,) * 3, joint="free")
    for k, side in enumerate((-1.0, 1.0)):
        pose = Transform(np.eye(3), np.array([0.1, 0.0, 0.0]))
        b.body(f"finger{k}", "base", mass=0.3, com=(0.1, 0, 0), inertia=(1e-3,) * 3, axis="z", at=(0, 0.05 * side, 0),
               geometry=(Geometry("sphere", (0.02,), pose),))  # fmt: skip
    robot = b.build()
    sim = kl.Simulator(robot, dt=5e-4, collisions=Collisions(0.5))
    v = np.zeros(8)
    v[6], v[7] = 1.0, -1.0
    run = sim.rollout(robot.neutral(), v, steps=1000, record=["q", "v", "gap"])
    assert run.status == [Status.RUNNING] and np.any(run.gap < 1e-6) and run.peaks["penetration"][0] < 1e-5
    hit = np.argmax(np.any(run.gap < 1e-6, axis=-1)) + np.array([-3, 0])
    p = robot.centroidal_momentum(run.q[hit], run.v[hit])
    np.testing.assert_allclose(p[1], p[0], atol=3e-5)  # of first order: impulses act at the middle of the step


def test_rows_of_a_batch_are_what_they_are_alone_and_go_on_as_if_they_had_not_stopped():
    robot = boxes(2)
    sim = kl.Simulator(robot, dt=2e-3, ground=Plane(friction=0.6), collisions=Collisions(contacts=12))
    rng = np.random.default_rng(0)
    q = np.array([placed(robot, [(0, 0, 0.06), (0.05, 0, 0.2)]) for _ in range(5)])
    v = rng.normal(size=(5, 12))
    whole = sim.rollout(q, v, steps=120, record=["q", "contact_force"])
    for k in (0, 3):
        alone = sim.rollout(q[k], v[k], steps=120, record=["q", "contact_force"])
        np.testing.assert_array_equal(alone.q, whole.q[k])
        np.testing.assert_array_equal(alone.contact_force, whole.contact_force[k])
    half = sim.rollout(q, v, steps=60)
    rest = pickle.loads(pickle.dumps(sim)).rollout(state=half.final, steps=60)
    np.testing.assert_array_equal(rest.final.q, whole.final.q)


def test_more_contacts_than_slots_are_never_silent():
    robot = boxes(2)
    ground, start = Plane(friction=0.6), placed(boxes(2), [(0, 0, 0.05), (0.3, 0, 0.05)])
    few = kl.Simulator(robot, ground=ground, collisions=Collisions(contacts=6)).rollout(start, None, steps=20)
    assert few.status == [Status.CROWDED] and few.peaks["missed"][0] == 2.0 and "contacts=" in few.reasons[0]
    one = kl.Simulator(robot, ground=ground, collisions=Collisions(contacts=8, pairs=1)).rollout(start, None, steps=20)
    assert one.status == [Status.CROWDED] and one.peaks["missed"][0] == 1.0


def test_what_does_not_go_together_is_refused_by_name():
    robot = boxes(1)
    with pytest.raises(MethodError, match="not both"):
        kl.Simulator(robot, ground=Plane(), collisions=True, contacts=["b0"])
    with pytest.raises(MethodError, match="collisions need integrator="):
        kl.Simulator(robot, ground=Plane(), collisions=True, integrator="rk4")


def test_forces_of_users_push_bodies_that_collide():
    """A constant push accelerates two touching balls as one."""
    robot = balls(2)
    sim = kl.Simulator(robot, 1e-3, collisions=True, forces=[ExternalForce("ball0", (0, 0, 0, 6.0, 0, 0))])
    q = robot.neutral()
    q[7] = 2 * RADIUS  # they touch
    run = sim.rollout(q, None, steps=100)
    assert run.status.tolist() == [Status.RUNNING]
    np.testing.assert_allclose(run.v[-1].reshape(2, 6)[:, 3], 0.3, rtol=1e-6)
    assert sim.with_forces([]).contact is not None, "the scene stays"


@pytest.mark.parametrize("stiffness", [1e2, 1e5, 1e9])
def test_springs_pull_bodies_together_and_contacts_bear_them(stiffness):
    """Two balls that a spring pulls together touch and rest on each other, with the spring's force between them.

    Momentum stays, energy only falls, and a third ball that hits them moves both as one.
    """
    robot = balls(3)
    spring = Spring("ball0", "ball1", stiffness, length=1.5 * RADIUS, damping=1e-3 * stiffness)
    sim = kl.Simulator(robot, 1e-3, collisions=True, forces=[spring], monitor=True)
    q = placed(robot, [(0, 0, 0), (2 * RADIUS, 0, 0), (-4 * RADIUS, 0, 0)])
    v = np.zeros(18)
    v[15] = 2.0
    run = sim.rollout(q, v, steps=400, record=["q", "v", "energy", "contact_force", "contact_pair"], record_start=True)
    assert run.status.tolist() == [Status.RUNNING]
    force = 0.5 * RADIUS * stiffness
    assert np.diff(run.energy).max() <= 1e-9 * run.energy[0] + 1e-3 * force * ROUGH, "what the solver leaves"
    before, after = momenta(robot, q, v)[0], momenta(robot, run.q[-1], run.v[-1])[0]
    np.testing.assert_allclose(after, before, atol=1e-9)
    assert run.v[-1][[3, 9]] == pytest.approx([run.v[-1][3]] * 2, abs=1e-5)
    names = sim.contact.scene.pair_names
    bears = [k for k in range(16) if names[int(run.contact_pair[-1, k])] == ("ball0", "ball1")]
    assert np.abs(run.contact_force[-1, bears].sum(axis=0)[0]) == pytest.approx(force, rel=1e-4)


def test_times_of_output_move_nothing_where_bodies_meet():
    """An end time, times on and between steps, the beginning: as in rollouts without them; time goes on."""
    robot = balls(2)
    sim = kl.Simulator(robot, 1e-3, collisions=Collisions(contacts=4, restitution=0.5))
    q, v = placed(robot, [(0, 0, 0), (0.25, 0.02, 0)]), np.zeros(12)
    v[3], v[9] = 1.0, -1.0
    plain = sim.rollout(q, v, steps=60, record=["q", "v"])
    some = sim.rollout(q, v, times=[0.0, 0.01, 0.0305, 0.05], record=["q", "contact_force"])
    assert some.t.tolist() == pytest.approx([0.0, 0.01, 0.0305, 0.05]) and np.isnan(some.contact_force[0]).all()
    assert some.q[[1, 3]].tolist() == plain.q[[9, 49]].tolist()
    assert np.linalg.norm(some.q[2] - 0.5 * (plain.q[29] + plain.q[30])) < 1e-5
    ended = sim.rollout(q, v, until=0.0305, record=["q"], record_start=True, every=10)
    assert ended.q[0].tolist() == q.tolist() and ended.t[-1] == pytest.approx(0.03)
    assert ended.final.t[0] == pytest.approx(0.0305)
    seen = []
    rest = sim.rollout(
        state=ended.final, controls=lambda t, s: seen.append(float(np.ravel(t)[0])) or np.zeros(12), steps=2
    )
    assert seen == pytest.approx([0.0305, 0.0315]) and rest.status.tolist() == [Status.RUNNING]


def test_steps_that_are_not_solved_are_said():
    """Six boxes with a thousand tons on top, and one round in place of five: no number of small steps does it."""
    robot = boxes(6, heavy=1e6)
    sim = kl.Simulator(robot, 1e-3, ground=Plane(), collisions=True, iterations=1)
    run = sim.rollout(placed(robot, [(0, 0, 0.05 + 0.1 * k) for k in range(6)]), None, steps=30, record=("residual",))
    worst = np.max(run.residual)
    assert JAMMED < worst < 1.0 and worst == run.peaks["residual"][0]
    assert run.status.tolist() == [Status.UNSOLVED] and "were not solved together" in run.reasons[0]
    assert np.all(run.final.status == Status.RUNNING), "it may go on"


def test_what_is_wedged_from_both_sides_rests_where_it_is_and_others_land():
    """Two walls lift a ball apart in opposite directions, which nothing can do: that is no unsolved step."""
    walls = [Geometry("box", (0.2, 1.0, 1.0), Transform(np.eye(3), np.array([x, 0, 0.5]))) for x in (-0.19, 0.19)]
    b = Builder("wedged")
    b.world_geometry += walls
    for k in range(2):
        shape = (Geometry("sphere", (RADIUS,), name=f"ball{k}"),)
        b.body(f"ball{k}", mass=1.0, inertia=[0.4 * RADIUS**2] * 3, joint="free", geometry=shape)
    robot = b.build()
    sim = kl.Simulator(robot, 1e-3, ground=Plane(), collisions=True)
    begin = placed(robot, [(0, 0, RADIUS), (1.0, 0, RADIUS + 1e-3)])
    run = sim.rollout(begin, None, steps=200, record=("q", "residual", "iterations", "gap", "kinetic_energy"))
    assert np.min(run.gap[0]) == pytest.approx(-0.01, abs=1e-4), "both walls are 1 cm deep in it"
    assert run.status.tolist() == [Status.RUNNING] and run.peaks["residual"][0] <= 10 * ROUGH
    assert np.sum(run.iterations > 1000) == 1, "it is tried once"
    assert run.q[-1, :3] == pytest.approx(begin[:3], abs=1e-4) and run.kinetic_energy[-1] < 1e-9
    assert run.q[-1, 9] == pytest.approx(RADIUS, abs=1e-5)
