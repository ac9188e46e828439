"""Configurations beside Pinocchio: steps, closing, states drawn and of the simulator, microseconds on one core.

    python benchmarks/configurations.py

Pinocchio steps trees; it has nothing to say about loops.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import kinloop as kl
from kinloop.bench.peers_pinocchio import pinocchio_robot

NAMES = ("double_pendulum", "mit_humanoid_no_rotors", "stalk", "mini_cheetah", "four_bar", "tello")
ROWS, ROUNDS = 1024, 40


def best(call: Callable[[], Any], calls: int) -> float:
    """The shortest time of a call [us] over rounds of many."""
    call()
    least = np.inf
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        least = min(least, (time.perf_counter() - start) / calls)
    return 1e6 * least


def peer_step(robot: kl.Robot) -> float | None:
    """A call of `pin.integrate` for a tree [us]; None for loops, and where Pinocchio is not installed."""
    peer = pinocchio_robot(robot) if not robot.loop_names else None
    if peer is None:
        return None
    q, v = peer.pin.neutral(peer.model), np.full(peer.model.nv, 1e-3)
    return best(lambda: peer.pin.integrate(peer.model, q, v), 1000)


def figures(name: str) -> dict[str, float | None]:
    """Everything this script prints about a robot."""
    robot, rng = kl.robots.load(name), np.random.default_rng(0)
    q, v = robot.random_state(rng)
    beside = robot.tree.top.integrate(q, 1e-3 * rng.normal(size=robot.n_spanning))
    Q, V, B = (np.repeat(x[None], ROWS, axis=0) for x in (q, v, beside))
    sim = kl.Simulator(robot)
    return {
        "integrate": best(lambda: robot.integrate(q, v, 1e-3), 1000),
        "pin.integrate": peer_step(robot),
        "close": best(lambda: robot.close(beside), 1000),
        "difference": best(lambda: robot.difference(q, q), 1000),
        "integrate, batch": best(lambda: robot.integrate(Q, V, 1e-3), 5) / ROWS,
        "close, batch": best(lambda: robot.close(B), 5) / ROWS,
        f"sim.state of {ROWS}": best(lambda: sim.state(Q, V), 5),
        "random_state": best(lambda: robot.random_state(rng), 20),
        f"random_state, {ROWS}": best(lambda: robot.random_state(0, size=ROWS), 1),
    }


def main() -> None:
    """Print the table."""
    os.environ["KINLOOP_THREADS"] = "1"
    table = {name: figures(name) for name in NAMES}
    print(f"{'[us]':24s}" + "".join(f"{what:>18s}" for what in table[NAMES[0]]))
    for name, row in table.items():
        print(f"{name:24s}" + "".join(f"{'-' if x is None else f'{x:.3f}':>18s}" for x in row.values()))


if __name__ == "__main__":
    main()
