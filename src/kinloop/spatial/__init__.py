"""Spatial vectors, transforms and inertias, on numbers or symbols.

Spatial vectors are angular first. A `Transform` is a pose: `Transform(R, p)` places frame B in frame A,
`R` taking B's coordinates to A's. It moves motions from A to B (`X_BA`) and forces from B to A (`X_BA^T`).

- `transform`: poses as transforms of motion and force vectors, and the two cross products.
- `rotation`: rotations about an axis, from quaternions, from roll-pitch-yaw.
- `inertia`: rigid and articulated inertias in 3x3 blocks.
- `planar_turn`: how 3x3 blocks turn about one coordinate axis, cheaply.
- `screw`: the motion of a constant twist, and the twist that leads from one pose to another.
"""

from kinloop.spatial.inertia import Inertia, rigid_bias, rigid_inertia, total_inertia
from kinloop.spatial.rotation import (
    axis_rotation,
    quaternion_product,
    quaternion_rate,
    quaternion_rotation,
    quaternion_rotation_vector,
    rotation_quaternion,
    rotation_vector,
    rotation_vector_quaternion,
    rpy_rotation,
)
from kinloop.spatial.screw import screw_translation, screw_velocity
from kinloop.spatial.transform import Transform, apply_pose, cross, cross_force, cross_motion, skew

__all__ = [
    "Inertia", "Transform", "apply_pose", "axis_rotation", "cross", "cross_force", "cross_motion",
    "quaternion_product", "quaternion_rate", "quaternion_rotation", "quaternion_rotation_vector", "rigid_bias",
    "rigid_inertia", "rotation_quaternion", "rotation_vector", "rotation_vector_quaternion", "rpy_rotation",
    "screw_translation", "screw_velocity", "skew", "total_inertia",
]  # fmt: skip
