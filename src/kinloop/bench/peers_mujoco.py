"""Robots in MuJoCo: mj_forward, mj_step and batches by mujoco.rollout; loops and gears are its soft equalities."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from kinloop.bench.peers import Peer, Problem, batch_for, seconds_of
from kinloop.errors import ModelError
from kinloop.io import MjcfOptions, convert, mjcf_text
from kinloop.robot import Robot
from kinloop.scalar import Array

STEPS = 20
"""Steps of a rollout."""
STIFF = MjcfOptions(
    timestep=1e-3, solref=(0.002, 1.0), solimp=(0.9999, 0.9999, 0.001, 0.5, 2.0), balance_inertia=True, bare=True
)
"""Equalities as stiff as a step of 1 ms allows; joints without passive forces, which forward dynamics has not."""


def mujoco_xml(robot: Robot) -> str | None:
    """The robot as MJCF, with equalities as stiff as MuJoCo takes them; None if it cannot be said."""
    try:
        return mjcf_text(robot, STIFF)
    except ModelError:
        return None


def impossible_inertias(robot: Robot) -> list[str]:
    """Bodies whose inertia no mass distribution can have: MuJoCo computes with others in their place."""
    out = []
    for b in robot.mechanism.bodies:
        x, y, z = np.sort(np.linalg.eigvalsh(b.inertia))
        if x + y < z * (1 - 1e-12):
            out.append(b.name)
    return out


class MujocoRobot:
    """A MuJoCo model with the problem's state set, and contacts off."""

    def __init__(self, mujoco: Any, model: Any, problem: Problem) -> None:
        self.mujoco, self.model, self.problem = mujoco, model, problem
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self.data = mujoco.MjData(model)
        state = convert.to_mujoco(problem.robot, model, problem.q, problem.v, problem.tau)
        self.data.qpos[:], self.data.qvel[:], self.data.qfrc_applied[:] = state

    def acceleration(self) -> Array:
        """mj_forward's, in our independent coordinates."""
        self.mujoco.mj_forward(self.model, self.data)
        x = self.problem
        return convert.acceleration_from_mujoco(x.robot, self.model, x.q, x.v, self.data.qacc)

    def state(self) -> Array:
        """The full physics state, as mujoco.rollout takes it."""
        kind = self.mujoco.mjtState.mjSTATE_FULLPHYSICS
        out = np.zeros(self.mujoco.mj_stateSize(self.model, kind))
        self.mujoco.mj_getState(self.model, self.data, out, kind)
        return out


def mujoco_robot(x: Problem, equalities: str = "") -> MujocoRobot | None:
    """The robot in MuJoCo at the problem's state; None if MuJoCo cannot say it, refuses it, or is not installed.

    `equalities` are further elements of MJCF's <equality>; bodies have their own names.
    """
    try:
        import mujoco
    except ImportError:
        return None
    xml = mujoco_xml(x.robot)
    if xml is None:
        return None
    try:
        xml = xml.replace("</equality>", equalities + "</equality>")
        return MujocoRobot(mujoco, mujoco.MjModel.from_xml_string(xml), x)
    except ValueError:
        return None  # massless bodies


def forward_peers(x: Problem) -> list[Peer]:
    """mj_forward at the state; its loops are soft, so its error is part of the answer."""
    m = mujoco_robot(x)
    if m is None:
        return []
    return [Peer("mujoco mj_forward", lambda: m.mujoco.mj_forward(m.model, m.data), m.acceleration)]


def step_peers(x: Problem) -> list[Peer]:
    """mj_step from the state, one after the other."""
    m = mujoco_robot(x)
    if m is None:
        return []
    start, kind = m.state(), m.mujoco.mjtState.mjSTATE_FULLPHYSICS

    def call() -> None:
        m.mujoco.mj_setState(m.model, m.data, start, kind)
        m.mujoco.mj_step(m.model, m.data, STEPS)

    return [Peer("mujoco mj_step", call, None, STEPS)]


def batch_peers(x: Problem, threads: int | None = None) -> list[Peer]:
    """mujoco.rollout: a batch of states, STEPS mj_steps each, on a pool of threads."""
    m = mujoco_robot(x)
    if m is None:
        return []
    from mujoco import rollout

    threads = threads or os.cpu_count() or 1
    pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
    datas = [m.mujoco.MjData(m.model) for _ in range(threads)]
    start = m.state()[None]
    rows = threads * max(1, batch_for(seconds_of(lambda: m.mujoco.mj_forward(m.model, m.data))) // STEPS)
    start = np.repeat(start, rows, axis=0)
    applied = np.repeat(m.data.qfrc_applied[None, None], rows, axis=0)
    spec = int(m.mujoco.mjtState.mjSTATE_QFRC_APPLIED)
    state = np.zeros((rows, STEPS, start.shape[1]))

    def call() -> None:
        pool.rollout(m.model, datas, start, applied, control_spec=spec, nstep=STEPS, state=state)

    return [Peer("mujoco rollout", call, None, rows * STEPS, pool.close)]
