"""Where a robot's bodies are, how they move, and its energy and momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kinloop.front_door import FrontDoor
from kinloop.robot_structure import RobotStructure
from kinloop.scalar import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class RobotKinematics(RobotStructure):
    """What a robot answers about motion alone."""

    _door: FrontDoor
    _answers: dict[str, Callable[..., Array]]
    _by: Callable[..., Array]

    def spanning_velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """qd = G v: velocities of all spanning-tree joints."""
        return self._answers["spanning_velocity"](q, v)

    def spanning_jacobian(self, q: ArrayLike) -> Array:
        """G (n_spanning, nv)."""
        return self._answers["spanning_jacobian"](q)

    def spanning_bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """g (n_spanning): qdd = G a + g."""
        return self._answers["spanning_bias"](q, v)

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Kinetic energy [J]."""
        return self._answers["kinetic_energy"](q, v)

    def potential_energy(self, q: ArrayLike) -> Array:
        """Potential energy in gravity [J], zero at the world's origin."""
        return self._answers["potential_energy"](q)

    def momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Spatial momentum about the world's origin, world axes [N m s, N s]."""
        return self._answers["momentum"](q, v)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Centre of mass in the world [m]."""
        return self._answers["center_of_mass"](q)

    def frame_pose(self, q: ArrayLike, frame: str) -> Array:
        """Pose of a frame in the world, as a 4x4 matrix."""
        return self._door.of_frames("frame_pose", frame)(q)

    def frame_jacobian(self, q: ArrayLike, frame: str) -> Array:
        """J (6, nv): twist of a frame in its own axes, angular first."""
        return self._door.of_frames("frame_jacobian", frame)(q)

    def frame_jacobian_rate(self, q: ArrayLike, v: ArrayLike, frame: str) -> Array:
        """dJ/dt (6, nv)."""
        return self._door.of_frames("frame_jacobian_rate", frame)(q, v)

    def frame_velocity(self, q: ArrayLike, v: ArrayLike, frame: str) -> Array:
        """Twist of a frame in its own axes [rad/s, m/s]."""
        return self._door.of_frames("frame_velocity", frame)(q, v)

    def frame_bias_acceleration(self, q: ArrayLike, v: ArrayLike, frame: str) -> Array:
        """dJ/dt v: spatial acceleration of a frame at zero independent acceleration, in its own axes."""
        return self._door.of_frames("frame_bias_acceleration", frame)(q, v)
