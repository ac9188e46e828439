"""`kinloop demo`: Tello lands and stands."""

import numpy as np

from kinloop.cli.demo_command import CROUCH, crouched, landing_tello, motors, targets


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
