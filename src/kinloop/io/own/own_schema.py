"""What reading and writing kinloop's own format agree on; docs/formats.md has the whole schema."""

FORMAT, VERSION = "kinloop-mechanism", 2

JOINT_NUMBERS = (
    "armature", "damping", "friction", "stiffness", "rest", "lower", "upper", "max_velocity", "max_force",
)  # fmt: skip
"""Fields of a joint that are one number each, infinities included."""

NAME_LISTS = ("independent", "constrained", "motors", "end_effectors", "inactive", "warnings")
"""Fields of a mechanism that are lists of texts."""

FIELDS = (
    "format", "version", "name", "gravity", "bodies", "joints", "frames", "loops", "couplings",
    "actuators", "keyframes", "tendons", "sensors", "carried", "world_geometry", "contact_rules", *NAME_LISTS,
)  # fmt: skip
