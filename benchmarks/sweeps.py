"""Rollouts on Dask's workers: how much quicker two processes are than one, and what workers cost.

    python -m benchmarks.sweeps

1,000 rollouts of Mini Cheetah with rotors on the ground, five seconds each, from a Latin hypercube of heights and
velocities: serially in this process, then on a LocalCluster of one worker and of two, in turn. Clusters run and kernels
are in their cache before the clock starts. Results must be the same to the bit.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import distributed

import kinloop as kl
from kinloop.bench.timing import machine
from kinloop.sim import Plane
from kinloop.sweeps import Design, RolloutTask, SweepResult, latin_hypercube, sweep

ROLLOUTS, SECONDS, ROUNDS = 1000, 5.0, 4
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


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """A client of so many workers on this machine."""
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as local,
        distributed.Client(local) as client,
    ):
        yield client


def same(a: SweepResult, b: SweepResult) -> bool:
    """Whether two results are the same to the bit."""
    return all(x.tobytes() == y.tobytes() for x, y in zip(a.table().values(), b.table().values(), strict=True))


def main() -> None:
    task, points = study()
    few = Design({name: list(x)[:64] for name, x in points.columns.items()})
    with cluster(1) as one, cluster(2) as two:
        executors: dict[str, Any] = {"serial": None, "one worker": one, "two workers": two}
        for executor in executors.values():
            sweep(task, few, executor, chunk=8)  # wakes everyone
        times: dict[str, list[float]] = {name: [] for name in executors}
        first = None
        for _ in range(ROUNDS):
            for name, executor in executors.items():
                begin = time.perf_counter()
                found = sweep(task, points, executor)
                times[name].append(time.perf_counter() - begin)
                first = first or found
                assert same(first, found), "the same to the bit"
    best, about = {name: min(spent) for name, spent in times.items()}, machine()
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load']} at the end;")
    print(
        f"{ROLLOUTS} rollouts of {SECONDS:g} s, best of {ROUNDS}:", ", ".join(f"{n} {t:.2f} s" for n, t in best.items())
    )
    print(f"two workers are {best['one worker'] / best['two workers']:.2f} times as quick as one (at least {AT_LEAST})")


if __name__ == "__main__":
    main()
