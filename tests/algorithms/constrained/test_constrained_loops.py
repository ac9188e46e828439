"""Loops kept as constraints: random axes, redundant rows, mixtures with embedded loops and given constraints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import helpers
import numpy as np
import pytest

import kinloop as kl
from kinloop.algorithms.constrained.motion_constraints import Placed, place
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.trees.articulated import check_regular
from kinloop.algorithms.witnesses import dense_kkt
from kinloop.algorithms.witnesses.dense_constrained import dense_rows, projected
from kinloop.clusters import ClusterTree, grow
from kinloop.errors import MethodError, ModelError
from kinloop.model.random import random_mechanism

SOLVERS = ("pv", "pv_joint", "pv_branches", "pv_early", "ltl", "efpa", "least_squares")
KINDS = ("planar", "several", "loop_revolute", "loop_spherical", "rods", "mixture", "ancestor", "mixed")
BLOCKS = [pytest.param((8, 8 * b), id=f"seeds {8 * b}-{8 * b + 7}") for b in range(3)]
BLOCKS += [pytest.param((18, s), id=f"seeds {s}-{s + 17}", marks=pytest.mark.slow) for s in (24, 42)]
BLOCKS += [pytest.param((60, s), id=f"seeds {s}-{s + 59}", marks=pytest.mark.slow) for s in range(60, 660, 60)]


class Case(NamedTuple):
    """A mechanism some of whose loops are constraints, at a closed state, and what it does with all loops embedded."""

    name: str
    tree: ClusterTree
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    f_ext: np.ndarray
    placed: tuple[Placed, ...]
    qdd: np.ndarray
    cond: float


def case_of(seed: int) -> Case | None:
    """With tau on the spanning tree, so that both mechanisms are driven alike."""
    kind = KINDS[seed % len(KINDS)]
    rng = np.random.default_rng([seed, 77])
    m = random_mechanism(rng, kind)
    if not m.loops:
        helpers.drop("no loop to keep as a constraint")
        return None
    names = [p.name for p in m.loops]
    count = int(rng.integers(1, len(names) + 1))
    constrained = tuple(str(x) for x in rng.permutation(names)[:count])
    embedded = helpers.Random(f"{kind} (seed {seed}), {constrained} as constraints", m, grow(m), rng)
    s = helpers.state_of(embedded)
    if s is None:
        return None
    tree = grow(replace(m, constrained=constrained))
    try:
        check_regular(tree, s.q)
    except ModelError:
        helpers.drop("a body that only its loop gives inertia: refused by name when the loop is a constraint")
        return None
    force, qd = rng.normal(size=tree.top.n_spanning), embedded.tree.spanning_jacobian(s.q) @ s.v
    a = dense_kkt.dense_kkt(s.tree, s.q, s.v, s.tree.spanning_jacobian(s.q).T @ force, s.f_ext)
    G, g, H, _ = projected(s.tree, s.q, s.v, None)
    placed = place(tree.top, ())
    M = tree.spanning_jacobian(s.q).T @ H @ tree.spanning_jacobian(s.q)
    J = np.concatenate([dense_rows(tree, s.q, qd, p)[0] for p in placed]) @ tree.spanning_jacobian(s.q)
    sv = np.linalg.svd(J @ np.linalg.inv(np.linalg.cholesky(M)).T, compute_uv=False) if len(M) else np.zeros(0)
    kept = sv[sv > 1e-7 * max(sv[0], 1e-300)] if len(sv) else sv
    cond = 10.0 * max(s.cond, helpers.condition(tree, s.q, M))
    cond *= float(kept[0] / kept[-1]) ** 2 if len(kept) else 1.0
    tau = tree.spanning_jacobian(s.q).T @ force
    return Case(s.name, tree, s.q, qd[tree.independent_dofs], tau, s.f_ext, placed, G @ a + g, cond)


def cases(n: int, seed: int) -> Iterator[Case]:
    for s in range(seed, seed + n):
        case = case_of(s)
        if case is not None and case.cond > 1e9:
            helpers.drop("constrained loops nearly singular, cond above 1e9")
        elif case is not None:
            yield case


@pytest.fixture(scope="module", params=BLOCKS)
def block(request: pytest.FixtureRequest) -> list[Case]:
    n, seed = request.param
    found = list(cases(n, seed))
    helpers.assert_enough(len(found), 0.6 * n)
    return found


@pytest.mark.parametrize("method", [*SOLVERS, "dense_kkt"])
def test_constrained_loops_move_as_embedded_ones(block: list[Case], method: str) -> None:
    solve = QUANTITIES["constrained_dynamics"].methods[method].call
    for c in block:
        got = solve(c.tree, c.q, c.v, c.tau, c.placed, f_ext=c.f_ext)
        expected = c.qdd[c.tree.independent_dofs]
        helpers.assert_agree(got.a, expected, c.cond, f"{method}, {c.name}", scale=1.0)
        size = 1.0 + float(np.max(np.abs(got.a), initial=0.0))
        worst = float(np.max(np.abs(got.residual), initial=0.0))
        assert worst < 1e-13 * c.cond * size, f"{method}, {c.name}: falsely in conflict by {worst:.1e}"


AXES = [(0, 0, 1), (1, 2, 3), (-0.3, 0.1, 2.0), (1, 1, 0)]


def flat_chain(axis: tuple[float, ...], links: int, rocker: bool) -> kl.Mechanism:
    """Links hinged about one axis, closed by a hinge to the world or to a rocker: 5 rows, of rank 2."""
    u = np.array(axis) / np.linalg.norm(axis)
    along = np.cross(u, (0.3, -0.5, 0.2))
    x = along / np.linalg.norm(along)
    b, last = kl.Builder("flat"), "world"
    solid = {"mass": 1.0, "com": 0.2 * x + 0.1 * u, "inertia": (0.01, 0.02, 0.025), "axis": u}
    for k in range(links):
        b.body(f"link{k}", last, at=0.5 * x if k else (0, 0, 0), **solid)
        last = f"link{k}"
    if rocker:
        b.body("rocker", at=0.8 * x, **solid)
    b.loop("pin", last, "rocker" if rocker else "world", axis=u, at=0.5 * x, at_successor=(0.4 if rocker else 0.8) * x)
    return replace(b.mechanism(), constrained=("pin",))


@pytest.mark.parametrize("rocker", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.sample(3)
def test_redundant_rows_of_flat_loops_about_any_axis(axis: tuple[float, ...], rocker: bool) -> None:
    """Rows that are zero but for rounding are no rows: on numbers and in kernels."""
    m = flat_chain(axis, 3, rocker)
    embedded = kl.Robot(replace(m, constrained=()), backend="numpy")
    q, v = embedded.random_state(3)
    qd = embedded.spanning_velocity(q, v)
    tau = np.random.default_rng(1).normal(size=embedded.n_spanning)
    G = embedded.spanning_jacobian(q)
    expected = G @ embedded.forward_dynamics(q, v, G.T @ tau) + embedded.spanning_bias(q, v)
    for backend in ("numpy", "kernel"):
        robot = kl.Robot(m, backend=backend)
        for method in SOLVERS:
            a, _ = robot.constrained_dynamics(q, qd, tau, method=method)
            assert helpers.relative(a, expected) < 1e-10, (backend, method)


def test_rows_that_vanish_at_one_state_but_for_rounding_are_given_up_there() -> None:
    """A chain folded on itself: along it the tip cannot accelerate, and sin(pi) is not zero in numbers."""
    b, last = kl.Builder("folded"), "world"
    for k in range(4):
        at, turned = ((0.5, 0, 0), None) if k else ((0, 0, 0), (0.3, 0.4, 0.5))
        b.body(f"b{k}", last, mass=1.0, com=(0.2, 0, 0.1), inertia=(0.01, 0.02, 0.025), axis="z", at=at, rpy=turned)
        last = f"b{k}"
    b.frame("tip", last, (0.5, 0, 0))
    robot, plain = (kl.Robot(b.mechanism(), backend=backend) for backend in ("kernel", "numpy"))
    tau, rest = np.array([1.0, -0.4, 0.3, 0.2]), np.zeros(4)
    along = kl.Rows("tip", np.eye(6)[3:5])
    for constraints in ([kl.Weld("tip")], [kl.Point("tip")], [along], [kl.Point("tip", "tip"), kl.Point("tip")]):
        for q in ([0.3, np.pi, -np.pi, np.pi], [0.3, np.pi, 0.0, -np.pi], np.zeros(4)):
            expected, _ = plain.constrained_dynamics(q, rest, tau, constraints, "dense_kkt")
            for method in SOLVERS:
                for r in (robot, plain):
                    a, _ = r.constrained_dynamics(q, rest, tau, constraints, method)
                    assert helpers.relative(a, expected) < 1e-9, (method, r.backend, constraints)


def test_what_would_ignore_constrained_loops_is_refused_by_name() -> None:
    robot = kl.Robot(flat_chain((1, 2, 3), 3, False), backend="numpy")
    q, v = robot.random_state(0)
    tau, tip = np.zeros(robot.nv), robot.body_names[-1]
    calls = {
        "forward_dynamics": lambda: robot.forward_dynamics(q, v, tau),
        "inverse_dynamics": lambda: robot.inverse_dynamics(q, v, tau),
        "forward_dynamics_derivatives": lambda: robot.forward_dynamics_derivatives(q, v, tau),
        "inverse_dynamics_derivatives": lambda: robot.inverse_dynamics_derivatives(q, v, tau),
        "inverse_osim": lambda: robot.inverse_osim(q, [tip]),
        "force_response": lambda: robot.force_response(q, tip, np.ones(6)),
    }
    for quantity, call in calls.items():
        for refused in (call, lambda quantity=quantity: robot.compile(quantity, frames=())):
            with pytest.raises(
                MethodError, match=f"{quantity} would leave out 'pin' of 'flat', .*constrained_dynamics"
            ):
                refused()
    with pytest.raises(MethodError, match="'pin'"):
        robot.reactions(q, v, tau)
    a, multipliers = robot.constrained_dynamics(q, v, tau)
    left = robot.mass_matrix(q) @ a + robot.bias_force(q, v) - robot.loop_rows("pin", q).K.T @ multipliers
    assert np.max(np.abs(left)) < 1e-9
