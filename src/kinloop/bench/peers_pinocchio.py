"""Robots in Pinocchio: trees by aba, rnea, crba; loops by lcaba and constraintDynamics; gears as mimic joints.

Two things to know, both accepted without a word and both wrong by percents, at rest too, with loops closed to 1e-16:
joints must be added depth first (constraintDynamics otherwise factorises along wrong paths), and constraintDynamics
must not share its constraint datas with lcaba. Used so, constraintDynamics is right to 1e-15 on every four-bar here,
and lcaba to its proximal tolerance. crba misses an entry where a mimic joint carries several joints (`rocker`).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinloop.algorithms.constrained.motion_constraints import MotionConstraint, Weld
from kinloop.bench.peers import Peer, Problem, batch_for, seconds_of, spanning_force
from kinloop.errors import ModelError
from kinloop.io.convert import pinocchio_order
from kinloop.io.convert.loop_points import LoopPoint, loop_points
from kinloop.model import LinearCoupling
from kinloop.model import joints as jt
from kinloop.model.topology import Topology
from kinloop.robot import Robot
from kinloop.scalar import Array


def pin_joint(pin: Any, kind: jt.JointType) -> Any:
    """Pinocchio's joint, or None."""
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


def depth_first(top: Topology, parent: int = -1) -> list[int]:
    """Bodies so that every subtree is a contiguous run."""
    out = []
    for i in range(len(top)):
        if top.parent[i] == parent:
            out += [i, *depth_first(top, i)]
    return out


class PinocchioRobot:
    """A Pinocchio model of a robot, the order of its coordinates in ours, and its loops as points and welds."""

    def __init__(self, robot: Robot, pin: Any, model: Any, place: dict[int, Any], points: list[LoopPoint]) -> None:
        self.robot, self.pin, self.model, self._place, self.points = robot, pin, model, place, points
        self.data = model.createData()
        self.q_from, self.v_from = pinocchio_order(robot, model)

    def place(self, body: int, at: Any) -> tuple[int, Any]:
        """The joint that moves a place on a body, and where the place sits on it."""
        carrier, placement = self._place[body]
        return carrier, placement * self.pin.SE3(at.R, at.p)

    def independent(self, x: Array) -> Array:
        """A velocity, force or acceleration of Pinocchio in our independent coordinates."""
        out = np.zeros(self.robot.n_spanning)
        out[self.v_from] = x
        return out[self.robot.tree.independent_dofs]

    def matrix(self, M: Array) -> Array:
        """A symmetric matrix, of which Pinocchio fills the upper triangle, in our coordinates."""
        full = np.triu(M) + np.triu(M, 1).T
        out = np.zeros((self.robot.n_spanning,) * 2)
        out[np.ix_(self.v_from, self.v_from)] = full
        dofs = self.robot.tree.independent_dofs
        return out[np.ix_(dofs, dofs)]


def pinocchio_robot(robot: Robot) -> PinocchioRobot | None:
    """The robot in Pinocchio, gears as mimic joints; None if it cannot be said or Pinocchio is not installed."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    top, model = robot.tree.top, pin.Model()
    model.gravity.linear = np.array(robot.mechanism.gravity)
    place = {-1: (0, pin.SE3.Identity())}  # of every body: the joint that moves it, and where it sits on that
    for i in depth_first(top):
        joint, body = top.joints[i], top.bodies[i]
        carrier, at = place[top.parent[i]]
        at = at * pin.SE3(joint.placement.R, joint.placement.p)
        if isinstance(joint.type, jt.Fixed):
            place[i] = (carrier, at)
        else:
            kind = pin_joint(pin, joint.type)
            if kind is None:
                return None
            k = model.addJoint(carrier, kind, at, joint.name)
            place[i] = (k, pin.SE3.Identity())
            if joint.armature:
                model.armature[model.idx_vs[k] : model.idx_vs[k] + model.nvs[k]] = joint.armature
        model.appendBodyToJoint(place[i][0], pin.Inertia(body.mass, body.com, body.inertia), place[i][1])
    for c in robot.mechanism.couplings:
        if not (isinstance(c, LinearCoupling) and c.matrix.shape == (1, 1)):
            return None
        pair = (model.getJointId(c.independent[0]), model.getJointId(c.dependent[0]))
        if pair[0] > pair[1] or robot.mechanism.loops:
            return None
        model = pin.transformJointIntoMimic(model, *pair, float(c.matrix[0, 0]), float(c.offset[0]))
    try:
        return PinocchioRobot(robot, pin, model, place, loop_points(robot))
    except ModelError:
        return None


def _state(p: PinocchioRobot, x: Problem) -> tuple[Array, Array, Array]:
    qd = x.robot.spanning_velocity(x.q, x.v)
    return x.q[p.q_from], qd[p.v_from], spanning_force(x)[p.v_from]


def forward_peers(x: Problem) -> list[Peer]:
    """Forward dynamics: aba for trees, lcaba and constraintDynamics for loops, crba and a solve for gears."""
    p = pinocchio_robot(x.robot)
    if p is None:
        return []
    pin, model, data = p.pin, p.model, p.data
    q, v, tau = _state(p, x)

    def peer(name: str, call: Callable[[], Array]) -> Peer:
        return Peer(f"pinocchio {name}", call, lambda: p.independent(np.array(call())))

    if x.robot.mechanism.couplings:
        cholesky = _cholesky()

        def solve() -> Array:
            M = pin.crba(model, data, q)  # the upper triangle is all that LAPACK's lower=False reads
            return cholesky(M, tau - pin.nonLinearEffects(model, data, q, v))

        return [peer("crba + nle + solve", solve)]
    if not x.robot.mechanism.loops:
        return [peer("aba", lambda: pin.aba(model, data, q, v, tau))]
    (c1, d1), (c2, d2) = loop_constraints(p), loop_constraints(p)
    settings, dense = pin.ProximalSettings(1e-12, 1e-6, 10), model.createData()
    pin.initConstraintDynamics(model, dense, c2, d2)
    pin.computeJointMinimalOrdering(model, data, c1)
    return [
        peer("lcaba", lambda: pin.lcaba(model, data, q, v, tau, c1, d1, settings)),
        peer("constraintDynamics", lambda: pin.constraintDynamics(model, dense, q, v, tau, c2, d2, settings)),
    ]


def loop_derivatives(x: Problem) -> list[Peer]:
    """Derivatives of forward dynamics of a robot with loops: of all accelerations, along all coordinates of the tree.

    The result is what can be read beside ours: of independent accelerations, along closed velocities.
    """
    p = pinocchio_robot(x.robot)
    if p is None or x.robot.mechanism.couplings:
        return []
    pin, model, data, state = p.pin, p.model, p.data, _state(p, x)
    constraints, datas = loop_constraints(p)
    settings = pin.ProximalSettings(1e-12, 1e-6, 10)
    pin.initConstraintDynamics(model, data, constraints, datas)

    def call() -> None:
        pin.constraintDynamics(model, data, *state, constraints, datas, settings)
        pin.computeConstraintDynamicsDerivatives(model, data, constraints, datas, settings)

    def along_velocity() -> Array:
        call()
        out = np.zeros((x.robot.n_spanning,) * 2)
        out[np.ix_(p.v_from, p.v_from)] = data.ddq_dv
        return (out @ x.robot.spanning_jacobian(x.q))[x.robot.tree.independent_dofs]

    return [Peer("pinocchio computeConstraintDynamicsDerivatives", call, along_velocity)]


@functools.cache
def _cholesky() -> Callable[[Array, Array], Array]:
    """What solves M x = b fastest, for the upper triangle of M."""
    try:
        from scipy.linalg.lapack import dposv
    except ImportError:
        return lambda M, b: np.linalg.solve(np.triu(M) + np.triu(M, 1).T, b)
    return lambda M, b: dposv(M, b, lower=0)[1]


def loop_constraints(p: PinocchioRobot) -> tuple[Any, Any]:
    """Points for hinges and balls, welds for welds."""
    pin = p.pin
    constraints, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    index = p.robot.tree.top.body_index
    for point in p.points:
        kind = pin.ContactType.CONTACT_6D if point.rigid else pin.ContactType.CONTACT_3D
        places: list[Any] = []
        for body, at in (point.predecessor, point.successor):
            places += p.place(index[body], at)
        constraints.append(pin.RigidConstraintModel(kind, p.model, *places, pin.ReferenceFrame.LOCAL))
    for c in constraints:
        datas.append(c.createData())
    return constraints, datas


def inverse_peers(x: Problem, a: Array) -> list[Peer]:
    """Inverse dynamics by rnea, trees and gears."""
    p = pinocchio_robot(x.robot)
    if p is None or x.robot.mechanism.loops:
        return []
    q, v, _ = _state(p, x)
    acceleration = (x.robot.spanning_jacobian(x.q) @ a)[p.v_from]
    pin, model, data = p.pin, p.model, p.data

    def call() -> Any:
        return pin.rnea(model, data, q, v, acceleration)

    return [Peer("pinocchio rnea", call, lambda: p.independent(np.array(call())))]


def mass_peers(x: Problem) -> list[Peer]:
    """The joint-space inertia by crba, trees and gears."""
    p = pinocchio_robot(x.robot)
    if p is None or x.robot.mechanism.loops:
        return []
    pin, model, data, q = p.pin, p.model, p.data, x.q[p.q_from]

    def call() -> Any:
        return pin.crba(model, data, q)

    return [Peer("pinocchio crba", call, lambda: p.matrix(np.array(call())))]


def jacobian_peers(x: Problem, frame: str) -> list[Peer]:
    """The Jacobian of a frame in its own axes, trees only."""
    p = pinocchio_robot(x.robot)
    if p is None or x.robot.mechanism.closures:
        return []
    pin, model, (carrier, at) = p.pin, p.model, p.place(*x.robot.frame(frame))
    index = model.addFrame(pin.Frame(frame, carrier, 0, at, pin.FrameType.OP_FRAME))
    data, q = model.createData(), x.q[p.q_from]

    def call() -> Any:
        return pin.computeFrameJacobian(model, data, q, index)

    def result() -> Array:
        J = np.zeros((6, x.robot.n_spanning))
        J[:, p.v_from] = np.array(call())[[3, 4, 5, 0, 1, 2]]  # Pinocchio's twists have the linear part first
        return J[:, x.robot.tree.independent_dofs]

    return [Peer("pinocchio computeFrameJacobian", call, result)]


def held_constraints(p: PinocchioRobot, held: Sequence[MotionConstraint]) -> tuple[Any, Any]:
    """Points and welds that hold frames to the world."""
    pin = p.pin
    constraints, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for c in held:
        body, at = p.robot.frame(c.frame)
        kind = pin.ContactType.CONTACT_6D if isinstance(c, Weld) else pin.ContactType.CONTACT_3D
        constraints.append(pin.RigidConstraintModel(kind, p.model, *p.place(body, at), pin.ReferenceFrame.LOCAL))
        datas.append(constraints[-1].createData())
    return constraints, datas


def delassus_peers(x: Problem, held: Sequence[MotionConstraint]) -> list[Peer]:
    """J M^-1 J^T of points held to the world, trees only."""
    p = pinocchio_robot(x.robot)
    if p is None or x.robot.mechanism.closures:
        return []
    constraints, datas = held_constraints(p, held)
    p.pin.initConstraintDynamics(p.model, p.data, constraints, datas)
    q = x.q[p.q_from]

    def call() -> Any:
        return p.pin.computeDelassusMatrix(p.model, p.data, q, constraints, datas)

    return [Peer("pinocchio computeDelassusMatrix", call, lambda: np.array(call()))]


def held_peers(x: Problem, held: Sequence[MotionConstraint]) -> list[Peer]:
    """Forward dynamics with frames held to the world, trees only."""
    p = pinocchio_robot(x.robot)
    if p is None or x.robot.mechanism.closures:
        return []
    constraints, datas = held_constraints(p, held)
    p.pin.initConstraintDynamics(p.model, p.data, constraints, datas)
    settings = p.pin.ProximalSettings(1e-12, 1e-6, 10)
    state = _state(p, x)

    def call() -> Any:
        return p.pin.constraintDynamics(p.model, p.data, *state, constraints, datas, settings)

    return [Peer("pinocchio constraintDynamics", call, lambda: p.independent(np.array(call())))]


def batch_peers(x: Problem, threads: int | None = None) -> list[Peer]:
    """Forward dynamics of a batch of states of a tree, on one thread or several."""
    p = pinocchio_robot(x.robot)
    if p is None or x.robot.mechanism.closures or not hasattr(p.pin, "abaInParallel"):
        return []
    threads = threads or os.cpu_count() or 1
    pool, state = p.pin.ModelPool(p.model, threads), _state(p, x)
    batch = threads * batch_for(seconds_of(lambda: p.pin.aba(p.model, p.data, *state)))
    Q, V, T = (np.asfortranarray(np.repeat(y[:, None], batch, axis=1)) for y in state)
    A = np.zeros_like(V, order="F")

    def call() -> None:
        p.pin.abaInParallel(threads, pool, Q, V, T, A)

    return [Peer("pinocchio abaInParallel", call, lambda: p.independent(A[:, -1]), batch)]
