"""Laws that contact between bodies has to keep: momentum, limits of friction, cradles, stacks, tangled robots."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import kinloop as kl
from kinloop.model import Builder, Geometry, Surface
from kinloop.sim import Collisions, ExternalForce, Plane, Status
from kinloop.spatial import Transform
from kinloop.spatial.rotation import quaternion_rotation

ALONG_X = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0.0]])

MASSES, INERTIAS = (1.0, 3.0), ((0.004, 0.006, 0.009), (0.02, 0.03, 0.015))

OFFSETS = (0.02, 0.01, -0.03), (-0.02, 0.05, 0.01)

CENTRED = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)

SIZES = {
    "box": ((0.2, 0.15, 0.1), (0.3, 0.2, 0.25)),
    "sphere": ((0.1,), (0.15,)),
    "cylinder": ((0.1, 0.2), (0.12, 0.3)),
}


@cache
def two_bodies(kinds=("box", "box"), offsets=CENTRED):
    """Two free bodies of different shape in free space."""
    b = Builder("two", gravity=(0, 0, 0))
    for k, (m, inertia, com) in enumerate(zip(MASSES, INERTIAS, offsets, strict=True)):
        shape = Geometry(kinds[k], SIZES[kinds[k]][k], surface=Surface(condim=6, friction=(0.5, 0.02, 0.01)))
        b.body(f"b{k}", mass=m, com=com, inertia=inertia, joint="free", geometry=(shape,))
    return b.build()


def momentum(q, v, offsets):
    """Linear momentum of the two bodies, their angular momentum about the world's origin, their energy."""
    P, L, T = np.zeros(3), np.zeros(3), 0.0
    for k, (m, inertia, c) in enumerate(zip(MASSES, INERTIAS, offsets, strict=True)):
        R, w = quaternion_rotation(q[7 * k + 3 : 7 * k + 7]), v[6 * k : 6 * k + 3]
        u = R @ (v[6 * k + 3 : 6 * k + 6] + np.cross(w, c))
        P, L = P + m * u, L + np.cross(q[7 * k : 7 * k + 3] + R @ c, m * u) + R @ (inertia * w)
        T += 0.5 * (m * u @ u + w @ (inertia * w))
    return P, L, T


TUMBLING = np.array([3, -2, 4, 2, 0, 0, -1, 2, 1, -1, 0.2, 0.0])


@pytest.mark.parametrize(
    ("friction", "restitution", "kinds", "offsets"),
    [
        (0.0, 0.0, ("box", "box"), CENTRED),
        (0.5, 0.0, ("box", "box"), OFFSETS),
        (0.5, 1.0, ("box", "box"), OFFSETS),
        (0.5, 0.6, ("sphere", "box"), CENTRED),
        (0.5, 0.3, ("cylinder", "cylinder"), OFFSETS),
    ],
)
@pytest.mark.sample(3)
def test_tumbling_bodies_that_meet_keep_their_momenta_to_rounding(friction, restitution, kinds, offsets):
    """Linear and angular, about a point of the world, through flight, blows, sliding and rolling."""
    robot = two_bodies(kinds, offsets)
    sim = kl.Simulator(robot, collisions=Collisions(friction, restitution))
    q = robot.neutral()
    q[:3], q[7:10] = (-0.3, 0.05, 0.02), (0.3, 0, 0)
    run = sim.rollout(q, TUMBLING, steps=400, record=["q", "v", "contact_force"], record_start=True)
    assert run.status == [Status.RUNNING] and np.any(run.contact_force[1:]) and run.peaks["penetration"][0] < 1e-4
    P, L, T = (np.array(x) for x in zip(*(momentum(*x, offsets) for x in zip(run.q, run.v, strict=True)), strict=True))
    np.testing.assert_allclose(P, np.broadcast_to(P[0], P.shape), atol=1e-12)
    np.testing.assert_allclose(L, np.broadcast_to(L[0], L.shape), atol=1e-12)
    assert T[-1] <= T[0] * (1 + 1e-6)


def test_balls_without_friction_do_not_begin_to_turn_in_a_blow_aside():
    """Blows of balls go through their centres, at whatever time of the step they come."""
    b = Builder("balls", gravity=(0, 0, 0))
    for k in range(2):
        b.body(f"b{k}", mass=1.0, inertia=(1e-3,) * 3, joint="free", geometry=(Geometry("sphere", (0.05,)),))
    robot = b.build()
    for restitution in (0.0, 0.8):
        sim = kl.Simulator(robot, collisions=Collisions(0.0, restitution))
        q = np.array([robot.neutral()] * 5)
        q[:, 0], q[:, 7], q[:, 8] = -0.2, np.linspace(0.2, 0.201, 5), 0.06
        run = sim.rollout(q, [0, 0, 0, 2, 0, 0, 0, 0, 0, -1, 0, 0.0], steps=200)
        v = run.final.qd
        assert np.all(np.abs(v[:, [0, 1, 2, 6, 7, 8]]) < 1e-12) and np.all(np.abs(v[:, 4]) > 0.1)


@pytest.mark.parametrize(("part", "slides"), [(0.99, True), (1.01, False)])
def test_a_box_on_a_slope_slides_or_sticks_within_a_percent_of_what_friction_says(part, slides):
    b = Builder("box")
    b.body("box", mass=2.0, inertia=[2.0 * 0.01 / 6] * 3, joint="free", geometry=(Geometry("box", (0.1,) * 3),))
    robot, tangent = b.build(), 0.5
    angle, friction = np.arctan(tangent), part * tangent
    n = np.array([np.sin(angle), 0.0, np.cos(angle)])
    sim = kl.Simulator(robot, ground=Plane(friction, normal=n), collisions=Collisions(friction))
    q = robot.neutral()
    q[:3], q[3:7] = 0.05 * n, [np.cos(angle / 2), 0, np.sin(angle / 2), 0]
    run = sim.rollout(q, None, steps=400, record=["v"])
    assert run.status == [Status.RUNNING]
    speed = 9.81 * (np.sin(angle) - friction * np.cos(angle)) * 0.4 if slides else 0.0
    assert np.linalg.norm(run.v[-1][3:]) == pytest.approx(speed, rel=2e-3, abs=1e-6)


def row_of_balls(gap, count=5, r=0.05):
    """Balls in a row in free space, so far apart; the first comes at 1 m/s. Speeds in the end, and energy."""
    b = Builder("row", gravity=(0, 0, 0))
    for k in range(count):
        b.body(f"b{k}", mass=1.0, inertia=(1e-3,) * 3, joint="free", geometry=(Geometry("sphere", (r,)),))
    robot = b.build()
    sim = kl.Simulator(robot, collisions=Collisions(0.0, 1.0))
    q, v = robot.neutral(), np.zeros(robot.nv)
    for k in range(count):
        q[7 * k] = k * (2 * r + gap) - (0.01 if k == 0 else 0.0)
    v[3] = 1.0
    run = sim.rollout(q, v, steps=200)
    assert run.status == [Status.RUNNING] and run.peaks["penetration"][0] < 1e-5
    return run.final.qd[0].reshape(count, 6)[:, 3]


@pytest.mark.parametrize("gap", [2e-3, 5e-4, 1e-4])
def test_a_cradle_with_gaps_hands_the_speed_to_the_last_ball_exactly(gap):
    """Blows come one after another, also where several would come in a step, which is then taken in parts."""
    np.testing.assert_allclose(row_of_balls(gap), [0, 0, 0, 0, 1], atol=1e-9)


def test_a_cradle_without_gaps_is_hit_by_all_balls_at_once():
    """All blows of a step are one: it is the inelastic one, doubled. Momentum and energy are kept all the same."""
    speeds = row_of_balls(0.0)
    assert np.sum(speeds) == pytest.approx(1.0, abs=1e-12) and 1.0 - 1e-4 < np.sum(speeds**2) <= 1.0
    np.testing.assert_allclose(speeds, [-0.6, 0.4, 0.4, 0.4, 0.4], atol=1e-4)


@cache
def boxes(masses, side=0.1):
    b = Builder("boxes")
    for k, m in enumerate(masses):
        b.body(f"b{k}", mass=m, inertia=[m * side**2 / 6] * 3, joint="free", geometry=(Geometry("box", (side,) * 3),))
    return b.build()


def standing(masses, steps, dt=2e-3, spots=None):
    """A stack of boxes on the ground after so many steps: the run, and how far anything moved."""
    robot, n = boxes(masses), len(masses)
    options = Collisions(contacts=4 * n, pairs=n, friction=0.6)
    sim = kl.Simulator(robot, dt=dt, ground=Plane(friction=0.6), collisions=options)
    q = robot.neutral()
    for k in range(n):
        q[7 * k : 7 * k + 3] = *(spots[k] if spots else (0.0, 0.0)), 0.05 + 0.1 * k
    run = sim.rollout(q, None, steps=steps, record=["iterations", "contact_force"], every=max(1, steps // 100))
    return run, np.max(np.abs(run.final.q[0] - q))


def test_a_stack_of_ten_boxes_stands_and_takes_few_sweeps():
    run, moved = standing((1.0,) * 10, 500)
    assert run.status == [Status.RUNNING] and moved < 1e-5
    assert np.median(run.iterations) < 100 and run.peaks["penetration"][0] < 1e-6


@pytest.mark.slow
def test_a_stack_of_ten_boxes_stands_for_a_minute():
    rng = np.random.default_rng(0)
    spots = [tuple(x) for x in 0.01 * rng.uniform(-1, 1, size=(10, 2))]
    for where in (None, spots):
        run, moved = standing((1.0,) * 10, 30000, spots=where)
        assert run.status == [Status.RUNNING] and moved < 1e-3, moved
        assert np.mean(run.iterations) < 200


@pytest.mark.sample(2)
@pytest.mark.parametrize("masses", [(1.0, 1.0, 1e4), (1e4, 1.0, 1.0), (1.0, 1e4, 1.0), (1.0, 1e-4, 1.0)])
def test_stacks_stand_with_masses_that_differ_ten_thousand_times(masses):
    run, moved = standing(masses, 400)
    assert run.status == [Status.RUNNING] and moved < 1e-4
    weight = 9.81 * (2 * sum(np.cumsum(masses[::-1])) - sum(np.cumsum(masses[::-1])))
    total = np.sum(np.abs(run.contact_force[-1][:, 2]))
    assert total == pytest.approx(weight, rel=1e-3)


def test_patches_that_share_a_load_do_not_disturb_each_other():
    """A plank on two blocks, with sixteen corners where three points would do."""
    b = Builder("plank")
    size, side = (1.0, 0.2, 0.05), 0.1
    inertia = [m / 12 for m in (0.2**2 + 0.05**2, 1 + 0.05**2, 1 + 0.2**2)]
    b.body("plank", mass=1.0, inertia=inertia, joint="free", geometry=(Geometry("box", size),))
    for k in range(2):
        b.body(f"b{k}", mass=1.0, inertia=[side**2 / 6] * 3, joint="free", geometry=(Geometry("box", (side,) * 3),))
    robot = b.build()
    sim = kl.Simulator(robot, dt=2e-3, ground=Plane(friction=0.6), collisions=Collisions(contacts=16))
    q = robot.neutral()
    q[:3], q[7:10], q[14:17] = (0.1, 0, side + 0.025), (-0.3, 0, 0.05), (0.4, 0, 0.05)
    run = sim.rollout(q, None, steps=500, record=["contact_force", "contact_pair"])
    assert run.status == [Status.RUNNING]
    np.testing.assert_allclose(run.final.q[0], q, atol=1e-5)
    on_ground = [k for k, names in enumerate(sim.contact.scene.pair_names) if "ground" in names]
    felt = np.sum(np.abs(run.contact_force[-1][np.isin(run.contact_pair[-1], on_ground), 2]))
    assert felt == pytest.approx(3 * 9.81, rel=1e-4)


def fingers(count, dry=0.0):
    """Two fingers of one or two hinges on the world that press a free ball between them, with stops."""
    b = Builder("fingers", gravity=(0, 0, 0))
    for side in (-1.0, 1.0):
        parent, at = "world", (0.0, 0.12 * side, 0.0)
        for k in range(count):
            tip = k == count - 1
            pose = Transform(np.eye(3), np.array([0.1, 0.0, 0.0]))
            shape = (Geometry("sphere", (0.02,), pose),) if tip else ()
            b.body(f"f{side:+.0f}{k}", parent, mass=0.2, com=(0.05, 0, 0), inertia=(1e-4,) * 3, axis="z", at=at,
                   lower=-1.5, upper=1.5, friction=dry, geometry=shape)  # fmt: skip
            parent, at = f"f{side:+.0f}{k}", (0.1, 0.0, 0.0)
    b.body("ball", mass=0.3, inertia=(1e-4,) * 3, joint="free", geometry=(Geometry("sphere", (0.05,)),))
    return b.build()


@pytest.mark.parametrize(("count", "dry"), [(1, 0.0), (1, 0.01), (2, 0.01)])
def test_fingers_with_one_or_two_freedoms_press_a_ball(count, dry):
    """Their contacts cannot move in all directions. With dry friction in the joints all comes to rest."""
    robot = fingers(count, dry)
    sim = kl.Simulator(robot, collisions=Collisions(0.8), monitor=True)
    q = robot.neutral()
    q[-7] = 0.1 * count
    u = np.zeros(sim.nu)
    for side, k in ((1.0, 0), (-1.0, count)):
        u[k : k + count] = side * 0.2
    run = sim.rollout(q, None, u, steps=1500, record=["q", "v", "contact_force"])
    assert run.status == [Status.RUNNING] and run.peaks["penetration"][0] < 1e-4, run.reasons
    assert np.sum(np.abs(run.contact_force[-1])) > 0.5 and run.peaks["contact_force"][0] < 1e4
    assert not dry or np.max(np.abs(run.v[-1])) < 1e-3


def test_loops_stay_closed_through_blows_between_bodies():
    """A four-bar that swings among free balls, with stops and dry friction in it."""
    shape = (Geometry("capsule", (0.03, 0.6), Transform(ALONG_X, np.array([0.3, 0.0, 0.0]))),)
    b = Builder("four_bar")
    b.body("crank", mass=1, com=(0.2, 0, 0), inertia=(0.01,) * 3, axis="y", friction=0.05)
    b.body("coupler", "crank", mass=1, com=(0.5, 0, 0), inertia=(0.02,) * 3, axis="y", at=(0.4, 0, 0), geometry=shape)
    b.body("rocker", mass=1, com=(0.4, 0, 0), inertia=(0.02,) * 3, axis="y", at=(1.2, 0, 0), lower=-2.2, upper=2.2)
    b.loop("pin", "coupler", "rocker", "revolute", axis="y", at=(1, 0, 0), at_successor=(0.8, 0, 0))
    for k in range(3):
        ball = (Geometry("sphere", (0.06,)),)
        b.body(f"ball{k}", mass=0.5, inertia=(1e-3,) * 3, joint="free", geometry=ball)
    robot = b.build()
    sim = kl.Simulator(robot, ground=Plane(0.5, height=-1.0), collisions=Collisions(0.5, 0.5), monitor=True)
    q = robot.close(robot.neutral())
    for k, x in enumerate((0.2, 0.5, 0.8)):
        q[3 + 7 * k : 6 + 7 * k] = x, 0.0, 0.6 + 0.4 * k
    v = np.zeros(robot.nv)
    v[0] = 3.0
    run = sim.rollout(q, v, steps=1500, record=["contact_force"])
    assert run.status == [Status.RUNNING], run.reasons
    assert np.sum(np.any(run.contact_force, axis=(1, 2))) > 100
    assert run.peaks["loop_error"][0] < 1e-12


def tangled():
    """Two robots of a base and three arms of two links, as capsules."""
    b = Builder("tangled", gravity=(0, 0, 0))
    link = (Geometry("capsule", (0.02, 0.16), Transform(ALONG_X, np.array([0.1, 0, 0]))),)
    each = {"com": (0.1, 0, 0), "inertia": (1e-4, 1e-3, 1e-3), "geometry": link}
    for name in "ab":
        b.body(name, mass=2.0, inertia=(0.01, 0.012, 0.014), joint="free", geometry=(Geometry("sphere", (0.06,)),))
        for k in range(3):
            a = 2 * np.pi * k / 3
            at, rpy = (0.08 * np.cos(a), 0.08 * np.sin(a), 0.0), (0.0, 0.0, a)
            b.body(f"{name}{k}", name, mass=0.3, axis="y", at=at, rpy=rpy, **each)
            b.body(f"{name}{k}_tip", f"{name}{k}", mass=0.2, axis="z", at=(0.2, 0, 0), **each)
    return b.build()


PULL = 100.0


def pull(body):
    """A spring without length to the world's origin."""
    return ExternalForce(body, lambda state: [0.0, 0.0, 0.0, *(-PULL * state.pose(body).p)])


def run_tangled(steps, rows, restitution):
    """Two such robots that are pulled together, thrown at random: the run, and its energy with that of the pull."""
    robot = tangled()
    options = Collisions(0.3, restitution, contacts=32, pairs=48)
    sim = kl.Simulator(robot, collisions=options, forces=[pull("a"), pull("b")], monitor=True)
    rng = np.random.default_rng(0)
    q, v = np.array([robot.neutral()] * rows), rng.normal(size=(rows, robot.nv))
    b = robot.tree.top.q_of[robot.body_names.index("b")].start
    q[:, 0], q[:, b] = -0.35, 0.35
    run = sim.rollout(q, v, steps=steps, record=["energy", "contact_force", "q"], every=10, record_start=True)
    return run, run.energy + 0.5 * PULL * sum(np.sum(run.q[..., k : k + 3] ** 2, axis=-1) for k in (0, b))


def check_tangled(run, energy):
    """They touch, nothing sinks into anything, and energy only falls, but for what steps of first order do wrong."""
    assert np.all(run.status == Status.RUNNING), run.reasons
    assert np.max(np.mean(np.any(run.contact_force[:, 1:], axis=(2, 3)), axis=1)) > 0.2
    assert np.max(run.peaks["penetration"]) < 1e-4
    gained = np.max(energy - np.minimum.accumulate(energy, axis=1), axis=1)
    assert np.all(gained < 1e-3 * energy[:, 0]), gained / energy[:, 0]
    assert np.all(energy[:, -1] < 0.5 * energy[:, 0])


def test_robots_that_are_tangled_in_each_other_create_no_energy():
    check_tangled(*run_tangled(4000, 4, 0.5))


@pytest.mark.slow
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_robots_that_are_tangled_in_each_other_create_no_energy_in_a_hundred_thousand_steps(restitution):
    check_tangled(*run_tangled(100_000, 4, restitution))


def test_what_is_pressed_together_without_weight_does_not_sink():
    """Two balls that are pulled together and roll on each other: what steps do wrong is taken back."""
    b = Builder("balls", gravity=(0, 0, 0))
    for name in "ab":
        b.body(name, mass=1.0, inertia=(1e-3,) * 3, joint="free", geometry=(Geometry("sphere", (0.05,)),))
    robot = b.build()
    for restitution in (0.0, 0.5):
        forces = [pull("a"), pull("b")]
        sim = kl.Simulator(robot, dt=2e-3, collisions=Collisions(0.5, restitution), forces=forces)
        q = robot.neutral()
        q[0], q[7] = -0.05, 0.05
        run = sim.rollout(q, [0, 0, 0, 0, 0.4, 0, 0, 0, 0, 0, -0.4, 0], steps=4000)
        assert run.status == [Status.RUNNING] and run.peaks["penetration"][0] < 3e-5
