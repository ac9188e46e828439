"""Actuators and keyframes: typed, checked, and without a say in the dynamics."""

from dataclasses import replace

import numpy as np
import pytest

from kinloop import robots
from kinloop.errors import ModelError
from kinloop.model import Actuator, Geometry, Keyframe, Transmission
from kinloop.model.facts import facts

SERVO = Actuator("a", "position", (Transmission("knee", (2.0,)),), (5.0, 0.0, 0.0), (0.0, -5.0, -0.5))


def test_what_kernels_are_keyed_by_does_not_know_annotations():
    m = robots.mechanism("four_bar")
    noted = replace(
        m, actuators=[SERVO], keyframes=[Keyframe("home", (0.0, 0.0, 0.0))], motors=["crank_joint"], source="f",
        end_effectors=["tip"], world_geometry=[Geometry("plane", (0.0, 0.0))], inactive=["x"], warnings=["w"],
    )  # fmt: skip
    assert facts(noted) == facts(m)
    assert noted.actuators == (SERVO,) and noted.motors == ("crank_joint",) and noted.warnings == ("w",)


def test_an_actuator_says_its_gains_and_the_coordinate_it_drives():
    assert (SERVO.joints, SERVO.kp, SERVO.kd) == (("knee",), 5.0, 0.5)
    assert SERVO.coordinate == ("knee", 2.0)
    motor = Actuator("m", "torque", (Transmission("ball", (0.0, 3.0, 0.0)),), (4.0, 0.0, 0.0))
    assert motor.kp == 0.0 and motor.coordinate == ("ball[1]", 3.0)


@pytest.mark.parametrize("acts_on", [(), (("a", (1.0,)), ("b", (1.0,))), (("a", (1.0, 1.0, 0.0)),), (("a", (0.0,)),)])
def test_an_actuator_on_none_or_several_coordinates_has_no_single_one(acts_on):
    assert Actuator("m", "torque", tuple(Transmission(*t) for t in acts_on)).coordinate is None


@pytest.mark.parametrize(
    "change, match",
    [
        ({"kind": "magic"}, r"actuator 'a' has the kind 'magic'; it must be one of torque, position, velocity"),
        ({"gain": (1.0, 2.0)}, r"gain of actuator 'a' must have shape \(3,\)"),
        ({"bias": (np.nan, 0.0, 0.0)}, r"bias of actuator 'a' must be finite"),
        ({"control_range": (1.0, -1.0)}, r"control_range of actuator 'a' is from 1.0 to -1.0"),
        ({"force_range": (np.nan, 1.0)}, r"force_range of actuator 'a'"),
        ({"force_range": 5.0}, r"force_range of actuator 'a' is 5.0; give two numbers"),
        ({"transmission": (Transmission("knee", ("x",)),)}, r"gear of actuator 'a' on joint 'knee'"),
    ],
)
def test_mistakes_in_actuators_are_named(change, match):
    with pytest.raises(ModelError, match=match):
        replace(SERVO, **change)


def test_keyframes_hold_numbers():
    assert Keyframe("home", [1, 2]).q == (1.0, 2.0)
    with pytest.raises(ModelError, match="q of keyframe 'home' must be finite"):
        Keyframe("home", (np.inf,))
