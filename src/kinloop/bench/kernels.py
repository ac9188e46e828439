"""Forward-dynamics kernels beside the peers: microseconds per state, ratios, relative errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import robots
from kinloop.bench.peers import Peer, mujoco_peer, pinocchio_peers
from kinloop.bench.timing import one_core, seconds_per_call
from kinloop.robot import Robot

CASES: dict[str, dict[str, Any]] = {
    "double_pendulum": {},
    "four_bar": {},
    "planar_leg_linkage": {},
    "six_bar": {},
    "four_bar_chain": {"links": 20},
    "geared_chain": {"links": 12},
    "belt_chain": {"links": 12},
    "mini_cheetah": {},
    "mit_humanoid": {},
    "tello_with_arms": {},
    "jvrc1": {},
}


def error(found: np.ndarray, exact: np.ndarray) -> float:
    """Relative error in the largest entry."""
    return float(np.max(np.abs(found - exact)) / max(float(np.max(np.abs(exact))), 1e-300))


def measure(robot: Robot, batch: int = 4096, rounds: int = 7, peers: bool = True) -> dict[str, Any]:
    """One row of the table: our kernel for one state and batched, and every peer that can say the robot."""
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng)
    tau = rng.normal(size=robot.nv)
    exact = robot.forward_dynamics(q, v, tau, method="dense_kkt")
    kernel = robot.compile("forward_dynamics")
    a = np.empty(robot.nv)
    Q, V, T = (np.repeat(x[None], batch, axis=0) for x in (q, v, tau))
    A = np.empty((batch, robot.nv))
    cases = {"call": lambda: kernel(q, v, tau, a), "batch": lambda: kernel(Q, V, T, out=A, threads=1)}
    found: list[Peer] = []
    if peers:
        found = pinocchio_peers(robot, q, v, tau)
        soft = mujoco_peer(robot, q, v, tau)
        found += [soft] if soft else []
    with one_core():
        times = seconds_per_call(cases | {p.name: p.call for p in found}, rounds)
    kernel(q, v, tau, a)
    row: dict[str, Any] = {
        "robot": robot.name,
        "nv": robot.nv,
        "operations": kernel.operations["total"],
        "call_us": times["call"] * 1e6,
        "batch_us": times["batch"] / batch * 1e6,
        "error": error(a, exact),
        "peers": {},
    }
    dofs = robot.tree.independent_dofs
    for p in found:
        us = times[p.name] * 1e6
        row["peers"][p.name] = {
            "us": us,
            "per_call": us / row["call_us"],
            "batched": us / row["batch_us"],
            "error": error(p.acceleration()[dofs], exact),
        }
    return row


def table(cases: dict[str, dict[str, Any]] | None = None, **options: Any) -> list[dict[str, Any]]:
    """Rows for all cases."""
    return [measure(robots.load(name, **figures), **options) for name, figures in (cases or CASES).items()]


def lines(rows: list[dict[str, Any]]) -> list[str]:
    """The table as text, ratios first."""
    out = [f"{'robot':22s} {'nv':>3s} {'ops':>6s} {'call us':>8s} {'batch us':>8s} {'error':>8s}   peers"]
    for r in rows:
        head = f"{r['robot']:22s} {r['nv']:3d} {r['operations']:6d} {r['call_us']:8.3f} {r['batch_us']:8.3f}"
        parts = [
            f"{p['per_call']:.1f}x / {p['batched']:.0f}x {name} ({p['us']:.1f} us, error {p['error']:.0e})"
            for name, p in r["peers"].items()
        ]
        out.append(f"{head} {r['error']:8.0e}   {'; '.join(parts) or 'none can express it, or none installed'}")
    return out
