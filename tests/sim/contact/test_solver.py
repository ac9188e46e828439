"""Impulses that meet the laws of contact, against exact and dense solutions of random problems."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.sim.contact.row_steps import JAM, ContactPlan, ContactRow, JointRow, Packer
from kinloop.sim.contact.solver import ROUGH, Stops, solve_impulses

N = 12


def problem(seed, contacts=3, joints=0, friction=0.5, bound=0.0):
    """Random rows over N joints: contacts first, then joints."""
    rng = np.random.default_rng(seed)
    Z, u = rng.normal(size=(3 * contacts + joints, N)), rng.normal(size=3 * contacts + joints)
    rows = [
        ContactRow(Z[3 * k : 3 * k + 3], list(range(N)), u[3 * k : 3 * k + 3], bound, friction) for k in range(contacts)
    ]
    return Z, u, rows


def contact_impulses(found):
    """Impulses of contacts (contacts, 3) as numbers."""
    return np.array(found.contacts, dtype=float)


def exact_frictionless(A, u):
    """The solution of 0 <= x, 0 <= u + A x, x (u + A x) = 0, by trying every set of contacts that press."""
    n = len(u)
    for pressed in product([False, True], repeat=n):
        k = np.flatnonzero(pressed)
        x = np.zeros(n)
        if len(k):
            x[k] = np.linalg.solve(A[np.ix_(k, k)], -u[k])
        if np.all(x >= -1e-12) and np.all(u + A @ x >= -1e-12):
            return x
    raise AssertionError("a positive definite problem has a solution")


@pytest.mark.parametrize("seed", range(5))
def test_without_friction_the_solution_is_the_exact_one(seed):
    Z, u, rows = problem(seed, contacts=4, friction=0.0)
    normal = np.arange(0, 12, 3)
    exact = exact_frictionless((Z @ Z.T)[np.ix_(normal, normal)], u[normal])
    found = solve_impulses(rows, [], N, 400)
    x = contact_impulses(found)
    np.testing.assert_allclose(x[:, 0], exact, atol=1e-8)
    assert not np.any(x[:, 1:])
    np.testing.assert_allclose(found.w.astype(float), Z[normal].T @ exact, atol=1e-7)


def dense_joints(Z, u, low, high, dry, rounds=20_000):
    """Projected Gauss-Seidel with the matrix A = Z Z^T formed: friction first, then stops, row by row."""
    A, x = Z @ Z.T, np.zeros(len(u))
    for _ in range(rounds):
        before = x.copy()
        for k in range(len(u)):
            alone = u[k] + A[k] @ x - A[k, k] * x[k]
            rest = alone - np.clip(alone, -dry[k] * A[k, k], dry[k] * A[k, k])
            x[k] = (np.clip(rest, low[k], high[k]) - alone) / A[k, k]
        if np.max(np.abs(x - before)) < 1e-15:
            break
    return x


@pytest.mark.parametrize("seed", range(4))
def test_joints_agree_with_a_dense_method(seed):
    rng = np.random.default_rng(seed)
    Z, u = rng.normal(size=(5, N)), 3.0 * rng.normal(size=5)
    low, high, dry = -rng.uniform(0, 2, 5), rng.uniform(0, 2, 5), rng.uniform(0, 0.1, 5) * (np.arange(5) % 2)
    rows = [JointRow(Z[k], list(range(N)), u[k], low[k], high[k], float(dry[k]), dry[k] > 0) for k in range(5)]
    found = solve_impulses([], rows, N, 300)
    np.testing.assert_allclose(found.joints, dense_joints(Z, u, low, high, dry), atol=1e-7)
    after = u + Z @ found.w
    assert np.all(after > low - 1e-6) and np.all(after < high + 1e-6)


def test_dry_friction_resists_and_stops_hold():
    z, A = np.array([2.0, 1.0]), 5.0

    def solve(u, low=-1e30, high=1e30, dry=0.0):
        found = solve_impulses([], [JointRow(z, [0, 1], u, low, high, dry, dry > 0)], 2, 5)
        return found.joints[0], u + z @ found.w

    assert solve(1.0) == (0.0, 1.0)
    assert solve(1.0, dry=0.1) == pytest.approx((-0.1, 1.0 - 0.1 * A), rel=1e-9), "all friction has"
    assert solve(-1.0, dry=0.1) == pytest.approx((0.1, -1.0 + 0.1 * A), rel=1e-9)
    assert solve(0.3, dry=0.1) == pytest.approx((-0.3 / A, 0.0), abs=1e-9), "as much as stops it"
    assert solve(2.0, high=0.5) == pytest.approx((-1.5 / A, 0.5), abs=1e-8)
    assert solve(-2.0, low=-0.5, dry=0.1) == pytest.approx((1.5 / A, -0.5), abs=1e-8), "a stop needs no friction"


def test_solver_meets_the_laws_of_contact():
    rng = np.random.default_rng(3)
    for _ in range(20):
        Z = rng.normal(size=(9, 12))
        u = rng.normal(size=9)
        rows = [ContactRow(Z[3 * k : 3 * k + 3], list(range(12)), u[3 * k : 3 * k + 3], 0.0, 0.5) for k in range(3)]
        impulses, _, _, w, residual, *_ = solve_impulses(rows, [], 12, 300)
        after = (u + Z @ w).reshape(3, 3)
        assert residual < 1e-8
        for x, y in zip(impulses, after, strict=True):
            assert x[0] >= 0 and y[0] > -1e-7 and abs(x[0] * y[0]) < 1e-6
            pull, slip = np.linalg.norm(x[1:]), np.linalg.norm(y[1:])
            assert pull <= 0.5 * x[0] + 1e-9
            if slip > 1e-5 and x[0] > 1e-9:
                assert pull == pytest.approx(0.5 * x[0], rel=1e-5)
                assert x[1:] @ y[1:] == pytest.approx(-pull * slip, rel=1e-4)


@pytest.mark.parametrize("bound", [-0.3, 0.2])
def test_bounds_are_met_where_contacts_press(bound):
    for seed in range(5):
        Z, u, rows = problem(seed, friction=0.4, bound=bound)
        found = solve_impulses(rows, [], N, 300)
        normal = (u + Z @ found.w).reshape(3, 3)[:, 0]
        pressing = contact_impulses(found)[:, 0] > 1e-9
        assert np.all(normal > bound - 1e-6) and np.allclose(normal[pressing], bound, atol=1e-6)


def test_w_and_velocities_belong_to_the_impulses():
    """w = Z^T lambda, whatever the solver did; an impulse is never pulled out of the cone."""
    Z, _, rows = problem(0)
    found = solve_impulses(rows, [], N, 2)
    x = contact_impulses(found)
    np.testing.assert_allclose(found.w.astype(float), Z.T @ x.ravel(), atol=1e-12)
    assert np.all(np.linalg.norm(x[:, 1:], axis=1) <= 0.5 * x[:, 0] + 1e-12)


def test_where_friction_jams_the_normal_impulse_grows_step_by_step_to_what_it_must_be():
    """Friction that presses a contact together nearly as fast as it slides: the law asks for 100 times the impulse."""
    z, u = np.array([[1.0, 0.0, 0.0], [-3.0, 0.3, 0.0], [0.0, 0.0, 1.0]]), np.array([-1.0, -5.0, 0.0])
    row = ContactRow(z, [0, 1, 2], u, 0.0, 0.33)
    x, grown = np.zeros(3), []
    for _ in range(4):
        plan = ContactPlan(row, pack := Packer())
        _, x, _ = plan.relax(z.T @ x, x, np.array(pack.values, dtype=float), 0.0)
        grown.append(x[0])
    assert np.all(np.diff([0.0, *grown]) <= 1.0 / JAM * (1 + 1e-9)) and grown[0] == pytest.approx(1.0 / JAM)
    found = solve_impulses([row], [], 3, 5)
    assert found.residual <= ROUGH
    np.testing.assert_allclose(contact_impulses(found)[0], [100.0, 33.0, 0.0], rtol=2e-3)
    assert (u + z @ found.w.astype(float))[0] > -1e-3, "it was left with -0.9 m/s into the ground, and called solved"


def test_energy_is_never_created():
    for seed in range(8):
        Z, u, rows = problem(seed, friction=0.7)
        found = solve_impulses(rows, [], N, 300)
        x = contact_impulses(found).ravel()
        assert x @ u + 0.5 * x @ (Z @ Z.T) @ x < 1e-9


def test_a_good_start_is_kept_and_a_bad_one_forgotten():
    _, _, rows = problem(1)
    cold = solve_impulses(rows, [], N, 300)
    x = contact_impulses(cold).ravel()
    warm = solve_impulses(rows, [], N, 1, x)
    np.testing.assert_allclose(contact_impulses(warm).ravel(), x, atol=1e-6)
    assert warm.residual < ROUGH
    worse = solve_impulses(rows, [], N, 300, x + 1.0)
    np.testing.assert_allclose(contact_impulses(worse).ravel(), x, atol=1e-6)


def test_states_that_need_more_rounds_get_them():
    _, _, rows = problem(2, contacts=4)
    assert solve_impulses(rows, [], N, 1).residual <= ROUGH


def test_what_goes_round_in_circles_is_solved_by_small_steps():
    """A foot slides and a hip runs into its stop: friction presses the foot down nearly as fast as it slides.

    The Delassus matrix and the velocities of a leg that lands, and the one solution that there is.
    """
    A = np.array([[3.8964, 4.5643, -0.8967, 0.7245], [4.5643, 7.3767, -1.194, -10.7112],
                  [-0.8967, -1.194, 2.1244, 1.8146], [0.7245, -10.7112, 1.8146, 119.2877]])  # fmt: skip
    u, bound, stop, mu, every = np.array([-0.2091, 0.0596, 0.001, 28.9619]), -0.0501, 14.8532, 0.8, [0, 1, 2, 3]
    Z = np.linalg.cholesky(A)
    foot = ContactRow(Z[:3], every, u[:3], bound, mu, floats=True)
    hip = JointRow(Z[3], every, u[3], -4e3, stop, 0.0, False)
    found = solve_impulses([foot], [hip], 4, 5)
    assert found.residual <= ROUGH, "6 m/s before"
    (x,), (y,) = contact_impulses(found), found.joints
    after = u + Z @ found.w.astype(float)
    np.testing.assert_allclose(after[[0, 3]], [bound, stop], atol=3e-4)
    np.testing.assert_allclose(x[1:], -mu * x[0] * after[1:3] / np.linalg.norm(after[1:3]), atol=2e-3)
    assert x[0] == pytest.approx(1.87, abs=0.02) and y == pytest.approx(-0.266, abs=0.003)


def test_nothing_happens_where_nothing_is_active():
    _, _, rows = problem(0)
    found = solve_impulses(rows, [], N, 5, np.ones(9), active=False)
    assert not np.any(found.contacts) and not np.any(found.w)


def stop(near):
    Z, u, rows = problem(3, contacts=2, joints=1)
    row = JointRow(Z[6], list(range(N)), 5.0, -1.0, 1.0, 0.0, False)
    return Z, u, solve_impulses(rows, [], N, 300, np.zeros(6), Stops(near, [row], np.zeros(1)), active=True)


def test_stops_count_where_they_are_near():
    Z, _, found = stop(True)
    assert 5.0 + Z[6] @ found.w == pytest.approx(1.0, abs=1e-6) and found.stops[0] < 0
    Z, _, far = stop(False)
    assert not np.any(far.stops)
    without = solve_impulses(problem(3, contacts=2, joints=1)[2], [], N, 300)
    np.testing.assert_array_equal(contact_impulses(far), contact_impulses(without))


def test_symbols_give_what_numbers_give():
    Z, u, _ = problem(4, contacts=2, joints=1)

    def solve(z, u):
        z = z.reshape(7, N)
        rows = [ContactRow(z[3 * k : 3 * k + 3], list(range(N)), u[3 * k : 3 * k + 3], 0.0, 0.5) for k in range(2)]
        joint = JointRow(z[6], list(range(N)), u[6], -0.5, 0.5, 0.05, True)
        found = solve_impulses(rows, [joint], N, 10)
        return {"x": np.array([*np.concatenate(found.contacts), *found.joints]), "w": np.asarray(found.w)}

    traced = sc.trace(solve, {"z": 7 * N, "u": 7})
    expected = solve(Z.ravel(), u)
    for name, x in zip(traced.outputs, traced(Z.ravel(), u), strict=True):
        np.testing.assert_allclose(np.asarray(x, dtype=float), expected[name].astype(float), rtol=1e-12, atol=1e-12)
