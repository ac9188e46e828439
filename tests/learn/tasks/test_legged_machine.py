"""Legged machines: closed, on the ground, and driven where they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kinloop as kl
from kinloop.learn.tasks.legged_machine import cassie, go1, mini_cheetah, posed, tello

MENAGERIE = Path(__file__).resolve().parents[4] / "shared" / "models" / "menagerie"


def test_a_pose_is_closed_and_has_the_angles_asked_for():
    b = kl.Builder("geared")
    b.body("link", axis="z", mass=1.0, inertia=(1, 1, 1), joint_name="joint")
    b.body("rotor", axis="z", mass=0.1, inertia=(1, 1, 1), joint_name="motor")
    b.gear("motor", "joint", 6.0)
    b.independent = ["joint"]
    assert posed(b.build(), {"joint": 0.5}) == pytest.approx([0.5, 3.0])


FILES = {cassie: "agility_cassie/scene.xml", go1: "unitree_go1/go1.xml"}


@pytest.mark.parametrize("make", [mini_cheetah, tello, *FILES])
def test_machines_stand_closed_on_their_feet(make):
    path = MENAGERIE / FILES.get(make, "")
    if not path.exists():
        pytest.skip(f"{path} is not there")
    machine = make(path) if make in FILES else make()
    robot, q = machine.robot, machine.home
    assert np.max(robot.loop_error(q), initial=0.0) < 1e-9
    lowest = [min((robot.frame_pose(q, p.frame) @ [*p.at, 1.0])[2] - p.radius for p in foot) for foot in machine.feet]
    assert min(lowest) == pytest.approx(0.0, abs=1e-12) and max(lowest) < 0.01, "all feet are down"
    assert len(machine.swing) == len(machine.feet) and len(machine.reach) == len(machine.servos)
    np.testing.assert_allclose(machine.targets, machine.ratios * q[machine.places])
    com = robot.center_of_mass(q)
    ahead = [(robot.frame_pose(q, p.frame) @ [*p.at, 1.0])[0] for p in machine.contacts]
    assert min(ahead) < com[0] < max(ahead), "the centre of mass is above the feet"
