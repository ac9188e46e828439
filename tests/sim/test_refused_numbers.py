"""Numbers nobody can have meant are refused where they are given, by name."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.errors import KinloopError
from kinloop.sim import ContactPoint, HeightField, Motor, Plane, Simulator, box_corners, capsule_ends
from tests.sim.mechanisms import pendulum

NAN, INF = float("nan"), float("inf")


def table(x=(0, 1), heights=((0, 0), (0, 0))):
    return HeightField.table(x, (0, 1), heights)


def motor(**options):
    return Motor("rod_joint", "position", **options)


def simulator(**options):
    return Simulator(pendulum(), **options)


def rollout(controls=None, **options):
    return simulator().rollout(None, None, controls, **{"steps": 2, **options})


def state(**options):
    return simulator().state(**options)


def hold(t, state):
    return np.zeros(1)


REFUSED = [
    (Plane, "height", (NAN, INF, "low"), "height of the plane must be a finite number"),
    (Plane, "friction", (NAN, INF, -0.1, "dry", None), "friction must be a number not below zero"),
    (Plane, "restitution", (NAN, -0.1, 1.1), "restitution must lie between 0 and 1"),
    (table, "x", ((0, NAN), (0, INF)), "x of the table of heights is"),
    (table, "heights", (((0, NAN), (0, 0)),), "heights of the table of heights is"),
    (motor, "kp", (NAN, INF, -1.0, "stiff"), "kp of the motor of 'rod_joint' must not be negative or infinite"),
    (motor, "kd", (NAN, INF, -1.0), "kd of the motor of 'rod_joint' must not be negative or infinite"),
    (motor, "limit", (NAN, -1.0, -INF), "limit of the motor of 'rod_joint' must not be negative"),
    (motor, "gear", (NAN, INF), "gear of the motor of 'rod_joint' must be a finite number"),
    (pendulum, "damping", (NAN, INF, -1.0), "damping"),
    (pendulum, "stiffness", (NAN, INF, -1.0), "stiffness"),
    (pendulum, "friction", (NAN, INF, -1.0), "friction"),
    (pendulum, "rest", (NAN, INF), "rest"),
    (simulator, "dt", (NAN, INF, 0, 0.0, -1e-3, None, "1"), "dt must be a positive number of seconds"),
    (simulator, "iterations", (NAN, INF, 0, -1), "iterations must be at least 1"),
    (simulator, "iterations", (2.5,), "iterations must be a whole number"),
    (simulator, "substeps", (NAN, 0, -1), "substeps must be at least 1"),
    (simulator, "tolerance", (NAN, INF, 0.0, -1e-9), "tolerance must be a positive number"),
    (rollout, "steps", (NAN, 0, -1), "steps must be at least 1"),
    (rollout, "steps", (1.5,), "steps must be a whole number"),
    (rollout, "every", (NAN, 0, -1), "every must be at least 1"),
    (rollout, "every", (1.5,), "every must be a whole number"),
    (rollout, "threads", (0, -1, 1.5), "is not a number of threads"),
    (rollout, "controls", ([NAN], [INF]), "controls is"),
    (state, "t", (NAN, INF), "t is"),
    (lambda at: ContactPoint("rod", at), "at", ((0, 0, NAN),), "contact point on 'rod'"),
    (lambda radius: ContactPoint("rod", radius=radius), "radius", (NAN, INF, -0.1), "radius of the contact point on"),
    (lambda size: box_corners("rod", size), "size", ((1, 1, NAN), (1, -1, 1)), "size of the box on 'rod'"),
    (lambda length: capsule_ends("rod", 0.1, length), "length", (NAN, INF, -1.0), "length of the capsule on 'rod'"),
    (lambda radius: capsule_ends("rod", radius, 1.0), "radius", (NAN, -1.0), "radius of the contact point on 'rod'"),
]


@pytest.mark.parametrize(
    ("make", "name", "value", "words"), [(make, name, x, words) for make, name, xs, words in REFUSED for x in xs]
)
def test_numbers_nobody_meant_are_refused_at_their_door(make, name, value, words):
    with pytest.raises(KinloopError) as error:
        make(**{name: value})
    assert words in str(error.value)


def test_control_functions_too_want_a_number_of_steps():
    with pytest.raises(KinloopError, match="steps must be at least 1, received -1"):
        rollout(hold, steps=-1)
