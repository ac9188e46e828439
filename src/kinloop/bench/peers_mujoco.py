"""Robots in MuJoCo: mj_forward, mj_step and batches by mujoco.rollout; loops and gears are its soft equalities."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from kinloop.bench.peers import POINTS, Array, Peer, Problem, batch_for, loop_points, seconds_of, spanning_force
from kinloop.model import Body, LinearCoupling, LoopJoint
from kinloop.model import joints as jt
from kinloop.robot import Robot
from kinloop.spatial import rotation_quaternion

KINDS = {jt.Revolute: "hinge", jt.Prismatic: "slide", jt.Free: "free", jt.Spherical: "ball", jt.Fixed: ""}
STEPS = 20
"""Steps of a rollout."""
STIFF = 'solref="0.002 1" solimp="0.9999 0.9999 0.001 0.5 2"'
"""Equalities as stiff as a step of 1 ms allows."""


def _numbers(x: Any) -> str:
    return " ".join(repr(float(a)) for a in np.ravel(x))


def _inertial(b: Body) -> str:
    I = b.inertia
    full = _numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
    return f'<inertial pos="{_numbers(b.com)}" mass="{b.mass!r}" fullinertia="{full}"/>'


def _body(robot: Robot, i: int, sites: dict[int, list[str]]) -> str:
    top = robot.tree.top
    j, kind = top.joints[i], top.types[i]
    axis = f' axis="{_numbers(kind.axis)}"' if isinstance(kind, jt.Revolute | jt.Prismatic) else ""
    name = "freejoint" if isinstance(kind, jt.Free) else "joint"
    type_ = "" if isinstance(kind, jt.Free) else f' type="{KINDS[type(kind)]}" armature="{j.armature!r}"'
    joint = "" if isinstance(kind, jt.Fixed) else f'<{name} name="j{i}"{type_}{axis}/>'
    inside = "".join(sites.get(i, []))
    inside += "".join(_body(robot, k, sites) for k in range(len(top)) if top.parent[k] == i)
    at = f'pos="{_numbers(j.placement.p)}" quat="{_numbers(rotation_quaternion(j.placement.R))}"'
    inertial = _inertial(top.bodies[i])
    return f'<body name="b{i}" {at}>{joint}{inertial}{inside}</body>'


def _loops(robot: Robot, sites: dict[int, list[str]]) -> list[str] | None:
    """Connects and welds between sites, which are added to their bodies."""
    if not all(isinstance(loop, LoopJoint) and isinstance(loop.type, POINTS) for loop in robot.mechanism.loops):
        return None
    equality = []
    for k, (rigid, ends) in enumerate(loop_points(robot)):
        for side, (body, at) in zip("ps", ends, strict=True):
            quat = _numbers(rotation_quaternion(at.R))
            sites.setdefault(body, []).append(f'<site name="{side}{k}" pos="{_numbers(at.p)}" quat="{quat}"/>')
        equality.append(f'<{"weld" if rigid else "connect"} site1="p{k}" site2="s{k}" {STIFF}/>')
    return equality


def _couplings(robot: Robot, tendons: list[str]) -> list[str] | None:
    """Joint equalities for gears, tendons for belts over several joints."""
    equality = []
    index = robot.tree.top.joint_index
    for c in robot.mechanism.couplings:
        if not isinstance(c, LinearCoupling):
            return None
        for row, name in enumerate(c.dependent):
            poly = f"{float(c.offset[row])!r} {float(c.matrix[row, 0])!r} 0 0 0"
            joints = [f"j{index[n]}" for n in (name, *c.independent)]
            if len(c.independent) == 1:
                equality.append(f'<joint joint1="{joints[0]}" joint2="{joints[1]}" polycoef="{poly}" {STIFF}/>')
                continue
            terms = zip(joints, (1.0, *(-c.matrix[row]).tolist()), strict=True)
            length = "".join(f'<joint joint="{j}" coef="{x!r}"/>' for j, x in terms if x)
            tendon = f"t{len(tendons)}"
            tendons.append(f'<fixed name="{tendon}">{length}</fixed>')
            equality.append(f'<tendon tendon1="{tendon}" {STIFF}/>')
    return equality


def mujoco_xml(robot: Robot) -> str | None:
    """The mechanism as MJCF, with equality constraints as stiff as MuJoCo takes them; None if it cannot be said."""
    top = robot.tree.top
    if any(type(t) not in KINDS for t in top.types):
        return None
    sites: dict[int, list[str]] = {}
    tendons: list[str] = []
    loops, couplings = _loops(robot, sites), _couplings(robot, tendons)
    if loops is None or couplings is None:
        return None
    roots = "".join(sites.get(-1, [])) + "".join(_body(robot, i, sites) for i in range(len(top)) if top.parent[i] < 0)
    return (
        '<mujoco><compiler angle="radian" autolimits="true" balanceinertia="true"/>'
        f'<option gravity="{_numbers(robot.mechanism.gravity)}" timestep="0.001">'
        '<flag contact="disable"/></option>'
        f"<worldbody>{roots}</worldbody><tendon>{''.join(tendons)}</tendon>"
        f"<equality>{''.join(loops + couplings)}</equality></mujoco>"
    )


def impossible_inertias(robot: Robot) -> list[str]:
    """Bodies whose figures no mass distribution can have: MuJoCo computes with others in their place."""
    out = []
    for b in robot.mechanism.bodies:
        x, y, z = np.sort(np.linalg.eigvalsh(b.inertia))
        if x + y < z * (1 - 1e-12):
            out.append(b.name)
    return out


class MujocoRobot:
    """A MuJoCo model with the problem's state set."""

    def __init__(self, mujoco: Any, model: Any, problem: Problem) -> None:
        self.mujoco, self.model, self.problem = mujoco, model, problem
        self.data = mujoco.MjData(model)
        robot, q = problem.robot, problem.q
        top, self.qd = robot.tree.top, robot.spanning_velocity(q, problem.v)
        applied = spanning_force(problem)
        self.place: list[tuple[slice, slice, slice, jt.JointType]] = []
        for i, kind in enumerate(top.types):
            if isinstance(kind, jt.Fixed):
                continue
            j = model.joint(f"j{i}")
            a, b = top.q_of[i], top.v_of[i]
            at, to = int(j.dofadr[0]), int(j.qposadr[0])
            dofs = slice(at, at + kind.nv)
            self.place.append((dofs, a, b, kind))
            self.data.qpos[to : to + kind.nq] = q[a]
            self.data.qvel[dofs] = _to_mujoco(kind, q[a], self.qd[b])
            self.data.qfrc_applied[dofs] = _to_mujoco(kind, q[a], applied[b])

    def acceleration(self) -> Array:
        """mj_forward's, in our independent coordinates."""
        self.mujoco.mj_forward(self.model, self.data)
        robot, out = self.problem.robot, np.zeros(self.problem.robot.n_spanning)
        for dofs, a, b, kind in self.place:
            out[b] = _acceleration_back(kind, self.problem.q[a], self.qd[b], self.data.qacc[dofs].copy())
        return out[robot.tree.independent_dofs]

    def state(self) -> Array:
        """The full physics state, as mujoco.rollout takes it."""
        kind = self.mujoco.mjtState.mjSTATE_FULLPHYSICS
        out = np.zeros(self.mujoco.mj_stateSize(self.model, kind))
        self.mujoco.mj_getState(self.model, self.data, out, kind)
        return out


def mujoco_robot(x: Problem) -> MujocoRobot | None:
    """The robot in MuJoCo at the problem's state; None if MuJoCo cannot say it, refuses it, or is not installed."""
    try:
        import mujoco
    except ImportError:
        return None
    xml = mujoco_xml(x.robot)
    if xml is None:
        return None
    try:
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


def _to_mujoco(kind: jt.JointType, q: Array, x: Array) -> Array:
    """A velocity or force of a joint; a free joint's linear part goes first, in world axes."""
    if not isinstance(kind, jt.Free):
        return x
    return np.concatenate([kind.pose(q).R @ x[3:], x[:3]])


def _acceleration_back(kind: jt.JointType, q: Array, qd: Array, x: Array) -> Array:
    if not isinstance(kind, jt.Free):
        return x
    # world-axes acceleration of the origin = R (a_linear + w x v) for body-frame spatial acceleration
    return np.concatenate([x[3:], kind.pose(q).R.T @ x[:3] - np.cross(qd[:3], qd[3:])])
