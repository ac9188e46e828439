"""Environment steps per second: Go1 in kinloop's vector environment beside Gymnasium over MuJoCo's threaded rollout.

    python -m benchmarks.learning FOLDER [rows] [threads]

FOLDER is the MuJoCo Menagerie. Both sides are Gymnasium vector environments of the same task, walking with a commanded
velocity: 4,096 rows, the same file, only the four feet touch the floor, the same servos, the same step length, as many
steps for an action, the same observations and rewards, the same random actions, 1 % of the rows reset in every step.
MuJoCo's takes its steps by `mujoco.rollout` with a pool of threads and does the rest in NumPy for whole batches,
kinloop's does all of it in kernels. Turns alternate; the median of the turns counts. Feet have three rows each on both
sides; MuJoCo is run with friction cones as the file has them, and again with pyramids, which it solves fastest.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from kinloop.bench.timing import machine
from kinloop.learn.tasks.legged_machine import LeggedMachine, go1
from kinloop.learn.tasks.walking_task import DUTY, Walking
from kinloop.learn.vector_env import KinloopVectorEnv

ROWS, THREADS, TURNS, STEPS, WARM = 4096, 2, 5, 4, 10
FRICTION = 0.8
EPISODE = 100
"""Actions of an episode in the benchmark: one row in a hundred is reset in every step."""
WANTED, RESETS = 12.0, 0.10
"""What is asked: how many times as fast, and the part of the time that resets may take."""


class Walk(Walking):
    """The task with short episodes that nothing else ends."""

    def __init__(self, machine: LeggedMachine, limit: int) -> None:
        super().__init__(machine, command_every=1e9)
        self.limit = limit

    def ended(self, state: Any) -> Any:
        return state.q[2] < -10.0


class MuJoCoVectorEnv(gymnasium.vector.VectorEnv):
    """The same task over `mujoco.rollout`: its threads take the steps, NumPy does the rest for all rows at once."""

    def __init__(self, path: Path, task: Walk, rows: int, threads: int, pyramids: bool) -> None:
        import mujoco
        from mujoco.rollout import Rollout

        self.task, self.num_envs = task, rows
        m = self.model = mujoco.MjModel.from_xml_path(str(path))
        m.opt.timestep = task.sim.dt
        if pyramids:
            m.opt.cone, m.opt.impratio = mujoco.mjtCone.mjCONE_PYRAMIDAL, 1.0
        self._only_feet(mujoco)
        for k, servo in enumerate(task.machine.servos):
            m.actuator_gainprm[k, 0], m.actuator_biasprm[k, 1:3] = servo.kp, (-servo.kp, -servo.kd)
            m.actuator_forcerange[k], m.actuator_ctrllimited[k] = (-servo.limit, servo.limit), 0
        self.kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self.size = mujoco.mj_stateSize(m, self.kind)
        self.rollout = Rollout(nthread=threads)
        self.data = [mujoco.MjData(m) for _ in range(threads)]
        self.rng = np.random.default_rng(0)
        self.state, self.count = np.zeros((rows, self.size)), np.zeros(rows, dtype=int)
        self.command, self.action = np.zeros((rows, 3)), np.zeros((rows, task.action_size))
        self.q, self.v = (slice(1, 1 + m.nq), slice(1 + m.nq, 1 + m.nq + m.nv))

    def _only_feet(self, mujoco: Any) -> None:
        m = self.model
        sphere, plane = mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_PLANE
        feet = (m.geom_type == sphere) & (m.geom_size[:, 0] > 0.02) & (m.geom_contype > 0)
        assert feet.sum() == 4, "Go1 has four feet"
        m.geom_contype[:] = np.where(m.geom_type == plane, 1, 0)
        m.geom_conaffinity[:] = np.where(feet, 1, 0)
        self.radius = float(m.geom_size[feet][0, 0])
        m.geom_friction[feet, 0], m.geom_condim[feet] = FRICTION, 3

    def _begin(self, k: np.ndarray) -> None:
        n, ranges = len(k), self.task.command
        q = np.repeat(self.task.machine.home[None], n, axis=0)
        q[:, 2] += self.rng.uniform(0.0, 0.03, n)
        self.state[k] = 0.0
        self.state[k, self.q] = q
        self.state[np.ix_(k, range(1 + self.model.nq, 1 + self.model.nq + 6))] = self.rng.uniform(-0.2, 0.2, (n, 6))
        self.command[k] = self.rng.uniform(ranges[:, 0], ranges[:, 1], (n, 3))
        self.count[k], self.action[k] = 0, 0.0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        self._begin(np.arange(self.num_envs))
        return self._observe()[0], {}

    def _observe(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What is seen, and of that the vertical and the velocities in the axes of the base."""
        machine, q, v = self.task.machine, self.state[:, self.q], self.state[:, self.v]
        w, x, y, z = q[:, 3:7].T
        R = np.stack([
            1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z),
            1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x),
            1 - 2 * (x * x + y * y)], axis=1).reshape(-1, 3, 3)  # fmt: skip
        up, turning, moving = R[:, 2], v[:, 3:6], np.einsum("bij,bi->bj", R, v[:, :3])
        angles = (q[:, 7:] - machine.targets) / machine.reach
        turn = 2.0 * np.pi * self.count[:, None] * self.task.period / machine.stride
        rest = [self.action, self.command, np.sin(turn), np.cos(turn)]
        seen = [up, 0.25 * turning, moving, angles, 0.05 * v[:, 6:] / machine.reach, *rest]
        return np.concatenate(seen, axis=1), up, turning, moving

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        machine, before = self.task.machine, self.action
        self.action = np.clip(actions, -1.0, 1.0)
        told = np.repeat((machine.targets + machine.reach * self.action)[:, None], self.task.hold, axis=1)
        found, _ = self.rollout.rollout(self.model, self.data, self.state, told)
        self.state = found[:, -1].copy()
        self.count += 1
        seen, up, w, v = self._observe()
        reward = self._reward(up, w, v, before)
        cut = self.count >= self.task.limit
        if cut.any():
            k = np.flatnonzero(cut)
            self._begin(k)
            seen[k] = self._observe()[0][k]
        return seen, reward, np.zeros(self.num_envs, dtype=bool), cut, {}

    def _reward(self, up: np.ndarray, w: np.ndarray, v: np.ndarray, before: np.ndarray) -> np.ndarray:
        """As `Walking` has it; whether a foot is asked to stand is compared with a height instead of a force."""
        task, machine = self.task, self.task.machine
        along = np.exp(-4.0 * np.sum((v[:, :2] - self.command[:, :2]) ** 2, axis=1))
        turning = np.exp(-4.0 * (w[:, 2] - self.command[:, 2]) ** 2)
        level = np.sum(up[:, :2] ** 2, axis=1) + 25.0 * (self.state[:, 3] - machine.height) ** 2
        hasty = 0.5 * v[:, 2] ** 2 + 0.025 * np.sum(w[:, :2] ** 2, axis=1)
        hasty += 0.005 * np.sum((self.action - before) ** 2, axis=1)
        phase = (self.count * task.period / machine.stride)[:, None] + np.array(machine.swing)
        in_step = np.mean(phase % 1.0 < DUTY, axis=1)
        return 0.5 * along + 0.25 * turning + 0.25 * in_step - np.minimum(level + hasty, 1.0)


def seconds(envs: dict[str, Any], rows: int) -> dict[str, float]:
    """Seconds of an environment step of all rows, of each, in turn."""
    rng = np.random.default_rng(1)
    found: dict[str, list[float]] = {name: [] for name in envs}
    for env in envs.values():
        for _ in range(WARM):
            env.step(np.clip(0.3 * rng.normal(size=(rows, 12)), -1, 1))
    for _ in range(TURNS):
        actions = np.clip(0.3 * rng.normal(size=(STEPS, rows, 12)), -1, 1)
        for name, env in envs.items():
            began = time.perf_counter()
            for action in actions:
                env.step(action)
            found[name].append((time.perf_counter() - began) / STEPS)
    return {name: float(np.median(x)) for name, x in found.items()}


def resets_alone(env: KinloopVectorEnv) -> float:
    """Seconds in which 1 % of the rows begin anew and are observed, by itself."""
    some, found = np.arange(0, env.num_envs, EPISODE), []
    for _ in range(TURNS * STEPS):
        began = time.perf_counter()
        env.rows.begin(some)
        env.rows.observations(some)
        found.append(time.perf_counter() - began)
    return float(np.median(found))


def line(what: str, found: str, ratio: float, asked: float, at_least: bool = True) -> None:
    """Print a measurement beside what is asked of it."""
    held = ratio >= asked if at_least else ratio <= asked
    sign = ">=" if at_least else "<="
    print(f"{what:44s} {found:52s} {ratio:6.2f} {sign} {asked:g} {'yes' if held else 'MISSED'}", flush=True)


def main(folder: Path, rows: int = ROWS, threads: int = THREADS) -> None:
    path = folder / "unitree_go1" / "scene.xml"
    short, endless = (Walk(go1(path), limit) for limit in (EPISODE, 10**9))
    cones, pyramids = (MuJoCoVectorEnv(path, short, rows, threads, flat) for flat in (False, True))
    with_resets, without = (
        KinloopVectorEnv(task, rows, autoreset="same_step", threads=threads) for task in (short, endless)
    )
    for env in (with_resets, without, cones, pyramids):
        env.reset(seed=0)
    stagger = np.random.default_rng(0).integers(0, EPISODE, rows)
    with_resets.kernels.carried.split(with_resets.rows.carried)["count"][:, 0] = stagger
    cones.count[:] = pyramids.count[:] = stagger
    found = seconds({"ours": with_resets, "without": without, "cones": cones, "pyramids": pyramids}, rows)
    rate = {name: rows / s for name, s in found.items()}
    print(f"{machine()}\n{rows} rows, {threads} threads, {short.hold} steps of {1e3 * short.sim.dt:g} ms for an action")
    for name in ("cones", "pyramids"):
        both = f"{rate['ours']:,.0f} and {rate[name]:,.0f} environment steps/s"
        line(f"Go1, times Gymnasium over MuJoCo, {name}", both, rate["ours"] / rate[name], WANTED)
    part = 1.0 - found["without"] / found["ours"]
    took = f"{1e3 * found['ours']:.1f} and {1e3 * found['without']:.1f} ms a step with and without"
    line("resets of 1 % of the rows, part of the time", took, part, RESETS, at_least=False)
    alone = resets_alone(with_resets)
    line("  by themselves", f"{1e3 * alone:.2f} ms", alone / found["ours"], RESETS, at_least=False)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"an argument is missing\n\n{__doc__}")
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
