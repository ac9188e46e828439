"""Derivatives of what a robot answers, in the tangent space of closed motions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinloop.algorithms.constrained.motion_constraints import Constraints
from kinloop.algorithms.trees.regressor import parameter_names, parameter_values
from kinloop.robot_kinematics import RobotKinematics
from kinloop.scalar import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class RobotDerivatives(RobotKinematics):
    """Derivatives of a robot's motion, energy and dynamics: loops stay closed, the other arguments are held."""

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, method: str | None = None
    ) -> tuple[Array, Array, Array]:
        """da/dq, da/dv, da/dtau in the tangent space: loops stay closed, the other arguments are held."""
        if method is None and f_ext is None:
            da_dq, da_dv, da_dtau = self._answers["forward_dynamics_derivatives"](q, v, tau)
        else:
            da_dq, da_dv, da_dtau = self._by("forward_dynamics_derivatives", (q, v, tau), method, f_ext)
        return da_dq, da_dv, da_dtau

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: ArrayLike | None = None, method: str | None = None
    ) -> tuple[Array, Array, Array]:
        """dtau/dq, dtau/dv, dtau/da = M in the tangent space; f_ext turns with its body."""
        if method is None and f_ext is None:
            dtau_dq, dtau_dv, dtau_da = self._answers["inverse_dynamics_derivatives"](q, v, a)
        else:
            dtau_dq, dtau_dv, dtau_da = self._by("inverse_dynamics_derivatives", (q, v, a), method, f_ext)
        return dtau_dq, dtau_dv, dtau_da

    def constrained_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: Constraints = (),
        method: str | None = None,
        f_ext: ArrayLike | None = None,
    ) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
        """(da/dq, da/dv, da/dtau), (dl/dq, dl/dv, dl/dtau) of `constrained_dynamics`, l the multipliers row by row.

        q need not meet the constraints; numbers of the constraints (`at`, `acceleration`, K, k) are held. Of redundant
        rows the shortest multipliers are followed.
        """
        da_dq, da_dv, da_dtau, dl_dq, dl_dv, dl_dtau = self._door.under(
            "constrained_dynamics_derivatives", (q, v, tau), constraints, method, f_ext, "error"
        )
        return (da_dq, da_dv, da_dtau), (dl_dq, dl_dv, dl_dtau)

    # --- motion and energy

    def kinetic_energy_gradient(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """dT/dq and dT/dv = M v; the gradient of the potential energy is `gravity_force`."""
        dT_dq, dT_dv = self._answers["kinetic_energy_gradient"](q, v)
        return dT_dq, dT_dv

    def frame_hessian(self, q: ArrayLike, frame: str, axes: str = "body") -> Array:
        """dJ/dq (6, nv, nv): [:, j, k] is the change of column j of the frame's Jacobian along coordinate k."""
        return self._door.of_frames("frame_hessian", frame, axes)(q)

    def frame_velocity_derivatives(
        self, q: ArrayLike, v: ArrayLike, frame: str, axes: str = "body"
    ) -> tuple[Array, Array]:
        """Derivatives of `frame_velocity` with respect to q and v, each (6, nv); the second is J."""
        dvelocity_dq, dvelocity_dv = self._door.of_frames("frame_velocity_derivatives", frame, axes)(q, v)
        return dvelocity_dq, dvelocity_dv

    def frame_acceleration_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, frame: str, axes: str = "body"
    ) -> tuple[Array, Array, Array]:
        """Derivatives of `frame_acceleration` with respect to q, v and a, each (6, nv); the last is J."""
        along_q, along_v, along_a = self._door.of_frames("frame_acceleration_derivatives", frame, axes)(q, v, a)
        return along_q, along_v, along_a

    # --- numbers of bodies and joints

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Y (nv, len(pi)) with Y pi = tau for pi of `inertial_parameters`.

        tau is `inverse_dynamics` and, where joints have them, damping times their velocities and dry friction.
        """
        return self._answers["regressor"](q, v, a)

    def inertial_parameters(self) -> Array:
        """pi: of every body mass, m com (3), moments about its origin xx, xy, yy, xz, yz, zz; then joints' numbers.

        These are armature, damping and friction of every coordinate that is not a free joint's, in this order;
        `parameter_names` has all names.
        """
        return parameter_values(self.tree.top)

    @property
    def parameter_names(self) -> list[str]:
        """Names of `inertial_parameters`: "shank.mass", "shank.mx", ..., "knee.armature", ..."""
        return parameter_names(self.tree.top)

    def parameter_derivatives(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
        """da/dpi (nv, len(pi)) of forward dynamics; of damping and friction, as if they took their part of tau."""
        return self._answers["parameter_derivatives"](q, v, tau)
