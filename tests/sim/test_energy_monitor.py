"""The ledger of energy and work: what balances is left alone, what does not is said."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.model import Builder
from kinloop.sim import Motor, Plane, Simulator, Spring, Status
from kinloop.sim.energy_monitor import UNBALANCED, begin_ledger, booked, unbalanced
from kinloop.sim.integrators.runge_kutta import RungeKutta
from kinloop.sim.integrators.semi_implicit import SemiImplicit
from kinloop.sim.watch import Watch
from tests.sim.mechanisms import begin_watch, box_on, crank_rocker, level, pendulum

INTEGRATORS = ["semi_implicit", "rk4", "adaptive"]


def cart_pole(mass: float) -> kl.Robot:
    """A pole whose mass is a point, on a cart that weighs next to nothing: upright its inertia is nearly singular."""
    b = Builder("cart_pole")
    b.body("cart", joint="prismatic", axis="x", mass=mass)
    b.body("pole", "cart", axis="y", mass=1.0, com=(0, 0, 0.5), inertia=(1e-12, 1e-12, 1e-12))
    return b.build()


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("torque", [0.0, 0.8])
def test_smooth_motion_balances(integrator, torque):
    sim = Simulator(crank_rocker(), 1e-3, integrator=integrator, monitor=True)
    run = sim.rollout(None, np.array([6.0]), np.array([torque]), steps=500, record=("kinetic_energy",))
    assert run.status.tolist() == [1] and run.reasons == ("",)
    assert run.peaks["imbalance"][0] < (2e-5 if torque else 1e-6) * np.max(run.kinetic_energy)
    assert 0.0 <= run.peaks["loop_error"][0] < 1e-12


@pytest.mark.parametrize(
    "joint", [{"damping": 0.1}, {"damping": 10.0}, {"stiffness": 3.0}, {"stiffness": 300.0}, {"friction": 0.2}]
)
def test_damping_springs_and_friction_balance(joint):
    sim = Simulator(pendulum(**joint), 1e-3, monitor=True)
    run = sim.rollout(np.array([1.0]), np.array([2.0]), steps=2000, record=())
    assert run.status.tolist() == [1] and run.peaks["imbalance"][0] < 1e-3


@pytest.mark.parametrize(("kp", "kd", "limit"), [(10.0, 1.0, np.inf), (1e3, 10.0, 5.0)])
def test_servos_balance(kp, kd, limit):
    servo = Motor("crank_joint", "position", kp=kp, kd=kd, limit=limit)
    sim = Simulator(crank_rocker(), 1e-3, motors=[servo], monitor=True)
    run = sim.rollout(None, np.array([5.0]), np.array([1.0]), steps=1000, record=())
    assert run.status.tolist() == [1] and run.peaks["imbalance"][0] < 1e-3


def tumbling(rows):
    rng = np.random.default_rng(0)
    q = np.tile(level(0.5), (rows, 1))
    q[:, 3:] = rng.normal(size=(rows, 4))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
    return q, 3.0 * rng.normal(size=(rows, 6))


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_elastic_impacts_of_spinning_bodies_gain_no_energy(friction):
    """Steps of finite length know velocities at the touch, and inertias at the middle: 4 % a step before impulses were
    bounded by the energy that they give back."""
    rng = np.random.default_rng(0)
    turn, v = rng.normal(size=(16, 4)), rng.normal(size=(16, 6)) * [3.0, 3.0, 3.0, 1.0, 1.0, 0.0]
    q = np.tile(level(0.5), (16, 1))
    q[:, 3:] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    run = box_on(Plane(friction, restitution=1.0), monitor=True).rollout(
        q, v, steps=1000, record=["energy", "contact_force"]
    )
    touched = np.any(run.contact_force[:, 1:] != 0.0, axis=(2, 3))
    gained = np.diff(run.energy, axis=1)[touched] / run.energy[:, :-1][touched]
    assert np.sum(touched) > 50 and np.max(gained) < 3e-3
    assert np.all(run.status == 1)
    if not friction:
        left = run.energy[:, -1] / run.energy[:, 0]
        assert np.max(left) < 1.005 and np.median(left) > 0.98, "what is elastic goes on"


@pytest.mark.parametrize(("friction", "restitution"), [(0.0, 0.0), (0.8, 0.0), (0.5, 0.5)])
def test_contacts_take_energy_and_give_none(friction, restitution):
    sim = box_on(Plane(friction=friction, restitution=restitution), monitor=True)
    run = sim.rollout(*tumbling(8), steps=1500, record=("kinetic_energy", "energy"))
    assert run.status.tolist() == [1] * 8
    assert np.all(run.peaks["imbalance"] < 5e-3 * np.max(run.kinetic_energy, axis=1))
    assert np.all(run.energy[:, -1] < run.energy[:, 0] - 1.0), "contacts have taken some"


@pytest.mark.parametrize("height", [0.05, 0.051], ids=["rests", "hits"])
@pytest.mark.parametrize(("stiffness", "damping"), [(1e4, 10.0), (1e6, 1e3), (1e6, 1e5)])
def test_stiff_springs_with_dampers_that_press_on_contacts_balance(height, stiffness, damping):
    """Dampers act with the velocity after the blow, and what presses on a contact gains and loses by its last digits.

    With the velocity that the spring alone would give, 1.3 m/s in a step, the damper seemed to take half of the energy.
    """
    spring = Spring("world", "box", stiffness, length=0.5, damping=damping, at_first=(0.0, 0.0, 0.54))
    run = box_on(Plane(), forces=[spring], monitor=True).rollout(level(height), None, steps=60, record=["energy"])
    assert run.status.tolist() == [1] and run.peaks["contact_force"][0] > 50.0
    gained = np.diff(run.energy)
    assert np.sum(gained[gained > 0.0]) < 1e-6 * run.peaks["contact_force"][0] + 5e-2 * (run.energy[0] - run.energy[-1])


def test_springs_too_stiff_for_their_steps_lose_energy_that_is_booked():
    """In flight, where contact is possible: what a spring of 50 rad a step loses of its vibrations is its own loss."""
    spring = Spring("world", "box", 1e9, at_first=(0.0, 0.0, 2.0))
    q = level(2.0)
    q[2] += 1e-3
    run = box_on(Plane(), forces=[spring], monitor=True).rollout(q, None, steps=60, record=["energy"])
    height = 2.0 * 9.81 * 2.0
    assert run.energy[0] > height + 100.0 and run.energy[-1] == pytest.approx(height, abs=1e-3)
    assert run.status.tolist() == [1]


def test_a_light_cart_pole_says_that_its_energy_comes_from_nowhere():
    begin = np.array([0.0, 0.5]), np.zeros(2)
    for mass, dt in ((1e-4, 1e-3), (1e-6, 1e-5)):
        run = Simulator(cart_pole(mass), dt, integrator="rk4").rollout(*begin, steps=round(1.0 / dt), record=())
        assert run.status.tolist() == [Status.UNBALANCED] and run.diverged.tolist() == [True]
        assert run.peaks["imbalance"][0] > 0.5 and run.stopped.tolist() == [np.inf]
        assert run.reasons[0].startswith("has energy that no force supplied or took: ")
    fine = Simulator(cart_pole(1e-4), 1e-5, integrator="rk4").rollout(*begin, steps=100_000, record=())
    assert fine.status.tolist() == [1] and fine.peaks["imbalance"][0] < 1e-4
    exact = Simulator(cart_pole(1e-6), 1e-2, integrator="adaptive", monitor=True).rollout(*begin, steps=100, record=())
    assert exact.status.tolist() == [1] and exact.peaks["imbalance"][0] < 1e-6


@pytest.mark.sample(2)
@pytest.mark.parametrize(("kind", "name"), [(SemiImplicit, "semi_implicit"), (RungeKutta, "rk4")])
@pytest.mark.parametrize("factor", [1.0 + 5e-4, 1.0 - 5e-4], ids=["gains", "loses"])
def test_an_integrator_that_does_not_follow_its_equations_is_found_out(kind, name, factor, monkeypatch, tmp_path):
    monkeypatch.setenv("KINLOOP_CACHE_DIR", str(tmp_path))
    right = kind.step

    def wrong(self, system, q, qd, memory, u, h):
        moved = right(self, system, q, qd, memory, u, h)
        return moved._replace(qd=factor * moved.qd)

    monkeypatch.setattr(kind, "step", wrong)
    sim = Simulator(crank_rocker(), 1e-3, integrator=name, monitor=True)
    run = sim.rollout(None, np.array([6.0]), np.zeros(1), steps=500, record=())
    assert run.status.tolist() == [Status.UNBALANCED]
    unwatched = Simulator(crank_rocker(), 1e-3, integrator=name, monitor=False)
    assert unwatched.rollout(None, np.array([6.0]), np.zeros(1), steps=500, record=()).status.tolist() == [1]


def test_what_is_unexplained_falls_back_to_zero_while_something_touches_and_no_further():
    watch = Watch.of(begin_watch(1))
    begin_ledger(watch, np.array([[2.0, 1.0]]))
    now = Watch.of(begin_watch(1)[0])._replace(energy=3.0, motion=2.0)
    assert watch.energy[0] == 3.0 and watch.motion[0] == pytest.approx(2.0)
    for kinetic, work, flying, unexplained in (
        (2.5, 0.5, True, 0.0),  # a motor did it
        (2.6, 0.0, True, 0.1),
        (2.7, 0.0, False, 0.2),  # contacts give none
        (2.6, 0.0, False, 0.1),
        (1.0, 0.0, False, 0.0),  # and take what they like
        (0.9, 0.0, True, -0.1),
        (0.5, 0.0, False, -0.1),
    ):
        now = now._replace(**booked(now, kinetic, 1.0, work, flying))
        assert now.unexplained == pytest.approx(unexplained, abs=1e-12)
    assert now.imbalance == pytest.approx(0.2) and now.work == 0.5 and now.motion == pytest.approx(3.2)


def test_rows_are_unbalanced_from_the_stated_part_on_and_where_energy_is_no_number():
    watch = Watch.of(begin_watch(4))
    watch.motion[:] = 10.0
    watch.imbalance[:] = 0.99 * UNBALANCED * 10.0, 1.01 * UNBALANCED * 10.0, np.nan, 5.0
    watch.motion[3] = 0.0  # nobody watches
    assert unbalanced(watch).tolist() == [False, True, True, False]


def test_who_starts_below_the_ground_is_told_what_lifted_him():
    run = box_on(Plane(), monitor=True).rollout(level(-0.2), None, steps=1000, record=())
    assert run.status.tolist() == [Status.UNBALANCED] and "mm below the ground, which lifted it" in run.reasons[0]


def test_the_monitor_changes_no_motion():
    q, v = tumbling(3)
    runs = [box_on(Plane(), monitor=m).rollout(q, v, steps=300) for m in (True, False)]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert "imbalance" in runs[0].peaks and "imbalance" not in runs[1].peaks
