"""Forces of users obey the laws of mechanics in every integrator, and what they are is what a witness computes."""

import copy
import pickle

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.errors import KinloopError
from kinloop.model import Builder, Geometry
from kinloop.robots.solid_inertias import bar, box
from kinloop.sim import ContactPoint, Damper, ExternalForce, JointSpring, Plane, Simulator, Spring, load
from kinloop.spatial import Transform
from tests.sim.mechanisms import crank_rocker, drift, free_box, pendulum

MASS, STIFFNESS = 2.0, 50.0

INTEGRATORS = ("semi_implicit", "rk4", "adaptive")


def slider() -> kl.Robot:
    """A mass on a rail along x."""
    b = Builder("slider")
    b.body("mass", joint="prismatic", axis="x", **box(MASS, 0.1, 0.1, 0.1))
    return b.build()


def two_boxes() -> kl.Robot:
    """Two free boxes in space."""
    b = Builder("two_boxes", gravity=(0.0, 0.0, 0.0))
    b.body("one", joint="free", **box(1.0, 0.2, 0.3, 0.1))
    b.body("two", joint="free", **box(3.0, 0.1, 0.4, 0.2))
    return b.build()


def wind(state):
    """A force that grows with time, with height, and against the velocity."""
    push = sc.sin(3.0 * state.t) * (1.0 + state.pose("box").p[2]) - state.twist("box")[3]
    return [0.0, 0.1 * push, 0.0, push, 0.0, 0.0]


@pytest.mark.parametrize(("integrator", "error"), [("semi_implicit", 2e-5), ("rk4", 1e-11), ("adaptive", 1e-8)])
def test_a_mass_on_a_spring_swings_with_its_period(integrator, error):
    length, way = 0.3, 0.1
    spring = Spring("world", "mass", STIFFNESS, length=length)
    sim = Simulator(slider(), 1e-3, integrator=integrator, forces=[spring])
    run = sim.rollout([length + way], None, until=2.0, every=50)
    rate = np.sqrt(STIFFNESS / MASS)
    np.testing.assert_allclose(run.q[:, 0], length + way * np.cos(rate * run.t), atol=error * way)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_body_that_falls_against_drag_reaches_the_speed_that_drag_allows(integrator):
    coefficient, g = 0.9, 9.81

    def drag(state):
        v = state.twist("box")[3:]
        return np.concatenate([np.zeros(3), -coefficient * sc.sqrt(v @ v + 1e-300) * v])

    sim = Simulator(free_box(MASS), 1e-3, integrator=integrator, monitor=True, forces=[ExternalForce("box", drag)])
    run = sim.rollout(None, None, until=2.0, every=100, record=["v"])
    last = np.sqrt(MASS * g / coefficient)
    np.testing.assert_allclose(run.v[:, 5], -last * np.tanh(g * run.t / last), rtol=1e-7)
    assert run.status.tolist() == [1] and run.peaks["imbalance"][0] < 1e-4


@pytest.mark.parametrize(("integrator", "error"), [("semi_implicit", 1e-8), ("rk4", 1e-12), ("adaptive", 1e-10)])
def test_a_force_of_time_is_taken_at_the_time_of_every_stage(integrator, error):
    push = ExternalForce("mass", lambda state: [0.0, 0.0, 0.0, sc.cos(5.0 * state.t), 0.0, 0.0])
    sim = Simulator(slider(), 2e-3, integrator=integrator, forces=[push])
    run = sim.rollout(state=sim.state([0.0], [0.0], t=0.4), until=1.4, every=50)
    start = 0.4
    moved = (np.cos(5 * start) - np.cos(5 * run.t)) / 25 - np.sin(5 * start) * (run.t - start) / 5
    np.testing.assert_allclose(run.q[0, :, 0], moved / MASS, atol=error)
    np.testing.assert_allclose(run.v[0, :, 0], (np.sin(5 * run.t) - np.sin(5 * start)) / 5 / MASS, atol=error)


SPRUNG = [
    Spring("world", "coupler", 40.0, length=0.2, at_first=(0.1, 0.0, 0.7), at_second=(0.3, 0.0, 0.05)),
    JointSpring("pin", stiffness=3.0, rest=0.4),
    JointSpring("rocker_joint", stiffness=2.0, rest=-0.3),
]


@pytest.mark.parametrize(("integrator", "most"), [("semi_implicit", 2e-4), ("rk4", 1e-9), ("adaptive", 1e-8)])
def test_springs_on_a_linkage_and_on_its_loop_joint_keep_its_energy(integrator, most):
    robot = crank_rocker()
    sim = Simulator(robot, 1e-3, integrator=integrator, monitor=True, forces=SPRUNG)
    run = sim.rollout(robot.neutral(), [4.0], steps=1000, every=10, record=["energy", "kinetic_energy"])
    assert drift(run) < most and run.status.tolist() == [1]


def test_a_damper_takes_the_energy_that_is_lost():
    robot = crank_rocker()
    ends = {"at_first": (0.5, 0.0, 0.8), "at_second": (0.2, 0.0, 0.0)}
    damper = Damper("world", "coupler", 3.0, **ends)
    for integrator, most in (("semi_implicit", 4e-3), ("rk4", 1e-4), ("adaptive", 1e-4)):
        sim = Simulator(robot, 1e-3, integrator=integrator, monitor=True, forces=[damper])
        run = sim.rollout(robot.neutral(), [4.0], steps=500, record=["q", "v", "energy"], record_start=True)
        length = []
        for q in run.q:
            T = robot.frame_pose(q, "coupler")
            length.append(np.linalg.norm(T[:3] @ [*ends["at_second"], 1.0] - ends["at_first"]))
        rate = np.gradient(length, run.t, edge_order=2)
        lost = np.trapezoid(3.0 * rate**2, run.t)
        assert run.energy[0] - run.energy[-1] == pytest.approx(lost, rel=most) and lost > 0.1
        assert run.peaks["imbalance"][0] < 0.1 * most * lost


def test_a_spring_between_free_bodies_keeps_their_momentum():
    robot = two_boxes()
    q, v = robot.neutral(), np.array([0.3, 1.0, -0.4, 0.2, 0.1, 0.0, -1.0, 0.2, 0.5, -0.1, 0.0, 0.3])
    q[7:10] = 0.6, 0.1, 0.2
    forces = [
        Spring("one", "two", 30.0, damping=0.5, at_first=(0.1, 0.1, 0.0), at_second=(0.0, -0.2, 0.1)),
        Spring("one", "two", 20.0, length=0.5, damping=0.2, at_first=(-0.1, 0.1, 0.0)),
    ]
    for integrator, most in (("semi_implicit", 2e-3), ("rk4", 1e-8), ("adaptive", 1e-7)):
        run = Simulator(robot, 1e-3, integrator=integrator, forces=forces).rollout(q, v, steps=500)
        before, after = robot.momentum(q, v), robot.momentum(run.q[-1], run.v[-1])
        np.testing.assert_allclose(after, before, atol=most * np.linalg.norm(before))
        assert np.linalg.norm(run.v[-1] - v) > 1.0


def test_forces_are_those_of_a_witness_with_external_wrenches():
    """A spring, a damper and a function at random states of a linkage, against `forward_dynamics` with f_ext."""
    robot = crank_rocker()
    ends = {"at_first": (0.1, 0.2, 0.6), "at_second": (0.3, -0.1, 0.05)}
    given = [
        Spring("rocker", "coupler", 40.0, length=0.2, damping=1.5, **ends),
        ExternalForce("coupler", lambda s: np.concatenate([s.twist("rocker")[:3], s.pose("crank").R[:, 0]])),
        ExternalForce("rocker", [0.1, 0.2, 0.3, 1.0, 2.0, 3.0], axes="body"),
    ]
    sim = Simulator(robot, 1e-3, integrator="adaptive", forces=given)
    for seed in range(4):
        q, v = robot.random_state(seed)
        qd = robot.spanning_velocity(q, v)
        rate = np.asarray(sim.engine.rate(q, qd, np.zeros(1))[1])
        T = {n: Transform(x[:3, :3], x[:3, 3]) for n in robot.body_names for x in (robot.frame_pose(q, n),)}
        twist = {name: robot.frame_velocity(q, v, name, axes="world") for name in robot.body_names}
        place = {n: T[n].p + T[n].R @ np.array(at) for n, at in zip(("rocker", "coupler"), ends.values(), strict=True)}
        point = {n: twist[n][3:] + np.cross(twist[n][:3], place[n] - T[n].p) for n in place}
        d = place["coupler"] - place["rocker"]
        length = np.linalg.norm(d)
        pull = -(40.0 * (length - 0.2) + 1.5 * (d @ (point["coupler"] - point["rocker"])) / length) * d / length
        world = {name: np.zeros(6) for name in T}
        for name, sign in (("coupler", 1.0), ("rocker", -1.0)):
            arm = place[name] - T[name].p
            world[name] += sign * np.concatenate([np.cross(arm, pull), pull])
        world["coupler"] += np.concatenate([twist["rocker"][:3], T["crank"].R[:, 0]])
        f_ext = np.array([np.concatenate([T[n].R.T @ world[n][:3], T[n].R.T @ world[n][3:]]) for n in robot.body_names])
        f_ext[robot.body_names.index("rocker")] += [0.1, 0.2, 0.3, 1.0, 2.0, 3.0]
        a = robot.forward_dynamics(q, v, np.zeros(1), f_ext=f_ext)
        np.testing.assert_allclose(rate[robot.tree.independent_dofs], a, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("stiffness", [1e3, 1e6, 1e9])
def test_any_spring_and_damper_is_stable_in_the_default_step(stiffness):
    robot = crank_rocker()
    forces = [
        Spring("world", "coupler", stiffness, at_first=(0.3, 0.0, 0.45), at_second=(0.3, 0.0, 0.05)),
        Damper("crank", "rocker", stiffness, at_second=(0.3, 0.0, 0.0)),
    ]
    sim = Simulator(robot, 1e-3, forces=forces)
    run = sim.rollout(robot.neutral(), [1.0], steps=400, record=["energy"], record_start=True)
    assert run.status.tolist() == [1] and np.all(np.diff(run.energy) < 1e-6 * np.abs(run.energy[0]))


@pytest.mark.parametrize("kind", ["points", "slots"])
def test_contacts_feel_stiff_springs(kind):
    """Two boxes that a very stiff spring holds apart fall onto the ground: none sinks in, and no energy comes."""
    b = Builder("stack")
    shape = (Geometry("box", (0.2, 0.2, 0.1)),)
    b.body("low", joint="free", **box(1.0, 0.2, 0.2, 0.1), geometry=shape)
    b.body("high", joint="free", **box(4.0, 0.2, 0.2, 0.1), geometry=shape)
    robot = b.build()
    q = robot.neutral()
    q[2], q[9] = 0.1, 0.6
    corners = [ContactPoint("low", (x, y, -0.05)) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    forces = [
        Spring("low", "high", 1e8, length=0.5, damping=10.0, at_first=(x, y, 0.0), at_second=(x, y, 0.0))
        for x, y in ((-0.1, -0.1), (0.1, -0.1), (0.0, 0.1))
    ]
    forces += [Spring("low", "high", 1e6, damping=10.0, at_first=(0.0, 0.0, 0.5))]
    more = {"contacts": corners} if kind == "points" else {"collisions": True}
    sim = Simulator(robot, 1e-3, ground=Plane(), forces=forces, monitor=True, **more)
    run = sim.rollout(q, None, steps=400, every=10, record=["q", "v", "energy", "contact_force"])
    assert run.status.tolist() == [1] and run.peaks["penetration"][0] < 1e-6
    np.testing.assert_allclose(run.contact_force[-1].sum(axis=0), [0.0, 0.0, 5.0 * 9.81], atol=1e-3)
    assert run.q[-1, 2] == pytest.approx(0.05, abs=1e-6) and np.abs(run.v[-1]).max() < 1e-4


def several(integrator="semi_implicit", **options):
    """A box on springs in the wind, whose strength is a control."""

    def blow(state):
        return wind(state) + state.u[0] * sc.cos(200.0 * state.t) * np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0])

    forces = [
        Spring("world", "box", 60.0, length=0.4, damping=0.3, at_first=(0.0, 0.0, 1.0), at_second=(0.1, 0.1, 0.0)),
        ExternalForce("box", blow, inputs=["gust"]),
    ]
    return Simulator(free_box(), 2e-3, integrator=integrator, motors=[], forces=forces, **options)


def states(sim, rows):
    rng = np.random.default_rng(1)
    return sim.state(np.tile(sim.robot.neutral(), (rows, 1)), rng.normal(size=(rows, 6)), t=np.linspace(0.0, 1.0, rows))


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_batch_is_its_rows_alone_under_forces(integrator):
    sim = several(integrator)
    assert (sim.nu, sim.control_names) == (1, ["box.gust"])
    begin, u = states(sim, 5), np.linspace(-1.0, 1.0, 5)[:, None, None]
    both = [sim.rollout(state=begin, controls=np.repeat(u, 8, axis=1), threads=n) for n in (1, 2)]
    np.testing.assert_array_equal(both[0].q, both[1].q)
    for k in range(5):
        one = sim.state(begin.q[k], qd=begin.qd[k], t=begin.t[k])
        alone = sim.rollout(state=one, controls=np.repeat(u[k], 8, axis=0))
        np.testing.assert_array_equal(alone.q[0], both[0].q[k])
        assert alone.final.t[0] == both[0].final.t[k]


def test_linkages_begin_with_the_past_that_forces_of_time_gave_them():
    robot = crank_rocker()
    push = ExternalForce("coupler", lambda state: [0.0, 0.0, 0.0, 5.0 * sc.sin(40.0 * state.t), 0.0, 0.0])
    sim, fine = (Simulator(robot, 1e-3, integrator=name, forces=[push]) for name in ("semi_implicit", "adaptive"))
    began, q = np.array([0.0, 0.3, 0.7]), robot.neutral()
    begin = sim.state(np.tile(q, (3, 1)), [[2.0]] * 3, t=began)
    run = sim.rollout(state=begin, steps=20)
    for k, t in enumerate(began):
        alone = sim.rollout(state=sim.state(q, [2.0], t=t), steps=20)
        np.testing.assert_array_equal(alone.q[0], run.q[k])
        exact = fine.rollout(state=fine.state(q, [2.0], t=t), steps=20)
        np.testing.assert_allclose(run.q[k], exact.q[0], atol=2e-11)
    assert np.abs(run.q[0] - run.q[1]).max() > 1e-5


def test_steps_control_functions_and_rollouts_agree_under_forces_of_time():
    sim = several()
    run = sim.rollout(state=states(sim, 1), controls=np.full((6, 1), 0.5))
    state = states(sim, 1)
    for _ in range(6):
        state = sim.step(state, [0.5])
    asked = sim.rollout(state=states(sim, 1), controls=lambda t, state: [0.5], steps=6)
    np.testing.assert_array_equal(state.q, run.final.q)
    np.testing.assert_array_equal(asked.q, run.q)


def test_a_saved_rollout_goes_on_under_the_same_forces_and_under_no_others(tmp_path):
    sim = several()
    whole = sim.rollout(state=states(sim, 1), steps=10)
    half = sim.rollout(state=states(sim, 1), steps=5)
    final = load(half.save(tmp_path / "half.npz")).final
    np.testing.assert_array_equal(sim.rollout(state=final, steps=5).final.q, whole.final.q)
    with pytest.raises(KinloopError, match="the memory of a simulator with other motors or forces"):
        Simulator(free_box(), 2e-3, motors=[]).rollout(state=final, steps=1)


def test_simulators_with_forces_are_copied_and_pickled():
    sim = Simulator(free_box(), 2e-3, forces=[ExternalForce("box", wind), Spring("world", "box", 5.0)])
    want = sim.rollout(state=states(sim, 1), steps=4).final.q
    for other in (pickle.loads(pickle.dumps(sim)), copy.deepcopy(sim)):
        np.testing.assert_array_equal(other.rollout(state=states(other, 1), steps=4).final.q, want)


def test_rows_that_go_in_parts_keep_the_time_of_their_forces():
    """A wheel that turns fast goes in parts; a force of time beside it moves a slider as if it did not."""
    b = Builder("pair")
    b.body("wheel", axis="y", **bar(1.0, 0.5, along="z", sign=-1.0))
    b.body("mass", joint="prismatic", axis="x", **box(MASS, 0.1, 0.1, 0.1))
    push = ExternalForce("mass", lambda state: [0.0, 0.0, 0.0, sc.cos(5.0 * state.t), 0.0, 0.0])
    sim = Simulator(b.build(), 5e-3, forces=[push])
    run = sim.rollout(None, [60.0, 0.0], steps=100)
    assert run.substeps[0] > 0
    np.testing.assert_allclose(run.v[:, 1], np.sin(5 * run.t) / 5 / MASS, atol=1e-8)


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
def test_steps_under_forces_are_linearised(integrator):
    sim = several(integrator)
    state, h = states(sim, 2), 1e-6
    u = np.array([[0.3], [-0.2]])
    found = sim.linearize(state, u)
    robot, v = sim.robot, state.qd

    def after(dq, dv, du):
        end = sim.step(sim.state(robot.integrate(state.q, dq), v + dv, state.t), u + du)
        return end.q, end.qd

    for k in range(13):
        d = h * np.eye(13)[k]
        (q1, v1), (q0, v0) = after(d[:6], d[6:12], d[12:]), after(-d[:6], -d[6:12], -d[12:])
        slope = np.concatenate([robot.difference(q0, q1), v1 - v0], axis=1) / (2 * h)
        want = found.A[:, :, k] if k < 12 else found.B[:, :, k - 12]
        np.testing.assert_allclose(slope, want, atol=2e-7)
    with pytest.raises(KinloopError, match=r"'recursive' of linearize takes .* without forces of users"):
        sim.linearize(state, u, method="recursive")


def test_the_gradient_of_a_rollout_counts_forces_at_their_times():
    sim, q = several(), free_box().neutral()
    u = np.linspace(-1.0, 1.0, 5)[:, None]

    def cost(u):
        return sim.rollout_gradient(lambda q, v, u, t: 0.0 * t, q, None, u, terminal=lambda q, v: q[0] * q[1] + v[4])

    found = cost(u)
    for k in (0, 3):
        d = 1e-4 * np.eye(5)[k][:, None]
        assert found.controls[k, 0] == pytest.approx((cost(u + d).cost - cost(u - d).cost) / 2e-4, rel=1e-6)


def test_what_no_force_can_be_is_refused_by_name():
    robot = crank_rocker()
    for forces, words in (
        ([Spring("crank", "crank", 1.0)], "the spring from 'crank' to 'crank' has both ends on one body"),
        ([Damper("world", "handle", 1.0)], "handle"),
        ([JointSpring("pins", 1.0)], "no joint named 'pins'"),
        ([ExternalForce("world", np.zeros(6))], "acts on 'world', which does not move"),
        ([ExternalForce("crank", lambda s: [1.0, 2.0])], "must give six numbers, a moment and a force"),
        ([ExternalForce("crank", lambda s: [np.sinh(s.t)] * 6)], "could not be traced on symbols"),
        ([lambda s: s], "forces are a list of Spring, Damper, JointSpring and ExternalForce"),
    ):
        with pytest.raises(KinloopError, match=words):
            Simulator(robot, forces=forces)
    with pytest.raises(KinloopError, match="stiffness of the spring from 'a' to 'b' must not be negative"):
        Spring("a", "b", -1.0)
    with pytest.raises(KinloopError, match="axes 'local'"):
        ExternalForce("a", np.zeros(6), axes="local")
    with pytest.raises(KinloopError, match="no plain position"):
        Simulator(free_box(), forces=[JointSpring(free_box().tree.top.coordinates[0], 1.0)])


def test_forces_are_added_to_a_simulator():
    sim = Simulator(slider(), 1e-3, forces=[Spring("world", "mass", STIFFNESS)])
    more = sim.with_forces([ExternalForce("mass", lambda s: np.append(np.zeros(3), s.u), inputs=["x", "y", "z"])])
    other = [*sim.control_names, "mass.x", "mass.y", "mass.z"]
    assert more.control_names == other and more.integrator == sim.integrator
    still = more.rollout([0.1], controls=[0.0, 0.1 * STIFFNESS, 7.0, 7.0], steps=10)
    np.testing.assert_allclose(still.q, 0.1, atol=1e-12)


def test_a_spring_without_stiffness_changes_nothing():
    robot = pendulum()
    plain, idle = (
        Simulator(robot, 1e-3, forces=f).rollout([0.3], None, steps=3) for f in ((), [Spring("world", "rod", 0.0)])
    )
    np.testing.assert_allclose(plain.q, idle.q, rtol=1e-9)
