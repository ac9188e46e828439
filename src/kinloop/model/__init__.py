"""Mechanisms as frozen facts: bodies, joints, loops, couplings; how to build and check them.

joints/         one file per joint type, and the registry of their names
loops/          one file per kind of loop and coupling, and the rows they are made of
body            Body and the Geometry fixed to it; convex hulls of meshes
contact_rules   surfaces of shapes, and which of them may touch
joint           Joint: a tree joint
frame           Frame, the world's name, and poses from positions and rotations
mechanism       Mechanism: all of these together
annotations     what a file says besides: actuators, keyframes, carried weights
tendon          Tendon: a length that pulls, along joints or a path
sensor          Sensor: what a file wants measured
builder         Builder: a mechanism written as it reads
validation      what makes a mechanism impossible
known_names     names that one part uses of another
frozen_arrays   numbers that users give, checked and read-only
topology        Topology: the spanning tree as index tables
parameters      masses, lengths, ratios left open
facts           a mechanism as plain data: the key of its kernels
random, sketch  random mechanisms for tests
"""

from kinloop.model.annotations import Actuator, CarriedWeight, Keyframe, Transmission
from kinloop.model.body import Body, Geometry, convex_hulls
from kinloop.model.builder import Builder, joint_type, pose
from kinloop.model.contact_rules import ContactPair, ContactRules, ExcludedLinks, Surface
from kinloop.model.frame import WORLD, Frame, placement
from kinloop.model.joint import Joint, coordinate_names
from kinloop.model.joints import JOINT_TYPES, JointType
from kinloop.model.loops import (
    BodyLoop,
    Coupling,
    FunctionCoupling,
    LinearCoupling,
    Loop,
    LoopClosure,
    LoopFunction,
    LoopJoint,
    LoopRows,
    PolynomialCoupling,
    Rod,
    stacked_rows,
)
from kinloop.model.mechanism import Mechanism
from kinloop.model.sensor import Sensor, cut_loops
from kinloop.model.tendon import Pulley, Tendon, Wrap
from kinloop.model.topology import Topology

__all__ = [
    "JOINT_TYPES", "WORLD", "Actuator", "Body", "BodyLoop", "Builder", "CarriedWeight", "ContactPair", "ContactRules",
    "Coupling", "ExcludedLinks", "Frame", "FunctionCoupling", "Geometry", "Joint", "JointType", "Keyframe",
    "LinearCoupling", "Loop", "LoopClosure", "LoopFunction", "LoopJoint", "LoopRows", "Mechanism", "PolynomialCoupling",
    "Pulley", "Rod", "Sensor", "Surface", "Tendon", "Topology", "Transmission", "Wrap", "convex_hulls",
    "coordinate_names", "cut_loops", "joint_type", "placement", "pose", "stacked_rows",
]  # fmt: skip
