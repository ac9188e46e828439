"""Maps between joints and motors at a closed configuration of their linkage, on numbers or symbols.

With y the positions of motors, x those of joints and J = dy/dx, rows of G in the chart of the joints,

    yd = J xd,    f_x = J^T f_y,    f_y^T yd = f_x^T xd                                                          (1)

and a law f_x(x) of stiffness K_x = -df_x/dx is the law f_y(y) of stiffness K_y = -df_y/dy with

    K_x = J^T K_y J - H,    H = d(J^T f_y)/dx at constant f_y, the geometric term.                               (2)

H is found from the bias g of the loops, qdd = G a + g: g is quadratic in the velocity, and polarised. docs/control.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.control.linkage import Linkage
from kinloop.linear import determinant, solve
from kinloop.scalar import Array

SINGULAR = 1e-12
"""|det| of J, its rows scaled to length 1, below which no digit of a solution is left."""


class Block(NamedTuple):
    """The motors and joints that one cluster has, by their places among all motors and joints."""

    motors: list[int]
    joints: list[int]


def blocks(linkage: Linkage) -> list[Block]:
    """J is zero but for these."""
    out = []
    for c in linkage.joints:
        motors, joints = (
            [k for k, d in enumerate(dofs) if d in c.dofs] for dofs in (linkage.motor_dofs, linkage.joint_dofs)
        )
        out.append(Block(motors, joints))
    return out


def motor_position(linkage: Linkage, q: Array) -> Array:
    """y at a configuration."""
    return linkage.gear * q[linkage.positions(linkage.motor_dofs)]


def joint_position(linkage: Linkage, q: Array) -> Array:
    """x at a configuration."""
    return q[linkage.positions(linkage.joint_dofs)]


def jacobian(linkage: Linkage, q: Array) -> Array:
    """J = dy/dx (motors, joints) [1, rad/m, m/rad]."""
    tree = linkage.joints
    column = {d: k for k, d in enumerate(tree.independent_dofs)}
    G = tree.spanning_jacobian(q)[list(linkage.motor_dofs)][:, [column[d] for d in linkage.joint_dofs]]
    scaled: Array = G * linkage.gear[:, None]
    return scaled


def geometric_stiffness(linkage: Linkage, q: Array, f: Array) -> Array:
    """H (joints, joints) of motor forces f, symmetric, (2)."""
    tree, n = linkage.joints, len(linkage.joint_dofs)
    column = {d: k for k, d in enumerate(tree.independent_dofs)}
    weight = f * linkage.gear

    def curvature(directions: list[int]) -> Any:
        v = np.zeros(tree.nv)
        for k in directions:
            v[column[linkage.joint_dofs[k]]] += 1.0
        return weight @ tree.spanning_motion(q, v)[2][list(linkage.motor_dofs)]

    own = [curvature([i]) for i in range(n)]
    H = np.empty((n, n), dtype=object)
    for i in range(n):
        H[i, i] = own[i]
        for j in range(i):
            H[i, j] = H[j, i] = 0.5 * (curvature([i, j]) - own[i] - own[j])
    return H


def solved(linkage: Linkage, usual: Array, J: Array, b: Array, transposed: bool) -> tuple[Array, Any]:
    """(J^T)^-1 b if `transposed`, else J^-1 b, cluster by cluster, and whether J is regular.

    With more motors than joints the forces are the shortest ones; velocities of motors must agree then. `usual` are
    lengths of the rows of J where it is well.
    """
    out = np.zeros(J.shape[0 if transposed else 1], dtype=object)
    regular: Any = True
    for motors, joints in blocks(linkage):
        if not joints:
            continue
        A, sizes = J[np.ix_(motors, joints)], usual[motors]
        square = A
        if len(motors) != len(joints):
            square, sizes = A.T @ A, np.full(len(joints), float(sizes @ sizes))
        right, places = (b[joints], motors) if transposed else (b[motors], joints)
        if square is not A and not transposed:
            right = A.T @ right
        x = solve(square.T if transposed else square, right[:, None])[:, 0]
        out[places] = A @ x if transposed and square is not A else x
        regular = sc.logical_and(regular, is_regular(square, sizes))
    return out, regular


def is_regular(A: Array, usual: Array) -> Any:
    """Whether det A is more than rounding, for rows of their own lengths or of `usual` ones, whichever is more."""
    least: Any = SINGULAR**2
    for row, size in zip(A, usual, strict=True):
        least = least * sc.maximum(row @ row, float(size) ** 2)
    volume = determinant(A)
    return volume * volume > least
