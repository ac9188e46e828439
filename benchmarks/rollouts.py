"""Rollouts from start to end: threads, single steps, control functions, swings through singular configurations.

    python benchmarks/rollouts.py

Everything is called as users call it. Go1 is of the example-robot-data wheel, MuJoCo steps beside it; both come with
`pip install kinloop[peers]`. What is asked of each line is written behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import kinloop as kl
from kinloop.bench.model_files import available_trees, tree_robot
from kinloop.bench.peers import make_problem
from kinloop.bench.peers_mujoco import STEPS as PEER_STEPS
from kinloop.bench.peers_mujoco import step_peers
from kinloop.bench.timing import machine, one_core, seconds_per_call
from kinloop.learn.tasks.legged_machine import posed
from kinloop.sim import Motor, Plane, Simulator, State

ROWS, STEPS, SINGLE_STEPS, DT, SETTLE = 1024, 200, 100, 1e-3, 300
POSES = {
    "mini_cheetah": ({"abad": 0.0, "hip": -0.8, "knee": 1.6}, "foot_contact"),
    "Go1": ({"hip": 0.0, "thigh": 0.9, "calf": -1.8}, "foot"),
}
"""How robots stand: angles of joints by parts of their names, and how the frames of their feet end."""


def standing(name: str, robot: kl.Robot) -> tuple[Simulator, State, np.ndarray]:
    """A robot on four feet under servos, settled: its simulator, its state, its controls."""
    pose, ending = POSES[name]
    target = {j: angle for j in robot.independent_names for part, angle in pose.items() if part in j.split("_")}
    target = {j: angle for j, angle in target.items() if not j.endswith("rotor_joint")}
    feet = [f for f in robot.frame_names if f.endswith(ending)]
    servos = [Motor(j, "position", 60.0, 1.0) for j in target]
    sim = Simulator(robot, DT, ground=Plane(0.8), contacts=feet, motors=servos)
    q = posed(robot, target)
    q[2] -= min(robot.frame_pose(q, f)[2, 3] for f in feet)
    u = np.array(list(target.values()))
    return sim, sim.rollout(q, None, u, steps=SETTLE).final, u


def swinging(name: str) -> tuple[Simulator, State, np.ndarray]:
    """A robot of the zoo that moves freely."""
    robot = kl.robots.load(name)
    sim = Simulator(robot, DT)
    q, v = robot.random_state(1)
    return sim, sim.state(q, 0.05 * v), np.zeros(sim.nu)


def cases(go1: kl.Robot | None) -> dict[str, tuple[Simulator, State, np.ndarray]]:
    """The robots of this script by name."""
    out = {name: swinging(name) for name in ("four_bar", "tello")}
    out["mini_cheetah"] = standing("mini_cheetah", kl.robots.load("mini_cheetah"))
    if go1 is not None:
        out["Go1"] = standing("Go1", go1)
    return out


def least(rounds: int = 15, **calls: Callable[[], Any]) -> dict[str, float]:
    """Seconds of each call, in turn."""
    return seconds_per_call(calls, rounds, budget=0.0, limit=20.0)


def line(what: str, found: str, ratio: float, asked: float, at_least: bool = True) -> None:
    """Print a measurement beside what is asked of it."""
    held = ratio >= asked if at_least else ratio <= asked
    sign = ">=" if at_least else "<="
    print(f"{what:46s} {found:42s} {ratio:7.2f} {sign} {asked:<5g} {'yes' if held else 'MISSED'}", flush=True)


def threads(name: str, sim: Simulator, state: State, u: np.ndarray) -> None:
    """Many rows on one core and on two."""
    many = sim.state(np.repeat(state.q, ROWS, axis=0), qd=np.repeat(state.qd, ROWS, axis=0))
    run = {n: lambda n=n: sim.rollout(state=many, controls=u, steps=STEPS, record=("q",), every=STEPS, threads=n)
           for n in (1, 2)}  # fmt: skip
    t = least(one=run[1], two=run[2])
    per = {k: 1e6 * x / ROWS / STEPS for k, x in t.items()}
    found = f"{per['one']:.3f} -> {per['two']:.3f} us a step"
    line(f"{name}: {ROWS} rows on two cores, times one", found, t["one"] / t["two"], 1.8)


def swings() -> None:
    """Four-bars that pass singular configurations, beside others that do not."""
    robot = kl.robots.load("four_bar")
    sim = Simulator(robot, DT)
    q, _ = robot.random_state(1)
    fast = robot.integrate(robot.neutral(), np.array([0.3]))
    rng = np.random.default_rng(0)
    slow = sim.state(np.repeat(q[None], ROWS, axis=0), np.zeros((ROWS, 1)))
    through = sim.state(np.repeat(fast[None], ROWS, axis=0), -(5.0 + rng.random((ROWS, 1))))
    runs = [lambda s=s: sim.rollout(state=s, steps=STEPS, record=("q",), threads=1) for s in (slow, through)]
    passed = int(np.sum(runs[1]().singular))
    t = least(slow=runs[0], through=runs[1])
    found = f"{passed} of {ROWS} rows pass"
    line("four_bar: rows through singular configurations", found, t["through"] / t["slow"], 1.5, at_least=False)


def single(sim: Simulator, state: State, u: np.ndarray) -> None:
    """One state of Go1: rollouts beside mj_step, steps, control functions."""
    x = make_problem(sim.robot)
    flying = Simulator(sim.robot, DT, limits=False)  # as MuJoCo has it here
    begin = flying.state(x.q, x.v)
    (peer,) = step_peers(x)
    t = least(
        60,
        ours=lambda: flying.rollout(state=begin, controls=x.tau, steps=SINGLE_STEPS),
        fresh=lambda: flying.rollout(x.q, x.v, x.tau, steps=SINGLE_STEPS),
        theirs=peer.call,
    )
    ours, fresh, theirs = (1e6 * s / n for s, n in zip(t.values(), (SINGLE_STEPS,) * 2 + (PEER_STEPS,), strict=True))
    line("Go1 in the air: rollout, times mj_step", f"{ours:.2f} and {theirs:.2f} us a step", theirs / ours, 2.5)
    line("  from q and v", f"{fresh:.2f} us a step", theirs / fresh, 2.5)
    t = least(
        60,
        step=lambda: [sim.step(state, u) for _ in range(20)],
        batch=lambda: sim.rollout(state=state, controls=u, steps=SINGLE_STEPS),
        asked=lambda: sim.rollout(state=state, controls=lambda t, s: u, steps=SINGLE_STEPS),
    )
    line("Go1 on four feet: sim.step [us]", "", 1e6 * t["step"] / 20, 6.0, at_least=False)
    above = 1e6 * (t["asked"] - t["batch"]) / SINGLE_STEPS
    line("  a control function above a table [us a step]", f"{1e6 * t['batch'] / SINGLE_STEPS:.2f} us a step", above,
         5.0, at_least=False)  # fmt: skip


def main() -> None:
    """Print all of it."""
    print(machine())
    found = cases(tree_robot("Go1") if "Go1" in available_trees() else None)
    for name, case in found.items():
        threads(name, *case)
    with one_core():
        swings()
        if "Go1" in found:
            single(*found["Go1"])


if __name__ == "__main__":
    main()
