"""Constrained motion on random cluster trees: every solver against the dense oracle, and what constraints mean.

pytest tests/algorithms/constrained/test_solvers.py -m "slow or not slow" -n auto      # ten times the mechanisms
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import helpers
import numpy as np
import pytest
from helpers import EPS, State, states

import kinloop as kl
from kinloop.algorithms.constrained.motion_constraints import MotionConstraint, Placed
from kinloop.algorithms.constrained.passes import Solution
from kinloop.algorithms.constrained.pv import pv
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.witnesses.dense_constrained import dense_delassus, dense_kkt, dense_rows, projected
from kinloop.spatial import Transform, quaternion_rotation

HARD = ("pv", "pv_joint", "pv_early", "ltl", "efpa", "kjr")
OSIM = ("pv_osim", "pv_osim_fast", "pv_osimr", "efpa", "ltl_osim", "kjr")
BLOCKS = [pytest.param((8, 8 * b), id=f"seeds {8 * b}-{8 * b + 7}") for b in range(3)]
BLOCKS += [pytest.param((18, s), id=f"seeds {s}-{s + 17}", marks=pytest.mark.slow) for s in (24, 42)]
BLOCKS += [pytest.param((60, s), id=f"seeds {s}-{s + 59}", marks=pytest.mark.slow) for s in range(60, 660, 60)]


class Case(NamedTuple):
    """A random state under random constraints, and what the oracle says."""

    name: str
    s: State
    placed: list[Placed]
    expected: Solution
    cond: float
    consistent: bool


def frame_of(s: State, rng: np.random.Generator) -> tuple[int, Transform]:
    """A frame on any body: bases, leaves, bodies inside clusters."""
    x = rng.normal(size=4)
    return int(rng.integers(len(s.tree.top))), Transform(
        quaternion_rotation(x / np.linalg.norm(x)), rng.normal(size=3) * 0.3
    )


def constraint_of(s: State, rng: np.random.Generator) -> Placed:
    other = frame_of(s, rng) if rng.random() < 0.4 else None
    name, stabilize = None if other is None else "other", bool(rng.random() < 0.4)
    c: MotionConstraint
    match int(rng.integers(3)):
        case 0:
            wanted = rng.normal(size=3) if rng.random() < 0.5 else None
            at = rng.normal(size=3) if other is None else None
            c = kl.Point("frame", name, acceleration=wanted, at=at, stabilize=stabilize)
        case 1:
            c = kl.Weld("frame", name, stabilize=stabilize)
        case _:
            r = int(rng.integers(1, 5))
            c = kl.Rows("frame", rng.normal(size=(r, 6)), rng.normal(size=r), other=name, stabilize=stabilize)
    return Placed(c, frame_of(s, rng), other)


def redundant(placed: list[Placed]) -> list[Placed]:
    """The same constraints with the first one twice."""
    return [*placed, placed[0]] if placed else placed


def agreeable(s: State, placed: list[Placed], a: np.ndarray) -> list[Placed]:
    """The same constraints with targets that the motion a meets."""
    G, g, _, _ = projected(s.tree, s.q, s.v, None)
    out = []
    for p in placed:
        J, k = dense_rows(s.tree, s.q, G @ s.v, p)
        field = "k" if isinstance(p.constraint, kl.Rows) else "acceleration"
        given = getattr(p.constraint, field)
        target = J @ (G @ a + g) - k + (0.0 if given is None else given)
        out.append(p._replace(constraint=replace(p.constraint, **{field: target})))
    return out


def case_of(s: State, placed: list[Placed], name: str) -> Case:
    expected = dense_kkt(s.tree, s.q, s.v, s.tau, placed, s.f_ext)
    J = [dense_rows(s.tree, s.q, np.zeros(s.tree.top.n_spanning), p)[0] for p in placed]
    G, _, H, _ = projected(s.tree, s.q, s.v, None)
    cond = 10.0 * s.cond
    if J and G.shape[1]:
        K = np.concatenate(J) @ G @ np.linalg.inv(np.linalg.cholesky(G.T @ H @ G)).T
        sv = np.linalg.svd(K, compute_uv=False)
        kept = sv[sv > 1e-7 * max(sv[0], 1e-300)]
        cond *= float(kept[0] / kept[-1]) ** 2 if len(kept) and kept[0] > 1e-7 else 1.0
    size = 1.0 + np.max(np.abs(expected.a), initial=0.0)
    return Case(name, s, placed, expected, cond, bool(np.max(np.abs(expected.residual), initial=0.0) < 1e-7 * size))


def cases(n: int, seed: int) -> Iterator[Case]:
    for s in states(n, seed, per=1):
        rng = np.random.default_rng(seed)
        some, many = [constraint_of(s, rng)], [constraint_of(s, rng) for _ in range(3)]
        sets = [[], *(agreeable(s, x, s.a) for x in (some, many, redundant(some))), many]
        for placed in sets:
            case = case_of(s, placed, f"{s.name}, {[p.constraint.name for p in placed]}")
            if case.cond > 1e9:
                helpers.drop("constraints nearly singular, cond above 1e9")
                continue
            yield case


@pytest.fixture(scope="module", params=BLOCKS)
def block(request: pytest.FixtureRequest) -> list[Case]:
    n, seed = request.param
    found = list(cases(n, seed))
    helpers.assert_enough(len(found), 4 * n)
    return found


def solve(case: Case, method: str) -> Solution:
    s = case.s
    return QUANTITIES["constrained_dynamics"].methods[method].call(s.tree, s.q, s.v, s.tau, case.placed, f_ext=s.f_ext)


@pytest.mark.parametrize("method", HARD)
def test_hard_solvers_agree_with_the_dense_oracle(block: list[Case], method: str) -> None:
    compared = 0
    for case in block:
        if not case.consistent:
            helpers.drop("constraints that conflict have no exact solution")
            continue
        got = solve(case, method)
        size = 1.0 + float(np.max(np.abs(case.expected.multipliers), initial=0.0))
        helpers.assert_agree(got.a, case.expected.a, case.cond, f"{method}, {case.name}", scale=1.0)
        helpers.assert_agree(
            got.multipliers, case.expected.multipliers, case.cond, f"{method}, {case.name}", scale=size
        )
        compared += 1
    helpers.assert_enough(compared, 0.7 * len(block))


@pytest.mark.parametrize("method", HARD)
def test_conflicts_are_seen_in_the_residual(block: list[Case], method: str) -> None:
    agree, conflict = 0, 0
    for case in block:
        worst = float(np.max(np.abs(solve(case, method).residual), initial=0.0))
        size = 1.0 + float(np.max(np.abs(case.expected.a), initial=0.0))
        if case.consistent:
            assert worst < 1e-8 * case.cond * size, case.name
            agree += 1
        elif float(np.max(np.abs(case.expected.residual))) > 1e-3:
            assert worst > 1e-6, case.name
            conflict += 1
        else:
            helpers.drop("constraints that conflict by next to nothing")
    helpers.assert_enough(agree, 0.7 * len(block), "sets that agree")
    helpers.assert_enough(conflict, 0.1 * len(block), "sets that conflict")


@pytest.mark.parametrize("method", OSIM)
def test_all_inverse_operational_inertias_are_one(block: list[Case], method: str) -> None:
    compared = 0
    for case in block:
        s = case.s
        got = QUANTITIES["delassus"].methods[method].call(s.tree, s.q, case.placed)
        if not case.placed:
            assert got.shape == (0, 0)
            helpers.drop("no constraints: nothing to compare but a shape")
            continue
        expected = dense_delassus(s.tree, s.q, case.placed)
        helpers.assert_agree(got, expected, s.cond, f"{method}, {case.name}", scale=1e-3)
        compared += 1
    helpers.assert_enough(compared, 0.7 * len(block), "sets")


def test_least_squares_motion_is_the_nearest(block: list[Case]) -> None:
    """No other acceleration brings the rows nearer to their targets: what is missed is no motion's to give."""
    compared = 0
    for case in block:
        if case.consistent or case.cond > 1e6:
            helpers.drop("least squares: constraints agree, or are nearly singular")
            continue
        s = case.s
        got = pv(s.tree, s.q, s.v, s.tau, case.placed, s.f_ext, least_squares=True)
        G, g, _, _ = projected(s.tree, s.q, s.v, None)
        rows = [dense_rows(s.tree, s.q, G @ s.v, p) for p in case.placed]
        J, k = np.concatenate([r[0] for r in rows]), np.concatenate([r[1] for r in rows])
        left = k - J @ (G @ got.a + g)
        size = float(np.linalg.norm(left)) * float(np.linalg.norm(J @ G)) + 1.0
        assert np.max(np.abs((J @ G).T @ left), initial=0.0) < 1e4 * EPS * case.cond * size, case.name
        helpers.assert_agree(got.residual, left, case.cond, case.name, scale=1.0)
        compared += 1
    helpers.assert_enough(compared, 0.05 * len(block), "sets that conflict")


@pytest.mark.parametrize("method", ["pv_soft", "ltl_soft"])
def test_soft_constraints_are_those_of_the_penalty(block: list[Case], method: str) -> None:
    """(M + J^T R^-1 J) a = tau - c + J^T R^-1 (k - J' v), solved densely."""
    for case in block:
        s, R = case.s, 1e-2
        f = QUANTITIES["constrained_dynamics"].methods[method].call
        got = f(s.tree, s.q, s.v, s.tau, case.placed, f_ext=s.f_ext, compliance=R)
        G, g, H, c = projected(s.tree, s.q, s.v, s.f_ext)
        rows = [dense_rows(s.tree, s.q, G @ s.v, p) for p in case.placed]
        J = np.concatenate([np.zeros((0, len(G))), *(r[0] for r in rows)])
        k = np.concatenate([np.zeros(0), *(r[1] for r in rows)]) - J @ g
        J = J @ G
        M = G.T @ H @ G + J.T @ J / R
        a = np.linalg.solve(M, s.tau - G.T @ (c + H @ g) + J.T @ k / R)
        cond = s.cond * (10.0 + float(np.linalg.norm(J)) ** 2 / R)
        helpers.assert_agree(got.a, a, cond, f"{method}, {case.name}", scale=1.0)
        helpers.assert_agree(got.multipliers, (k - J @ a) / R, cond, f"{method}, {case.name}", scale=1.0)


def test_without_constraints_every_solver_is_forward_dynamics() -> None:
    robot = kl.robots.load("tello_with_arms")
    q, v = robot.random_state(3)
    tau = np.linspace(-1, 1, robot.nv)
    expected = robot.forward_dynamics(q, v, tau)
    plain = kl.Robot(robot.mechanism, backend="numpy")
    for method in (*HARD, "pv_soft", "ltl_soft"):
        a, multipliers = plain.constrained_dynamics(q, v, tau, [], method=method)
        assert helpers.relative(a, expected) < 1e-9 and multipliers.shape == (0,)
    soft = robot.compile("constrained_dynamics", "pv_soft").operations["total"]
    assert soft == robot.compile("forward_dynamics").operations["total"]
