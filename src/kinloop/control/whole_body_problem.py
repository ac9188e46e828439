"""The QP of whole-body control, as one kernel: unknown are motor torques u and contact forces f.

The equations of motion on closed loops, and bodies that contacts hold still,

    M a + h = B u + J^T l,    J a = c,    B = G^T of the motors' coordinates, h bias less springs, dampers          (1)

give accelerations and the wrenches l on held bodies exactly, for every u:

    a = a0 + T u,    l = l0 + L u,    L = -W^-1 J M^-1 B,    T = M^-1 (B + J^T L),    W = J M^-1 J^T                 (2)

With them the equations of motion need no rows, and what is left is well conditioned. Tasks become rows in u,

    J_t a + b_t = x'' + k e + d (x' - J_t v)                                                                         (3)

by least squares with weights. Forces at points make up the wrenches, X f = l0 + L u, each within a friction pyramid;
torques have bounds. Held bodies rest: c = -b - d_h J v takes out what speed they have. docs/control.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.cluster_rnea import bias_force
from kinloop.clusters import ClusterTree
from kinloop.clusters.tangent_frame import plain
from kinloop.control.held_contacts import Friction, HeldContacts
from kinloop.control.tasks import Task
from kinloop.control.world_motion import WorldMotion
from kinloop.errors import MethodError
from kinloop.inputs import checked_number
from kinloop.linear import Factor, gram, guarded
from kinloop.scalar import Array
from kinloop.sim.actuators import Drive, joint_forces
from kinloop.sim.motors import Motor

DEPENDENT = 1e-10
"""Rows of held bodies of which less than this part is left, beside those before, follow from them: they add nothing."""


@dataclass(frozen=True)
class Tracked:
    """A task that whole-body control follows like a spring and damper, of `stiffness` k [1/s^2] and `damping` d [1/s].

    Without a damping, the critical one, 2 sqrt(k).
    """

    task: Task
    stiffness: float = 100.0
    damping: float | None = None

    def __post_init__(self) -> None:
        checked_number(f"stiffness of {self.task.label}", self.stiffness, "not be negative", 0.0)
        if self.damping is not None:
            checked_number(f"damping of {self.task.label}", self.damping, "not be negative", 0.0)

    @property
    def gains(self) -> tuple[float, float]:
        """Stiffness [1/s^2] and damping [1/s]: critical where no damping is given."""
        d = 2.0 * float(np.sqrt(self.stiffness)) if self.damping is None else float(self.damping)
        return float(self.stiffness), d


@dataclass(frozen=True)
class WholeBodyProblem:
    """What the kernel is made of."""

    tree: ClusterTree
    tasks: tuple[Tracked, ...]
    contacts: HeldContacts
    friction: Friction
    drive: Drive
    contact_damping: float
    torque_weight: float
    force_weight: float

    def __post_init__(self) -> None:
        for m in self.drive.motors:
            if not (isinstance(m, Motor) and m.kind == "torque"):
                raise MethodError(
                    f"the motor of {m.joint!r} is a {m.kind} actuator, or more than a torque; whole-body control gives "
                    "torques: name motors=[Motor(joint, limit=...), ...]"
                )
        if self.drive.bounds:
            raise MethodError("a joint bounds the forces of several motors together; name motors=[Motor(...), ...]")

    @property
    def key(self) -> tuple[Any, ...]:
        """What kernels depend on."""
        tasks = tuple((t.task.key, *t.gains) for t in self.tasks)
        more = (self.contact_damping, self.torque_weight, self.force_weight)
        cone = (self.friction.coefficient, self.friction.sides, self.friction.normal)
        motors = tuple(
            (d, m.gear) for m, d in zip(self.drive.motors, self.drive.dofs, strict=True) if isinstance(m, Motor)
        )
        return tasks, self.contacts.key, cone, motors, self.passive.key, more

    @property
    def passive(self) -> Drive:
        """What acts at joints without motors."""
        return replace(self.drive, motors=(), dofs=(), places=())

    @property
    def turning(self) -> tuple[int, ...]:
        own = {i for t in self.tasks for i in t.task.bodies(self.tree.top)}
        return tuple(own | {i for i, _ in self.contacts.points})

    @cached_property
    def row_counts(self) -> list[int]:
        """How many rows each task has."""
        q = self.tree.top.neutral()
        at = WorldMotion(self.tree, q, turning=self.turning)
        zeros = [np.zeros(t.task.target_size(self.tree.top)) for t in self.tasks]
        return [len(t.task.error(at, zero)) for t, zero in zip(self.tasks, zeros, strict=True)]

    @property
    def reference_sizes(self) -> list[int]:
        """How many numbers the reference of each task has: its target, then velocity and acceleration."""
        sizes = [t.task.target_size(self.tree.top) for t in self.tasks]
        return [n + 2 * rows for n, rows in zip(sizes, self.row_counts, strict=True)]


def whole_body_qp(p: WholeBodyProblem, q: Array, v: Array, references: Array) -> dict[str, Array]:
    """H and f of the cost z^T H z / 2 + f^T z for z = (u, forces), rows A of pyramids, then X f - L u = b; a0 and T."""
    at = WorldMotion(p.tree, q, v, p.turning)
    a0, T, l0, L = response(p, at)
    nu, X = T.shape[1], p.contacts.wrenches(at) @ np.kron(np.eye(len(p.contacts.points)), p.friction.axes.T)
    n = nu + X.shape[1]
    H, f = np.zeros((n, n), dtype=object), np.zeros(n, dtype=object)
    cost, pull = np.diag(np.full(nu, p.torque_weight)), np.zeros(nu)
    for J, wanted, w in task_rows(p, at, references):
        R, r = (J @ T) * np.sqrt(w)[:, None], (wanted - J @ a0) * np.sqrt(w)
        cost, pull = cost + gram(R, R), pull - R.T @ r
    H[:nu, :nu], H[nu:, nu:], f[:nu] = cost, p.force_weight * np.eye(n - nu), pull
    pyramids = np.kron(np.eye(len(p.contacts.points)), p.friction.pyramid())
    sides = np.concatenate([np.zeros((len(pyramids), nu)), pyramids], axis=1)
    A = np.concatenate([sides, np.concatenate([-L, X], axis=1)])
    return {"H": plain(H), "f": plain(f), "A": A, "b": l0, "a0": a0, "T": T}


def response(p: WholeBodyProblem, at: WorldMotion) -> tuple[Array, Array, Array, Array]:
    """a0, T, l0 and L of (2)."""
    tree, q, v = p.tree, at.q, at.v
    assert v is not None
    f = joint_forces(p.passive, q, at.G @ v, np.zeros(0))
    rest = at.G.T @ f - bias_force(tree, q, v)
    motors = [m.gear * at.G[d] for m, d in zip(p.drive.motors, p.drive.dofs, strict=True) if isinstance(m, Motor)]
    J, bias = p.contacts.rows(at)
    factor = Factor(cluster_crba(tree, q)[::-1, ::-1])
    free = factor.solve(np.array([rest, *motors, *J]).T[::-1])[::-1]
    B, K = free[:, : 1 + len(motors)], free[:, 1 + len(motors) :]
    right = -(J @ B)
    right[:, 0] = right[:, 0] - bias - p.contact_damping * (J @ v)
    found = Factor(gram(J.T, K), guarded(DEPENDENT)).solve(right) if len(J) else right
    a = B + K @ found if len(J) else B
    return a[:, 0], a[:, 1:], found[:, 0], found[:, 1:]


def task_rows(p: WholeBodyProblem, at: WorldMotion, references: Array) -> list[tuple[Array, Array, Array]]:
    """J, the wanted J a and weights of every task: (3)."""
    out, start = [], 0
    v: Any = at.v
    for t, rows in zip(p.tasks, p.row_counts, strict=True):
        n = t.task.target_size(p.tree.top)
        target, velocity, acceleration = np.split(references[start : start + n + 2 * rows], [n, n + rows])
        start += n + 2 * rows
        k, d = t.gains
        J = t.task.jacobian(at, target)
        wanted = acceleration + k * t.task.error(at, target) + d * (velocity - J @ v) - t.task.bias(at, target)
        out.append((J, wanted, t.task.row_weights(rows)))
    return out
