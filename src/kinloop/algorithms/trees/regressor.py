"""Inverse dynamics is linear in the numbers of bodies and joints: tau = Y(q, v, a) pi.

Of every body ten numbers, in its own frame: mass m, first moment h = m com, and the moment of inertia about the frame's
origin, xx, xy, yy, xz, yz, zz. Of every coordinate of a joint that is not free: armature, damping, dry friction. With A
the classical acceleration of the body's origin, w its angular velocity and w' the rate of that, a body needs

    force  m A + w' x h + w x (w x h),    moment  h x A + I w' + w x I w                                       (1)

which, column by column of m, h and I, is propagated inward: every joint on the way takes S^T of it, every cluster G^T
of that. Derivation: docs/algorithms/regressor.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.branch_factor import BranchFactor, velocity_parents
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.kinematics import body_accelerations, motion, scatter, spanning_accelerations
from kinloop.clusters import ClusterTree
from kinloop.errors import ShapeError
from kinloop.model import Mechanism
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import cross

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

INERTIAL = ("mass", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
"""The ten numbers of a body, in order."""
OF_JOINTS = ("armature", "damping", "friction")


def resisted(top: Topology) -> list[int]:
    """Coordinates that can have armature, damping and friction: those of joints that are not free."""
    return [d for t, at in zip(top.types, top.v_of, strict=True) if not t.is_free for d in range(at.start, at.stop)]


def parameter_names(top: Topology) -> list[str]:
    """Names of the columns of Y: bodies first, then armature, damping and friction of all coordinates."""
    bodies = [f"{b.name}.{x}" for b in top.bodies for x in INERTIAL]
    return bodies + [f"{top.coordinates[d]}.{x}" for x in OF_JOINTS for d in resisted(top)]


def parameter_values(top: Topology) -> Array:
    """pi of a mechanism."""
    bodies = []
    for I in top.inertia:
        A, H = I.A, I.H
        bodies.append([I.M[0, 0], H[2, 1], H[0, 2], H[1, 0], A[0, 0], A[0, 1], A[1, 1], A[0, 2], A[1, 2], A[2, 2]])
    of_dof = {x: [getattr(j, x) for j in top.joints for _ in range(j.type.nv)] for x in OF_JOINTS}
    joints = [of_dof[x][d] for x in OF_JOINTS for d in resisted(top)]
    return np.array([*np.ravel(bodies), *joints], dtype=float)


def with_inertial_parameters(m: Mechanism, parameters: ArrayLike) -> Mechanism:
    """The same mechanism with other numbers of its bodies and joints."""
    top = Topology.of(m)
    pi, names, dofs = np.asarray(parameters, dtype=float), parameter_names(top), resisted(top)
    if pi.shape != (len(names),):
        raise ShapeError(f"parameters have shape {pi.shape}; give {len(names)} numbers, as inertial_parameters does")
    bodies = []
    for body, x in zip(m.bodies, pi[: 10 * len(top)].reshape(-1, 10), strict=True):
        about_origin = np.array([[x[4], x[5], x[7]], [x[5], x[6], x[8]], [x[7], x[8], x[9]]])
        com = x[1:4] / x[0] if x[0] else np.zeros(3)
        inertia = about_origin - x[0] * (com @ com * np.eye(3) - np.outer(com, com))
        bodies.append(replace(body, mass=float(x[0]), com=com, inertia=inertia))
    of_dof = {d: n for n, d in enumerate(dofs)}
    joints = []
    for j, at in zip(m.joints, top.v_of, strict=True):
        if at.start not in of_dof:
            joints.append(j)
            continue
        first = 10 * len(top) + of_dof[at.start]
        armature, damping, friction = (float(pi[first + k * len(dofs)]) for k in range(len(OF_JOINTS)))
        joints.append(replace(j, armature=armature, damping=damping, friction=friction))
    return replace(m, bodies=tuple(bodies), joints=tuple(joints))


def regressor(tree: ClusterTree, q: Array, v: Array, a: Array) -> Array:
    """Y (nv, len(pi)); what dry friction takes has the sign of the velocity, and is nothing at rest."""
    top = tree.top
    everywhere = range(len(top))  # a body with other numbers need not look the same at every angle
    kin = motion(tree, q, v, everywhere)
    acc = body_accelerations(tree, kin, a)
    qd, qdd = scatter(tree, [e.qd for e in kin.embedding]), spanning_accelerations(tree, kin, a)
    dofs = resisted(top)
    Y = np.full((tree.nv, 10 * len(top) + len(OF_JOINTS) * len(dofs)), 0.0, dtype=object)
    for i in everywhere:
        f, at = _needed(kin.v[i], acc[i]), slice(10 * i, 10 * i + 10)
        joint = np.full((top.n_spanning, 10), 0.0, dtype=object)
        j = i
        while j >= 0:
            joint[top.v_of[j]] = kin.S[j].T @ f
            f, j = kin.T[j].force(f), top.parent[j]
        for c, e in zip(tree, kin.embedding, strict=True):
            Y[c.v, at] = e.G.T @ joint[list(c.dofs)]
    of_dof = {d: (c.v, e.G[k]) for c, e in zip(tree, kin.embedding, strict=True) for k, d in enumerate(c.dofs)}
    felt = [*(qdd[d] for d in dofs), *(qd[d] for d in dofs), *(_sign(qd[d]) for d in dofs)]
    for n, x in enumerate(felt):
        rows, g = of_dof[dofs[n % len(dofs)]]
        Y[rows, 10 * len(top) + n] = g * x
    return Y if sc.is_symbolic(Y) else Y.astype(float)


def _needed(v: Array, acc: Array) -> Array:
    """(1): the wrench (6, 10) that a body needs per unit of each of its numbers."""
    w, turning = v[:3], acc[:3]
    A = acc[3:] + cross(w, v[3:])
    out = np.full((6, 10), 0.0, dtype=object)
    out[3:, 0] = A
    for k, unit in enumerate(np.eye(3)):
        out[:3, 1 + k] = cross(unit, A)
        out[3:, 1 + k] = cross(turning, unit) + cross(w, cross(w, unit))
    out[:3, 4:] = _times_inertia(turning) + cross(w, _times_inertia(w))
    return out


def _times_inertia(x: Array) -> Array:
    """I x per unit of the six numbers of I, (3, 6)."""
    return np.array(
        [[x[0], x[1], 0.0, x[2], 0.0, 0.0], [0.0, x[0], x[1], 0.0, x[2], 0.0], [0.0, 0.0, 0.0, x[0], x[1], x[2]]],
        dtype=x.dtype,
    )


def _sign(x: Any) -> Any:
    return sc.where(x > 0.0, 1.0, sc.where(x < 0.0, -1.0, 0.0))


def parameter_derivatives(tree: ClusterTree, q: Array, v: Array, tau: Array) -> Array:
    """da/dpi (nv, len(pi)) of forward dynamics: M a = tau - ... gives -M^-1 Y(q, v, a)."""
    Y = regressor(tree, q, v, cluster_aba(tree, q, v, tau))
    factor = BranchFactor(cluster_crba(tree, q), velocity_parents(tree))
    return np.stack([factor.solve(-y) for y in Y.T], axis=1)
