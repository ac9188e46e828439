"""Numbers by which a compiled MuJoCo model says of what kind its parts are."""

from typing import Any, TypeAlias

MjModel: TypeAlias = Any
"""A compiled model, `mujoco.MjModel`: MuJoCo has no type stubs."""

FREE, BALL, SLIDE, HINGE = range(4)
"""Types of joints."""
TURNING = (BALL, HINGE)
"""Joints that turn about a point of the body."""
VELOCITIES = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}

CONNECT, WELD, JOINT, TENDONS = range(4)
"""Types of equalities that close loops here."""
SITE = 6
"""Equalities between sites instead of bodies have this type of object."""

BODY, XBODY, JOINT_OBJECT, GEOM, TENDON, ACTUATOR = 1, 2, 3, 5, 18, 19
"""Types of objects that sensors are of: a body's frame of inertia, its own frame, ..."""

HEIGHTFIELD, MESH = 1, 7
"""Types of geoms that are height fields and meshes."""

ON_JOINT, IN_PARENT, ON_TENDON, AT_SITE = 0, 1, 3, 4
"""Transmissions of actuators: a joint (in its own or its parent's axes), a tendon, a site."""
WRAPS_JOINT, WRAPS_PULLEY, WRAPS_SITE, WRAPS_SPHERE = range(1, 5)
"""What tendons are made of; the next is a cylinder."""
FIXED_GAIN, NO_BIAS, AFFINE = 0, 0, 1
"""Types of gains and biases."""
OTHER_LAWS = {2: "is a muscle", 3: "is a motor with an electrical circuit", 4: "turns a ball to a target",
              5: "is a controller with an integral", 6: "has a law of the user's own"}  # fmt: skip
NO_DYNAMICS = 0
DYNAMICS = {1: "integrator", 2: "filter", 3: "filter"}
OTHER_DYNAMICS = {4: "is a muscle", 5: "is a motor with an electrical circuit", 6: "is a controller with an integral",
                  7: "has dynamics of the user's own"}  # fmt: skip
"""Types of laws and dynamics, in words where they are not modelled."""

EQUALITIES_DISABLED = 1 << 1
FRICTION_DISABLED = 1 << 2
LIMITS_DISABLED = 1 << 3
CONTACT_DISABLED = 1 << 4
SPRINGS_DISABLED = 1 << 5
DAMPERS_DISABLED = 1 << 6
GRAVITY_DISABLED = 1 << 7
CLAMP_DISABLED = 1 << 8
PARENTS_TOUCH = 1 << 10
ACTUATION_DISABLED = 1 << 11
"""Flags of `opt.disableflags`."""
