"""Numbers by which a compiled MuJoCo model says of what kind its parts are."""

from typing import Any, TypeAlias

MjModel: TypeAlias = Any
"""A compiled model, `mujoco.MjModel`: MuJoCo has no type stubs."""

FREE, BALL, SLIDE, HINGE = range(4)
"""Types of joints."""
TURNING = (BALL, HINGE)
"""Joints that turn about a point of the body."""
VELOCITIES = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}

CONNECT, WELD, JOINT = range(3)
"""Types of equalities that close loops here."""
SITE = 6
"""Equalities between sites instead of bodies have this type of object."""

MESH = 7
"""Geoms that are meshes have this type."""

ON_JOINT, IN_PARENT, ON_TENDON = 0, 1, 3
"""Transmissions of actuators: a joint (in its own or its parent's axes), a tendon."""
WRAPS_JOINT = 1
"""What a tendon of joints is made of."""
FIXED_GAIN, NO_BIAS, AFFINE_BIAS = 0, 0, 1
NO_DYNAMICS = 0

EQUALITIES_DISABLED = 1 << 1
GRAVITY_DISABLED = 1 << 7
"""Flags of `opt.disableflags`."""
