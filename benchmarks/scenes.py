"""Whole scenes of the MuJoCo Menagerie with all their shapes beside MuJoCo, on one core.

    python -m benchmarks.scenes FOLDER [go1 g1 allegro] [rest motion]

Both sides read one file: all collision shapes, pairs that may touch, friction, joint stops, damping and actuators are
as it says. They are timed over the same stretch of time at the same time step: `mj_step` in its own loop, kinloop with
a batch in one native call on one thread. How many contacts press is said for either side, and how long a fresh kernel
takes to be made.

At rest, Go1 and G1 stand on the floor of their scenes and the Allegro hand holds a cube on its palm: all begin at the
keyframe under its controls, rows of the batch with different small velocities, and settle.

In motion, rows begin at the keyframe with free bodies up to 5 cm higher and random velocities, and every motor follows
a sine of its own about the keyframe, a new value every 10 ms. Robots land, stumble, fall and touch themselves. What is
timed begins after 0.2 s. MuJoCo runs some of these rows, from the same states under the same controls.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import kinloop as kl
from benchmarks.simulate import DT, STEPS, TURNS, MuJoCo
from kinloop.bench.timing import one_core, seconds_per_call
from kinloop.io.convert import to_mujoco
from kinloop.sim import Simulator
from kinloop.sim.state import State

STATES = 256
SETTLE, FALL = 1500, 200
"""Steps before the measurement begins, at rest and in motion."""

DROP, SPEED, SWING, TURN = 0.05, 0.5, 0.3, (0.5, 2.0)
"""In motion: how high rows begin [m], how fast [m/s, rad/s], how far motors swing [rad] and how often [Hz]."""
HELD = 10
"""Steps for which a motor is told the same."""
BESIDE = 8
"""Rows in motion that MuJoCo runs."""

CUBE = '<geom type="box" size="0.025 0.025 0.025" condim="3" friction="0.7"/>'
HOLD = "0 0.3 0.3 0.3 0 0.3 0.3 0.3 0 0.3 0.3 0.3 0.6 0.3 0.3 0.3"
"""The joints of the hand: fingers a little bent, so that what lies on the palm stays there."""
KEY = f'<keyframe><key name="palm" qpos="{HOLD} 0 0 0.07 1 0 0 0" ctrl="{HOLD}"/></keyframe>'


def with_cube(folder: Path, target: Path) -> Path:
    """The scene of the right Allegro hand with a cube instead of its ellipsoid, copied to `target`."""
    shutil.copytree(folder / "wonik_allegro", target, dirs_exist_ok=True)
    text = (target / "scene_right.xml").read_text(encoding="utf-8")
    start = text.index('<geom type="ellipsoid"')
    end = text.index("/>", start) + len("/>")
    path = target / "scene_cube.xml"
    path.write_text((text[:start] + CUBE + text[end:]).replace("</mujoco>", f"{KEY}</mujoco>"), encoding="utf-8")
    return path


class Scene:
    """A simulator of a scene and its keyframe; `seconds` of processor time made its kernels."""

    def __init__(self, path: Path) -> None:
        self.path, robot = path, kl.load(path)
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.sim = Simulator(robot, DT, collisions=True, motors="model")
        self.start, u = self.sim.keyframe(robot.mechanism.keyframes[0].name)
        self.u = np.asarray(u, dtype=float).reshape(1, 1, -1)
        self.sim.rollout(state=self.sim.state(np.repeat(self.start.q, STATES, axis=0)), controls=self.u[0, 0], steps=1)
        self.seconds, self.operations = time.process_time() - began, self.sim.engine.step.operations["total"]

    def at_rest(self) -> Rows:
        """Rows that begin with small velocities and settle."""
        rng, robot = np.random.default_rng(0), self.sim.robot
        q = np.repeat(self.start.q, STATES, axis=0)
        many = self.sim.state(q, rng.normal(0.0, 0.02, (STATES, robot.nv)))
        settled = self.sim.rollout(state=many, controls=self.u[0, 0], steps=SETTLE).final
        return Rows(self.sim, settled, self.u)

    def in_motion(self) -> Rows:
        """Rows that fall and swing."""
        rng, robot, top = np.random.default_rng(0), self.sim.robot, self.sim.robot.tree.top
        q = np.repeat(self.start.q, STATES, axis=0)
        for i, kind in enumerate(top.types):
            if kind.nv == 6:
                q[:, top.q_of[i].start + 2] += rng.uniform(0.0, DROP, STATES)
        state = self.sim.state(q, rng.normal(0.0, SPEED, (STATES, robot.nv)))
        shape, t = (STATES, 1, self.u.shape[-1]), HELD * DT * (np.arange(FALL + STEPS) // HELD)
        often, begins = rng.uniform(*TURN, shape), rng.uniform(0.0, 2.0 * np.pi, shape)
        u = self.u + SWING * np.sin(2.0 * np.pi * often * t[None, :, None] + begins)
        state = self.sim.rollout(state=state, controls=u[:, :FALL], steps=FALL).final
        return Rows(self.sim, state, u[:, FALL:])


class Rows:
    """A batch at a state, and the controls (rows or 1, steps or 1, nu) under which it is timed."""

    def __init__(self, sim: Simulator, state: State, u: np.ndarray) -> None:
        self.sim, self.state, self.u = sim, state, u
        first = {name: getattr(state, name)[:BESIDE] for name in ("q", "qd", "t", "status", "memory", "pace")}
        some = replace(state, **first)
        record = ("contact_force", "residual", "iterations", "gap")
        run = sim.rollout(state=some, controls=self._controls(BESIDE), steps=STEPS, record=record)
        self.touching = float(np.mean(np.sum(np.any(run.contact_force != 0.0, axis=-1), axis=-1)))
        self.residual, self.iterations = float(np.max(run.residual)), float(np.mean(run.iterations))
        self.gap = float(np.min(run.gap))

    def _controls(self, rows: int) -> np.ndarray:
        return self.u[0, 0] if self.u.shape[1] == 1 else self.u[:rows]

    def run(self) -> State:
        """The stretch that is timed."""
        u = self._controls(STATES)
        return self.sim.rollout(state=self.state, controls=u, steps=STEPS, record=["q"], every=STEPS, threads=1).final


class Beside(MuJoCo):
    """Some rows in motion in MuJoCo, one after the other."""

    def __init__(self, path: Path, rows: Rows) -> None:
        super().__init__(path, settle=1)
        m, state = self.model, rows.state
        some = zip(state.q[:BESIDE], state.qd[:BESIDE], strict=True)  # without loops, qd are the velocities v
        self.begin, self.u = [to_mujoco(rows.sim.robot, m, q, v) for q, v in some], rows.u[:BESIDE, ::HELD]
        self.touching = float(np.mean([self._row(k, count=True) for k in range(BESIDE)]))

    def run(self) -> None:
        """The stretch that is timed, of all rows."""
        for k in range(BESIDE):
            self._row(k)

    def _row(self, k: int, count: bool = False) -> float:
        mujoco, m, d = self.mujoco, self.model, self.data
        mujoco.mj_resetDataKeyframe(m, d, 0)
        d.qpos[:], d.qvel[:] = self.begin[k]
        total = 0
        for u in self.u[k]:
            d.ctrl[:] = u
            if not count:
                mujoco.mj_step(m, d, HELD)
                continue
            for _ in range(HELD):
                mujoco.mj_step(m, d)
                total += d.ncon
        return total / STEPS


def report(name: str, scene: Scene, rows: Rows, theirs: Any, count: int) -> str:
    """Two lines: how long a step takes, and what was solved; theirs are so many rows."""
    with one_core():
        seconds = seconds_per_call({"kinloop": rows.run, "mujoco": theirs.run}, TURNS, budget=0.0)
    mine, other = seconds["kinloop"] / STEPS / STATES, seconds["mujoco"] / STEPS / count
    ours, statuses = scene.sim.contact.scene, sorted({int(x) for x in rows.run().status})
    line = f"{name:15s} {len(ours.shapes)} shapes, {len(ours.pairs)} pairs, {rows.touching:.1f} contacts"
    line += f"  {1e6 * mine:6.2f} us/step   mj_step {1e6 * other:6.2f} us ({theirs.touching:.1f} contacts)"
    line += f"   {other / mine:5.1f} times\n{'':15s} {scene.operations} operations, made in {scene.seconds:.1f} s"
    line += f", {rows.iterations:.1f} sweeps, residual {rows.residual:.1e} m/s, deepest {rows.gap:.1e} m"
    return f"{line}, statuses {statuses}"


def main(folder: Path, asked: list[str]) -> None:
    os.environ["KINLOOP_CACHE"] = "off"
    print(f"dt {DT} s, {STATES} rows, {STEPS} steps per call, one thread")
    how = [x for x in asked if x in ("rest", "motion")] or ["rest", "motion"]
    with tempfile.TemporaryDirectory() as target:
        paths = {f"{n}": folder / f"unitree_{n}" / "scene.xml" for n in ("go1", "g1")}
        for name in [x for x in asked if x not in ("rest", "motion")] or [*paths, "allegro"]:
            scene = Scene(paths.get(name) or with_cube(folder, Path(target)))
            if "rest" in how:
                theirs = MuJoCo(scene.path, settle=SETTLE)
                print(report(f"{name} at rest", scene, scene.at_rest(), theirs, 1), flush=True)
            if "motion" in how:
                rows = scene.in_motion()
                print(report(f"{name} in motion", scene, rows, Beside(scene.path, rows), BESIDE), flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"an argument is missing\n\n{__doc__}")
    main(Path(sys.argv[1]), sys.argv[2:])
