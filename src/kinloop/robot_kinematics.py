"""Where a robot's bodies are, how they move, and its energy and momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kinloop.front_door import FrontDoor
from kinloop.inputs import checked
from kinloop.robot_structure import RobotStructure
from kinloop.scalar import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class RobotKinematics(RobotStructure):
    """What a robot answers about motion alone."""

    _door: FrontDoor
    _answers: dict[str, Callable[..., Array]]
    _several: dict[str, Callable[..., Any]]  # the same, where there are several outputs
    _by: Callable[..., Array]
    _of_frames: Callable[..., Callable[..., Array]]
    _several_of_frames: Callable[..., Callable[..., Any]]  # the same, where there are several outputs

    def spanning_velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """qd = G v (n_spanning) [rad/s, m/s]: velocities of all spanning-tree joints."""
        return self._answers["spanning_velocity"](q, v)

    def independent(self, qd: ArrayLike) -> Array:
        """v (nv) [rad/s, m/s] of the spanning velocity qd (n_spanning): those of its entries that are independent."""
        return checked("qd", qd, self.n_spanning)[..., self.tree.independent_dofs]

    def spanning_jacobian(self, q: ArrayLike) -> Array:
        """G (n_spanning, nv) [1, rad/m, m/rad]: qd = G v."""
        return self._answers["spanning_jacobian"](q)

    def spanning_bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """g (n_spanning) [rad/s^2, m/s^2]: qdd = G a + g."""
        return self._answers["spanning_bias"](q, v)

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Kinetic energy [J], a number for every state."""
        return self._answers["kinetic_energy"](q, v)

    def potential_energy(self, q: ArrayLike) -> Array:
        """Potential energy in gravity [J], a number for every state, zero at the world's origin."""
        return self._answers["potential_energy"](q)

    def momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Spatial momentum (6) about the world's origin, world axes, angular first [N m s, N s]."""
        return self._answers["momentum"](q, v)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Centre of mass (3) in the world [m]."""
        return self._answers["center_of_mass"](q)

    def center_of_mass_jacobian(self, q: ArrayLike) -> Array:
        """J (3, nv) [m, 1]: the velocity of the centre of mass, world axes, is J v."""
        return self._answers["center_of_mass_jacobian"](q)

    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Momentum (6) about the centre of mass, world axes, angular first [N m s, N s]."""
        return self._answers["centroidal_momentum"](q, v)

    def centroidal_momentum_matrix(self, q: ArrayLike) -> Array:
        """A (6, nv) [kg m^2, kg m, kg]: the centroidal momentum is A v."""
        return self._answers["centroidal_momentum_matrix"](q)

    def centroidal_momentum_bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """dA/dt v (6) [N m, N]: the rate of the centroidal momentum is A a + dA/dt v."""
        return self._answers["centroidal_momentum_bias"](q, v)

    def frame_pose(self, q: ArrayLike, frame: str) -> Array:
        """Pose of a frame in the world, a matrix (4, 4), its last column in [m]."""
        return self._of_frames("frame_pose", frame)(q)

    # Quantities of a frame are in its own axes, or with axes="world" in the world's; linear parts are its origin's.

    def frame_jacobian(self, q: ArrayLike, frame: str, axes: str = "body") -> Array:
        """J (6, nv) [1, m]: twist of a frame, angular first, in its own axes or the world's, per unit of v."""
        return self._of_frames("frame_jacobian", frame, axes)(q)

    def frame_jacobian_rate(self, q: ArrayLike, v: ArrayLike, frame: str, axes: str = "body") -> Array:
        """dJ/dt (6, nv) [1/s, m/s]: the rate of `frame_jacobian` along the motion."""
        return self._of_frames("frame_jacobian_rate", frame, axes)(q, v)

    def frame_velocity(self, q: ArrayLike, v: ArrayLike, frame: str, axes: str = "body") -> Array:
        """Twist of a frame, J v (6), angular first, in its own axes or the world's [rad/s, m/s]."""
        return self._of_frames("frame_velocity", frame, axes)(q, v)

    def frame_bias_acceleration(self, q: ArrayLike, v: ArrayLike, frame: str, axes: str = "body") -> Array:
        """dJ/dt v (6) [rad/s^2, m/s^2]: `frame_acceleration` at zero independent acceleration."""
        return self._of_frames("frame_bias_acceleration", frame, axes)(q, v)

    def frame_acceleration(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, frame: str, axes: str = "body") -> Array:
        """J a + dJ/dt v (6): rate of the numbers of the frame's twist in the same axes [rad/s^2, m/s^2].

        In its own axes that is the spatial acceleration, in the world's the classical one: that of its origin.
        """
        return self._of_frames("frame_acceleration", frame, axes)(q, v, a)
