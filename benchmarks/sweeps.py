"""Rollouts on Dask's workers: how much quicker two processes are than one, and what workers cost.

    python -m benchmarks.sweeps

1,000 rollouts of Mini Cheetah with rotors on the ground, two seconds each, from a Latin hypercube of heights and
velocities: serially in this process, then on a LocalCluster of one worker and of two, in turn. Clusters run and kernels
are in their cache before the clock starts. Results must be the same to the bit.
"""

from __future__ import annotations

import time

import distributed
import numpy as np

import kinloop as kl
from kinloop.bench.timing import machine
from kinloop.sim import Plane
from kinloop.sweeps import Design, RolloutTask, SweepResult, latin_hypercube, sweep

ROLLOUTS, SECONDS, ROUNDS = 1000, 2.0, 3
AT_LEAST = 1.7
"""How many times as quick two workers have to be as one."""


def study() -> tuple[RolloutTask, Design]:
    """The rollouts, and their points."""
    robot = kl.robots.load("mini_cheetah")
    feet = [f for f in robot.frame_names if f.endswith("foot_contact")]
    sim = kl.Simulator(robot, 1e-3, ground=Plane(friction=0.8), contacts=feet)
    base = robot.position_names[2]
    points = latin_hypercube({f"q.{base}": (0.35, 0.5), f"v.{robot.independent_names[5]}": (-0.5, 0.5)}, ROLLOUTS)
    return RolloutTask(sim, round(SECONDS / sim.dt), record=("q", "v", "energy"), push=0.1), points


def timed(workers: int | None, task: RolloutTask, points: Design) -> tuple[float, SweepResult]:
    """Seconds of a sweep by so many workers, or in this process, and what it found."""
    if workers is None:
        begin = time.perf_counter()
        found = sweep(task, points)
        return time.perf_counter() - begin, found
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        sweep(task, Design({n: list(x)[:64] for n, x in points.columns.items()}), client, chunk=8)  # wakes everyone
        begin = time.perf_counter()
        found = sweep(task, points, client)
        return time.perf_counter() - begin, found


def main() -> None:
    task, points = study()
    sweep(task, Design({n: list(x)[:32] for n, x in points.columns.items()}))
    times: dict[int | None, list[float]] = {None: [], 1: [], 2: []}
    first: SweepResult | None = None
    for _ in range(ROUNDS):
        for workers, spent in times.items():
            seconds, found = timed(workers, task, points)
            spent.append(seconds)
            first = first or found
            same = all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(
                first.table().values(), found.table().values(), strict=True))  # fmt: skip
            assert same, "the same to the bit"
    best = {workers: min(spent) for workers, spent in times.items()}
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load']} at the end;")
    print(f"{ROLLOUTS} rollouts of {SECONDS:g} s, best of {ROUNDS}:")
    print(f"serial {best[None]:.2f} s, one worker {best[1]:.2f} s, two workers {best[2]:.2f} s")
    print(f"two workers are {best[1] / best[2]:.2f} times as quick as one (at least {AT_LEAST})")


if __name__ == "__main__":
    main()
