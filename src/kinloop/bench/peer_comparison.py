"""One robot, one question, everybody who can answer it: one call, a batch on one core, a batch on all cores.

A record is {quantity, mode, who, us, error}: microseconds per state (per step for the quantity "step"), and the
relative error against dense_kkt where the answer can be read.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from kinloop import sim
from kinloop.algorithms.constrained.motion_constraints import Point
from kinloop.bench import peers_mujoco, peers_pinocchio
from kinloop.bench.peers import Array, Peer, Problem, make_problem
from kinloop.bench.timing import Effort, error, one_core, seconds_per_call
from kinloop.errors import KinloopError
from kinloop.robot import Robot

CALL, ONE, ALL = "one call", "batch, one core", "batch, all cores"
ROWS, STEPS = 32, 100
"""Rows and steps of a rollout."""
MANY = 8
"""How many times larger the batches for all cores are."""


def timed(
    quantity: str, mode: str, contenders: list[Peer], exact: Array | None, effort: Effort
) -> list[dict[str, Any]]:
    """Records of contenders measured in turn; pinned to one core unless all may be used."""
    cases = {p.name: p.call for p in contenders}
    if mode == ALL:
        times = seconds_per_call(cases, effort.rounds, effort.budget)
    else:
        with one_core():
            times = seconds_per_call(cases, effort.rounds, effort.budget)
    out = []
    for p in contenders:
        p.close()
        wrong = error(p.result(), exact) if p.result and exact is not None else None
        us = 1e6 * times[p.name] / p.states
        out.append({"quantity": quantity, "mode": mode, "who": p.name, "us": us, "error": wrong})
    return out


def our_call(kernel: Any, inputs: list[Array], shape: tuple[int, ...]) -> Peer:
    out = np.empty(shape)
    return Peer("kinloop", lambda: kernel(*inputs, out), lambda: kernel(*inputs))


def our_batch(kernel: Any, inputs: list[Array], shape: tuple[int, ...], batch: int, threads: int | None) -> Peer:
    many = [np.repeat(x[None], batch, axis=0) for x in inputs]
    out = np.empty((batch, *shape))
    return Peer("kinloop", lambda: kernel(*many, out=out, threads=threads), lambda: out[-1], batch)


def forward(x: Problem, effort: Effort) -> list[dict[str, Any]]:
    """Forward dynamics, all three modes. MuJoCo's batches are steps: it has no batch of mj_forward."""
    exact = x.robot.forward_dynamics(x.q, x.v, x.tau, method="dense_kkt")
    kernel, inputs = x.robot.compile("forward_dynamics"), [x.q, x.v, x.tau]
    quantity, shape = "forward dynamics", exact.shape
    calls = [our_call(kernel, inputs, shape), *peers_pinocchio.forward_peers(x), *peers_mujoco.forward_peers(x)]
    out = timed(quantity, CALL, calls, exact, effort)
    for mode, threads, rows in ((ONE, 1, effort.batch), (ALL, None, MANY * effort.batch)):
        batch = [our_batch(kernel, inputs, shape, rows, threads), *peers_pinocchio.batch_peers(x, threads)]
        out += timed(quantity, mode, batch, exact, effort)
    return out


def inverse(x: Problem, effort: Effort) -> list[dict[str, Any]]:
    """Inverse dynamics and the mass matrix, one call."""
    a = np.random.default_rng(2).normal(size=x.robot.nv)
    exact = x.robot.inverse_dynamics(x.q, x.v, a, method="dense_kkt")
    ours = our_call(x.robot.compile("inverse_dynamics"), [x.q, x.v, a], exact.shape)
    out = timed("inverse dynamics", CALL, [ours, *peers_pinocchio.inverse_peers(x, a)], exact, effort)
    M = x.robot.mass_matrix(x.q, method="dense_kkt")
    ours = our_call(x.robot.compile("mass_matrix"), [x.q], M.shape)
    return out + timed("mass matrix", CALL, [ours, *peers_pinocchio.mass_peers(x)], M, effort)


def delassus(x: Problem, frames: list[str], effort: Effort) -> list[dict[str, Any]]:
    """J M^-1 J^T of points held in the world."""
    held = [Point(name) for name in frames]
    exact = x.robot.delassus(x.q, held, method="dense_kkt")
    kernel = x.robot.compile("delassus", constraints=held)
    ours = our_call(kernel, [x.q], exact.shape)
    what = f"Delassus matrix of {len(frames)} points"
    return timed(what, CALL, [ours, *peers_pinocchio.delassus_peers(x, held)], exact, effort)


def step(x: Problem, effort: Effort) -> list[dict[str, Any]]:
    """Simulated steps of 1 ms without contact: one state, a batch on one core and on all."""
    try:
        simulator = sim.Simulator(x.robot, dt=1e-3, limits=False)
    except KinloopError:
        return []

    def ours(rows: int, threads: int | None) -> Peer:
        state = simulator.state(*(np.repeat(y[None], rows, axis=0) for y in (x.q, x.v)))
        options: dict[str, Any] = {"steps": STEPS, "record": ["q"], "every": STEPS, "threads": threads}
        return Peer("kinloop", lambda: simulator.rollout(controls=None, state=state, **options), None, rows * STEPS)

    x = x._replace(tau=np.zeros_like(x.tau))
    out = timed("step", CALL, [ours(1, 1), *peers_mujoco.step_peers(x)], None, effort)
    for mode, threads in ((ONE, 1), (ALL, None)):
        batch = [ours(ROWS, threads), *peers_mujoco.batch_peers(x, threads)]
        out += timed("step", mode, batch, None, effort)
    return out


def contest(
    make: Callable[[], Robot], effort: Effort, points: int = 0, steps: bool = False, trees: bool = False
) -> dict[str, Any]:
    """All records of a robot, and what must be known to read them."""
    robot = make()
    x = make_problem(robot)
    records = forward(x, effort)
    if trees:
        records += inverse(x, effort)
    if points:
        feet = [f.name for f in robot.mechanism.frames][:points] or robot.body_names[-points:]
        records += delassus(x, feet, effort)
    if steps:
        records += step(x, effort)
    return {
        "nv": robot.nv,
        "bodies": len(robot.body_names),
        "closures": len(robot.mechanism.closures),
        "operations": robot.compile("forward_dynamics").operations["total"],
        "balanced": len(peers_mujoco.impossible_inertias(robot)),
        "cores": os.cpu_count(),
        "records": records,
    }
