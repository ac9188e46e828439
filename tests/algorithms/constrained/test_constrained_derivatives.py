"""Derivatives of constrained motion: the recursion beside the graph, differences along closed motions, and a peer.

pytest tests/algorithms/constrained/test_constrained_derivatives.py -m "slow or not slow" -n auto    # every kind
"""

from __future__ import annotations

import helpers
import numpy as np
import pytest
from helpers import EVERY_KIND, State, relative

import kinloop as kl
from kinloop.algorithms.constrained.constrained_derivatives import Slopes, constrained_dynamics_derivatives
from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.constrained.pv import pv
from kinloop.algorithms.witnesses import graph_derivatives
from kinloop.errors import ConflictingConstraints, SingularConfiguration
from tests.algorithms.constrained.test_constrained_loops import case_of
from tests.algorithms.constrained.test_solvers import constraint_of, redundant


def comfortable(kind: str, seed: int) -> tuple[State, list[Placed]]:
    """A small random mechanism far from singular states, under one or two constraints; some are there twice."""
    for k in range(40):
        s = helpers.state_of(helpers.mechanism_of(seed + k, kind))
        if s is None or s.cond > 1e3 or not 1 < s.tree.nv < 8:
            continue
        rng = np.random.default_rng([seed, k])
        placed = [constraint_of(s, rng) for _ in range(int(rng.integers(1, 3)))]
        placed = redundant(placed) if rng.random() < 0.5 else placed
        motion = pv(s.tree, s.q, s.v, s.tau, placed, s.f_ext)
        if np.max(np.abs(motion.residual)) < 1e-9 and np.max(np.abs(motion.multipliers)) < 1e3:
            return s, placed
    raise AssertionError(f"no comfortable state of kind {kind}")


def sizes(found: Slopes, free: np.ndarray) -> list[float]:
    """The largest entry of blocks of accelerations, and of multipliers: a held robot has accelerations of rounding."""
    of_a, of_l = (max(float(np.max(np.abs(x), initial=0.0)) for x in blocks) for blocks in (found[:3], found[3:6]))
    return [max(of_a, float(np.max(np.abs(free))))] * 3 + [max(of_l, 1.0)] * 3


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.sample(3)
def test_the_recursion_agrees_with_the_graph_on_every_kind_of_cluster(kind):
    s, placed = comfortable(kind, 40)
    given = (s.tree, s.q, s.v, s.tau, placed, s.f_ext)
    found, expected = (
        constrained_dynamics_derivatives(*given),
        graph_derivatives.constrained_dynamics_derivatives(*given),
    )
    free = kl.Robot.from_tree(s.tree, "numpy").inverse_mass_matrix(s.q)
    for one, other, scale in zip(found[:6], expected[:6], sizes(expected, free), strict=True):
        assert relative(one, other, scale=scale) <= 1e-12 * max(1.0, s.cond), s.name


@pytest.mark.parametrize(
    "seed", [0, 3, pytest.param(9, marks=pytest.mark.slow), pytest.param(14, marks=pytest.mark.slow)]
)
def test_loops_held_as_constraints_have_derivatives_too(seed):
    c = next(x for k in range(20) if (x := case_of(seed + k)) is not None and x.cond < 1e4 and 0 < x.tree.nv < 9)
    given = (c.tree, c.q, c.v, c.tau, c.placed, c.f_ext)
    found, expected = (
        constrained_dynamics_derivatives(*given),
        graph_derivatives.constrained_dynamics_derivatives(*given),
    )
    free = kl.Robot.from_tree(c.tree, "numpy", "off").inverse_mass_matrix(c.q)
    for one, other, scale in zip(found[:6], expected[:6], sizes(expected, free), strict=True):
        assert relative(one, other, scale=scale) <= 1e-12 * max(1.0, c.cond), c.name


def slope(f, h: float) -> np.ndarray:
    """f'(0) by central differences of order 4."""
    return (8.0 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12.0 * h)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_derivatives_are_the_slopes_along_closed_motions(kind):
    s, placed = comfortable(kind, 80)
    robot = kl.Robot.from_tree(s.tree, "numpy", "off")
    found = constrained_dynamics_derivatives(s.tree, s.q, s.v, s.tau, placed, s.f_ext)
    scales = sizes(found, robot.inverse_mass_matrix(s.q))

    def motion(q, v, tau):
        found = pv(s.tree, q, v, tau, placed, s.f_ext)
        return np.concatenate([found.a, found.multipliers])

    G = s.tree.spanning_jacobian(s.q)
    for k, e in enumerate(np.eye(s.tree.nv)):
        h = 1e-4 / max(1.0, float(np.max(np.abs(G[:, k]))))
        slopes = [
            slope(lambda t, e=e: motion(robot.integrate(s.q, e, t), s.v, s.tau), h),
            slope(lambda t, e=e: motion(s.q, s.v + t * e, s.tau), 1.0),
            slope(lambda t, e=e: motion(s.q, s.v, s.tau + t * e), 1.0),
        ]
        for n, x in enumerate(slopes):
            for block, part, scale in (
                (found[n], x[: s.tree.nv], scales[n]),
                (found[3 + n], x[s.tree.nv :], scales[3 + n]),
            ):
                assert relative(block[:, k], part, scale=scale) <= 1e-9 * max(1.0, 1e-1 * s.cond), (s.name, k, n)


@pytest.fixture(scope="module")
def leg() -> kl.Robot:
    return kl.robots.load("planar_leg_linkage")


def tips(robot: kl.Robot) -> tuple[str, str]:
    return robot.body_names[-1], robot.body_names[0]


def test_both_backends_batches_methods_and_wrenches_agree(leg):
    rng = np.random.default_rng(5)
    states = [leg.random_state(rng) for _ in range(5)]
    q, v, tau = np.array([x for x, _ in states]), np.array([x for _, x in states]), rng.normal(size=(5, leg.nv))
    f_ext = rng.normal(size=(len(leg.body_names), 6))
    held = [kl.Rows(tips(leg)[0], [[0, 0, 0, 1.0, 0, 0]], k=[0.3], stabilize=True)]
    of_a, of_l = leg.constrained_dynamics_derivatives(q, v, tau, held, f_ext=f_ext)
    assert of_a[0].shape == (5, leg.nv, leg.nv) and of_l[0].shape == (5, 1, leg.nv)
    slow = kl.Robot.from_tree(leg.tree, "numpy")
    for k in range(5):
        alone = leg.constrained_dynamics_derivatives(q[k], v[k], tau[k], held, f_ext=f_ext)
        for blocks, rows in zip(alone, (of_a, of_l), strict=True):
            for one, row in zip(blocks, rows, strict=True):
                np.testing.assert_array_equal(one, row[k])
    for other in (
        slow.constrained_dynamics_derivatives(q[0], v[0], tau[0], held, f_ext=f_ext),
        leg.constrained_dynamics_derivatives(q[0], v[0], tau[0], held, method="graph", f_ext=f_ext),
    ):
        for blocks, rows in zip(other, (of_a, of_l), strict=True):
            for one, row in zip(blocks, rows, strict=True):
                assert relative(one, row[0]) <= 1e-11


def test_without_constraints_they_are_those_of_forward_dynamics(leg):
    q, v = leg.random_state(2)
    tau = np.ones(leg.nv)
    of_a, of_l = leg.constrained_dynamics_derivatives(q, v, tau)
    assert all(x.shape == (0, leg.nv) for x in of_l)
    for one, other in zip(of_a, leg.forward_dynamics_derivatives(q, v, tau), strict=True):
        assert relative(one, other) <= 1e-12


def test_a_held_frame_follows_its_constraint_along_its_motions(leg):
    """J da/dtau = 0 and M da/dtau = 1 + J^T dl/dtau: what tau changes, constraints undo."""
    q, v = leg.random_state(8)
    held = kl.Rows(tips(leg)[0], [[0, 0, 0, 1.0, 0, 0]])
    (_, _, da), (_, _, dl) = leg.constrained_dynamics_derivatives(q, v, np.zeros(leg.nv), held)
    J = leg.frame_jacobian(q, tips(leg)[0])[3:4]
    assert np.max(np.abs(J @ da)) <= 1e-12 * np.max(np.abs(da)) * np.max(np.abs(J))
    assert relative(leg.mass_matrix(q) @ da, np.eye(leg.nv) + J.T @ dl) <= 1e-10


def test_constraints_that_conflict_or_jump_have_no_derivatives():
    b = kl.Builder("arm")
    b.body("upper", axis="z", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0))
    b.body("lower", "upper", axis="z", at=(1.0, 0, 0), mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0))
    b.frame("tip", "lower", at=(1.0, 0, 0))
    robot = b.build()
    rest = np.zeros(2)
    twice = [kl.Rows("tip", [[0, 0, 0, 0, 1.0, 0]], k=[1.0]), kl.Rows("tip", [[0, 0, 0, 0, 1.0, 0]], k=[2.0])]
    with pytest.raises(ConflictingConstraints, match="misses by 1"):
        robot.constrained_dynamics_derivatives([0.3, 0.4], rest, rest, twice)
    both = kl.Rows("tip", [[0, 0, 0, 1.0, 0, 0], [0, 0, 0, 0, 1.0, 0]])
    robot.constrained_dynamics_derivatives([0.3, 0.4], rest, rest, both)
    for x in ([0.3, 0.0], [[0.3, 0.4], [0.3, 0.0]]):
        with pytest.raises(SingularConfiguration, match="multipliers jump"):
            robot.constrained_dynamics_derivatives(x, rest, rest, both)


def test_a_tree_held_by_its_hand_agrees_with_pinocchio():
    pin = pytest.importorskip("pinocchio")
    model = pin.buildSampleModelManipulator()
    robot, frame = sample_manipulator(model)
    data, rng = model.createData(), np.random.default_rng(3)
    joint = model.njoints - 1
    contact = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, joint, pin.SE3.Identity(), pin.LOCAL)
    contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    contacts.append(contact)
    datas.append(contact.createData())
    pin.initConstraintDynamics(model, data, contacts, datas)
    for _ in range(3):
        q, v, tau = rng.uniform(-1, 1, (3, model.nv))
        settings = pin.ProximalSettings(1e-14, 1e-14, 100)
        a = pin.constraintDynamics(model, data, q, v, tau, contacts, datas, settings)
        pin.computeConstraintDynamicsDerivatives(model, data, contacts, datas, settings)
        (ours, along_v, response), (of_force, _, _) = robot.constrained_dynamics_derivatives(q, v, tau, kl.Point(frame))
        assert relative(robot.constrained_dynamics(q, v, tau, kl.Point(frame))[0], a) <= 1e-7
        assert relative(ours, data.ddq_dq) <= 1e-6
        assert relative(along_v, data.ddq_dv) <= 1e-6
        assert relative(response, data.ddq_dtau) <= 1e-6
        assert relative(of_force, data.dlambda_dq) <= 1e-6


def sample_manipulator(model) -> tuple[kl.Robot, str]:
    """The same arm of ours, from the figures of Pinocchio's model."""
    b = kl.Builder("manipulator", gravity=model.gravity.linear)
    axes = {"JointModelRX": "x", "JointModelRY": "y", "JointModelRZ": "z"}
    for k in range(1, model.njoints):
        I, M = model.inertias[k], model.jointPlacements[k]
        b.body(
            model.names[k], model.names[model.parents[k]] if model.parents[k] else "world",
            axis=axes[model.joints[k].shortname()], at=M.translation, rotation=M.rotation,
            mass=I.mass, com=I.lever, inertia=I.inertia,
        )  # fmt: skip
    return b.build(), model.names[model.njoints - 1]
