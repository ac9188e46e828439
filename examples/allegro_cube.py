"""The Allegro hand takes a cube, turns over, and holds it hanging for 10 s.

python examples/allegro_cube.py [folder of the MuJoCo Menagerie] [page.html]
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import kinloop as kl
from kinloop.sim import Collisions

SCENE = """<mujoco model="allegro_cube"><compiler angle="radian"/><option cone="elliptic" impratio="10"/>
<asset><model name="hand" file="right_hand.xml"/></asset>
<worldbody>
  <body name="arm"><inertial pos="0 0 0" mass="0.5" diaginertia="1e-3 1e-3 1e-3"/>
    <joint name="wrist" axis="0 1 0" damping="1"/><attach model="hand" body="palm" prefix="hand_"/></body>
  <body name="cube" pos="0.04 0 0.06"><freejoint name="cube"/>
    <geom name="cube" type="box" size="0.025 0.025 0.025" mass="0.05" friction="0.8"/></body>
</worldbody>
<actuator><position joint="wrist" kp="20" kv="2"/></actuator></mujoco>"""
GRASP = np.array([0.0, *3 * [0.0, 1.2, 1.2, 1.0], 1.3, 0.3, 0.8, 1.2])
"""Targets of the wrist, of three fingers and of the thumb [rad]."""
CLOSED, TURNED, END = 1.0, 4.0, 14.0
"""When the fingers are closed, the hand upside down, and the end [s]."""


def control(t, state):
    """Close the fingers; then turn the wrist."""
    u = GRASP * min(t / CLOSED, 1.0)
    u[0] = np.pi * np.clip((t - CLOSED) / (TURNED - CLOSED), 0.0, 1.0)
    return u[None]


def main(menagerie: Path, page: str | None) -> None:
    if not (menagerie / "wonik_allegro").is_dir():
        print("no wonik_allegro there: give the folder of the MuJoCo Menagerie, or set KINLOOP_MENAGERIE to it")
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "scene.xml").write_text(SCENE.replace("right_hand", f"{menagerie}/wonik_allegro/right_hand"))
        robot = kl.load(Path(folder) / "scene.xml", packages=[menagerie])
    sim = kl.Simulator(robot, dt=1e-3, collisions=Collisions(contacts=64), motors="model")
    run = sim.rollout(None, None, control, until=END, record=["q", "contact_force"], every=100)
    height = np.array([robot.frame_pose(q, "cube")[2, 3] for q in run.q])
    for k in range(9, len(run.t), 10):
        force = np.linalg.norm(run.contact_force[k], axis=1)
        print(f"t = {run.t[k]:4.1f} s: cube at {1e3 * height[k]:6.1f} mm, contacts press with {force.sum():5.1f} N")
    hangs = np.ptp(height[run.t > TURNED + 0.5])
    print(f"hanging, it moved by {1e3 * hangs:.2f} mm; status {run.status[0]} {run.reasons[0]}")
    if page:
        kl.viewer.record(robot, run.t, run.q, page)


if __name__ == "__main__":
    given = sys.argv[1:] or [os.environ.get("KINLOOP_MENAGERIE", "menagerie")]
    main(Path(given[0]).resolve(), given[1] if len(given) > 1 else None)
