"""Joint types: what motion each allows, in any direction.

A joint places its child relative to its placement frame, a frame fixed in the parent; at the neutral
position the two coincide. `pose` is where the child is, `columns` how it moves per unit of velocity,
in the placement's axes: rows 0-2 the angular velocity, rows 3-5 the velocity of the child's origin.
`subspace` is the same motion in the child's frame, the motion subspace `S` of the algorithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.errors import ModelError
from kinloop.spatial import Transform, axis_rotation, quaternion_product, quaternion_rotation
from kinloop.spatial.transform import Array, cross

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_NAMED = {"x": X, "y": Y, "z": Z, "-x": (-1.0, 0.0, 0.0), "-y": (0.0, -1.0, 0.0), "-z": (0.0, 0.0, -1.0)}


def unit_axis(axis: Any, where: str = "axis") -> tuple[float, float, float]:
    """A unit vector from 'x', '-z', ... or three numbers; what is not a direction is an error."""
    if isinstance(axis, str):
        if axis not in _NAMED:
            raise ModelError(f"{where} {axis!r} is not one of {', '.join(_NAMED)}; give one of these or three numbers")
        return _NAMED[axis]
    a = np.asarray(axis, dtype=float)
    if a.shape != (3,) or not np.all(np.isfinite(a)):
        raise ModelError(f"{where} must be three finite numbers, received {axis!r}")
    n = float(np.linalg.norm(a))
    if n < 1e-9:
        raise ModelError(f"{where} {a.tolist()} has no direction; give a non-zero vector")
    a = a / n
    a[np.abs(a) < 1e-12] = 0.0
    a = np.where(np.abs(np.abs(a) - 1.0) < 1e-12, np.sign(a), a)
    return tuple(float(x) for x in a)  # type: ignore[return-value]


def perpendicular(axis: Any) -> tuple[Array, Array]:
    """Two unit vectors that make a right-handed frame (t1, t2, axis)."""
    return _perpendicular(tuple(map(float, axis)))


@lru_cache(maxsize=4096)
def _perpendicular(axis: tuple[float, float, float]) -> tuple[Array, Array]:
    a = np.array(axis)
    e = np.eye(3)[(int(np.argmax(np.abs(a))) + 1) % 3]
    t1 = e - a * (a @ e)
    t1 /= np.linalg.norm(t1)
    t1[np.abs(t1) < 1e-15] = 0.0
    return t1, np.cross(a, t1)


@dataclass(frozen=True)
class JointType:
    """Base of joint types. Positions of a plain joint are numbers whose rates are its velocities."""

    nq = 0
    nv = 0

    @property
    def name(self) -> str:
        return type(self).__name__.lower()

    @property
    def turns(self) -> tuple[bool, ...]:
        """Which of its velocities turn the child [rad/s]; the others shift it [m/s]."""
        columns = self.columns(self.neutral())
        return tuple(bool(np.any(columns[:3, k] != 0)) for k in range(self.nv))

    def neutral(self) -> Array:
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator) -> Array:
        """A position well spread over what the joint can do."""
        return rng.uniform(-np.pi, np.pi, self.nq)

    def pose(self, q: Array) -> Transform:
        raise NotImplementedError

    def columns(self, q: Array) -> Array:
        raise NotImplementedError

    def columns_bias(self, q: Array, qd: Array) -> Array:
        """Rate of `columns(q) @ qd` at constant `qd`, in the placement's axes."""
        return np.zeros(6)

    def subspace(self, q: Array) -> Array:
        """`S`: motion of the child per unit velocity, in the child's frame."""
        R, columns = self.pose(q).R, self.columns(q)
        return np.concatenate([R.T @ columns[:3], R.T @ columns[3:]])

    def subspace_bias(self, q: Array, qd: Array) -> Array:
        """`(dS/dt) qd`, components in the child's frame."""
        return np.zeros(6)

    def rate(self, q: Array, qd: Array) -> Array:
        """dq/dt for the velocity `qd`."""
        return qd

    def integrate(self, q: Array, step: Array) -> Array:
        """The position reached from `q` by the constant velocity `step` in unit time."""
        return q + step

    def difference(self, q0: Array, q1: Array) -> Array:
        """The step that leads from `q0` to `q1`; inverse of `integrate`."""
        return q1 - q0

    def normalized(self, q: Array) -> Array:
        return q


@dataclass(frozen=True)
class Fixed(JointType):
    """No motion."""

    def pose(self, q: Array) -> Transform:
        return Transform.identity()

    def columns(self, q: Array) -> Array:
        return np.zeros((6, 0))


@dataclass(frozen=True)
class Revolute(JointType):
    """Rotation about an axis: q = angle [rad]."""

    axis: tuple[float, float, float] = Z
    nq = nv = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def pose(self, q: Array) -> Transform:
        return Transform(axis_rotation(np.array(self.axis), q[0]), np.zeros(3))

    def columns(self, q: Array) -> Array:
        return np.array([[*self.axis, 0.0, 0.0, 0.0]]).T

    def subspace(self, q: Array) -> Array:
        return self.columns(q)


@dataclass(frozen=True)
class Prismatic(JointType):
    """Translation along an axis: q = distance [m]."""

    axis: tuple[float, float, float] = Z
    nq = nv = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def random(self, rng: np.random.Generator) -> Array:
        return rng.uniform(-0.5, 0.5, 1)

    def pose(self, q: Array) -> Transform:
        return Transform(np.eye(3), np.array(self.axis) * q[0])

    def columns(self, q: Array) -> Array:
        return np.array([[0.0, 0.0, 0.0, *self.axis]]).T

    def subspace(self, q: Array) -> Array:
        return self.columns(q)


@dataclass(frozen=True)
class Helical(JointType):
    """A screw: q = angle [rad], with an advance of `pitch` [m/rad] along the axis."""

    axis: tuple[float, float, float] = Z
    pitch: float = 0.0
    nq = nv = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))
        if not np.isfinite(self.pitch):
            raise ModelError(f"pitch must be a finite number of metres per radian, received {self.pitch!r}")

    def pose(self, q: Array) -> Transform:
        a = np.array(self.axis)
        return Transform(axis_rotation(a, q[0]), a * (self.pitch * q[0]))

    def columns(self, q: Array) -> Array:
        a = np.array(self.axis)
        return np.concatenate([a, self.pitch * a]).reshape(6, 1)

    def subspace(self, q: Array) -> Array:
        return self.columns(q)


@dataclass(frozen=True)
class Cylindrical(JointType):
    """Rotation about and translation along one axis: q = (angle [rad], distance [m])."""

    axis: tuple[float, float, float] = Z
    nq = nv = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def random(self, rng: np.random.Generator) -> Array:
        return np.array([rng.uniform(-np.pi, np.pi), rng.uniform(-0.5, 0.5)])

    def pose(self, q: Array) -> Transform:
        a = np.array(self.axis)
        return Transform(axis_rotation(a, q[0]), a * q[1])

    def columns(self, q: Array) -> Array:
        out = np.zeros((6, 2))
        out[:3, 0] = out[3:, 1] = self.axis
        return out

    def subspace(self, q: Array) -> Array:
        return self.columns(q)


@dataclass(frozen=True)
class Planar(JointType):
    """Motion in the plane across `axis`: q = (x, y, angle), x and y along fixed directions of the plane.

    The directions are `perpendicular(axis)`; for the z axis they are x and y.
    """

    axis: tuple[float, float, float] = Z
    nq = nv = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def random(self, rng: np.random.Generator) -> Array:
        return np.array([*rng.uniform(-0.5, 0.5, 2), rng.uniform(-np.pi, np.pi)])

    def pose(self, q: Array) -> Transform:
        t1, t2 = perpendicular(self.axis)
        return Transform(axis_rotation(np.array(self.axis), q[2]), t1 * q[0] + t2 * q[1])

    def columns(self, q: Array) -> Array:
        t1, t2 = perpendicular(self.axis)
        out = np.zeros((6, 3))
        out[3:, 0], out[3:, 1], out[:3, 2] = t1, t2, self.axis
        return out

    def subspace_bias(self, q: Array, qd: Array) -> Array:
        # the child turns under the fixed directions
        slide = self.subspace(q)[3:, :2] @ qd[:2]
        return np.concatenate([np.zeros(3), -cross(np.array(self.axis) * qd[2], slide)])


@dataclass(frozen=True)
class Universal(JointType):
    """Two rotations: by q[0] about `axis`, then by q[1] about `axis2`, carried by the first."""

    axis: tuple[float, float, float] = X
    axis2: tuple[float, float, float] = Y
    nq = nv = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))
        object.__setattr__(self, "axis2", unit_axis(self.axis2, "axis2"))
        if abs(float(np.dot(self.axis, self.axis2))) > 1e-9:
            raise ModelError(
                f"the axes of a universal joint must be perpendicular, received {self.axis} and {self.axis2}"
            )

    def _turns(self, q: Array) -> tuple[Array, Array]:
        return axis_rotation(np.array(self.axis), q[0]), axis_rotation(np.array(self.axis2), q[1])

    def pose(self, q: Array) -> Transform:
        R1, R2 = self._turns(q)
        return Transform(R1 @ R2, np.zeros(3))

    def columns(self, q: Array) -> Array:
        R1, _ = self._turns(q)
        zero = np.zeros(3)
        return np.stack([np.concatenate([np.array(self.axis), zero]), np.concatenate([R1 @ self.axis2, zero])], axis=1)

    def columns_bias(self, q: Array, qd: Array) -> Array:
        first, second = self.columns(q).T
        return np.concatenate([cross(first[:3], second[:3]) * (qd[0] * qd[1]), np.zeros(3)])

    def subspace(self, q: Array) -> Array:
        _, R2 = self._turns(q)
        zero = np.zeros(3)
        return np.stack(
            [np.concatenate([R2.T @ np.array(self.axis), zero]), np.concatenate([np.array(self.axis2), zero])], axis=1
        )

    def subspace_bias(self, q: Array, qd: Array) -> Array:
        first, second = self.subspace(q).T
        return np.concatenate([cross(first[:3], second[:3]) * (qd[0] * qd[1]), np.zeros(3)])


def _rotation_vector(q: Array) -> Array:
    """The rotation vector [rad] of a unit quaternion of numbers."""
    w, xyz = q[0], q[1:]
    s = float(np.linalg.norm(xyz))
    if s < 1e-12:
        return 2.0 * xyz * np.sign(w if w != 0 else 1.0)
    return 2.0 * np.arctan2(s, abs(w)) * np.sign(w if w != 0 else 1.0) * xyz / s


def rotation_step(w: Array) -> Array:
    """The unit quaternion of a rotation vector [rad], of numbers or symbols; exact near zero too."""
    squared = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    small = squared < 1e-6
    half = 0.5 * sc.sqrt(sc.where(small, 1.0, squared))
    sinc = sc.where(small, 0.5 - squared / 48.0 + squared * squared / 3840.0, 0.5 * sc.sin(half) / half)
    c = sc.where(small, 1.0 - squared / 8.0 + squared * squared / 384.0, sc.cos(half))
    return np.array([c, w[0] * sinc, w[1] * sinc, w[2] * sinc])


def _quaternion_rate(q: Array, w: Array) -> Array:
    return 0.5 * quaternion_product(q, np.concatenate([np.zeros(1), w]))


@dataclass(frozen=True)
class Spherical(JointType):
    """A ball: q = unit quaternion (w x y z), velocity = angular velocity in the child's frame."""

    nq = 4
    nv = 3

    def neutral(self) -> Array:
        return np.array([1.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator) -> Array:
        return self.normalized(rng.normal(size=4))

    def pose(self, q: Array) -> Transform:
        return Transform(quaternion_rotation(q), np.zeros(3))

    def columns(self, q: Array) -> Array:
        R = quaternion_rotation(q)
        return np.concatenate([R, np.zeros((3, 3))])

    def subspace(self, q: Array) -> Array:
        return np.concatenate([np.eye(3), np.zeros((3, 3))])

    def rate(self, q: Array, qd: Array) -> Array:
        return _quaternion_rate(q, qd)

    def integrate(self, q: Array, step: Array) -> Array:
        return quaternion_product(q, rotation_step(step))

    def difference(self, q0: Array, q1: Array) -> Array:
        return _rotation_vector(quaternion_product(np.concatenate([q0[:1], -q0[1:]]), q1))

    def normalized(self, q: Array) -> Array:
        return q / sc.sqrt(q @ q)


@dataclass(frozen=True)
class Free(JointType):
    """Free motion: q = (x y z, w x y z), velocity = (angular, linear) in the child's frame."""

    nq = 7
    nv = 6

    def neutral(self) -> Array:
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator) -> Array:
        return self.normalized(np.concatenate([rng.uniform(-1, 1, 3), rng.normal(size=4)]))

    def pose(self, q: Array) -> Transform:
        return Transform(quaternion_rotation(q[3:]), np.asarray(q[:3]))

    def columns(self, q: Array) -> Array:
        R = quaternion_rotation(q[3:])
        zero = np.zeros((3, 3))
        return np.block([[R, zero], [zero, R]])

    def columns_bias(self, q: Array, qd: Array) -> Array:
        return np.concatenate([np.zeros(3), quaternion_rotation(q[3:]) @ cross(qd[:3], qd[3:])])

    def subspace(self, q: Array) -> Array:
        return np.eye(6)

    def rate(self, q: Array, qd: Array) -> Array:
        return np.concatenate([quaternion_rotation(q[3:]) @ qd[3:], _quaternion_rate(q[3:], qd[:3])])

    def integrate(self, q: Array, step: Array) -> Array:
        # the screw motion of a constant body velocity, exactly
        w, v = step[:3], step[3:]
        R = quaternion_rotation(q[3:])
        return np.concatenate([q[:3] + R @ screw_translation(w, v), quaternion_product(q[3:], rotation_step(w))])

    def difference(self, q0: Array, q1: Array) -> Array:
        conjugate = np.concatenate([q0[3:4], -q0[4:]])
        w = _rotation_vector(quaternion_product(conjugate, q1[3:]))
        moved = quaternion_rotation(q0[3:]).T @ (q1[:3] - q0[:3])
        return np.concatenate([w, np.linalg.solve(_left_jacobian(w), moved)])

    def normalized(self, q: Array) -> Array:
        return np.concatenate([q[:3], q[3:] / sc.sqrt(q[3:] @ q[3:])])


def _left_jacobian(w: Array) -> Array:
    return np.stack([screw_translation(w, e) for e in np.eye(3)], axis=1)


def screw_translation(w: Array, v: Array) -> Array:
    """Where a point moving with the constant body twist (w, v) arrives after unit time, in the start frame."""
    squared = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    small = squared < 1e-6
    safe = sc.where(small, 1.0, squared)
    angle = sc.sqrt(safe)
    half_sine = sc.sin(0.5 * angle)  # 1 - cos without cancellation
    a = sc.where(small, 0.5 - squared / 24.0 + squared * squared / 720.0, 2.0 * half_sine * half_sine / safe)
    b = sc.where(
        small, 1.0 / 6.0 - squared / 120.0 + squared * squared / 5040.0, (angle - sc.sin(angle)) / (safe * angle)
    )
    turned = cross(w, v)
    return v + a * turned + b * cross(w, turned)


JOINT_TYPES: dict[str, type[JointType]] = {
    cls.__name__.lower(): cls
    for cls in (Revolute, Prismatic, Helical, Universal, Spherical, Planar, Cylindrical, Free, Fixed)
}
