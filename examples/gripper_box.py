"""The gripper 2F-85, whose fingers are closed linkages, picks a box up from the floor and holds it.

python examples/gripper_box.py [folder of the MuJoCo Menagerie] [page.html]
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import kinloop as kl
from kinloop.sim import Collisions

SCENE = """<mujoco model="gripper_box"><option cone="elliptic" impratio="10"/>
<asset><model name="gripper" file="2f85.xml"/></asset>
<worldbody>
  <geom name="floor" type="plane" size="1 1 0.1"/>
  <body name="lift" pos="0 0 0.18" quat="0 1 0 0"><inertial pos="0 0 0" mass="1" diaginertia="1e-3 1e-3 1e-3"/>
    <joint name="lift" type="slide" axis="0 0 -1" damping="10"/>
    <attach model="gripper" body="base_mount" prefix="g_"/></body>
  <body name="box" pos="0 0 0.025"><freejoint name="box"/>
    <geom name="box" type="box" size="0.02 0.02 0.025" mass="0.2" friction="0.6"/></body>
</worldbody>
<actuator><position joint="lift" kp="5000" kv="300"/></actuator></mujoco>"""
CLOSED, UP, END, HEIGHT, FULL = 0.4, 1.0, 3.0, 0.2, 255.0
"""When the fingers have closed and the lift is up [s]; how high it goes [m]; the gripper's control when closed."""


def control(t, state):
    """Close the fingers; then lift."""
    up = HEIGHT * np.clip((t - CLOSED) / (UP - CLOSED), 0.0, 1.0)
    return np.array([[up, FULL * min(2.0 * t / CLOSED, 1.0)]])


def main(menagerie: Path, page: str | None) -> None:
    if not (menagerie / "robotiq_2f85").is_dir():
        print("no robotiq_2f85 there: give the folder of the MuJoCo Menagerie, or set KINLOOP_MENAGERIE to it")
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "scene.xml").write_text(SCENE.replace("2f85.xml", f"{menagerie}/robotiq_2f85/2f85.xml"))
        robot = kl.load(Path(folder) / "scene.xml", packages=[menagerie])
    sim = kl.Simulator(robot, dt=1e-3, collisions=Collisions(contacts=64), motors="model")
    run = sim.rollout(None, None, control, until=END, record=["q", "contact_force", "loop_error"], every=20)
    height = np.array([robot.frame_pose(q, "box")[2, 3] for q in run.q])
    for k in range(9, len(run.t), 10):
        force = np.linalg.norm(run.contact_force[k], axis=1)
        print(f"t = {run.t[k]:3.1f} s: box at {1e3 * height[k]:6.2f} mm, contacts press with {force.sum():5.1f} N")
    held = height[run.t > UP + 0.5]
    print(f"lifted, it stays {1e3 * held[-1]:.1f} mm high and moved by {1e3 * np.ptp(held):.3f} mm")
    print(f"loops open by {run.loop_error.max():.0e} m at most; status {run.status[0]} {run.reasons[0]}")
    if page:
        kl.viewer.record(robot, run.t, run.q, page)


if __name__ == "__main__":
    given = sys.argv[1:] or [os.environ.get("KINLOOP_MENAGERIE", "menagerie")]
    main(Path(given[0]).resolve(), given[1] if len(given) > 1 else None)
