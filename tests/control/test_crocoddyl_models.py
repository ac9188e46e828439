"""crocoddyl on a linkage: the same cost as with its own model of the equivalent tree, and as with our solver."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.control import ILQR
from tests.control.plants import floating
from tests.control.reaching import C1, C2, CC, DT, GOAL, I1, I2, IC, IK, M1, M2, MC, MK, STEPS, TIP, A, B, S, reaching

crocoddyl = pytest.importorskip("crocoddyl")
pinocchio = pytest.importorskip("pinocchio")

from kinloop.control.crocoddyl_models import ClosedState, shooting_problem  # noqa: E402


def tree() -> pinocchio.Model:
    """The same motion by two bodies."""
    c1 = (M1 * C1 + MK * S) / M1
    c2 = C2 + MK * B * S / (A * M2)
    i1 = I1 + M1 * C1**2 + IK + MK * S**2 - M1 * c1**2
    i2 = I2 + M2 * C2**2 + IC + MC * CC**2 + MK * B**2 - M2 * c2**2
    assert i1 > 0 and i2 > 0
    model, parent = pinocchio.Model(), 0
    for name, at, m, c, i in (("upper", 0.0, M1, c1, i1), ("forearm", A, M2, c2, i2)):
        place = pinocchio.SE3(np.eye(3), np.array([at, 0, 0]))
        parent = model.addJoint(parent, pinocchio.JointModelRY(), place, name)
        body = pinocchio.Inertia(m, np.array([c, 0, 0]), np.diag([1e-3, i, i]))
        model.appendBodyToJoint(parent, body, pinocchio.SE3.Identity())
    hand = pinocchio.SE3(np.eye(3), np.array([TIP, 0, 0]))
    model.addFrame(pinocchio.Frame("hand", parent, 0, hand, pinocchio.FrameType.OP_FRAME))
    return model


def own_problem(x0):
    """The reaching problem with crocoddyl's own models."""
    model = tree()
    state = crocoddyl.StateMultibody(model)
    motors = crocoddyl.ActuationModelFull(state)
    reach = crocoddyl.ResidualModelFrameTranslation(state, model.getFrameId("hand"), GOAL, 2)
    rest = crocoddyl.ActivationModelWeightedQuad(np.array([0.0, 0.0, 1.0, 1.0]))
    costs = [crocoddyl.CostModelSum(state, 2) for _ in range(2)]
    for sum_, weights in zip(costs, ((1e-1, 1e-2, 1e-3), (1e3, 1e1, 0.0)), strict=True):
        sum_.addCost("reach", crocoddyl.CostModelResidual(state, reach), weights[0])
        still = crocoddyl.ResidualModelState(state, np.zeros(4), 2)
        sum_.addCost("rest", crocoddyl.CostModelResidual(state, rest, still), weights[1])
        sum_.addCost("u", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, 2)), weights[2])
    flows = [crocoddyl.DifferentialActionModelFreeFwdDynamics(state, motors, c) for c in costs]
    step, end = (crocoddyl.IntegratedActionModelEuler(f, h) for f, h in zip(flows, (DT, 0.0), strict=True))
    return crocoddyl.ShootingProblem(x0, [step] * STEPS, end)


def solved(problem, hold):
    solver, guess = crocoddyl.SolverDDP(problem), [hold] * problem.T
    solver.th_stop = 1e-10
    solver.solve(problem.rollout(guess), guess, 300, False)
    assert solver.stop < 1e-8, "so much is left of the gradient"
    return solver


def fits() -> bool:
    """Whether crocoddyl sees models of this pinocchio as they are: built for another one, it loses their gravity."""
    model = tree()
    state = crocoddyl.StateMultibody(model)
    costs = crocoddyl.CostModelSum(state, 2)
    flow = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, crocoddyl.ActuationModelFull(state), costs)
    data, q, none = flow.createData(), np.array([0.6, 0.5]), np.zeros(2)
    flow.calc(data, np.concatenate([q, none]), none)
    return np.allclose(data.xout, pinocchio.aba(model, model.createData(), q, none, none))


@pytest.mark.skipif(not fits(), reason="this crocoddyl was built for another pinocchio (3.2.1 for pin 4.0)")
def test_a_linkage_reaches_at_the_cost_of_the_equivalent_tree():
    _, dynamics, cost, terminal, q0, hold = reaching()
    own = solved(own_problem(np.concatenate([q0[:2], np.zeros(2)])), hold)
    ours = solved(shooting_problem(dynamics, cost, terminal, q0, steps=STEPS), hold)
    assert ours.cost == pytest.approx(own.cost, rel=1e-8)
    np.testing.assert_allclose(np.array(ours.us), np.array(own.us), atol=1e-3)


def test_crocoddyl_and_our_solver_agree():
    robot, dynamics, cost, terminal, q0, hold = reaching()
    theirs = solved(shooting_problem(dynamics, cost, terminal, q0, steps=STEPS), hold)
    ours = ILQR(dynamics, cost, terminal, tolerance=1e-12).solve(q0, controls=np.tile(hold, (STEPS, 1)))
    assert ours.converged and ours.cost == pytest.approx(theirs.cost, rel=1e-8)
    end = np.array(theirs.xs[-1])[: robot.nq]
    assert robot.loop_error(end).max() < 1e-12
    assert np.linalg.norm(robot.frame_pose(end, "hand")[:3, 3] - GOAL) < 0.02


def test_limits_are_handed_over():
    _, dynamics, cost, terminal, q0, _ = reaching()
    problem = shooting_problem(dynamics, cost, terminal, q0, steps=3, limits=(-1.0, [2.0, 3.0]))
    np.testing.assert_array_equal(problem.runningModels[0].u_ub, [2.0, 3.0])
    assert problem.runningModels[0].has_control_limits


def test_the_manifold_of_closed_states_has_the_slopes_it_says():
    robot, e = floating(), 1e-6
    state, n = ClosedState(robot), 2 * robot.nv
    x0 = np.concatenate(robot.random_state(1))
    x1 = state.integrate(x0, 0.3 * np.random.default_rng(2).normal(size=n))
    dx = state.diff(x0, x1)
    np.testing.assert_allclose(state.integrate(x0, dx), x1, atol=1e-12)
    first, second = state.Jdiff(x0, x1)
    ahead, along = state.Jintegrate(x0, dx)
    for d in np.eye(n):
        for J, call in (
            (first, lambda s, d=d: state.diff(state.integrate(x0, s * d), x1)),
            (second, lambda s, d=d: state.diff(x0, state.integrate(x1, s * d))),
            (ahead, lambda s, d=d: state.diff(x1, state.integrate(state.integrate(x0, s * d), dx))),
            (along, lambda s, d=d: state.diff(x1, state.integrate(x0, dx + s * d))),
        ):
            np.testing.assert_allclose((call(e) - call(-e)) / (2 * e), J @ d, atol=1e-7)
