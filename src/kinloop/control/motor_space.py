"""Motor space: exact maps between motors and the joints that people think in, with loops in between.

Positions are closed, velocities and forces follow from J = dy/dx, gains are carried over with the geometric term
(`space_maps`). Everything broadcasts over leading axes and runs in kernels, through doors as a robot's methods do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.compiler import Kernel
from kinloop.control.driven import force_ranges, rotor_inertias
from kinloop.control.frame_angles import FrameAngles
from kinloop.control.space_kernels import MAPS, SpaceKernels
from kinloop.control.torque_polytope import TorquePolytope
from kinloop.doors import Door, Guarded
from kinloop.errors import ShapeError, SingularConfiguration
from kinloop.inputs import checked, largest
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.file_motors import FileMotor
from kinloop.sim.motors import Motor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class MotorSpace:
    """Motors and joints that loops tie together: positions x (joints) and y (motors) [rad, m], forces [N m, N].

    `motors` are coordinates of the spanning tree by name, or motors (`robot.motors()`, `kinloop.sim.Motor`), whose gear
    and limits then count. `joints` are coordinates by name, or `FrameAngles`. Both are of the same clusters, whose
    motion the joints must determine, together with what is `held`: positions of further coordinates by name, None where
    they stay as they are (the spin of a rod between two balls, which is nobody's joint). Loops can often be assembled
    in several ways: these are the configurations that are reached from `at`, or from `near` where a method is given
    one. If `at` is not given it is the robot's neutral configuration, or a keyframe where that one is singular.

    y and yd are positions and velocities of motors, x and xd those of joints, each in the order given.
    """

    def __init__(
        self,
        robot: Robot,
        motors: Sequence[str | Motor | FileMotor],
        joints: Sequence[str | FrameAngles],
        held: Mapping[str, float | None] | None = None,
        at: ArrayLike | None = None,
    ) -> None:
        self.robot, self._given = robot, (tuple(motors), tuple(joints), dict(held or {}), at)
        self._kernels = SpaceKernels(robot, *self._given)
        self.motors, self.joint_names = self._kernels.motors, self._kernels.joint_names
        self._calls: dict[str, Callable[..., Any]] = {}
        for name, entry in MAPS.items():
            careful, opening = partial(self._careful, name), partial(self._opening, name)
            door = Door(careful, [1] * len(entry.inputs), opening, partial(self._calls.__setitem__, name))
            self._calls[name] = door.call

    def __repr__(self) -> str:
        return f"<MotorSpace of {self.robot.name!r}: motors {self.motor_names}, joints {list(self.joint_names)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return MotorSpace, (self.robot, *self._given)

    @property
    def motor_names(self) -> list[str]:
        """The coordinate that each motor drives."""
        return [m.coordinate for m in self.motors]

    # --- positions

    def motor_position(self, x: ArrayLike, near: ArrayLike | None = None) -> Array:
        """Positions y (motors) [rad, m] of motors at joint positions x (joints) [rad, m], loops closed."""
        found: Array = self._calls["motor_position"](x) if near is None else self._near("motor_position", near, x)
        return found

    def joint_position(self, y: ArrayLike, near: ArrayLike | None = None) -> Array:
        """Positions x (joints) [rad, m] of joints at motor positions y (motors) [rad, m], loops closed."""
        found: Array = self._calls["joint_position"](y) if near is None else self._near("joint_position", near, y)
        return found

    def configuration(self, x: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The closed q (nq) [rad, m] with its joints at x (joints), all others as in q (neutral, if not given)."""
        own: Array = self._calls["configuration"](x) if q is None else self._near("configuration", q, x)
        return self._kernels.put(own, self._kernels.start if q is None else checked("q", q, self.robot.nq))

    # --- velocities and forces

    def jacobian(self, x: ArrayLike, near: ArrayLike | None = None) -> Array:
        """J = dy/dx (motors, joints) [1, rad/m, m/rad]."""
        found: Array = self._calls["jacobian"](x) if near is None else self._near("jacobian", near, x)
        return found

    def motor_velocity(self, x: ArrayLike, xd: ArrayLike) -> Array:
        """Velocities of motors, J xd (motors) [rad/s, m/s], at positions x and velocities xd (joints)."""
        found: Array = self._calls["motor_velocity"](x, xd)
        return found

    def joint_velocity(self, x: ArrayLike, yd: ArrayLike) -> Array:
        """Velocities (joints) [rad/s, m/s] of joints at which motors have the velocities yd (motors)."""
        found: Array = self._calls["joint_velocity"](x, yd)
        return found

    def motor_force(self, x: ArrayLike, force: ArrayLike) -> Array:
        """Forces (motors) [N m, N] that do what forces on joints would: J^-T f, the shortest where motors are more."""
        found: Array = self._calls["motor_force"](x, force)
        return found

    def joint_force(self, x: ArrayLike, force: ArrayLike) -> Array:
        """What forces of motors do at the joints: J^T f (joints) [N m, N]."""
        found: Array = self._calls["joint_force"](x, force)
        return found

    def map(self, x: ArrayLike, force: ArrayLike) -> tuple[Array, Array, Array]:
        """Positions y (motors) [rad, m] and forces [N m, N] of motors for those of joints, and J (motors, joints)."""
        found: tuple[Array, Array, Array] = self._calls["map"](x, force)
        return found

    def condition(self, x: ArrayLike) -> Array:
        """How near motors are to losing their hold on joints, a number [1]: 1 is best, infinite is a singular position.

        It is the condition number of J, its rows in parts of their lengths at the reference, so that gears do not
        count; where J is smaller than there, in parts of that.
        """
        return self._condition(self.jacobian(x))

    def _condition(self, J: Array) -> Array:
        if J.shape[-2] < J.shape[-1]:
            return np.full(J.shape[:-2], np.inf)
        usual = np.where(self._kernels.usual > 0.0, self._kernels.usual, 1.0)  # of a motor that loops hold: zero
        with np.errstate(all="ignore"):
            s = np.linalg.svd(J / usual[:, None], compute_uv=False)
            return np.asarray(np.maximum(s[..., 0], 1.0) / s[..., -1])

    # --- gains and inertia

    def motor_gains(
        self, x: ArrayLike, stiffness: ArrayLike, damping: ArrayLike | None = None, force: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Stiffness [N m] and damping [N m s] (motors, motors) that give the joints these (joints, joints) at x.

        `force` are the forces that motors exert meanwhile, zero if not given: under load the geometry of the loops
        is a stiffness of its own (docs/control.md).
        """
        J, H = self._loaded(x, force)
        n = len(self.joint_names)
        K, D = square("stiffness", stiffness, n), square("damping", damping, n)
        if not np.all(self._condition(J) < SINGULAR):
            raise SingularConfiguration(
                f"the motors {self.motor_names} do not hold the joints {list(self.joint_names)} at this position, so "
                "that no gains of theirs do; move off it"
            )
        inverse = np.linalg.pinv(J)
        inverse_T = np.swapaxes(inverse, -1, -2)
        return inverse_T @ (K + H) @ inverse, inverse_T @ D @ inverse

    def joint_gains(
        self, x: ArrayLike, stiffness: ArrayLike, damping: ArrayLike | None = None, force: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Stiffness [N m] and damping [N m s] (joints, joints) of joints where motors have these (motors, motors)."""
        J, H = self._loaded(x, force)
        n = len(self.motors)
        K, D = square("stiffness", stiffness, n), square("damping", damping, n)
        J_T = np.swapaxes(J, -1, -2)
        return J_T @ K @ J - H, J_T @ D @ J

    def geometric_stiffness(self, x: ArrayLike, force: ArrayLike) -> Array:
        """H (joints, joints) [N m]: how forces at joints grow with x while those of motors stay, d(J^T f)/dx."""
        found: Array = self._calls["geometric_stiffness"](x, force)
        return found

    def reflected_inertia(self, x: ArrayLike, inertia: ArrayLike | None = None) -> Array:
        """What the joints feel of the inertia of rotors, J^T I J (joints, joints) [kg m^2, kg].

        `inertia` (motors,) is that of each motor along its own motion; if not given, the armature of its coordinate
        and the inertia of the body there about its joint, on the motor's side of its gear.
        """
        own = rotor_inertias(self.robot, self.motors) if inertia is None else inertia
        J = self.jacobian(x)
        return np.asarray(np.swapaxes(J, -1, -2) @ (checked("inertia", own, len(self.motors))[..., None] * J))

    # --- limits

    def reachable(self, x: ArrayLike, xd: ArrayLike | None = None) -> TorquePolytope:
        """All forces (joints) [N m, N] that motors within limits can exert at the joints, at x and xd (joints)."""
        x = checked("x", x, len(self.joint_names))
        J, zero = self.jacobian(x), np.zeros(len(self.motors))
        low, high = force_ranges(self.motors, zero if xd is None else self.motor_velocity(x, xd))
        return TorquePolytope.of(J, low, high, self.joint_names)

    # --- kernels

    def compile(self, name: str) -> Kernel:
        """The kernel of a map by its name, to export: its first number is infinite where it cannot vouch for it."""
        return self._kernels.compile(name)

    def _careful(self, name: str, *given: ArrayLike) -> Any:
        arrays = self._checked(name, given)
        return self._kernels.answer(name, arrays)

    def _near(self, name: str, near: ArrayLike, *given: ArrayLike) -> Any:
        return self._kernels.answer(name, self._checked(name, given), self._kernels.taken(near))

    def _checked(self, name: str, given: Sequence[ArrayLike]) -> list[Array]:
        sizes = self._kernels.sizes(name)
        return [checked(key, x, n) for (key, n), x in zip(sizes.items(), given, strict=True)]

    def _opening(self, name: str) -> Guarded | None:
        kernel = self._kernels.kernel(name)
        if not isinstance(kernel, Kernel):
            return None
        limits = [largest("q" if k == 0 else key) for k, key in enumerate(kernel.inputs)]
        return lambda other, rows: kernel.guarded(other, limits, rows=rows)

    def _loaded(self, x: ArrayLike, force: ArrayLike | None) -> tuple[Array, Array]:
        return self.jacobian(x), self.geometric_stiffness(x, np.zeros(len(self.motors)) if force is None else force)


SINGULAR = 1e12
"""The condition number of J from which on no digit of gains is left."""


def square(name: str, A: ArrayLike | None, n: int) -> Array:
    """A finite matrix (..., n, n), zero if not given."""
    given = np.zeros((n, n)) if A is None else np.asarray(A, dtype=float)
    if given.shape[-2:] != (n, n):
        raise ShapeError(f"{name} must have shape ({n}, {n}) or (..., {n}, {n}), received {given.shape}")
    return checked(name, given.reshape(*given.shape[:-2], n * n), n * n).reshape(given.shape)
