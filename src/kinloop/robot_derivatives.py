"""Derivatives of what a robot answers, in the tangent space of closed motions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kinloop.algorithms.constrained.motion_constraints import Constraints
from kinloop.algorithms.trees.regressor import parameter_names, parameter_values
from kinloop.inputs import checked, checked_wrenches
from kinloop.robot_kinematics import RobotKinematics
from kinloop.scalar import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from kinloop.inputs import Wrenches


class SecondDerivatives(NamedTuple):
    """Second derivatives of dynamics, each (..., nv, nv, nv): entry i, j, k is the change of the first derivative of
    output i with respect to entry j of the first variable, along entry k of the second.

    `qx` is with respect to q and the last input, a or tau. Those with respect to v and the last input, and to the last
    input twice, are zero. `qq` is symmetric in j and k but for motions of free and spherical joints, which do not
    commute.
    """

    qq: Array
    qv: Array
    vv: Array
    qx: Array


class RobotDerivatives(RobotKinematics):
    """Derivatives of a robot's motion, energy and dynamics: loops stay closed, the other arguments are held."""

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: Wrenches | None = None, method: str | None = None
    ) -> tuple[Array, Array, Array]:
        """da/dq, da/dv, da/dtau (nv, nv), a in [rad/s^2, m/s^2]: loops stay closed, the other arguments are held."""
        if method is None and f_ext is None:
            found: tuple[Array, Array, Array] = self._several["forward_dynamics_derivatives"](q, v, tau)
            return found
        da_dq, da_dv, da_dtau = self._by("forward_dynamics_derivatives", (q, v, tau), method, f_ext)
        return da_dq, da_dv, da_dtau

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: Wrenches | None = None, method: str | None = None
    ) -> tuple[Array, Array, Array]:
        """dtau/dq, dtau/dv, dtau/da = M (nv, nv), tau in [N m, N]: loops stay closed, f_ext turns with its body."""
        if method is None and f_ext is None:
            found: tuple[Array, Array, Array] = self._several["inverse_dynamics_derivatives"](q, v, a)
            return found
        dtau_dq, dtau_dv, dtau_da = self._by("inverse_dynamics_derivatives", (q, v, a), method, f_ext)
        return dtau_dq, dtau_dv, dtau_da

    def constrained_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: Constraints = (),
        method: str | None = None,
        f_ext: Wrenches | None = None,
    ) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
        """(da/dq, da/dv, da/dtau) (nv, nv), (dl/dq, dl/dv, dl/dtau) (rows, nv) of `constrained_dynamics`, l [N m, N].

        q need not meet the constraints; numbers of the constraints (`at`, `acceleration`, K, k) are held. Of redundant
        rows the shortest multipliers are followed.
        """
        da_dq, da_dv, da_dtau, dl_dq, dl_dv, dl_dtau = self._door.under(
            "constrained_dynamics_derivatives", (q, v, tau), constraints, method, f_ext, "error"
        )
        return (da_dq, da_dv, da_dtau), (dl_dq, dl_dv, dl_dtau)

    def inverse_dynamics_second_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: Wrenches | None = None
    ) -> SecondDerivatives:
        """How d tau/dq, d tau/dv and d tau/da = M change, each (nv, nv, nv), tau in [N m, N]; exact."""
        given = [checked(name, x, n) for name, x, n in (("q", q, self.nq), ("v", v, self.nv), ("a", a, self.nv))]
        return self._second(given, f_ext)

    def forward_dynamics_second_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: Wrenches | None = None
    ) -> SecondDerivatives:
        """How da/dq, da/dv and da/dtau = M^-1 change, each (nv, nv, nv), a in [rad/s^2, m/s^2]; exact."""
        a = self._by("forward_dynamics", (q, v, tau), None, f_ext)
        a_q, a_v, inverse = self.forward_dynamics_derivatives(q, v, tau, f_ext)
        qq, qv, vv, dM = self.inverse_dynamics_second_derivatives(q, v, a, f_ext)
        # tau(q, v, a(q, v, tau)) = tau, differentiated twice: dM has the change of M along each position
        carried = dM @ a_q[..., None, :, :]
        needed = (
            qq + carried + carried.swapaxes(-1, -2),
            qv + dM @ a_v[..., None, :, :],
            vv,
            dM @ inverse[..., None, :, :],
        )
        solved = ((-inverse[..., None, :, :] @ x.swapaxes(-3, -2)).swapaxes(-3, -2) for x in needed)
        return SecondDerivatives(*map(np.ascontiguousarray, solved))

    def _second(self, given: list[Array], f_ext: Wrenches | None) -> SecondDerivatives:
        """Second derivatives of inverse dynamics: its first ones along every coordinate, as rows of a batch."""
        first, bodies = "inverse_dynamics_derivatives", len(self.body_names)
        q, v, a = (x[..., None, :] for x in given)
        units, none = np.eye(self.nv), np.zeros(self.nv)
        directions = [units, none, none]
        if f_ext is not None:
            f_ext = checked_wrenches(self._door.wrenches(f_ext), bodies)
            f_ext = f_ext.reshape(*f_ext.shape[:-1], 1, bodies, 6)
            directions.append(np.zeros((bodies, 6)))
        *_, qq, vq, dM = self._door.differentiate("jvp", first, (q, v, a, *directions), f_ext=f_ext)
        # d tau/dv is linear in v and does not depend on a: its change along a unit velocity is its value there
        _, vv, _ = self._answers[first](q, units, none)
        # the direction is the last index of qq and vv, the middle one of qv and qx
        found = (np.moveaxis(qq, -3, -1), vq.swapaxes(-3, -2), np.moveaxis(vv, -3, -1), dM.swapaxes(-3, -2))
        return SecondDerivatives(*(np.ascontiguousarray(np.broadcast_to(x, qq.shape)) for x in found))

    # --- motion and energy

    def kinetic_energy_gradient(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """dT/dq (nv) [N m, N] and dT/dv = M v (nv) [N m s, N s]; that of the potential energy is `gravity_force`."""
        found: tuple[Array, Array] = self._several["kinetic_energy_gradient"](q, v)
        return found

    def frame_hessian(self, q: ArrayLike, frame: str, axes: str = "body") -> Array:
        """dJ/dq (6, nv, nv) [1, m]: [:, j, k] is the change of column j of the frame's Jacobian along coordinate k."""
        return self._of_frames("frame_hessian", frame, axes)(q)

    def frame_velocity_derivatives(
        self, q: ArrayLike, v: ArrayLike, frame: str, axes: str = "body"
    ) -> tuple[Array, Array]:
        """Derivatives of `frame_velocity` [rad/s, m/s] with respect to q and v, each (6, nv); the second is J."""
        found: tuple[Array, Array] = self._several_of_frames("frame_velocity_derivatives", frame, axes)(q, v)
        return found

    def frame_acceleration_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, frame: str, axes: str = "body"
    ) -> tuple[Array, Array, Array]:
        """Derivatives of `frame_acceleration` [rad/s^2, m/s^2] along q, v and a, each (6, nv); the last is J."""
        of_frame = self._several_of_frames("frame_acceleration_derivatives", frame, axes)
        found: tuple[Array, Array, Array] = of_frame(q, v, a)
        return found

    # --- numbers of bodies and joints

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Y (nv, len(pi)) with Y pi = tau [N m, N] for pi of `inertial_parameters`.

        tau is `inverse_dynamics` and, where joints have them, damping times their velocities and dry friction.
        """
        return self._answers["regressor"](q, v, a)

    def inertial_parameters(self) -> Array:
        """pi: of bodies mass [kg], m com (3) [kg m], moments xx, xy, yy, xz, yz, zz [kg m^2] about the origin.

        Then armature [kg m^2], damping [N m s], friction [N m] of coordinates that are no free joint's, in this order;
        `parameter_names` has all names.
        """
        return parameter_values(self.tree.top)

    @property
    def parameter_names(self) -> list[str]:
        """Names of `inertial_parameters`: "shank.mass", "shank.mx", ..., "knee.armature", ..."""
        return parameter_names(self.tree.top)

    def parameter_derivatives(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
        """da/dpi (nv, len(pi)), a in [rad/s^2, m/s^2]; of damping and friction, as if they took their part of tau."""
        return self._answers["parameter_derivatives"](q, v, tau)
