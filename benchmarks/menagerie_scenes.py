"""Every scene of the MuJoCo Menagerie: one second with its own motors from its keyframe, beside MuJoCo.

    KINLOOP_MENAGERIE=folder python -m benchmarks.menagerie_scenes --results file.json [--table file.md] [robot ...]

A scene is a file scene*.xml of a robot, or any file of a robot that has none. `Simulator(robot, dt, collisions=True,
motors="model")` begins at its keyframe (home, or the last), or where the file draws it, and goes 1 s in steps of 0.5
ms under the controls of the keyframe, or zeros. Where nothing can touch, `collisions` is left out, and motors that
nobody models (muscles, adhesion) are left out in both; where a step has no room for all contacts or its impulses are
not found, more of either is given, and said. MuJoCo begins at the same place with the same controls, integrated by
"implicitfast", in two ways: *soft* with the same steps and the solref (0.004, 1) that these allow in place of the
file's (limits of tendons keep theirs, as in kinloop); *hard* with steps and solref a quarter of that, solimp 0.999,
elliptic cones with impratio 10 and no fluid, as near to rigid as it goes. Many keyframes have feet in the ground, and
what is stiff is thrown out of there: `begin` is how deep. For the hard run both begin lifted by that, if something is
free. Differences are of heights of free bodies, and of places of all bodies. `chance` is how far the hard run ends
from itself if it begins 10 micrometres or microradians beside. Every scene runs in a process of its own, which ends
after `--minutes`; results are kept as they come, and scenes that are there already are left alone.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import kinloop as kl
from benchmarks.mujoco_runs import DT, END, depth, hard_model, lifted, mujoco_places, stiff_model
from kinloop.errors import KinloopError, MethodError
from kinloop.io import convert
from kinloop.io.mjcf.mujoco_codes import MjModel
from kinloop.sim import Collisions, Simulator, Status
from kinloop.sim.actuators import make_drive
from kinloop.sim.state import State

FOLDER = "KINLOOP_MENAGERIE"
"""The environment variable with the folder of the Menagerie."""
BESIDE = 1e-5
"""How far beside the run for `chance` begins [m, rad]."""
MORE = {
    Status.CROWDED.name: (Collisions(contacts=96, pairs=256), 5, "crowded otherwise: with room for 96 contacts"),
    Status.UNSOLVED.name: (True, 20, "unsolved with 5 iterations: with 20"),
}
"""Collisions and iterations for scenes that do not come to their end with the usual ones, and what is said of it."""
TELLING = 1.0
"""The part of a difference that `chance` makes up, at least, where it tells why they differ."""
ALLOWED = 2.0
"""How far heights of free bodies, or places of bodies where none is free, may be from MuJoCo's [mm]."""
DIFFERENCES = ("begin", "soft_height", "soft_place", "hard_height", "hard_place", "chance")
COLUMNS = ["scene", "status", *(f"{x.replace('_', ' ')} [mm]" for x in DIFFERENCES), "residual", "remarks"]


@dataclass
class Result:
    """What became of one scene; `problem` says why there is no simulation, `left_out` what the simulator warned of.

    Differences are in millimetres, `step` is the time that a processor took for a step [µs], `build` all of it [s].
    """

    scene: str
    status: str = ""
    problem: str = ""
    reason: str = ""
    begin: float = np.nan
    soft_height: float = np.nan
    soft_place: float = np.nan
    hard_height: float = np.nan
    hard_place: float = np.nan
    chance: float = np.nan
    residual: float = 0.0
    missed: float = 0.0
    substeps: int = 0
    step: float = np.nan
    build: float = np.nan
    left_out: list[str] = field(default_factory=list)

    @property
    def runs(self) -> bool:
        return self.status == Status.RUNNING.name

    @property
    def difference(self) -> float:
        """By what the scene is judged [mm]: heights of free bodies, or places of all, from the nearer of both runs."""
        fixed = np.isnan(self.soft_height)
        return min(self.soft_place, self.hard_place) if fixed else min(self.soft_height, self.hard_height)

    @property
    def fits(self) -> bool:
        return self.runs and self.difference <= ALLOWED

    @property
    def explanation(self) -> str:
        """Why a scene that runs is not where MuJoCo has it, as far as its own numbers tell."""
        if not self.runs or self.fits or self.chance < TELLING * self.difference:
            return ""
        return f"what begins 10 µm beside ends {self.chance:.2g} mm beside: small differences grow"

    def cells(self) -> list[str]:
        if self.problem:
            return [self.scene, "none", *[""] * (len(COLUMNS) - 3), self.problem]
        told = [_short(getattr(self, name)) for name in DIFFERENCES]
        remarks = filter(None, (self.explanation, self.reason, *self.left_out))
        return [self.scene, self.status, *told, f"{self.residual:.0e}", "; ".join(remarks)]


def _short(x: float) -> str:
    return "" if np.isnan(x) else f"{x:.3g}"


def scene_files(folder: Path, robots: list[str]) -> Iterator[Path]:
    """Scenes of the robots that are named ("robot" or "robot/file.xml"), or of all."""
    for name in robots or sorted(p.name for p in folder.iterdir() if p.is_dir()):
        if name.endswith(".xml"):
            yield folder / name
            continue
        yield from sorted((folder / name).glob("scene*.xml")) or sorted((folder / name).glob("*.xml"))


def begin(sim: Simulator, model: MjModel) -> tuple[State, np.ndarray]:
    """The keyframe "home", or the last, a scene's own, which follow those of its robot; without any qpos0 and zeros."""
    names = [k.name for k in sim.robot.mechanism.keyframes]
    if names:
        return sim.keyframe("home" if "home" in names else names[-1])
    q = sim.robot.close(convert.from_mujoco(sim.robot, model, model.qpos0))
    return sim.state(q), np.zeros(sim.nu)


def simulator(robot: kl.Robot, collisions: Collisions | bool = True, iterations: int = 5) -> Simulator:
    """With contact of all shapes, and motors of the file; without what a scene has none of, or nobody models."""
    motors = "model" if robot.mechanism.actuators else None
    try:
        make_drive(robot.tree, motors)
    except MethodError as error:
        warnings.warn(f"without motors: {error}", stacklevel=2)
        motors = None
    try:
        return Simulator(robot, DT, collisions=collisions, motors=motors, iterations=iterations)
    except MethodError as error:
        if "can touch" not in str(error) and "switches contact off" not in str(error):
            raise
        return Simulator(robot, DT, motors=motors)


def simulated(out: Result, sim: Simulator, state: State, u: np.ndarray) -> np.ndarray:
    """The last q of a run, of which `out` tells."""
    sim.step(state, u)  # kernels are made here
    steps, start = round(END / DT), time.process_time()
    run = sim.rollout(state=state, controls=u, steps=steps, record=["q"], every=steps)
    out.step = 1e6 * (time.process_time() - start) / steps
    out.status, out.reason, out.substeps = Status(run.status[0]).name, run.reasons[0], int(run.substeps[0])
    out.residual, out.missed = (float(run.peaks[k][0]) if k in run.peaks else 0.0 for k in ("residual", "missed"))
    return run.final.q[0]


def compared(out: Result, sim: Simulator, path: Path) -> None:
    """Run both, and write down what became of them."""
    import mujoco

    driven, robot = sim.drive.of_file, sim.robot
    model = stiff_model(path, driven)
    free = model.jnt_bodyid[np.equal(model.jnt_type, mujoco.mjtJoint.mjJNT_FREE)]
    state, u = begin(sim, model)
    if model.nu and not robot.mechanism.actuators:
        out.left_out.append("without motors: none of the file's are read")
    given = u if driven else np.zeros(model.nu), sim.activations(state)[0]
    qpos, end = (convert.to_mujoco(robot, model, q) for q in (state.q[0], simulated(out, sim, state, u)))
    ours = mujoco_places(model, end, *given, 0.0)
    out.begin = depth(model, qpos)
    out.soft_height, out.soft_place = _differences(ours, mujoco_places(model, qpos, *given), free)
    model = hard_model(path, driven)
    if out.begin and len(free):
        qpos = lifted(model, qpos, out.begin)
        state = sim.state(convert.from_mujoco(robot, model, qpos), act=sim.activations(state))
        end = convert.to_mujoco(robot, model, simulated(Result(out.scene), sim, state, u))
        ours = mujoco_places(model, end, *given, 0.0)
    theirs = mujoco_places(model, qpos, *given)
    out.hard_height, out.hard_place = _differences(ours, theirs, free)
    beside = qpos.copy()
    mujoco.mj_integratePos(model, beside, np.random.default_rng(0).uniform(-BESIDE, BESIDE, model.nv), 1.0)
    out.chance = _differences(mujoco_places(model, beside, *given), theirs, free)[1]


def _differences(a: np.ndarray, b: np.ndarray, free: np.ndarray) -> tuple[float, float]:
    """Of heights of free bodies, nan without them, and of places of all bodies."""
    height = float(np.max(np.abs((a - b)[free, 2]))) if len(free) else np.nan
    return height, float(np.max(np.linalg.norm(a - b, axis=1)))


def look_at(path: Path, folder: Path) -> Result | None:
    """What becomes of a scene; None where MuJoCo does not load it or nothing in it moves."""
    out = Result(path.relative_to(folder).as_posix())
    try:
        if not stiff_model(path).nv:
            return None
    except ValueError:
        return None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            start = time.perf_counter()
            robot = kl.load(path, packages=[folder])
            told.clear()
            sim = simulator(robot)
            out.left_out = [str(w.message) for w in told]
            compared(out, sim, path)
            if out.status in MORE:
                collisions, iterations, remark = MORE[out.status]
                out.left_out.append(remark)
                compared(out, simulator(robot, collisions, iterations), path)
            out.build = time.perf_counter() - start
        except KinloopError as error:
            out.problem = str(error).replace(f"{folder}/", "")
    return out


def _send(path: Path, folder: Path, pipe: Any) -> None:
    pipe.send(look_at(path, folder))


def alone(path: Path, folder: Path, minutes: float) -> Result | None:
    """`look_at` in a process of its own, which is ended where it takes too long."""
    context = multiprocessing.get_context("spawn")
    mine, yours = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(path, folder, yours))
    process.start()
    yours.close()
    name = path.relative_to(folder).as_posix()
    try:
        found = mine.recv() if mine.poll(60.0 * minutes) else Result(name, problem=f"longer than {minutes:g} minutes")
    except EOFError:
        process.join()
        found = Result(name, problem=f"its process ended by itself ({process.exitcode})")
    process.kill()
    process.join()
    assert found is None or isinstance(found, Result)
    return found


def markdown(results: list[Result]) -> str:
    rows = [COLUMNS, ["---"] * len(COLUMNS), *(r.cells() for r in results)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main(arguments: list[str] | None = None) -> int:
    """Print a line a scene, write the results; 1 if a scene does not run or agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--minutes", type=float, default=10.0)
    given = parser.parse_args(arguments)
    if not os.environ.get(FOLDER) or not Path(os.environ[FOLDER]).is_dir():
        parser.error(f"set {FOLDER} to the folder of the MuJoCo Menagerie")
    folder = Path(os.environ[FOLDER]).resolve()
    kept = json.loads(given.results.read_text(encoding="utf-8")) if given.results.exists() else {}
    for path in scene_files(folder, given.robots):
        name = path.relative_to(folder).as_posix()
        if name in kept:
            continue
        found = alone(path, folder, given.minutes)
        if found is not None:
            kept[name] = asdict(found)
            print(" | ".join(found.cells()), flush=True)
            given.results.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    results = [Result(**kept[name]) for name in sorted(kept)]
    runs, agree = sum(r.runs for r in results), sum(r.fits for r in results)
    print(f"{len(results)} scenes: {runs} run, {agree} within {ALLOWED:g} mm of MuJoCo")
    if given.table is not None:
        given.table.write_text(markdown(results), encoding="utf-8")
    return 0 if results and agree == len(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
