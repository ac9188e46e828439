"""Contacts that cannot move in all directions: tips of hinges and planar fingers, several of them, and stops."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.robots.solid_inertias import bar, box
from kinloop.sim import ContactPoint, Plane, Simulator, Status
from kinloop.sim.contact.contact_block import Mobility
from kinloop.sim.contact.row_steps import ContactRow
from kinloop.sim.contact.small_steps import MOST_SMALL
from kinloop.sim.contact.solver import shared, solve_impulses
from tests.helpers import assert_enough

MANY = list(range(3))
"""The joint velocities that rows of the solver's problems lie on."""


def direction(rng):
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def finger(rng, joints, spread=None, **stops):
    """Links on hinges about random axes; with a `spread` their axes are parallel but for that much."""
    b, parent, at, axis = kl.Builder("finger"), "world", (0, 0, 0), direction(rng)
    for k in range(joints):
        along = direction(rng) if spread is None else axis + spread * rng.normal(size=3)
        mass, com, inertia = rng.uniform(0.1, 1.0), 0.1 * rng.normal(size=3), rng.uniform(1e-3, 1.5e-3, 3)
        b.body(f"link{k}", parent, axis=along, at=at, mass=mass, com=com, inertia=inertia, **stops)
        parent, at = f"link{k}", tuple(0.3 * direction(rng))
    b.frame("tip", parent, at=0.3 * direction(rng))
    return b.build()


def landing(robot, rng, friction, contacts, rows=4, speed=2.0, steps=200):
    """Fingers whose lowest tip is 5 mm above ground and on its way down."""
    q, v = rng.uniform(-0.5, 0.5, size=robot.nv), speed * rng.normal(size=(rows, robot.nv))
    still, moved = (
        Simulator(robot, ground=Plane(), contacts=contacts).rollout(q, x, steps=2, record=("gap",)).gap[..., -1, :]
        for x in (np.zeros_like(v), v)
    )
    lowest = np.argmin(still[0])
    v[moved[:, lowest] > still[:, lowest]] *= -1.0
    sim = Simulator(robot, ground=Plane(friction, height=np.min(still) - 0.005), contacts=contacts)
    return sim.rollout(q, v, steps=steps, record=("q", "v", "gap", "energy", "contact_force"))


def check_landing(run):
    """No tip goes below ground, no force is out of proportion, no touch creates energy; how many rows touched."""
    touching = np.any(run.contact_force[..., 2] > 0.0, axis=2)
    assert np.all(run.status == 1)
    assert np.min(run.gap) > -3e-4 and np.max(np.abs(run.contact_force)) < 1e5
    gained = np.diff(run.energy, axis=1)[touching[:, 1:]]
    assert np.max(gained, initial=0.0) < 1e-4 * np.max(np.abs(run.energy))
    return np.count_nonzero(np.any(touching, axis=1))


TIPS = [(1, None), (2, None), (2, 0.0), (3, 0.0), (3, 1e-5), (3, 1e-3), (3, None)]


@pytest.mark.parametrize(
    ("joints", "spread", "friction"),
    [
        *((*tip, 0.5 + k % 2) for k, tip in enumerate(TIPS)),
        *(pytest.param(*tip, 1.5 - k % 2, marks=pytest.mark.slow) for k, tip in enumerate(TIPS)),
    ],
)
@pytest.mark.sample(2)
def test_tips_that_cannot_move_everywhere_land_without_gaining_energy(joints, spread, friction):
    rngs = [np.random.default_rng(seed) for seed in (0, 1, 2)]
    landed = [check_landing(landing(finger(rng, joints, spread), rng, friction, ["tip"])) for rng in rngs]
    assert_enough(sum(landed), 2, "landings")


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 6), marks=pytest.mark.slow)])
def test_a_hinge_stops_at_the_ground(seeds):
    """Whatever its axis and friction: it moves on slowly, if at all, with what is left of its way to the ground."""
    landed = 0
    for seed in seeds:
        robot = finger(np.random.default_rng(seed), 1)
        for friction in (0.0, 0.8, 2.0):
            run = landing(robot, np.random.default_rng(seed), friction, ["tip"], speed=5.0)
            landed += check_landing(run)
            touching = run.contact_force[..., 0, 2] > 0.0
            for v, t in zip(run.v, np.argmax(touching, axis=1), strict=True):
                assert not t or np.max(np.abs(v[t + 1 : t + 3])) < 0.5
    assert_enough(landed, 6 * len(seeds), "landings")


def test_several_contacts_on_one_finger_land_without_gaining_energy():
    landed = 0
    for joints in (1, 2, 2, 3):
        rng = np.random.default_rng(joints)
        robot = finger(rng, joints)
        more = [ContactPoint(robot.body_names[-1], 0.2 * direction(rng)) for _ in range(3)]
        landed += check_landing(landing(robot, rng, 0.8, ["tip", *more], speed=1.0))
    assert_enough(landed, 8, "landings")


def test_stops_far_above_the_ground_do_not_make_contacts_push():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        robot = finger(rng, 3, 0.0, lower=-0.5, upper=0.5)
        sim = Simulator(robot, ground=Plane(0.8, height=-10.0), contacts=["tip", *robot.body_names])
        run = sim.rollout(np.full(3, 0.55), None, steps=100, record=("v", "contact_force"))
        assert run.status[0] == 1 and not np.any(run.contact_force) and np.max(np.abs(run.v)) < 20.0


def block(rng, rank, weakest=0.0):
    """Rows z (3, 3) of a contact that moves along `rank` directions, and in the others `weakest` times as much."""
    U, s, V = np.linalg.svd(rng.normal(size=(3, 3)))
    return U @ np.diag([*s[:rank], *(weakest * s[rank:])]) @ V


def exact(z, u, b, friction):
    """The change of velocity z^T x by the laws of contact, the normal velocity being met; by trying all that can be.

    A contact of rank 1 or 2 leaves friction one direction d at most, in which it sticks or slides either way.
    """
    if u[0] >= b:
        return np.zeros(3)
    A = z @ z.T
    S = A[1:, 1:] - np.outer(A[1:, 0], A[0, 1:]) / A[0, 0]
    sizes, axes = np.linalg.eigh(S)
    d = np.array([0.0, *axes[:, 1]]) if sizes[1] > 1e-9 * A.trace() else np.zeros(3)
    n, t, found = np.array([1.0, 0, 0]), z.T @ d, []
    if not np.any(t):
        return z.T @ n * (b - u[0]) / A[0, 0]
    K = np.array([z.T @ n, t])
    stick = np.linalg.solve(K @ K.T, [b - u[0], -d @ u])
    if stick[0] >= 0 and abs(stick[1]) <= friction * stick[0]:
        found.append(K.T @ stick)
    for side in (-friction, friction):
        push = K.T @ [1.0, side]
        x = (b - u[0]) / (K[0] @ push)
        if x >= 0 and (d @ u + t @ push * x) * side <= 0:
            found.append(push * x)
    return found[0]


@pytest.mark.parametrize("rank", [1, 2])
def test_impulses_of_a_deficient_contact_are_those_found_by_trying_all(rank):
    rng = np.random.default_rng(rank)
    for _ in range(40):
        z, friction, b = block(rng, rank), rng.choice([0.0, 0.3, 0.8]), rng.choice([0.0, -0.2, -2.0])
        u = z @ rng.normal(size=3)
        row = ContactRow(z, MANY, u, b, friction)
        found = solve_impulses([row], [], 3, 50)
        np.testing.assert_allclose(np.asarray(found.w, float), exact(z, u, b, friction), atol=1e-4)


@pytest.mark.parametrize(
    ("rank", "weakest"), [(1, 0.0), (1, 1e-9), (2, 0.0), (2, 1e-9), (2, 1e-3), (2, 1e-2), (3, 0.0)]
)
def test_impulses_of_any_rank_create_no_energy_and_stay_in_their_cones(rank, weakest):
    """Also where the search begins with impulses that have become wrong, and with velocities that cannot be reached."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        z, v = block(rng, rank, weakest), rng.normal(size=3)
        u = z @ v + 1e-2 * rng.normal(size=3)
        row = ContactRow(z, MANY, u, rng.choice([0.0, -0.2]), 0.8)
        begin = 10.0 * rng.normal(size=3)
        for start in (None, np.array([np.linalg.norm(begin[1:]) / 0.8, *begin[1:]])):
            found = solve_impulses([row], [], 3, 5, start)
            x, w = np.asarray(found.contacts[0], float), np.asarray(found.w, float)
            assert x @ u + 0.5 * w @ w < 1e-9 and np.hypot(*x[1:]) <= 0.8 * x[0] + 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_a_hinge_is_pushed_by_the_smallest_impulse_in_the_cone(seed):
    """Along its path where that lies in the cone, else on the edge of the cone that is nearest to it."""
    rng = np.random.default_rng(seed)
    z = np.array([[0.5], [0.3], [0.2]]) + 0.5 * rng.normal(size=(3, 1)) * (seed > 0)
    u = z[:, 0] * (-2.0 if z[0, 0] > 0 else 2.0)
    row = ContactRow(z, [0], u, 0.0, 0.7)
    (x,) = shared([row], solve_impulses([row], [], 1, 5).contacts)
    np.testing.assert_allclose(z[:, 0] @ x, -u[0] / z[0, 0])
    along = -u / (z[:, 0] @ z[:, 0])
    slope = np.linalg.norm(along[1:]) / along[0]
    assert np.hypot(*x[1:]) / x[0] == pytest.approx(min(slope, 0.7)) and np.linalg.norm(x) <= np.linalg.norm(
        along
    ) / min(1.0, np.cos(np.arctan(slope) - np.arctan(min(slope, 0.7)))) * (1 + 1e-9)


def test_a_point_that_cannot_move_along_its_normal_takes_no_impulse():
    z = np.array([[0.0, 0.0, 0.0], [1.0, 0.2, 0.0], [0.0, 0.5, 0.3]])
    for b in (0.0, 0.1, -0.1):
        found = solve_impulses([ContactRow(z, MANY, np.array([0.0, 1.0, 2.0]), b, 0.8)], [], 3, 5, np.ones(3))
        assert not np.any(found.contacts) and not np.any(found.w)


def test_contacts_that_are_hard_to_lift_are_lifted_slowly():
    light, heavy = (Mobility.of(np.diag([size, 1.0, 1.0])) for size in (0.1, 1e-3))
    assert light.lift(0.3) == 0.3 and heavy.lift(-0.3) == -0.3 and 0.0 < heavy.lift(0.3) < 0.01


def hand(n=3):
    """Fingers of two links on a base that is fixed 2 cm above the ground, each pointing into it."""
    b = kl.Builder("hand")
    b.body("palm", joint="fixed", at=(0, 0, 0.02), **box(0.5, 0.1, 0.1, 0.02))
    for k in range(n):
        axis = (1.0, 0.2 * k, 0.0)
        b.body(f"near{k}", "palm", axis=axis, at=(0.03 * k, 0, 0), lower=-0.3, upper=0.3, **bar(0.05, 0.04))
        b.body(f"far{k}", f"near{k}", axis="y", at=(0.04, 0, 0), lower=-0.2, upper=0.2, **bar(0.03, 0.03))
    return b.build()


def test_what_cannot_come_up_is_kept_from_going_deeper_and_pushes_with_little():
    """Stops hold the fingers in the ground. Impulses that would lift them grew from step to step, to 1e8 N."""
    robot = hand()
    points = [ContactPoint(f"far{k}", (0.03, 0.0, -0.05)) for k in range(3)] + [
        ContactPoint(f"near{k}", (0.0, 0.0, -0.04)) for k in range(3)
    ]
    sim = Simulator(robot, 1e-3, ground=Plane(), contacts=points)
    run = sim.rollout(
        None, None, steps=300, record=("gap", "contact_force", "kinetic_energy", "residual", "iterations")
    )
    assert np.min(run.gap[0]) < -0.01, "they begin in the ground"
    assert run.status.tolist() == [Status.RUNNING] and np.max(run.residual) < 1e-3, "rest is always possible"
    assert np.sum(run.iterations > MOST_SMALL * sim.contact.rounds) == 1, "it is tried once"
    assert np.max(np.abs(run.contact_force)) < 100.0
    assert np.min(run.gap) > np.min(run.gap[0]) - 1e-4 and run.kinetic_energy[-1] < 1e-6
