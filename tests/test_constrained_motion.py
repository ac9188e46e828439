"""Around the solvers of constrained motion: states that a kernel cannot decide, and constraints that conflict."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import relative

import kinloop as kl
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.requests import Request, ask
from kinloop.constrained_motion import CONFLICT, conflicts, constrained_dynamics, solve
from kinloop.errors import ConflictingConstraints, MethodError
from kinloop.inputs import checked_inputs
from kinloop.kernels import Kernels


@pytest.fixture(scope="module")
def leg() -> kl.Robot:
    """A welded chain that can be stretched: stretched, some of its six rows depend on the others."""
    return kl.robots.load("ladder", rungs=1)


def welded(robot: kl.Robot, method: str) -> Request:
    return ask(robot.tree.top, "constrained_dynamics", method, (), [kl.Weld("tip-0")])


def states(robot: kl.Robot, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    drawn = [robot.random_state(rng) for _ in range(n)]
    return np.array([q for q, _ in drawn]), np.array([v for _, v in drawn]), rng.normal(size=(n, robot.nv))


class Asked(Kernels):
    """Kernels that remember which methods were asked for."""

    def __init__(self, robot: kl.Robot) -> None:
        super().__init__(robot.tree)
        self.methods: list[str] = []

    def answer(self, asked):
        self.methods.append(asked.method)
        return super().answer(asked)

    def interpret(self, asked):
        self.methods.append(f"{asked.method} on numbers")
        return super().interpret(asked)


def test_states_at_which_rows_were_lost_are_computed_again_and_the_others_keep_their_bits(leg):
    Q, V, T = states(leg, 4)
    Q[2], V[2] = 0.0, 0.0
    asked = welded(leg, "pv_early")
    kernels = Asked(leg)
    a, multipliers, residual = solve(kernels, asked, checked_inputs(leg.tree, asked, (Q, V, T)))
    assert kernels.methods == ["pv_early", "pv_joint", "pv_joint on numbers"]
    assert a.shape == (4, leg.nv) and multipliers.shape == residual.shape == (4, 6)
    regular = [0, 1, 3]
    raw = kernels.compile(asked)(Q[regular], V[regular], T[regular])
    assert not np.any(raw[3]) and np.array_equal(a[regular], raw[0]) and np.array_equal(multipliers[regular], raw[1])
    oracle = kl.Robot.from_tree(leg.tree, backend="numpy").compute(
        "constrained_dynamics",
        Q[2],
        V[2],
        T[2],
        method="dense_kkt",
        constraints=[p.constraint for p in asked.constraints],
    )
    assert relative(a[2], oracle[0]) < 1e-7
    one = solve(Asked(leg), asked, checked_inputs(leg.tree, asked, (Q[2], V[2], T[2])))
    assert one[0].shape == (leg.nv,) and np.array_equal(one[0], a[2])


def test_nothing_is_computed_twice_where_no_row_is_lost(leg):
    Q, V, T = states(leg, 2)
    asked, kernels = welded(leg, "pv"), Asked(leg)
    solve(kernels, asked, checked_inputs(leg.tree, asked, (Q, V, T)))
    assert kernels.methods == ["pv"]


def test_every_chain_of_surer_methods_ends():
    for entry in QUANTITIES.values():
        for name in entry.methods:
            seen = []
            while name is not None:
                assert name not in seen
                seen.append(name)
                name = entry.methods[name].surer


def test_a_residual_conflicts_where_it_is_large_against_the_accelerations():
    a = np.array([[1e3, 0.0], [0.0, 0.0], [0.0, 0.0]])
    residual = np.array([[0.5e3 * CONFLICT], [0.5 * CONFLICT], [2.0 * CONFLICT]])
    assert conflicts(a, residual).tolist() == [False, False, True]
    assert conflicts(a[:, :0], np.zeros((3, 0))).tolist() == [False] * 3
    assert bool(conflicts(a[0], np.array([np.nan])))


def test_a_conflict_is_named_or_met_halfway():
    robot = kl.Robot(kl.robots.mechanism("serial_chain", links=3), backend="numpy")
    q, v = robot.random_state(0)
    tau = np.zeros(robot.nv)
    up, down = (kl.Rows("tip", np.eye(6)[5:], [k]) for k in (1.0, -2.0))
    asked = ask(robot.tree.top, "constrained_dynamics", None, (), [up, down])
    given = checked_inputs(robot.tree, asked, (q, v, tau))
    with pytest.raises(
        ConflictingConstraints, match=r"Rows\('tip'\) asks .* misses by 3 \(row 0\) against Rows\('tip'\)"
    ):
        constrained_dynamics(robot.kernels, asked, given, "error")
    a, _ = constrained_dynamics(robot.kernels, asked, given, "least_squares")
    middle, _ = robot.constrained_dynamics(q, v, tau, [kl.Rows("tip", np.eye(6)[5:], [-0.5])])
    assert relative(a, middle) < 1e-8
    with pytest.raises(MethodError, match="on_conflict 'ignore' is not one of 'error', 'least_squares'"):
        robot.constrained_dynamics(q, v, tau, [up], on_conflict="ignore")
