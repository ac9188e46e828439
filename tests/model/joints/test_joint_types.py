"""Every joint type against finite differences of its own pose."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from helpers import assert_agree

from kinloop import scalar as sc
from kinloop.errors import ModelError
from kinloop.model import JOINT_TYPES, WORLD, Builder, Topology, joint_type
from kinloop.model.joints import JointType, perpendicular, registered_name, unit_axis
from kinloop.model.loops import RowUnit
from kinloop.spatial import Transform, rotation_quaternion

AXES = [(1, 0, 0), (0, -1, 0), (0, 0, 1), (0.48, -0.6, 0.64)]
H = 1e-6
FD = 1e4
"""Condition number of central differences with step H: their error is about 1e-10."""


def _types() -> list[JointType]:
    out = []
    for name in JOINT_TYPES:
        for axis in AXES if name not in ("fixed", "free", "spherical") else [None]:
            more = {"pitch": 0.13} if name == "helical" else {}
            if name == "universal":
                more["axis2"] = perpendicular(axis)[1]
            out.append(joint_type(name, axis, **more))
    return out


TYPES = [pytest.param(t, id=f"{t.name}{getattr(t, 'axis', '')}") for t in _types()]


@pytest.fixture(params=range(3))
def rng(request):
    return np.random.default_rng(request.param)


def moved(t: JointType, q, qd, h) -> np.ndarray:
    """Position after the short time h at constant velocity qd."""
    return t.integrate(q, qd * h)


def twist(before: Transform, after: Transform, at: Transform, h: float) -> np.ndarray:
    """Angular velocity and velocity of the origin, in the placement's axes, by differences over 2 h."""
    W = (after.R - before.R) / (2 * h) @ at.R.T
    return np.array([W[2, 1], W[0, 2], W[1, 0], *((after.p - before.p) / (2 * h))])


@pytest.mark.parametrize("t", TYPES)
def test_columns_are_the_rate_of_the_pose(t, rng):
    q, qd = t.random(rng), rng.normal(size=t.nv)
    measured = twist(t.pose(moved(t, q, qd, -H)), t.pose(moved(t, q, qd, H)), t.pose(q), H)
    assert_agree(t.columns(q) @ qd, measured, cond=FD, scale=1.0)


@pytest.mark.parametrize("t", TYPES)
def test_subspace_is_the_same_motion_in_the_childs_frame(t, rng):
    q = t.random(rng)
    R, columns = t.pose(q).R, t.columns(q)
    assert t.subspace(q).shape == (6, t.nv)
    assert_agree(t.subspace(q), np.concatenate([R.T @ columns[:3], R.T @ columns[3:]]))


@pytest.mark.parametrize("t", TYPES)
def test_biases_are_rates_at_constant_velocity(t, rng):
    q, qd = t.random(rng), rng.normal(size=t.nv)
    before, after = moved(t, q, qd, -H), moved(t, q, qd, H)
    for motion, bias in ((t.columns, t.columns_bias), (t.subspace, t.subspace_bias)):
        measured = (motion(after) - motion(before)) @ qd / (2 * H)
        assert_agree(bias(q, qd), measured, cond=FD, scale=1.0)


@pytest.mark.parametrize("t", TYPES)
def test_rate_is_the_derivative_of_integration(t, rng):
    q, qd = t.random(rng), rng.normal(size=t.nv)
    measured = (moved(t, q, qd, H) - moved(t, q, qd, -H)) / (2 * H)
    assert_agree(t.rate(q, qd), measured, cond=FD, scale=1.0)


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0])
def test_difference_inverts_integrate(t, rng, size):
    q, step = t.random(rng), rng.normal(size=t.nv) * size
    there = t.integrate(q, step)
    assert_agree(t.difference(q, there), step, cond=1e2 / size if size < 1 else 1e2)
    assert_agree(t.pose(t.integrate(q, t.difference(q, there))).homogeneous(), t.pose(there).homogeneous())
    assert_agree(t.normalized(there), there)


@pytest.mark.parametrize("t", TYPES)
def test_at_neutral_the_child_sits_in_its_placement(t, rng):
    q = t.neutral()
    assert q.shape == (t.nq,) and t.random(rng).shape == (t.nq,)
    np.testing.assert_array_equal(t.pose(q).homogeneous(), np.eye(4))


@pytest.mark.parametrize("t", TYPES)
def test_symbols_move_as_numbers_do(t, rng):
    q, qd, there = t.random(rng), rng.normal(size=t.nv), t.random(rng)

    def everything(q, qd):
        T = t.pose(q)
        parts = [T.R, T.p, t.columns(q), t.subspace(q), t.columns_bias(q, qd), t.subspace_bias(q, qd)]
        parts += [t.rate(q, qd), t.integrate(q, qd), t.normalized(q), t.difference(q, there), t.difference(q, q)]
        return np.concatenate([np.asarray(p).ravel() for p in parts])

    traced = sc.trace(everything, {"q": t.nq, "qd": t.nv})
    assert_agree(traced(q, qd), everything(q, qd))


@pytest.mark.parametrize("t", TYPES)
def test_loop_rows_hold_what_the_joint_does_not_move(t, rng):
    """A free body held to the world by a loop joint of a type can move as the type's own joint does, and no more."""
    b = Builder("held")
    b.body("body", mass=1.0, inertia=(1.0, 1.0, 1.0), joint="free")
    b.loop("loop", WORLD, "body", t)
    top = Topology.of(b.mechanism())
    loop = top.mechanism.loops[0]
    q = t.random(rng)
    T = t.pose(q)
    there = np.concatenate([T.p, rotation_quaternion(T.R)])
    rows = loop.rows(top, there)
    assert len(rows.phi) == 6 - t.nv
    assert np.max(np.abs(rows.phi), initial=0.0) < 1e-12
    assert np.linalg.matrix_rank(rows.K) == 6 - t.nv if t.nv < 6 else rows.K.shape == (0, 6)
    assert_agree(rows.K @ t.subspace(q), np.zeros((6 - t.nv, t.nv)), scale=1.0)
    shifts = [unit is RowUnit.SHIFT for unit in loop.row_units]
    assert shifts == sorted(shifts, reverse=True), "shifts come first"


QUESTIONS = {  # direction, spin axis, slides, number of turning axes
    "revolute": ("x", "x", [False], 1),
    "prismatic": ("x", None, [True], 0),
    "helical": ("x", None, [False], 1),
    "cylindrical": ("x", None, [False, True], 1),
    "planar": ("x", None, [True, True, False], 1),
    "universal": ("x", None, [False, False], 2),
    "spherical": (None, None, [False] * 3, 3),
    "free": (None, None, [False] * 3 + [True] * 3, 3),
    "fixed": (None, None, [], 0),
}


@pytest.mark.parametrize("name", JOINT_TYPES)
def test_types_answer_what_pictures_tables_and_files_ask(name):
    direction, spin, slides, turns = QUESTIONS[name]
    t = joint_type(name, direction)
    assert t.direction == (None if direction is None else (1.0, 0.0, 0.0))
    assert t.spin_axis == (None if spin is None else (1.0, 0.0, 0.0))
    assert t.slides() == slides
    assert len(t.turning_axes()) == turns
    assert t.is_free == (name == "free")
    assert t.says_loop_rows and registered_name(t) == name


def test_equal_types_are_equal_and_others_are_not():
    assert joint_type("revolute", "x") == joint_type("revolute", (2, 0, 0))
    assert joint_type("revolute", "x") != joint_type("prismatic", "x")
    assert len({joint_type("revolute", "x"), joint_type("revolute", "x"), joint_type("planar", "x")}) == 2
    assert repr(joint_type("prismatic", "z")) == "Prismatic(axis=(0.0, 0.0, 1.0))"
    with pytest.raises(FrozenInstanceError):
        joint_type("revolute", "x").axis = (0, 1, 0)


@pytest.mark.parametrize("name", ["spherical", "free"])
def test_small_rotations_lose_no_digits_where_formulas_change(name):
    t = joint_type(name)
    for size in (1e-8, 1e-4, 9.99e-4, 1.001e-3, 1e-2):
        step = np.full(t.nv, size) / np.sqrt(3)
        assert_agree(t.difference(t.neutral(), t.integrate(t.neutral(), step)), step, cond=50.0)


def test_an_axis_may_be_named_or_any_length():
    assert unit_axis("-y") == (0.0, -1.0, 0.0)
    assert unit_axis((0, 0, 5)) == (0.0, 0.0, 1.0)
    t1, t2 = perpendicular(unit_axis((1, 2, 3)))
    frame = np.stack([t1, t2, unit_axis((1, 2, 3))], axis=1)
    assert_agree(frame.T @ frame, np.eye(3))
    assert np.linalg.det(frame) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "make, culprit",
    [
        (lambda: joint_type("revolute", "w"), r"axis 'w' is not one of x, y, z.*or three numbers"),
        (lambda: joint_type("revolute", (0, 0, 0)), r"\[0.0, 0.0, 0.0\] has no direction; give a non-zero vector"),
        (lambda: joint_type("revolute", (0, 1)), r"must be three finite numbers, received \(0, 1\)"),
        (lambda: joint_type("revolute", (0, np.nan, 1)), "must be three finite numbers"),
        (lambda: joint_type("hinge", "x"), r"'hinge' is not one of revolute, prismatic"),
        (lambda: joint_type("helical", "x", pitch=np.inf), "pitch must be a finite number of metres per radian"),
        (lambda: joint_type("universal", (1, 0, 0), axis2=(1, 1, 0)), "must be perpendicular, received"),
        (lambda: joint_type("fixed", "x"), "a fixed joint takes no axis; remove what it does not have"),
        (lambda: joint_type("revolute", "x", pitch=0.1), "a revolute joint takes no pitch; remove"),
    ],
)
def test_joints_that_cannot_be_are_refused_with_a_reason(make, culprit):
    with pytest.raises(ModelError, match=culprit):
        make()
