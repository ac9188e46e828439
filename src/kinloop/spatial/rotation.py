"""Rotations: about an axis, from unit quaternions (w x y z), from roll-pitch-yaw."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.spatial.transform import skew


def axis_rotation(axis: Array | tuple[float, float, float], angle: Any) -> Array:
    """The rotation by `angle` [rad] about a unit `axis`; exact zeros and ones for coordinate axes."""
    s, c = sc.sin(angle), sc.cos(angle)
    K, K2 = _generator(axis if isinstance(axis, tuple) else tuple(map(float, axis)))
    if sc.is_symbolic(angle):
        R = np.empty((3, 3), dtype=object)
        for i in range(3):
            for j in range(3):
                unit = 1.0 if i == j else 0.0
                # 1 + (1 - c) K2 + s K, written so that K2 = -1 on the diagonal gives c itself
                R[i, j] = float(unit + K2[i, j]) - c * float(K2[i, j]) + s * float(K[i, j])
        return R
    turned: Array = _EYE + (1.0 - c) * K2 + s * K
    return turned


_EYE = np.eye(3)


@functools.lru_cache(maxsize=4096)
def _generator(axis: tuple[float, float, float]) -> tuple[Array, Array]:
    """The skew matrix of an axis and its square."""
    K = skew(np.array(axis))
    return K, K @ K


def quaternion_rotation(q: Array) -> Array:
    """The rotation of a unit quaternion (w, x, y, z)."""
    w, x, y, z = q
    xx, yy, zz = 2 * x * x, 2 * y * y, 2 * z * z
    xy, xz, yz = 2 * x * y, 2 * x * z, 2 * y * z
    wx, wy, wz = 2 * w * x, 2 * w * y, 2 * w * z
    return np.array(
        [[1 - (yy + zz), xy - wz, xz + wy], [xy + wz, 1 - (xx + zz), yz - wx], [xz - wy, yz + wx, 1 - (xx + yy)]],
        dtype=np.asarray(q).dtype,
    )


def quaternion_product(a: Array, b: Array) -> Array:
    """The quaternion of `R(a) R(b)`."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return np.array(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ]
    )


def quaternion_rate(q: Array, w: Array) -> Array:
    """dq/dt of a unit quaternion that turns with the angular velocity `w` [rad/s], in the turning axes."""
    rate: Array = 0.5 * quaternion_product(q, np.concatenate([np.zeros(1), w]))
    return rate


def rotation_vector_quaternion(w: Array) -> Array:
    """The unit quaternion of a rotation vector [rad], of numbers or symbols; exact near zero too."""
    squared = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    small = squared < 1e-6
    half = 0.5 * sc.sqrt(sc.where(small, 1.0, squared))
    sinc = sc.where(small, 0.5 - squared / 48.0 + squared * squared / 3840.0, 0.5 * sc.sin(half) / half)
    c = sc.where(small, 1.0 - squared / 8.0 + squared * squared / 384.0, sc.cos(half))
    return np.array([c, w[0] * sinc, w[1] * sinc, w[2] * sinc])


def quaternion_rotation_vector(q: Array) -> Array:
    """The rotation vector [rad] of a unit quaternion, of numbers or symbols; at most half a turn."""
    w, xyz = q[0], q[1:]
    squared = xyz @ xyz
    small = squared < 1e-24
    s = sc.sqrt(sc.where(small, 1.0, squared))
    sign = sc.where(w < 0.0, -1.0, 1.0)
    vector: Array = sc.where(small, 2.0 * xyz * sign, 2.0 * sc.atan2(s, sc.abs(w)) * sign * xyz / s)
    return vector


def rotation_quaternion(R: Array) -> Array:
    """A unit quaternion (w >= 0 where that matters) of a rotation matrix of numbers."""
    R = np.asarray(R, dtype=float)
    t = np.array([np.trace(R), R[0, 0], R[1, 1], R[2, 2]])
    k = int(np.argmax(t))
    q = np.empty(4)
    if k == 0:
        q[0] = 1 + t[0]
        q[1:] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    else:
        i, j, l = k - 1, k % 3, (k + 1) % 3
        q[0] = R[l, j] - R[j, l]
        q[1 + i] = 1 + R[i, i] - R[j, j] - R[l, l]
        q[1 + j] = R[i, j] + R[j, i]
        q[1 + l] = R[i, l] + R[l, i]
    q /= np.linalg.norm(q)
    return q if q[0] >= 0 else -q


def rpy_rotation(roll: float, pitch: float, yaw: float) -> Array:
    """The rotation `Rz(yaw) Ry(pitch) Rx(roll)`; most angles of model files are zero, and turn nothing."""
    angles = zip(np.eye(3)[::-1], (yaw, pitch, roll), strict=True)
    turns = [axis_rotation(axis, angle) for axis, angle in angles if angle != 0]
    return functools.reduce(np.matmul, turns or [np.eye(3)])


def rotation_vector(R: Array) -> Array:
    """The rotation vector [rad] of a rotation matrix, of numbers or symbols; at most half a turn, good there too.

    R - R^T has the axis times 2 sin, which is lost near half a turn. There R + R^T = 2 c + 2 (1 - c) n n^T has it, in
    the column of the largest entry on the diagonal.
    """
    s = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    c = 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0)
    squared = s @ s
    small = squared < 1e-24
    length = sc.sqrt(sc.where(small, 1.0, squared))
    angle = sc.atan2(sc.where(small, 0.0, length), c)
    near = np.array([sc.where(small, x, angle * x / length) for x in s])

    column, largest = 0.5 * (R[:, 0] + R[0, :]), R[0, 0]
    column = np.array([column[0] - c, column[1], column[2]])
    for k in (1, 2):
        other = 0.5 * (R[:, k] + R[k, :])
        other = np.array([x - c if i == k else x for i, x in enumerate(other)])
        better = R[k, k] > largest
        column = np.array([sc.where(better, x, y) for x, y in zip(other, column, strict=True)])
        largest = sc.where(better, R[k, k], largest)
    around = sc.where(column @ s < 0.0, -angle, angle)
    size = sc.sqrt(sc.maximum(column @ column, 1e-300))
    return np.array([sc.where(c < -0.9, around * y / size, x) for x, y in zip(near, column, strict=True)])
