"""Mechanisms as frozen facts: bodies, joints, loops, couplings; how to build and check them."""

from kinloop.model.annotations import Actuator, Keyframe, Transmission
from kinloop.model.builder import Builder, joint_type, pose
from kinloop.model.joints import JOINT_TYPES, JointType
from kinloop.model.mechanism import Mechanism, coordinate_names
from kinloop.model.parts import (
    WORLD,
    Body,
    Coupling,
    Frame,
    FunctionCoupling,
    Geometry,
    Joint,
    LinearCoupling,
    Loop,
    LoopFunction,
    LoopJoint,
    PolynomialCoupling,
    Rod,
    placement,
)

__all__ = [
    "JOINT_TYPES", "WORLD", "Actuator", "Body", "Builder", "Coupling", "Frame", "FunctionCoupling", "Geometry", "Joint",
    "JointType", "Keyframe",
    "LinearCoupling", "Loop", "LoopFunction", "LoopJoint", "Mechanism", "PolynomialCoupling", "Rod", "Transmission",
    "coordinate_names", "joint_type", "placement", "pose",
]  # fmt: skip
