"""A sweep: robots of the zoo, integrators, torques, step lengths, starts. A row that says it is well has to be.

Motors push with constant torques, nothing else acts but gravity. So the energy that a row gained is known from where
it came to,

    E(t) - E(0) = u (q(t) - q(0))                                                                               (1)

for every row, however far it went. And every row is compared with what `adaptive` finds at a tighter tolerance, over
the first `FAR` of its way: where that lies within a step, with the parts in which the step was taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from helpers import drop, used

import kinloop as kl
from kinloop.sim import Simulator, Status
from kinloop.sim.actuators import make_drive
from kinloop.sim.integrators.adaptive import Course
from kinloop.sim.recorder import Recorder, RecordPlan
from kinloop.sim.rollout import Rollout

TORQUES = (0.0, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6)
STEPS = (1e-4, 1e-3, 1e-2, 1e-1)
COUNT = 5
"""Steps of a run."""

FAR = 30.0
"""Beyond a way of this length [rad, m] robots may be chaotic (the adaptive integrator does not agree with itself at
another tolerance): the way up to there is compared."""

POINTS = 20
"""Places of a row's way that are compared, at most."""

LINKAGES = {"semi_implicit": 1e-2, "rk4": 2e-5, "adaptive": 1e-6}
ROBOTS = {"semi_implicit": 3e-2, "rk4": 5e-4, "adaptive": 1e-6}
"""How well rows of linkages and of robots agree with `adaptive`, relative to how far they came ..."""

LONG_STEPS = 1e-1
"""... and those of robots under `semi_implicit` with steps of 0.1 s."""

SUPPLIED = {"semi_implicit": 1e-2, "rk4": 1e-3, "adaptive": 1e-6}
"""How well (1) holds over `COUNT` steps, relative to the largest of kinetic energy and work; the worse the fewer."""

STILL = 1e-9
"""A way [rad, m] that counts as none."""

ROUNDING = 1e-15
"""What closing may move an angle or a slide by where nothing moves, relative to its size."""

TIGHT = (1e-12, 3e-12, 1e-11, 3e-11)
"""Tolerances of what rows are compared with, each where singular configurations stop the one before."""

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


def simulator(robot: kl.Robot, integrator: str, dt: float, **options) -> Simulator:
    """One motor pushes: on an independent coordinate that has a position, or else on any that has."""
    plain = make_drive(robot.tree, list(robot.tree.top.coordinates))
    names = [m.joint for m, place in zip(plain.motors, plain.places, strict=True) if place >= 0]
    first = next((name for name in robot.independent_names if name in names), names[0])
    return Simulator(robot, dt, integrator=integrator, limits=False, motors=[first], **options)


class Parts(Recorder):
    """A recorder that sees the parts of steps too: `seen` has times and positions of every row, a few of each step."""

    def __init__(self, sim: Simulator, steps: int, rows: int) -> None:
        plan = RecordPlan(sim, ("q", "qd", "energy", "kinetic_energy", "loop_error"))
        super().__init__(plan, plan.even(1, steps), rows)
        self.dt, self.seen, self.last = sim.dt, [[] for _ in range(rows)], ((), 1)

    def over_parts(self, kept, parts):
        self.last = kept["q_seen"], parts
        return super().over_parts(kept, parts)

    def store(self, k, start, every, kept):
        super().store(k, start, every, kept)
        (q, parts), self.last = self.last, ((), 1)
        for row, x in zip(k, q, strict=False):
            way = np.cumsum(np.max(np.abs(np.diff(x, axis=0)), axis=1))
            some = np.linspace(0, np.searchsorted(way, FAR), POINTS).astype(int)
            self.seen[row] += [(self.dt * (start + (i + 1) / parts), x[i]) for i in np.unique(some)]

    def way(self, row: int, begin: np.ndarray, ends: np.ndarray, far: float) -> tuple[np.ndarray, np.ndarray]:
        """Times and positions of a row that began at `begin`, and was at `ends` after its steps, as far as `far`."""
        found = dict(self.seen[row]) | {self.dt * (k + 1): q for k, q in enumerate(ends)}
        t = np.array(sorted(found))
        q = np.array([found[x] for x in t])
        gone = np.cumsum(np.max(np.abs(np.diff(np.vstack([begin, q]), axis=0)), axis=1))
        near = max(1, int(np.searchsorted(gone, far)))
        some = np.unique(np.linspace(0, near - 1, POINTS).astype(int))
        return t[some], q[some]


def run(robot: kl.Robot, integrator: str, dt: float, torques, seeds, steps=COUNT):
    """Rows of a robot, what became of them, and what was seen on their way."""
    sim = simulator(robot, integrator, dt)
    rows = rows_of(robot, sim, torques, seeds)
    state = sim.state(rows.q, qd=rows.qd)
    parts, batch = Parts(sim, steps, len(rows.q)), sim.batch(state)
    info = sim.method.run(batch, rows.u[:, None], steps, parts, None, None)
    return rows, parts.result(batch, state, False, info), parts


def apart(robot: kl.Robot, rows: Rows, k: int, t: np.ndarray, q: np.ndarray) -> float:
    """By how much row k, which was at q at times t, is apart from `adaptive`, relative to how far that came."""
    sim = simulator(robot, "adaptive", t[-1])
    state, found = sim.state(rows.q[k], qd=rows.qd[k]), []
    for tolerance in TIGHT:
        batch = sim.batch(state)
        found = max(found, Course(batch, 0, tolerance).run(rows.u[k], t[-1], t), key=len)
        if len(found) == len(t):
            break
    if not found:
        drop("row of the sweep that no tighter tolerance follows over a singular configuration: judged by its energy")
        return 0.0
    if len(found) < len(t):
        drop("way of the sweep that a tighter tolerance follows in part only")
    exact = np.array(found)[:, : robot.nq]
    path = np.max(np.abs(exact - rows.q[k]))
    off = np.max(np.abs(exact - q[: len(exact)]))
    return float(max(0.0, off - ROUNDING * np.max(np.abs(q))) / (path + STILL))


def unsupplied(robot: kl.Robot, rows: Rows, r: Rollout) -> np.ndarray:
    """The energy of rows that no force supplied, by (1), relative to the largest of kinetic energy and work."""
    sim = simulator(robot, "semi_implicit", 1e-3)
    begin = np.asarray(sim.engine.reading(rows.q, rows.qd)[1])
    work = np.max(np.abs(rows.u), axis=1)[:, None] * (r.q[..., rows.place] - rows.q[:, [rows.place]])
    gained = r.energy - np.sum(begin, axis=1)[:, None]
    size = np.maximum(np.max(r.kinetic_energy, axis=1), np.max(np.abs(work), axis=1))
    size = np.maximum(size, begin[:, 0]) + 1e-6 * (1.0 + np.abs(begin[:, 1]))
    return np.max(np.abs(gained - work), axis=1) / size


def judge(name: str, integrator: str, dt: float, torques, seeds, far: float = FAR, steps: int = COUNT) -> None:
    robot = kl.robots.load(name)
    rows, r, parts = run(robot, integrator, dt, torques, seeds, steps)
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
    moved = np.any(np.diff(np.concatenate([rows.q[:, None], r.q], axis=1), axis=1) != 0.0, axis=2)
    pushed = well & (np.max(np.abs(rows.u), axis=1) >= 1.0)
    assert np.all(moved[pushed]), f"{what}: a row that is pushed stands still"
    wrong = np.where(well, unsupplied(robot, rows, r), 0.0)
    worst = int(np.argmax(wrong))
    assert wrong[worst] < SUPPLIED[integrator] * COUNT / steps, (
        f"{what}: energy {wrong[worst]:.1e} from nowhere under {rows.u[worst, 0]:g}"
    )
    bound = (LINKAGES if name in SINGLE else ROBOTS)[integrator]
    if name not in SINGLE and integrator == "semi_implicit" and dt == 0.1:
        bound = LONG_STEPS
    for k in np.flatnonzero(well):
        error = apart(robot, rows, k, *parts.way(k, rows.q[k], r.q[k], far))
        assert error < bound, f"{what}: row {k} is {error:.1e} of its way from adaptive under {rows.u[k, 0]:g}"


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "adaptive"])
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.sample(6)
def test_a_sample_of_the_sweep(name, integrator):
    judge(name, integrator, 1e-3, (0.0, 1e2, 1e4), (0,))


@pytest.mark.parametrize(
    ("integrator", "dt"), [*(("semi_implicit", dt) for dt in STEPS), *(("rk4", dt) for dt in STEPS[:3])]
)
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.sample(10)
def test_no_row_that_says_it_is_well_stands_still(name, integrator, dt):
    """Torques from 1 to 1e6, over one step or the first radian of it; the sweep has all robots and more steps.

    The largest torques go with the shorter steps: with the longest ones they take tens of thousands of parts a step.
    """
    judge(name, integrator, dt, TORQUES[1::2] if dt < 5e-3 else TORQUES[1:5:2], (1,), far=1.0, steps=1)


@pytest.mark.slow
@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
@pytest.mark.parametrize("name", ZOO)
def test_rows_that_are_well_follow_their_equations(name, integrator, dt):
    judge(name, integrator, dt, TORQUES, range(4 if name in SINGLE else 1))


@pytest.mark.slow
@pytest.mark.parametrize("torque", TORQUES)
@pytest.mark.parametrize("name", ZOO)
def test_rows_of_the_adaptive_integrator_follow_theirs(name, torque):
    """Its steps do not depend on dt: no row goes farther than about `FAR`, however large dt and torque are."""
    seeds = range(2 if name in SINGLE else 1)
    longest = time_to(FAR, kl.robots.load(name), torque, seeds) / COUNT
    for dt in sorted({min(dt, longest) for dt in STEPS}):
        judge(name, "adaptive", dt, (torque,), seeds)


def time_to(far: float, robot: kl.Robot, torque: float, seeds) -> float:
    """When the first row under a torque would have gone so far, if its acceleration stayed what it is at first."""
    sim = simulator(robot, "adaptive", 1e-3)
    rows = rows_of(robot, sim, (torque,), seeds)
    a = np.max(np.abs(np.asarray(sim.engine.rate(rows.q, rows.qd, rows.u)[1])), axis=1)
    v = np.max(np.abs(rows.qd), axis=1)
    return float(np.min(2.0 * far / (v + np.sqrt(v * v + 2.0 * a * far) + 1e-9)))


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
