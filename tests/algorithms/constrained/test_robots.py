"""Constraints through the front door: kernels, batches, what they mean, loops held, peers, operation counts."""

from __future__ import annotations

from dataclasses import replace

import helpers
import numpy as np
import pytest

import kinloop as kl
from kinloop.algorithms.constrained.motion_constraints import all_numbers
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.requests import ask
from kinloop.errors import ConflictingConstraints, KinloopError, MethodError, ModelError, UnknownName

SOLVERS = QUANTITIES["constrained_dynamics"].methods
METHODS = [m for m, e in SOLVERS.items() if not e.numeric]
HARD = [m for m in METHODS if not SOLVERS[m].soft]
FEET = ("left-toe_contact", "right-toe_contact")
HANDS = ("left-hand-contact", "right-hand-contact")


def operations(robot: kl.Robot, method: str, constraints: list, quantity: str = "constrained_dynamics") -> int:
    return robot.compile(quantity, method, constraints=constraints, cache=False).operations["total"]


def held_tips(robot: kl.Robot) -> list:
    return [kl.Weld(f) for f in robot.mechanism.end_effectors]


@pytest.fixture(scope="module")
def tello() -> kl.Robot:
    return kl.robots.load("tello_with_arms")


def states_of(robot: kl.Robot, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    drawn = [robot.random_state(rng) for _ in range(n)]
    return np.array([q for q, _ in drawn]), np.array([v for _, v in drawn]), rng.normal(size=(n, robot.nv))


def mixed_constraints() -> list:
    return [
        kl.Point(FEET[0], at=(0, 0, 0), stabilize=True),
        kl.Rows(FEET[1], [[0, 0, 0, 0, 0, 1.0], [0.3, 0, 1, 0, 0, 0]], k=[0.1, -0.2]),
        kl.Point(*HANDS),
    ]


@pytest.mark.parametrize("method", METHODS)
def test_traces_compute_what_numbers_give(tello: kl.Robot, method: str) -> None:
    """A robot with loops and gears, held at toes, one hand tied to the other, with wrenches on its bodies."""
    rng = np.random.default_rng(2)
    q, v = tello.random_state(rng)
    tau, f_ext = rng.normal(size=tello.nv), rng.normal(size=(len(tello.body_names), 6))
    constraints = mixed_constraints()
    soft = None if method in HARD else 1e-3
    asked = ask(tello.tree.top, "constrained_dynamics", method, (), constraints, True, (), soft)
    made = tello.kernels.compile(asked, cache=False)
    got = made.function(q, v, tau, f_ext.ravel(), all_numbers(asked.constraints))
    plain = kl.Robot(tello.mechanism, backend="numpy")
    slow = plain.constrained_dynamics(q, v, tau, constraints, method, f_ext, compliance=soft)
    assert helpers.relative(got[0], slow[0]) < (1e-9 if method in HARD else 1e-6)
    assert helpers.relative(got[1], slow[1]) < 1e-6


def test_kernels_take_batches(tello: kl.Robot) -> None:
    Q, V, T = states_of(tello, 3)
    f_ext = np.random.default_rng(2).normal(size=(len(tello.body_names), 6))
    a, multipliers = tello.constrained_dynamics(Q, V, T, mixed_constraints(), "pv_early", f_ext)
    assert a.shape == (3, tello.nv) and multipliers.shape == (3, 8)
    plain = kl.Robot(tello.mechanism, backend="numpy")
    for k in range(3):
        got = tello.constrained_dynamics(Q[k], V[k], T[k], mixed_constraints(), "pv_early", f_ext)
        slow = plain.constrained_dynamics(Q[k], V[k], T[k], mixed_constraints(), "pv_early", f_ext)
        assert np.array_equal(got[0], a[k]) and np.array_equal(got[1], multipliers[k])
        assert helpers.relative(got[0], slow[0]) < 1e-9


def test_numbers_of_constraints_are_inputs_of_one_kernel(tello: kl.Robot) -> None:
    robot = kl.Robot.from_tree(tello.tree)
    q, v = tello.random_state(0)
    tau = np.zeros(tello.nv)
    for wanted in (1.0, 2.0):
        a, _ = robot.constrained_dynamics(q, v, tau, [kl.Point(FEET[0], acceleration=(0, 0, wanted))])
        plain = kl.Robot.from_tree(tello.tree, backend="numpy")
        slow, _ = plain.constrained_dynamics(q, v, tau, [kl.Point(FEET[0], acceleration=(0, 0, wanted))])
        assert helpers.relative(a, slow) < 1e-9
    assert len(robot.kernels) == 1


def test_a_held_point_does_not_accelerate(tello: kl.Robot) -> None:
    """Its second difference along the motion vanishes while it moves, in world axes."""
    q, v = tello.random_state(1)
    tau = np.linspace(-1, 1, tello.nv)
    a, _ = tello.constrained_dynamics(q, v, tau, [kl.Point(HANDS[0])])
    h = 1e-4
    before, now, after = (tello.frame_pose(path(tello, q, v, a, t), HANDS[0])[:3, 3] for t in (-h, 0.0, h))
    scale = np.max(np.abs(v)) ** 2
    assert np.max(np.abs(after - 2 * now + before)) / h**2 < 1e-3 * scale
    assert np.max(np.abs(after - before)) / (2 * h) > 1e-2


def path(robot: kl.Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, t: float) -> np.ndarray:
    """q after time t of constant acceleration, to second order."""
    return robot.integrate(q, v * t + 0.5 * a * t * t)


def test_a_welded_frame_keeps_its_twist(tello: kl.Robot) -> None:
    q, v = tello.random_state(1)
    a, _ = tello.constrained_dynamics(q, v, np.zeros(tello.nv), [kl.Weld(HANDS[0])])
    h = 1e-5
    ends = [tello.frame_velocity(path(tello, q, v, a, t), v + a * t, HANDS[0]) for t in (-h, h)]
    assert np.max(np.abs(ends[1] - ends[0])) / (2 * h) < 1e-4 * max(1.0, float(np.max(np.abs(v))) ** 2)


def test_multipliers_are_the_forces_on_the_frames(tello: kl.Robot) -> None:
    """Applied as external wrenches, they give the same motion without the constraints."""
    q, v = tello.random_state(4)
    tau = np.linspace(-1, 1, tello.nv)
    hand = HANDS[1]
    a, multipliers = tello.constrained_dynamics(q, v, tau, [kl.Weld(hand)])
    body, placement = tello.frame(hand)
    f_ext = np.zeros((len(tello.body_names), 6))
    f_ext[body] = placement.force(multipliers)
    assert helpers.relative(tello.forward_dynamics(q, v, tau, f_ext), a) < 1e-8


def test_baumgarte_pulls_a_point_to_its_place() -> None:
    robot = kl.robots.load("serial_chain", links=5)
    q, _ = robot.random_state(5)
    v = np.zeros(robot.nv)
    at = robot.frame_pose(q, "tip")[:3, 3] + (0.01, -0.02, 0.015)
    held = kl.Point("tip", at=at, stabilize=True, period=0.05)
    for _ in range(500):
        a, _ = robot.constrained_dynamics(q, v, -2.0 * v, [held])
        v = v + 1e-3 * a
        q = robot.integrate(q, v, 1e-3)
    assert np.max(np.abs(robot.frame_pose(q, "tip")[:3, 3] - at)) < 1e-4


def test_redundant_constraints_leave_motion_and_share_multipliers(tello: kl.Robot) -> None:
    q, v = tello.random_state(6)
    tau = np.zeros(tello.nv)
    once = tello.constrained_dynamics(q, v, tau, [kl.Point(FEET[0])])
    plain = kl.Robot(tello.mechanism, backend="numpy")
    twice = [kl.Point(FEET[0]), kl.Point(FEET[0])]
    solved = {m: plain.constrained_dynamics(q, v, tau, twice, m) for m in HARD}
    solved |= {f"{m} kernel": tello.constrained_dynamics(q, v, tau, twice, m) for m in ("pv", "pv_early")}
    for method, (a, multipliers) in solved.items():
        assert helpers.relative(a, once[0]) < 1e-8, method
        assert helpers.relative(multipliers, np.tile(once[1] / 2, 2)) < 1e-7, method


def test_conflicting_constraints_are_named_or_met_halfway(tello: kl.Robot) -> None:
    q, v = tello.random_state(6)
    tau = np.zeros(tello.nv)
    up, down = (kl.Point(FEET[0], acceleration=(0, 0, z)) for z in (1.0, -2.0))
    plain = kl.Robot(tello.mechanism, backend="numpy")
    for robot, method in (
        (tello, "pv"),
        (tello, "pv_early"),
        (plain, "pv_early"),
        (plain, "ltl"),
        (plain, "dense_kkt"),
    ):
        with pytest.raises(ConflictingConstraints, match=r"Point\('left-toe_contact'\)"):
            robot.constrained_dynamics(q, v, tau, [up, down], method)
    a, _ = tello.constrained_dynamics(q, v, tau, [up, down], on_conflict="least_squares")
    middle, _ = tello.constrained_dynamics(q, v, tau, [kl.Point(FEET[0], acceleration=(0, 0, -0.5))])
    assert helpers.relative(a, middle) < 1e-8


def test_straight_legs_are_solved_from_numbers() -> None:
    """A stretched, welded chain: kernels lose a pivot there, the front door computes such states again."""
    robot = kl.robots.load("ladder", rungs=1)
    constraints = held_tips(robot)
    Q, V, T = states_of(robot, 3)
    Q[1] = 0.0
    V[1] = 0.0
    want = kl.Robot(robot.mechanism, backend="numpy").constrained_dynamics(Q, V, T, constraints, "dense_kkt")
    for method in ("pv", "pv_early"):
        a, multipliers = robot.constrained_dynamics(Q, V, T, constraints, method)
        for k in range(3):
            assert helpers.relative(a[k], want[0][k]) < 1e-7 and helpers.relative(multipliers[k], want[1][k]) < 1e-5


def four_bar(constrained: bool) -> kl.Robot:
    m = kl.robots.mechanism("four_bar")
    return kl.Robot(replace(m, constrained=tuple(l.name for l in m.loops) if constrained else ()))


def test_a_loop_held_by_constraints_moves_as_an_embedded_one() -> None:
    embedded, held = four_bar(False), four_bar(True)
    q, v = embedded.random_state(2)
    qd = embedded.spanning_velocity(q, v)
    tau = np.array([0.7])
    a = embedded.forward_dynamics(q, v, tau)
    full = np.zeros(held.nv)
    full[embedded.tree.independent_dofs] = tau
    expected = embedded.spanning_jacobian(q) @ a + embedded.spanning_bias(q, v)
    with pytest.raises(MethodError, match="holds frames only"):
        held.constrained_dynamics(q, qd, full, [], "kjr")
    for method in {*HARD, "dense_kkt"} - {"kjr"}:
        got, multipliers = held.constrained_dynamics(q, qd, full, [], method)
        assert helpers.relative(got, expected) < 1e-9, method
        assert len(multipliers) == len(held.loop_rows(held.loop_names[0], q).phi)


def test_wrong_constraints_are_refused_with_names(tello: kl.Robot) -> None:
    q, v = tello.random_state(0)
    tau = np.zeros(tello.nv)
    with pytest.raises(UnknownName, match="did you mean"):
        tello.constrained_dynamics(q, v, tau, [kl.Point("left-toe_contac")])
    with pytest.raises(ModelError, match="not a motion constraint"):
        tello.constrained_dynamics(q, v, tau, [FEET[0]])  # type: ignore[list-item]
    with pytest.raises(ModelError, match="shape"):
        kl.Rows(FEET[0], np.zeros((2, 5)))
    with pytest.raises(KinloopError, match="not one of"):
        tello.constrained_dynamics(q, v, tau, [], method="magic")
    with pytest.raises(ModelError, match="no loop held"):
        tello.constrained_dynamics(q, v, tau, [kl.Closure("nothing")])


@pytest.mark.parametrize("method", ["pv_osim", "pv_osim_fast", "pv_osimr", "ltl_osim", "kjr"])
def test_inverse_operational_inertia_through_the_front_door(tello: kl.Robot, method: str) -> None:
    q, _ = tello.random_state(3)
    frames = [*FEET, *HANDS]
    expected = tello.inverse_osim(q, frames)
    tello = tello if method == "pv_osim" else kl.Robot(tello.mechanism, backend="numpy")
    assert helpers.relative(tello.inverse_osim(q, frames, method), expected) < 1e-9
    points = [kl.Point(f) for f in frames]
    rows = [6 * k + r for k in range(4) for r in (3, 4, 5)]
    want = expected[np.ix_(rows, rows)]
    assert helpers.relative(tello.delassus(q, points, method), want) < 1e-9
    if method != "kjr":
        x = np.arange(12.0)
        assert helpers.relative(tello.delassus_solve(q, points, x, method), np.linalg.solve(want, x)) < 1e-7


@pytest.mark.parametrize("name", ["tello", "mini_cheetah"])
def test_constraints_on_the_base_and_more_rows_than_a_leg_has_joints_are_solved(name: str) -> None:
    """Branches that cannot follow their own constraints: only the method that needs them to refuses."""
    robot = kl.robots.load(name)
    q, _ = robot.random_state(3)
    feet = [f for f in robot.frame_names if "foot" in f][:1] or [robot.body_names[-1]]
    x = np.arange(1.0, 7.0)
    for held in ([kl.Weld(robot.body_names[0])], [kl.Weld(feet[0])]):
        want = np.linalg.solve(robot.delassus(q, held), x)
        for method in (None, "pv_osim", "pv_osimr", "efpa", "ltl_osim"):
            assert helpers.relative(robot.delassus_solve(q, held, x, method), want) < 1e-8, method
    with pytest.raises(kl.errors.SingularConfiguration, match="delassus_solve"):
        robot.delassus_solve(q, [kl.Weld(robot.body_names[0])], x, "pv_osim_fast")


def test_soft_constraints_stiffen_into_hard_ones(tello: kl.Robot) -> None:
    """Figure 3 of Sathya2023: the error falls with the compliance until rounding takes over."""
    q, v = tello.random_state(8)
    tau = np.zeros(tello.nv)
    constraints = [kl.Point(FEET[0]), kl.Point(FEET[1])]
    hard, _ = tello.constrained_dynamics(q, v, tau, constraints)
    errors = []
    plain = kl.Robot(tello.mechanism, backend="numpy")
    for compliance in (1e-2, 1e-4, 1e-6):
        a, _ = plain.constrained_dynamics(q, v, tau, constraints, "pv_soft", compliance=compliance)
        errors.append(helpers.relative(a, hard))
    assert errors[1] < 0.05 * errors[0] and errors[2] < 0.05 * errors[1]


def test_early_and_soft_grow_linearly_with_a_ladder_and_pv_and_ltl_do_not() -> None:
    robots = [kl.robots.load("ladder", rungs=n, rung=6, rail=1) for n in (2, 3, 4)]
    counts = {m: [operations(r, m, held_tips(r)) for r in robots] for m in ("pv_early", "pv_soft", "pv_joint", "ltl")}
    for method in ("pv_early", "pv_soft"):
        a, b, c = counts[method]
        assert abs((c - b) - (b - a)) < 0.02 * (b - a), counts
    for method in ("pv_joint", "ltl"):
        a, b, c = counts[method]
        assert c - b > 1.25 * (b - a), counts


def test_counts_come_in_the_papers_order() -> None:
    """Soft below early below PV below LTL on a floating robot with all branches held; EFPA above PV-OSIM."""
    robot = kl.robots.load("stalk", length=2, branches=2)
    constraints = held_tips(robot)
    n = [operations(robot, m, constraints) for m in ("pv_soft", "pv_early", "pv", "ltl")]
    assert n == sorted(n)
    n = [operations(robot, m, constraints, "delassus") for m in ("pv_osim", "efpa")]
    assert n == sorted(n)


def test_trees_agree_with_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    from kinloop.bench.peers_pinocchio import pinocchio_robot

    robot = kl.robots.load("stalk", length=3, branches=1, branch=6)
    tips = robot.mechanism.end_effectors
    q, v = robot.random_state(0)
    tau = np.linspace(-1, 1, robot.nv)
    p = pinocchio_robot(robot)
    assert p is not None
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    kinds = (pin.ContactType.CONTACT_6D, pin.ContactType.CONTACT_3D)
    for name, kind in zip(tips, kinds, strict=True):
        body, at = robot.frame(name)
        joint = p.model.getJointId(robot.joint_names[body])
        models.append(pin.RigidConstraintModel(kind, p.model, joint, pin.SE3(at.R, at.p), pin.ReferenceFrame.LOCAL))
        datas.append(models[-1].createData())
    pin.initConstraintDynamics(p.model, p.data, models, datas)
    state = q[p.q_from], v[p.v_from], tau[p.v_from]
    settings = pin.ProximalSettings(1e-14, 0.0, 10)
    expected = p.independent(np.array(pin.constraintDynamics(p.model, p.data, *state, models, datas, settings)))
    a, _ = robot.constrained_dynamics(q, v, tau, [kl.Weld(tips[0]), kl.Point(tips[1])], "pv_early")
    assert helpers.relative(a, expected) < 1e-8
