"""One robot beside the peers: one call, a batch on one core, a batch on all cores, of what each can compute."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from kinloop import sim
from kinloop.algorithms.constrained.motion_constraints import Point
from kinloop.bench import peers_mujoco, peers_pinocchio
from kinloop.bench.contenders import ALL, CALL, KERNEL, ONE, batch_call, one_call, robot_batch, robot_call, timed
from kinloop.bench.peers import Peer, Problem, make_problem
from kinloop.bench.timing import Effort
from kinloop.errors import KinloopError
from kinloop.robot import Robot

STATES, STEPS = 32, 100
"""States and steps of a rollout."""
MANY = 8
"""How many times larger the batches for all cores are."""


def forward(x: Problem, effort: Effort) -> list[dict[str, Any]]:
    """Forward dynamics, all three modes. MuJoCo's batches are steps: it has no batch of mj_forward."""
    exact = x.robot.forward_dynamics(x.q, x.v, x.tau, method="dense_kkt")
    kernel, inputs = x.robot.compile("forward_dynamics"), [x.q, x.v, x.tau]
    quantity = "forward dynamics"
    robot, q, v, tau = x
    ours = [one_call(kernel, inputs), robot_call(lambda: robot.forward_dynamics(q, v, tau))]
    calls = [*ours, *peers_pinocchio.forward_peers(x), *peers_mujoco.forward_peers(x)]
    out = timed(quantity, CALL, calls, exact, effort)
    for mode, threads, states in ((ONE, 1, effort.batch), (ALL, None, MANY * effort.batch)):
        ours = [batch_call(kernel, inputs, states, threads), robot_batch(robot.forward_dynamics, inputs, states)]
        out += timed(quantity, mode, [*ours, *peers_pinocchio.batch_peers(x, threads)], exact, effort)
    return out


def inverse(x: Problem, effort: Effort) -> list[dict[str, Any]]:
    """Inverse dynamics, the mass matrix and the Jacobian of the last frame, one call."""
    robot, q, v, _ = x
    frame = robot.frame_names[-1]
    a = np.random.default_rng(2).normal(size=robot.nv)
    exact = robot.inverse_dynamics(q, v, a, method="dense_kkt")
    ours = one_call(robot.compile("inverse_dynamics"), [q, v, a])
    front = robot_call(lambda: robot.inverse_dynamics(q, v, a))
    out = timed("inverse dynamics", CALL, [ours, front, *peers_pinocchio.inverse_peers(x, a)], exact, effort)
    M = robot.mass_matrix(q, method="dense_kkt")
    ours, front = one_call(robot.compile("mass_matrix"), [q]), robot_call(lambda: robot.mass_matrix(q))
    out += timed("mass matrix", CALL, [ours, front, *peers_pinocchio.mass_peers(x)], M, effort)
    J = Robot.from_tree(robot.tree, backend="numpy").frame_jacobian(q, frame)
    ours = one_call(robot.compile("frame_jacobian", frames=[frame]), [q])
    front = robot_call(lambda: robot.frame_jacobian(q, frame))
    return out + timed("frame Jacobian", CALL, [ours, front, *peers_pinocchio.jacobian_peers(x, frame)], J, effort)


def delassus(x: Problem, frames: list[str], effort: Effort) -> list[dict[str, Any]]:
    """J M^-1 J^T of points held in the world."""
    held = [Point(name) for name in frames]
    exact = x.robot.delassus(x.q, held, method="dense_kkt")
    robot, q = x.robot, x.q
    ours = [one_call(robot.compile("delassus", constraints=held), [q]), robot_call(lambda: robot.delassus(q, held))]
    what = f"Delassus matrix of {len(frames)} points"
    return timed(what, CALL, [*ours, *peers_pinocchio.delassus_peers(x, held)], exact, effort)


def step(x: Problem, effort: Effort) -> list[dict[str, Any]]:
    """Simulated steps of 1 ms without contact: one state, a batch on one core and on all."""
    try:
        simulator = sim.Simulator(x.robot, dt=1e-3, limits=False)
    except KinloopError:
        return []

    def ours(states: int, threads: int | None) -> Peer:
        state = simulator.state(*(np.repeat(y[None], states, axis=0) for y in (x.q, x.v)))
        options: dict[str, Any] = {"steps": STEPS, "record": ["q"], "every": STEPS, "threads": threads}
        return Peer(KERNEL, lambda: simulator.rollout(controls=None, state=state, **options), None, states * STEPS)

    x = x._replace(tau=np.zeros_like(x.tau))
    out = timed("step", CALL, [ours(1, 1), *peers_mujoco.step_peers(x)], None, effort)
    for mode, threads in ((ONE, 1), (ALL, None)):
        batch = [ours(STATES, threads), *peers_mujoco.batch_peers(x, threads)]
        out += timed("step", mode, batch, None, effort)
    return out


def compare(
    make: Callable[[], Robot], effort: Effort, points: int = 0, steps: bool = False, trees: bool = False
) -> dict[str, Any]:
    """All records of a robot, and what must be known to read them.

    Forward dynamics always; with `trees` also inverse dynamics, the mass matrix and a Jacobian, with `points` the
    Delassus matrix of so many points, with `steps` simulated steps.
    """
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
