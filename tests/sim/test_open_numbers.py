"""Numbers that every batch row has its own of: each row does what a simulator with its numbers does."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.errors import KinloopError, MethodError, ShapeError
from kinloop.sim import HeightField, Motor, Plane, Simulator

ROWS = 3


def leg(mass: float = 1.0) -> kl.Robot:
    """A hopping leg with a geared rotor, on a slider."""
    b = kl.Builder("leg")
    b.body("body", joint="prismatic", axis="z", mass=mass, inertia=(0.1, 0.1, 0.1), joint_name="up")
    b.body("thigh", "body", axis="y", mass=0.4, com=(0, 0, -0.1), inertia=(0.01, 0.01, 0.01), joint_name="hip")
    b.body("rotor", "body", axis="y", mass=0.1, inertia=(1e-4, 1e-4, 1e-4), joint_name="motor")
    b.body("shin", "thigh", axis="y", at=(0, 0, -0.2), mass=0.2, com=(0, 0, -0.1), inertia=(2e-3, 2e-3, 2e-3),
           joint_name="knee")  # fmt: skip
    b.gear("motor", "hip", 6.0)
    b.frame("foot", "shin", (0, 0, -0.2))
    b.independent = ["hip"]
    return b.build()


def bumpy(x, y, high, wide):
    return high * sc.sin(wide * x) + 0.0 * y


def simulator(robot, friction=0.8, high=0.01, strength=1.0, gear=1.0, **options) -> Simulator:
    ground = HeightField(bumpy, friction, numbers={"high": high, "wide": 7.0})
    motors = [Motor("hip", "position", 30.0, 1.0, limit=4.0, strength=strength),
              Motor("knee", "position", 30.0, 1.0, limit=4.0, gear=gear)]  # fmt: skip
    return Simulator(robot, 1e-3, ground=ground, contacts=["foot"], motors=motors, **options)


OPEN = ("body.mass", "ground.friction", "ground.high", "hip.strength", "knee.gear", "shin.com", "hip.armature")


@pytest.fixture(scope="module")
def robot():
    return leg()


@pytest.fixture(scope="module")
def opened(robot):
    return simulator(robot, open=OPEN)


def start(robot):
    q = robot.neutral()
    q[robot.q_index("hip")], q[robot.q_index("knee")] = 0.5, -1.0
    q = robot.close(q)
    q[0] = 0.4
    return q


def test_every_row_does_what_a_simulator_with_its_numbers_does(robot, opened):
    q, u = start(robot), np.array([0.3, -0.6])
    numbers = {
        "body.mass": [[1.0], [1.7], [0.6]], "ground.friction": [[0.8], [0.1], [1.2]],
        "ground.high": [[0.01], [0.03], [0.0]], "hip.strength": [[1.0], [0.5], [1.3]],
        "knee.gear": [[1.0], [2.0], [0.7]],
    }  # fmt: skip
    run = opened.rollout(np.repeat(q[None], ROWS, axis=0), controls=u, steps=400, numbers=numbers)
    for k in range(ROWS):
        mass, friction, high, strength, gear = (x[k][0] for x in numbers.values())
        alone = simulator(leg(mass), friction, high, strength, gear).rollout(q, controls=u, steps=400)
        np.testing.assert_allclose(run.q[k], alone.q, rtol=0, atol=1e-11)
    assert np.ptp(run.q[:, -1], axis=0).max() > 1e-2, "the numbers matter"


def test_numbers_of_the_model_are_taken_where_none_are_given(robot, opened):
    q, u = start(robot), np.array([0.3, -0.6])
    plain = simulator(robot).rollout(q, controls=u, steps=200)
    np.testing.assert_allclose(opened.rollout(q, controls=u, steps=200).q, plain.q, rtol=0, atol=1e-12)
    again = pickle.loads(pickle.dumps(opened))
    assert np.array_equal(again.rollout(q, controls=u, steps=9).q, opened.rollout(q, controls=u, steps=9).q)


def test_rows_in_parts_and_other_paths_keep_their_numbers(robot, opened):
    """A leg that kicks too fast for its steps takes them in parts, with its own numbers."""
    q, v, fast = start(robot), np.zeros(robot.nv), np.array([2.5, -2.5])
    v[robot.independent_names.index("knee")] = 150.0
    numbers = {"body.mass": [[1.0], [1.7]], "hip.strength": [[1.0], [3.0]]}
    both = opened.rollout(np.repeat(q[None], 2, axis=0), np.repeat(v[None], 2, axis=0), fast, steps=60, numbers=numbers)
    alone = simulator(leg(1.7), strength=3.0).rollout(q, v, fast, steps=60)
    assert both.substeps[1] > 0 and np.all(both.status == 1)
    np.testing.assert_allclose(both.q[1], alone.q, rtol=0, atol=1e-8)
    asked = opened.rollout(q, controls=lambda t, s: fast, steps=30, numbers={"body.mass": [1.7], "hip.strength": [3.0]})
    np.testing.assert_allclose(asked.q, simulator(leg(1.7), strength=3.0).rollout(q, controls=fast, steps=30).q,
                               rtol=0, atol=1e-11)  # fmt: skip
    times = opened.rollout(q, controls=fast, times=[0.0105, 0.0203], numbers={"body.mass": [1.7]})
    reference = simulator(leg(1.7)).rollout(q, controls=fast, times=[0.0105, 0.0203])
    np.testing.assert_allclose(times.q, reference.q, rtol=0, atol=1e-11)


def test_a_weak_motor_does_its_part_of_the_work(robot):
    weak, strong = (simulator(robot, strength=s).drive.motors[0] for s in (0.5, 1.0))
    assert weak.force_range(0.0) == pytest.approx((-2.0, 2.0)) and strong.force_range(0.0) == pytest.approx((-4.0, 4.0))
    with pytest.raises(KinloopError, match=r"strength of the motor of 'hip'.*not be negative"):
        replace(weak, strength=-1.0)


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["thigh.mas"], {}, r"open number 'thigh.mas' is not of the form 'part.quantity' with one of mass, com"),
        (["thih.mass"], {}, r"'thih'.*thigh"),
        (["ground.hight"], {}, r"'hight'.*high"),
        (["ankle.strength"], {}, r"'ankle'.*knee"),
        (["hip~motor.ratio"], {}, r"not of the form"),
        (["thigh.mass"], {"monitor": True}, r"thigh.mass.*monitor=False"),
        (["thigh.mass", "thigh.mass"], {}, r"list of different names"),
        ("thigh.mass", {}, r"list of different names like 'trunk.mass'"),
    ],
)
def test_what_cannot_be_open_is_refused_by_name(robot, names, options, message):
    with pytest.raises(KinloopError, match=message):
        simulator(robot, open=names, **options)


def test_gears_that_rub_and_motors_of_files_stay_as_they_are(robot):
    motor = Motor("knee", "position", 30.0, 1.0, friction=0.1)
    with pytest.raises(MethodError, match=r"the gear of the motor on 'knee' cannot be open: friction"):
        Simulator(robot, ground=Plane(), contacts=["foot"], motors=[motor], open=["knee.gear"])
    with pytest.raises(MethodError, match=r"'ground.friction' needs ground=Plane"):
        Simulator(robot, motors=[motor], open=["ground.friction"])


def test_numbers_of_rollouts_are_checked(robot, opened):
    q = start(robot)
    with pytest.raises(ShapeError, match=r"'body.mass' are those of 2 rows, there are 3 batch rows"):
        opened.rollout(np.repeat(q[None], 3, axis=0), steps=1, numbers={"body.mass": [[1.0], [2.0]]})
    with pytest.raises(MethodError, match=r"'body.mass' cannot be -1; give numbers that are above zero"):
        opened.rollout(q, steps=1, numbers={"body.mass": [-1.0]})
    with pytest.raises(KinloopError, match=r"'bdy.mass'.*body.mass"):
        opened.rollout(q, steps=1, numbers={"bdy.mass": [1.0]})
    with pytest.raises(MethodError, match=r"'energy' depends on masses and motors and cannot be recorded with open"):
        opened.rollout(q, steps=1, record=["q", "energy"])
    with pytest.raises(MethodError, match=r"make a Simulator without open numbers"):
        opened.linearize(opened.state(q))


def test_ground_of_a_row_is_the_height_field_of_its_numbers():
    field = HeightField(bumpy, numbers={"high": 0.2, "wide": 3.0})
    assert field.heights(0.5, 0.0) == pytest.approx(0.2 * np.sin(1.5))
    assert field.key != HeightField(bumpy, numbers={"high": 0.3, "wide": 3.0}).key and hash(field) is not None
    with pytest.raises(KinloopError, match=r"number 'high' of the height"):
        HeightField(bumpy, numbers={"high": np.nan, "wide": 3.0})


def linkage(mass: float) -> kl.Robot:
    """A four-bar whose coupler has a mass; nothing touches."""
    b = kl.Builder("linkage")
    bar = {"com": (0.1, 0, 0), "inertia": (1e-3, 2e-3, 2e-3), "axis": "y"}
    b.body("crank", mass=0.5, **bar)
    b.body("coupler", "crank", at=(0.2, 0, 0), mass=mass, **bar)
    b.body("rocker", at=(0.5, 0, 0), mass=0.5, **bar)
    b.loop("pin", "coupler", "rocker", axis="y", at=(0.6, 0, 0), at_successor=(0.4, 0, 0))
    b.independent = ["crank_joint"]
    return b.build()


def test_linkages_that_begin_with_what_their_motion_was_before_do_so_with_their_own_numbers():
    masses = np.array([[0.5], [1.0], [3.0]])
    q = linkage(1.0).close([-0.5, 0.3, -1.5])
    opened = Simulator(linkage(1.0), 2e-3, open=["coupler.mass"])
    run = opened.rollout(
        np.tile(q, (ROWS, 1)), np.full((ROWS, 1), 2.0), [0.3], steps=50, numbers={"coupler.mass": masses}
    )
    for k, (mass,) in enumerate(masses):
        alone = Simulator(linkage(mass), 2e-3).rollout(q, [2.0], [0.3], steps=50)
        np.testing.assert_allclose(run.q[k, -1], alone.q[-1], rtol=0, atol=1e-12)


def test_linkages_that_swing_freely_have_a_past_of_their_own_numbers():
    """Steps of high order on a bending loop, whose first ones rest on a past that depends on masses."""
    robot = kl.robots.load("planar_leg_linkage")
    q, v = robot.neutral(), np.array([1.0, -2.0])
    opened, mass = Simulator(robot, open=["shank_support.mass", "foot.com"]), [[0.225], [0.5], [0.1]]
    com = [[0.0635, 0, 0], [0.03, 0.01, 0], [0.1, -0.01, 0]]
    run = opened.rollout(
        np.repeat(q[None], ROWS, axis=0), np.repeat(v[None], ROWS, axis=0), steps=300,
        numbers={"shank_support.mass": mass, "foot.com": com},
    )  # fmt: skip
    for k in range(ROWS):
        bodies = [
            replace(b, mass=mass[k][0]) if b.name == "shank_support" else replace(b, com=np.array(com[k], dtype=float))
            if b.name == "foot" else b
            for b in robot.mechanism.bodies
        ]  # fmt: skip
        alone = Simulator(replace(robot.mechanism, bodies=tuple(bodies)).build()).rollout(q, v, steps=300)
        np.testing.assert_allclose(run.q[k], alone.q, rtol=0, atol=1e-9)
    assert np.max(robot.loop_error(run.q[:, -1])) < 1e-10
