"""The same mechanism in Pinocchio and in MuJoCo, each used as its own documentation advises.

Pinocchio takes trees and loop joints (point or weld constraints), not gears or loop functions; MuJoCo
takes everything but loop functions, softly, and balances inertias that no mass distribution can have.
`None` where a peer cannot express a mechanism or is not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinloop.model import joints as jt
from kinloop.model.parts import LinearCoupling, LoopJoint
from kinloop.robot import Robot
from kinloop.spatial import rotation_quaternion

Array = np.ndarray


class Peer(NamedTuple):
    """A peer's forward dynamics at one state: what to call, and what it computed (spanning)."""

    name: str
    call: Callable[[], Any]
    acceleration: Callable[[], Array]


def _pin_joint(pin: Any, kind: jt.JointType) -> Any:
    match kind:
        case jt.Revolute():
            named = {jt.X: pin.JointModelRX, jt.Y: pin.JointModelRY, jt.Z: pin.JointModelRZ}.get(kind.axis)
            return named() if named else pin.JointModelRevoluteUnaligned(np.array(kind.axis))
        case jt.Prismatic():
            named = {jt.X: pin.JointModelPX, jt.Y: pin.JointModelPY, jt.Z: pin.JointModelPZ}.get(kind.axis)
            return named() if named else pin.JointModelPrismaticUnaligned(np.array(kind.axis))
        case jt.Free():
            return pin.JointModelFreeFlyer()
        case jt.Spherical():
            return pin.JointModelSpherical()
    return None


def pinocchio_model(robot: Robot) -> Any:
    """The spanning tree as a Pinocchio model, or None."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    top = robot.tree.top
    model = pin.Model()
    model.gravity.linear = np.array(robot.mechanism.gravity)
    for i, (joint, body) in enumerate(zip(top.joints, top.bodies, strict=True)):
        kind = _pin_joint(pin, joint.type)
        if kind is None:
            return None
        parent = top.parent[i] + 1
        index = model.addJoint(parent, kind, pin.SE3(joint.placement.R, joint.placement.p), joint.name)
        model.appendBodyToJoint(index, pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity())
    return model


def pinocchio_state(robot: Robot, q: Array, qd: Array) -> tuple[Array, Array]:
    """q and spanning velocities in Pinocchio's order and conventions."""
    top = robot.tree.top
    out_q, out_v = q.copy(), qd.copy()
    for kind, a, b in zip(top.types, top.q_of, top.v_of, strict=True):
        if isinstance(kind, jt.Free):
            x = q[a]
            out_q[a] = [*x[:3], x[4], x[5], x[6], x[3]]
            out_v[b] = [*qd[b][3:], *qd[b][:3]]
        elif isinstance(kind, jt.Spherical):
            x = q[a]
            out_q[a] = [x[1], x[2], x[3], x[0]]
    return out_q, out_v


def _from_pinocchio(robot: Robot, acceleration: Array) -> Array:
    out = acceleration.copy()
    for kind, b in zip(robot.tree.top.types, robot.tree.top.v_of, strict=True):
        if isinstance(kind, jt.Free):
            out[b] = [*acceleration[b][3:], *acceleration[b][:3]]
    return out


def pinocchio_peers(robot: Robot, q: Array, v: Array, tau: Array) -> list[Peer]:
    """aba for trees; lcaba and constraintDynamics for loops."""
    model = pinocchio_model(robot)
    if model is None or robot.mechanism.couplings:
        return []
    if not all(isinstance(loop, LoopJoint) for loop in robot.mechanism.loops):
        return []
    import pinocchio as pin

    top, data = robot.tree.top, model.createData()
    qd = robot.spanning_velocity(q, v)
    applied = np.zeros(robot.n_spanning)
    applied[robot.tree.independent_dofs] = tau
    pq, pv = pinocchio_state(robot, q, qd)
    _, ptau = pinocchio_state(robot, q, applied)

    def peer(name: str, call: Callable[[], Any]) -> Peer:
        return Peer(name, call, lambda: _from_pinocchio(robot, np.array(call())))

    if not robot.mechanism.loops:
        return [peer("pinocchio aba", lambda: pin.aba(model, data, pq, pv, ptau))]
    frame = pin.ReferenceFrame.LOCAL
    constraints = pin.StdVec_RigidConstraintModel()
    for loop in robot.mechanism.loops:
        assert isinstance(loop, LoopJoint)
        kind = pin.ContactType.CONTACT_6D if isinstance(loop.type, jt.Fixed) else pin.ContactType.CONTACT_3D
        ends = [
            (top.body_index[name] + 1, pin.SE3(at.R, at.p))
            for name, at in (
                (loop.predecessor, loop.predecessor_placement),
                (loop.successor, loop.successor_placement),
            )
        ]
        constraints.append(pin.RigidConstraintModel(kind, model, *ends[0], *ends[1], frame))
    datas = pin.StdVec_RigidConstraintData()
    for c in constraints:
        datas.append(c.createData())
    settings = pin.ProximalSettings(1e-12, 1e-6, 10)
    dense = model.createData()
    pin.initConstraintDynamics(model, dense, constraints, datas)
    pin.computeJointMinimalOrdering(model, data, constraints)
    return [
        peer("pinocchio lcaba", lambda: pin.lcaba(model, data, pq, pv, ptau, constraints, datas, settings)),
        peer(
            "pinocchio constraintDynamics",
            lambda: pin.constraintDynamics(model, dense, pq, pv, ptau, constraints, datas, settings),
        ),
    ]


def _numbers(x: Any) -> str:
    return " ".join(repr(float(a)) for a in np.ravel(x))


def mujoco_xml(robot: Robot) -> str | None:
    """The mechanism as MJCF, with equality constraints as stiff as MuJoCo takes them; None if it cannot be said."""
    top = robot.tree.top
    kinds = {jt.Revolute: "hinge", jt.Prismatic: "slide", jt.Free: "free", jt.Spherical: "ball"}
    if any(type(t) not in kinds for t in top.types):
        return None

    sites: dict[int, list[str]] = {}
    equality: list[str] = []
    tendons: list[str] = []

    def body(i: int) -> str:
        j, b, kind = top.joints[i], top.bodies[i], top.types[i]
        axis = f' axis="{_numbers(kind.axis)}"' if isinstance(kind, jt.Revolute | jt.Prismatic) else ""
        I = b.inertia
        full = _numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
        name = "freejoint" if isinstance(kind, jt.Free) else "joint"
        type_ = "" if isinstance(kind, jt.Free) else f' type="{kinds[type(kind)]}" armature="{j.armature!r}"'
        inside = "".join(sites.get(i, [])) + "".join(body(k) for k in range(len(top)) if top.parent[k] == i)
        at = f'pos="{_numbers(j.placement.p)}" quat="{_numbers(rotation_quaternion(j.placement.R))}"'
        inertial = f'<inertial pos="{_numbers(b.com)}" mass="{b.mass!r}" fullinertia="{full}"/>'
        return f'<body name="b{i}" {at}><{name} name="j{i}"{type_}{axis}/>{inertial}{inside}</body>'

    stiff = 'solref="0.002 1" solimp="0.9999 0.9999 0.001 0.5 2"'
    for k, loop in enumerate(robot.mechanism.loops):
        if not isinstance(loop, LoopJoint):
            return None
        for side, end, at in (
            ("p", loop.predecessor, loop.predecessor_placement),
            ("s", loop.successor, loop.successor_placement),
        ):
            sites.setdefault(top.body_index[end], []).append(f'<site name="{side}{k}" pos="{_numbers(at.p)}"/>')
        kind = "weld" if isinstance(loop.type, jt.Fixed) else "connect"
        equality.append(f'<{kind} site1="p{k}" site2="s{k}" {stiff}/>')
    for c in robot.mechanism.couplings:
        if not isinstance(c, LinearCoupling):
            return None
        for row, name in enumerate(c.dependent):
            poly = f"{float(c.offset[row])!r} {float(c.matrix[row, 0])!r} 0 0 0"
            joints = [f"j{top.joint_index[n]}" for n in (name, *c.independent)]
            if len(c.independent) == 1:
                equality.append(f'<joint joint1="{joints[0]}" joint2="{joints[1]}" polycoef="{poly}" {stiff}/>')
                continue
            terms = zip(joints, (1.0, *(-c.matrix[row]).tolist()), strict=True)
            length = "".join(f'<joint joint="{j}" coef="{x!r}"/>' for j, x in terms if x)
            tendon = f"t{len(tendons)}"
            tendons.append(f'<fixed name="{tendon}">{length}</fixed>')
            equality.append(f'<tendon tendon1="{tendon}" {stiff}/>')
    roots = "".join(sites.get(-1, [])) + "".join(body(i) for i in range(len(top)) if top.parent[i] < 0)
    return (
        '<mujoco><compiler angle="radian" autolimits="true" balanceinertia="true"/>'
        f'<option gravity="{_numbers(robot.mechanism.gravity)}" timestep="0.001" iterations="100" tolerance="1e-12">'
        '<flag contact="disable"/></option>'
        f"<worldbody>{roots}</worldbody><tendon>{''.join(tendons)}</tendon><equality>{''.join(equality)}</equality></mujoco>"
    )


def mujoco_peer(robot: Robot, q: Array, v: Array, tau: Array) -> Peer | None:
    """mj_forward at the state; its loops are soft, so its error is part of the answer."""
    try:
        import mujoco
    except ImportError:
        return None
    xml = mujoco_xml(robot)
    if xml is None:
        return None
    try:
        model = mujoco.MjModel.from_xml_string(xml)
    except ValueError:
        return None  # MuJoCo refuses the figures (massless or impossible inertias)
    data = mujoco.MjData(model)
    top, qd = robot.tree.top, robot.spanning_velocity(q, v)
    applied = np.zeros(robot.n_spanning)
    applied[robot.tree.independent_dofs] = tau
    place: list[tuple[int, slice, slice, jt.JointType]] = []
    for i, kind in enumerate(top.types):
        j = model.joint(f"j{i}")
        place.append((int(j.dofadr[0]), top.q_of[i], top.v_of[i], kind))
        data.qpos[int(j.qposadr[0]) : int(j.qposadr[0]) + kind.nq] = q[top.q_of[i]]
        data.qvel[int(j.dofadr[0]) : int(j.dofadr[0]) + kind.nv] = _to_mujoco(kind, q[top.q_of[i]], qd[top.v_of[i]])
        data.qfrc_applied[int(j.dofadr[0]) : int(j.dofadr[0]) + kind.nv] = _to_mujoco(
            kind, q[top.q_of[i]], applied[top.v_of[i]]
        )

    def acceleration() -> Array:
        mujoco.mj_forward(model, data)
        out = np.zeros(robot.n_spanning)
        for at, a, b, kind in place:
            x = data.qacc[at : at + kind.nv].copy()
            out[b] = _acceleration_back(kind, q[a], qd[b], x)
        return out

    return Peer("mujoco mj_forward", lambda: mujoco.mj_forward(model, data), acceleration)


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
