"""Whole scenes of the MuJoCo Menagerie with all their shapes beside MuJoCo, on one core.

    python -m benchmarks.scenes FOLDER [go1 g1 allegro]

Go1 and G1 stand on the floor of their scenes, the Allegro hand holds a cube on its palm. Both sides read one file: all
collision shapes, pairs that may touch, friction, joint stops, damping and actuators are as it says. They begin at its
keyframe under its controls, settle, and are timed over the same stretch of time at the same time step: `mj_step` in its
own loop, kinloop with a batch in one native call on one thread. Rows of the batch begin with different velocities and
settle one by one. How many contacts press is said for either side, and how long a fresh kernel takes to be made.
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

import numpy as np

import kinloop as kl
from benchmarks.simulate import DT, STEPS, TURNS, MuJoCo
from kinloop.bench.timing import one_core, seconds_per_call
from kinloop.sim import Simulator
from kinloop.sim.state import State

STATES = 256
SETTLE = 1500
"""Steps before the measurement begins."""

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


class Ours:
    """A simulator of a scene, and a settled batch; `seconds` of processor time made its kernels."""

    def __init__(self, path: Path) -> None:
        robot = kl.load(path)
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.sim = Simulator(robot, DT, collisions=True, motors="model")
        start, self.u = self.sim.keyframe(robot.mechanism.keyframes[0].name)
        rng = np.random.default_rng(0)
        many = self.sim.state(np.repeat(start.q, STATES, axis=0), rng.normal(0.0, 0.02, (STATES, robot.nv)))
        self.sim.rollout(state=many, controls=self.u, steps=1)
        self.seconds = time.process_time() - began
        self.state = self.sim.rollout(state=many, controls=self.u, steps=SETTLE).final
        first = {name: getattr(self.state, name)[:1] for name in ("q", "qd", "t", "status", "memory", "pace")}
        record = ("contact_force", "residual", "iterations", "gap")
        run = self.sim.rollout(state=replace(self.state, **first), controls=self.u, steps=STEPS, record=record)
        self.touching = float(np.mean(np.sum(np.any(run.contact_force != 0.0, axis=-1), axis=-1)))
        self.residual, self.iterations = float(np.max(run.residual)), float(np.mean(run.iterations))
        self.gap, self.operations = float(np.min(run.gap)), self.sim.engine.step.operations["total"]

    @property
    def statuses(self) -> list[int]:
        """The statuses of the rows."""
        return sorted({int(x) for x in self.state.status})

    def run(self) -> State:
        """The stretch that is timed."""
        run = self.sim.rollout(state=self.state, controls=self.u, steps=STEPS, record=["q"], every=STEPS, threads=1)
        return run.final


def report(name: str, ours: Ours, theirs: MuJoCo) -> str:
    """Two lines: how long a step takes, and what was solved."""
    with one_core():
        seconds = seconds_per_call({"kinloop": ours.run, "mujoco": theirs.run}, TURNS, budget=0.0)
    mine, other = seconds["kinloop"] / STEPS / STATES, seconds["mujoco"] / STEPS
    scene = ours.sim.contact.scene
    line = f"{name:8s} {len(scene.shapes)} shapes, {len(scene.pairs)} pairs, {ours.touching:.1f} contacts"
    line += f"  {1e6 * mine:6.2f} us/step   mj_step {1e6 * other:6.2f} us ({theirs.touching:.1f} contacts)"
    line += f"   {other / mine:5.1f} times\n{'':8s} {ours.operations} operations, made in {ours.seconds:.1f} s"
    line += f", {ours.iterations:.1f} sweeps, residual {ours.residual:.1e} m/s, deepest {ours.gap:.1e} m"
    return f"{line}, statuses {ours.statuses}"


def main(folder: Path, names: list[str]) -> None:
    os.environ["KINLOOP_CACHE"] = "off"
    print(f"dt {DT} s, {STATES} rows, {STEPS} steps per call, one thread")
    with tempfile.TemporaryDirectory() as target:
        paths = {f"{n}": folder / f"unitree_{n}" / "scene.xml" for n in ("go1", "g1")}
        for name in names or [*paths, "allegro"]:
            path = paths.get(name) or with_cube(folder, Path(target))
            print(report(name, Ours(path), MuJoCo(path, settle=SETTLE)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
