"""Mechanisms that cannot exist: each mistake has its own error, naming the culprit and the remedy."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.errors import KinloopError, ModelError
from kinloop.model import (
    WORLD,
    Body,
    Builder,
    Frame,
    FunctionCoupling,
    Joint,
    LinearCoupling,
    LoopFunction,
    LoopJoint,
    Mechanism,
    PolynomialCoupling,
    Rod,
    coordinate_names,
    joint_type,
    placement,
)

HINGE = joint_type("revolute", "z")
SOLID = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


def two_links(**changes) -> Mechanism:
    """Two bodies in a row, with parts replaced as the test wants."""
    parts = {
        "name": "arm",
        "bodies": [Body("upper", **SOLID), Body("lower", **SOLID)],
        "joints": [Joint("shoulder", WORLD, "upper", HINGE), Joint("elbow", "upper", "lower", HINGE)],
    }
    return Mechanism(**(parts | changes))


def bodies(*more: Body) -> list[Body]:
    return [Body("upper", **SOLID), Body("lower", **SOLID), *more]


def joints(*more: Joint) -> list[Joint]:
    return [Joint("shoulder", WORLD, "upper", HINGE), Joint("elbow", "upper", "lower", HINGE), *more]


MISTAKES = {
    "no bodies": (lambda: Mechanism("empty"), r"'empty' has no bodies; add at least one"),
    "two bodies of one name": (
        lambda: two_links(bodies=bodies(Body("upper"))),
        "two of kind body are named 'upper'; names must be unique",
    ),
    "two joints of one name": (
        lambda: two_links(bodies=bodies(Body("hand")), joints=joints(Joint("elbow", "lower", "hand", HINGE))),
        "two of kind joint are named 'elbow'",
    ),
    "two loops of one name": (
        lambda: two_links(loops=[Rod("r", WORLD, "lower", (0, 0, 1), (0, 0, 0), 1.0)] * 2),
        "two of kind loop or coupling are named 'r'",
    ),
    "a frame named like a body": (
        lambda: two_links(frames=[Frame("lower", "upper")]),
        "two of kind frame are named 'lower'",
    ),
    "an empty name": (lambda: two_links(frames=[Frame("", "upper")]), "has the name ''; give every frame a non-empty"),
    "a body named world": (lambda: two_links(bodies=[Body("world")]), "'world', which is kept for the fixed world"),
    "negative mass": (lambda: two_links(bodies=[Body("upper", -1.0)]), "'upper' has mass -1.0 kg; mass must not be"),
    "nan mass": (lambda: Body("upper", float("nan")), "mass of body 'upper' must be finite"),
    "mass of words": (lambda: Body("upper", "heavy"), "mass of body 'upper' must be numbers"),
    "a com in the plane": (lambda: Body("upper", 1.0, (0, 1)), r"com of body 'upper' must have shape \(3,\), received"),
    "infinite inertia": (lambda: Body("upper", 1.0, inertia=(1, np.inf, 1)), "inertia of body 'upper' must be finite"),
    "inertia of words": (lambda: Body("upper", 1.0, inertia="round"), "inertia of body 'upper' must be numbers"),
    "inertia of the wrong shape": (
        lambda: Body("upper", 1.0, inertia=np.ones((2, 2))),
        r"inertia of body 'upper' must have shape \(3, 3\), received shape \(2, 2\)",
    ),
    "lopsided inertia": (
        lambda: two_links(bodies=[Body("upper", 1.0, inertia=[[1, 0.5, 0], [0, 1, 0], [0, 0, 1]])]),
        "inertia of body 'upper' is not symmetric; give a symmetric 3x3 matrix",
    ),
    "a negative principal moment": (
        lambda: two_links(bodies=[Body("upper", 1.0, inertia=(1, -0.5, 1))]),
        "'upper' has a negative principal moment -0.5 kg m.2",
    ),
    "moments against the triangle inequality": (
        lambda: two_links(bodies=[Body("upper", 1.0, inertia=(1, 1, 3))]),
        r"'upper' has principal moments .*above the sum.*accept_inertia=True",
    ),
    "a second parent": (
        lambda: two_links(joints=joints(Joint("extra", WORLD, "lower", HINGE))),
        "'lower' is the child of two joints, 'elbow' and 'extra'; make one of them a loop joint",
    ),
    "a body nobody carries": (
        lambda: two_links(bodies=bodies(Body("hand"))),
        "'hand' is not connected to the world; add a joint with child 'hand'",
    ),
    "joints in a circle": (
        lambda: two_links(joints=[Joint("a", "lower", "upper", HINGE), Joint("b", "upper", "lower", HINGE)]),
        "tree joints form a cycle through body '(upper|lower)'; make one of them a loop joint",
    ),
    "a joint on a missing parent": (
        lambda: two_links(joints=joints(Joint("wrist", "lowr", "hand", HINGE)), bodies=bodies(Body("hand"))),
        "joint 'wrist' refers to a missing body.*did you mean 'lower'",
    ),
    "a joint for a missing child": (
        lambda: two_links(joints=joints(Joint("wrist", "lower", "hand", HINGE))),
        "joint 'wrist' refers to a missing body: no body named 'hand'",
    ),
    "a joint without a type": (
        lambda: Joint("wrist", "lower", "hand", "revolute"),
        "joint 'wrist' has the type 'revolute'; give a joint type",
    ),
    "armature on a free joint": (
        lambda: Joint("float", WORLD, "hand", joint_type("free"), armature=0.1),
        "joint 'float' is free and has armature 0.1; a free joint has no motor whose inertia",
    ),
    "denormal mass": (
        lambda: two_links(bodies=[Body("upper", 1e-310), Body("lower", **SOLID)]),
        r"mass \[kg\] of body 'upper' of 1e-310 at most are below 1e-50",
    ),
    "denormal inertia": (
        lambda: two_links(bodies=[Body("upper", 1.0, inertia=(1e-310,) * 3), Body("lower", **SOLID)]),
        r"moments of inertia \[kg m\^2\] of body 'upper' of 1e-310 at most are below 1e-50",
    ),
    "a centre of mass at 1e300": (
        lambda: Body("upper", 1.0, com=(1e300, 0, 0)),
        r"com of body 'upper' must be finite and at most 1e\+50 in size",
    ),
    "a placement at 1e300": (lambda: placement((0, 0, 1e300)), r"placement position must be finite and at most 1e\+50"),
    "a complex mass": (lambda: Body("upper", 1 + 2j), "mass of body 'upper' must be numbers of shape"),
    "a mass in words": (lambda: Body("upper", "5"), "mass of body 'upper' must be numbers of shape"),
    "armature beyond all bounds": (
        lambda: Joint("wrist", "lower", "hand", HINGE, armature=1e60),
        r"joint 'wrist' has armature 1e\+60; it must be at most 1e\+50",
    ),
    "negative armature": (
        lambda: Joint("wrist", "lower", "hand", HINGE, armature=-1.0),
        "joint 'wrist' has armature -1.0; it must be a number not below zero",
    ),
    "damping of words": (
        lambda: Joint("wrist", "lower", "hand", HINGE, damping="some"),
        "joint 'wrist' has damping 'some'; it must be a number",
    ),
    "limits the wrong way round": (
        lambda: Joint("wrist", "lower", "hand", HINGE, lower=1.0, upper=-1.0),
        "joint 'wrist' has limits from 1.0 to -1.0; the lower must not be above the upper",
    ),
    "a loop to a missing body": (
        lambda: two_links(loops=[LoopJoint("pin", "lower", "uper", HINGE)]),
        "loop 'pin' refers to a missing body.*did you mean 'upper'",
    ),
    "a loop from a body to itself": (
        lambda: two_links(loops=[LoopJoint("pin", "lower", "lower", HINGE)]),
        "loop 'pin' joins body 'lower' to itself; give two different bodies",
    ),
    "a loop joint without a type": (
        lambda: LoopJoint("pin", "lower", WORLD, "revolute"),
        "loop 'pin' has the type 'revolute'; give a joint type",
    ),
    "a rod without length": (
        lambda: Rod("tie", "upper", "lower", (0, 0, 0), (0, 0, 0), 0.0),
        "rod 'tie' has length 0.0; it must be a positive number of metres",
    ),
    "a rod to a point in the plane": (
        lambda: Rod("tie", "upper", "lower", (0, 0), (0, 0, 0), 1.0),
        r"predecessor_point of rod 'tie' must have shape \(3,\)",
    ),
    "a loop function of a missing joint": (
        lambda: two_links(loops=[LoopFunction("f", ("elbo",), lambda x: x)]),
        "loop 'f' refers to a missing joint.*did you mean 'elbow'",
    ),
    "a loop function of nothing": (
        lambda: two_links(loops=[LoopFunction("f", (), lambda: 0.0)]),
        "loop 'f' names no joints; name at least one",
    ),
    "a loop function that is none": (
        lambda: LoopFunction("f", ("elbow",), 3.0),
        "the function of loop 'f' is 3.0; give a Python function",
    ),
    "a coupling of a missing joint": (
        lambda: two_links(couplings=[LinearCoupling("g", ("elbow",), ("sholder",), [[1.0]])]),
        "coupling 'g' refers to a missing joint.*did you mean 'shoulder'",
    ),
    "a coupling of a joint with itself": (
        lambda: two_links(couplings=[LinearCoupling("g", ("elbow",), ("elbow",), [[1.0]])]),
        r"coupling 'g' has \['elbow'\] on both sides",
    ),
    "a coupling of a ball": (
        lambda: two_links(
            joints=[Joint("shoulder", WORLD, "upper", joint_type("spherical")), joints()[1]],
            couplings=[LinearCoupling("g", ("elbow",), ("shoulder",), [[1.0]])],
        ),
        "coupling 'g' uses joint 'shoulder' of type spherical.*use a LoopFunction",
    ),
    "a matrix of the wrong shape": (
        lambda: LinearCoupling("g", ("a",), ("b", "c"), [[1.0]]),
        r"matrix of coupling 'g' must have shape \(1, 2\), received shape \(1, 1\)",
    ),
    "an offset of the wrong shape": (
        lambda: LinearCoupling("g", ("a",), ("b",), [[1.0]], [1.0, 2.0]),
        r"offset of coupling 'g' must have shape \(1,\), received shape \(2,\)",
    ),
    "an infinite ratio": (lambda: LinearCoupling("g", ("a",), ("b",), [[np.inf]]), "matrix of coupling 'g' must be"),
    "a polynomial of nothing": (
        lambda: PolynomialCoupling("g", ("a",), ("b",), ()),
        "coupling 'g' has no coefficients; give at least one",
    ),
    "a polynomial that is not finite": (
        lambda: PolynomialCoupling("g", ("a",), ("b",), (0.0, np.nan)),
        "coefficients of coupling 'g' must be finite",
    ),
    "a polynomial of two joints": (
        lambda: PolynomialCoupling("g", ("a",), ("b", "c"), (0.0, 1.0)),
        "coupling 'g' joins 1 dependent and 2 independent joints; a polynomial takes one of each",
    ),
    "a coupling function that is none": (
        lambda: FunctionCoupling("g", ("a",), ("b",), "sin"),
        "the function of coupling 'g' is 'sin'; give a Python function",
    ),
    "a frame on a missing body": (
        lambda: two_links(frames=[Frame("tip", "hand")]),
        "frame 'tip' refers to a missing body: no body named 'hand'",
    ),
    "an independent coordinate that is none": (
        lambda: two_links(independent=["elbo"]),
        "independent coordinate: no joint named 'elbo'; did you mean 'elbow'",
    ),
    "a constrained loop that is none": (
        lambda: two_links(constrained=["pin"]),
        "constrained loop: no loop named 'pin'; there are none",
    ),
    "gravity in the plane": (lambda: two_links(gravity=(0, -9.81)), r"gravity of 'arm' must have shape \(3,\)"),
    "a placement that is no rotation": (
        lambda: placement((0, 0, 0), np.diag([1, 1, 2.0]), "placement of joint 'a'"),
        "placement of joint 'a' rotation is not a rotation matrix; its columns must be orthonormal",
    ),
    "a mirrored placement": (lambda: placement((0, 0, 0), np.diag([1, 1, -1.0])), "right-handed"),
    "a placement at infinity": (lambda: placement((0, 0, np.inf)), "placement position must be finite"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_refused_by_name_with_a_remedy(mistake):
    make, message = MISTAKES[mistake]
    with pytest.raises(ModelError, match=message) as error:
        make()
    assert isinstance(error.value, KinloopError) and isinstance(error.value, ValueError)


def test_figures_that_no_body_has_can_be_accepted_on_purpose():
    two_links(bodies=[Body("upper", 1.0, inertia=(1, 1, 3), accept_inertia=True), Body("lower", **SOLID)])


def test_the_mechanism_without_mistakes_is_made():
    m = two_links()
    assert [b.name for b in m.bodies] == ["upper", "lower"]


def test_joints_are_put_in_order_only_where_a_child_came_first():
    m = two_links(joints=[Joint("elbow", "upper", "lower", HINGE), Joint("shoulder", WORLD, "upper", HINGE)])
    assert [j.name for j in m.joints] == ["shoulder", "elbow"]
    assert [b.name for b in m.bodies] == ["upper", "lower"]


def test_parts_cannot_be_changed_afterwards():
    m = two_links()
    with pytest.raises(AttributeError):
        m.name = "leg"
    with pytest.raises(ValueError):
        m.bodies[0].com[0] = 1.0
    with pytest.raises(ValueError):
        m.gravity[2] = 0.0


def test_coordinates_are_named_after_their_joint():
    assert coordinate_names(Joint("a", WORLD, "b", HINGE)) == ["a"]
    assert coordinate_names(Joint("a", WORLD, "b", joint_type("universal"))) == ["a[0]", "a[1]"]


def test_placements_are_swept_of_rounding_dust():
    T = placement((0, 0, 0), [[1, 1e-15, 0], [-1e-15, 1, 0], [0, 0, 1 - 1e-14]])
    np.testing.assert_array_equal(T.R, np.eye(3))


def test_the_builder_reads_like_the_mechanism():
    b = Builder("four_bar")
    for name, parent, at in (("crank", WORLD, 0), ("coupler", "crank", 1), ("rocker", WORLD, 3)):
        b.body(name, parent, at=(at, 0, 0), axis="z", **SOLID, damping=0.1)
    b.loop("pin", "coupler", "rocker", "revolute", axis="z", at=(2, 0, 0), at_successor=(1, 0, 0))
    b.frame("tip", "coupler", rpy=(0, 0, 1))
    m = b.mechanism()
    assert [j.name for j in m.joints] == ["crank_joint", "coupler_joint", "rocker_joint"]
    assert m.joints[0].damping == 0.1 and m.loops[0].successor == "rocker" and m.frames[0].body == "coupler"
