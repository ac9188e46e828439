"""`kinloop demo`: Tello lands and stands."""

import numpy as np
import pytest

from kinloop.cli import demo_command
from kinloop.cli.demo_command import CROUCH, crouched, landing_tello, motors, on_feet, targets
from kinloop.cli.start_options import raised
from kinloop.sim import Plane


def test_demo_lands_and_writes_a_page_and_a_plot(run, tmp_path, rows):
    status, out, err = run("demo", "--time", "0.5", "--batch", "4", "--out", str(tmp_path / "demo"))
    assert (status, err) == (0, "")
    lines = {line[0]: line[1:] for line in rows(out)}
    assert float(lines["loops open by at most"][0]) < 1e-12
    assert float(lines["deepest penetration"][0]) < 0.1
    start, end = (float(x) for x in lines["energy at start, at end"][0].split(", "))
    assert end < start
    assert "4 land on their feet" in out
    assert (tmp_path / "demo" / "tello.html").stat().st_size > 500_000
    assert (tmp_path / "demo" / "tello.png").read_bytes().startswith(b"\x89PNG")


def test_tello_crouches_over_its_feet():
    robot = landing_tello()
    q = crouched(robot)
    assert np.max(robot.loop_error(q)) < 1e-9
    knee = robot.tree.top.q_of[robot.tree.top.joint_index["left-thigh-to-shin"]].start
    assert abs(q[knee] - CROUCH) < 1e-3
    feet = np.mean([robot.frame_pose(q, f.name)[:3, 3] for f in robot.mechanism.frames], axis=0)
    assert abs(robot.center_of_mass(q)[0] - feet[0]) < 1e-3
    assert targets(robot, q).shape == (len(motors(robot)),) == (10,)


@pytest.mark.parametrize(
    "args, message",
    [
        (["--batch", "-3"], "error: --time must be positive and --batch at least 1, received 2 and -3"),
        (["--batch", "0"], "error: --time must be positive and --batch at least 1, received 2 and 0"),
        (["--time", "nan"], "error: --time must be positive and --batch at least 1, received nan and 64"),
        (["--time", "0"], "error: --time must be positive and --batch at least 1, received 0 and 64"),
        (["--time", "inf"], "error: --time must be finite, received inf; give a number of seconds"),
        (["--height", "nan"], "error: --height must be a finite number of metres not below zero, received nan"),
        (["--height", "-1"], "error: --height must be a finite number of metres not below zero, received -1"),
    ],
)
def test_mistakes_are_told_before_the_work(run, monkeypatch, args, message):
    monkeypatch.setattr(demo_command, "landing_tello", None)
    status, out, err = run("demo", *args)
    assert (status, out, err) == (1, "", f"{message}\n")


def test_robots_in_the_air_and_on_the_ground_have_not_landed_on_their_feet():
    robot = landing_tello()
    standing = raised(robot, crouched(robot), 0.0, Plane())
    air, fallen, lying = (standing.copy() for _ in range(3))
    air[2] += 0.01
    fallen[2] *= 0.4
    lying[3:7] = np.sqrt(0.5) * np.array([1.0, 0.0, 1.0, 0.0])
    lying = raised(robot, lying, 0.0, Plane())
    start = raised(robot, standing, 0.2, Plane())
    assert on_feet(robot, np.array([standing, air, fallen, lying]), start).tolist() == [True, False, False, False]
