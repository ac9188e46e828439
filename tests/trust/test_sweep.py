"""A sweep: robots of the zoo, integrators, torques, step lengths, starts. A row that says it is well has to be.

Motors push with constant torques, nothing else acts but gravity. So the energy that a row gained is known from where
it came to,

    E(t) - E(0) = u (q(t) - q(0))                                                                               (1)

for every row, however far it went. Rows that went not too far are compared with steps of half the length too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from helpers import drop, used

import kinloop as kl
from kinloop.sim import Simulator, Status
from kinloop.sim.actuators import make_drive
from kinloop.sim.rollout import Rollout

TORQUES = (0.0, 1.0, 1e2, 1e4, 1e6)
STEPS = (1e-4, 1e-3, 1e-2, 1e-1)
COUNT = 5
"""Steps of a run."""

FAR = 30.0
"""Rows whose joints go a longer way [rad, m] may be chaotic (where they do, the adaptive integrator does not agree with
itself at another tolerance): they are judged by their energy alone."""

SUPPLIED = {"semi_implicit": 5e-2, "rk4": 1e-3, "adaptive": 1e-6}
"""How well (1) holds, relative to the largest of kinetic energy and work."""

HALVED = {"semi_implicit": 5e-2, "rk4": 1e-3, "adaptive": 1e-6}
"""How well runs agree with those of half the step length, relative to how far they came; twice that at dt = 0.1."""

SMALL = ["four_bar", "slider_crank", "rssr"]
SINGLE = [*SMALL, "six_bar", "bennett", "bricard", "planar_leg_linkage"]
"""Single linkages, which are cheap: they begin in more ways."""

ZOO = [*SINGLE, "four_bar_chain", "stewart", "wishbone", "rocker", "ladder", "teleop_arm", "mini_cheetah", "tello"]


class Rows(NamedTuple):
    """What batch rows begin with: q, qd, controls, and the coordinate and its place in q that they push."""

    q: np.ndarray
    qd: np.ndarray
    u: np.ndarray
    place: int


def rows_of(robot: kl.Robot, sim: Simulator, torques, seeds) -> Rows:
    """Every torque from every start: random ones at rest and moving, and the neutral one."""
    starts = []
    for seed in seeds:
        q, v = robot.random_state(seed)
        qd = robot.spanning_velocity(q, v)
        starts += [(q, 0.0 * qd), (q, qd)]
    starts.append((robot.neutral(), np.zeros(robot.n_spanning)))
    q, qd = (np.array([x[k] for x in starts for _ in torques]) for k in (0, 1))
    return Rows(q, qd, np.tile(torques, len(starts))[:, None], sim.drive.places[0])


def simulator(robot: kl.Robot, integrator: str, dt: float) -> Simulator:
    """One motor pushes: on an independent coordinate that has a position, or else on any that has."""
    plain = make_drive(robot.tree, list(robot.tree.top.coordinates))
    names = [m.joint for m, place in zip(plain.motors, plain.places, strict=True) if place >= 0]
    first = next((name for name in robot.independent_names if name in names), names[0])
    return Simulator(robot, dt, integrator=integrator, limits=False, motors=[first])


def run(robot: kl.Robot, integrator: str, dt: float, torques, seeds, steps: int = COUNT) -> tuple[Rows, Rollout]:
    sim = simulator(robot, integrator, dt)
    rows = rows_of(robot, sim, torques, seeds)
    u = np.repeat(rows.u[:, None], steps, axis=1)
    record = ("q", "qd", "energy", "kinetic_energy", "loop_error")
    return rows, sim.rollout(state=sim.state(rows.q, qd=rows.qd), controls=u, record=record)


def unsupplied(robot: kl.Robot, rows: Rows, r: Rollout) -> np.ndarray:
    """The energy of rows that no force supplied, by (1), relative to the largest of kinetic energy and work."""
    sim = simulator(robot, "semi_implicit", 1e-3)
    begin = np.asarray(sim.engine.reading(rows.q, rows.qd)[1])
    work = np.max(np.abs(rows.u), axis=1)[:, None] * (r.q[..., rows.place] - rows.q[:, [rows.place]])
    gained = r.energy - np.sum(begin, axis=1)[:, None]
    size = np.maximum(np.max(r.kinetic_energy, axis=1), np.max(np.abs(work), axis=1))
    size = np.maximum(size, begin[:, 0]) + 1e-6 * (1.0 + np.abs(begin[:, 1]))
    return np.max(np.abs(gained - work), axis=1) / size


def judge(name: str, integrator: str, dt: float, torques, seeds) -> None:
    robot = kl.robots.load(name)
    rows, r = run(robot, integrator, dt, torques, seeds)
    what = f"{name} {integrator} dt {dt:g}"
    well = r.status == Status.RUNNING
    assert np.all(np.isin(r.status, [s for s in Status if s != Status.TOO_LONG])), what
    through = well | np.isin(r.status, [Status.UNBALANCED, Status.UNSOLVED])
    assert np.all(np.isfinite(r.stopped[~through])) and np.all(np.isinf(r.stopped[through])), what
    assert all(bool(reason) is not bool(ok) for reason, ok in zip(r.reasons, well, strict=True)), what
    assert np.all(np.isfinite(r.q)) and np.all(np.isfinite(r.qd)), what
    used["rows of the sweep"] += len(well)
    for status in r.status[~well]:
        drop(f"row of the sweep that is not well and says so: {Status(int(status)).name}")
    if not np.any(well):
        return
    assert np.max(r.loop_error[well], initial=0.0) < 1e-9, what
    pushed = well & (np.max(np.abs(rows.u), axis=1) >= 1.0)
    assert np.all(np.any(r.q[:, -1] != rows.q, axis=1)[pushed]), f"{what}: a row that is pushed stands still"
    wrong = unsupplied(robot, rows, r)
    worst = int(np.argmax(np.where(well, wrong, 0.0)))
    assert wrong[worst] < SUPPLIED[integrator], (
        f"{what}: energy {wrong[worst]:.1e} from nowhere under {np.max(rows.u[worst])}"
    )
    _, half = run(robot, integrator, 0.5 * dt, torques, seeds, 2 * COUNT)
    path = np.max(np.abs(r.q - rows.q[:, None]), axis=(1, 2))
    way = dt * np.sum(np.max(np.abs(r.qd), axis=2), axis=1)
    near = well & (half.status == Status.RUNNING) & (way < FAR)
    for _ in range(int(np.sum(well & ~near))):
        drop("row of the sweep that went too far to be compared with its halved steps: judged by its energy")
    apart = np.max(np.abs(half.q[:, 1::2] - r.q), axis=(1, 2)) / (1e-3 + path)
    worst = int(np.argmax(np.where(near, apart, 0.0)))
    assert not near[worst] or apart[worst] < HALVED[integrator] * (2.0 if dt == 0.1 else 1.0), (
        f"{what}: {apart[worst]:.1e} from halved steps under {np.max(rows.u[worst])}"
    )


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "adaptive"])
@pytest.mark.parametrize("name", SMALL)
def test_a_sample_of_the_sweep(name, integrator):
    judge(name, integrator, 1e-3, (0.0, 1e2, 1e4), (0,))


@pytest.mark.slow
@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
@pytest.mark.parametrize("name", ZOO)
def test_rows_that_are_well_follow_their_equations(name, integrator, dt):
    judge(name, integrator, dt, TORQUES, range(4 if name in SINGLE else 1))


@pytest.mark.slow
@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("name", ZOO)
def test_rows_of_the_adaptive_integrator_follow_theirs(name, dt):
    judge(name, "adaptive", dt, (0.0, 1.0, 1e2), range(2 if name in SINGLE else 1))


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "adaptive"])
@pytest.mark.parametrize("qd", [(1.0, -1.0, 1.0), (1.0, -1.0, -2.0)], ids=["not allowed", "between the branches"])
def test_a_singular_start_that_leads_nowhere_is_not_called_well(integrator, qd):
    """In line a parallelogram may go on in two ways; a velocity that is neither has no motion to follow."""
    robot = kl.robots.load("four_bar")
    sim = Simulator(robot, 1e-3, integrator=integrator, limits=False)
    try:
        state = sim.state(np.zeros(3), qd=np.array(qd))
    except kl.errors.KinloopError:
        return  # refused by name
    r = sim.rollout(state=state, controls=np.full((1, 5, 1), 1e2))
    assert r.status[0] != Status.RUNNING, "it has no equations of motion that it could have followed"
    assert np.all(np.isfinite(r.q))
