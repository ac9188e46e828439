"""Cassie, driven through closed linkages, stands under whole-body control and is pushed; its leaf springs are locked.

python examples/cassie_push.py [folder of the MuJoCo Menagerie]
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import kinloop as kl
from kinloop import control as kc
from kinloop.model.frame import Frame
from kinloop.model.joints import Fixed
from kinloop.sim import Plane, Simulator
from kinloop.spatial import Transform

folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("KINLOOP_MENAGERIE", "."))
if not (folder / "agility_cassie").is_dir():
    sys.exit(print("no agility_cassie there: give the folder of the MuJoCo Menagerie, or set KINLOOP_MENAGERIE"))

# The ends of both feet as frames, springs locked.
model = kl.load(folder / "agility_cassie" / "cassie.xml").mechanism
ends, sides = {"toe": (-0.0528, 0.0926, 0.0), "heel": (0.0697, -0.0102, 0.0)}, {"left": 0.135, "right": -0.135}
frames = [Frame(f"{s}-{e}", f"{s}-foot", Transform(np.eye(3), np.array(at))) for s in sides for e, at in ends.items()]
rigid = {"type": Fixed(), "stiffness": 0.0, "damping": 0.0, "lower": -np.inf, "upper": np.inf, "home": None}
joints = [replace(j, **rigid) if j.name.endswith(("-shin", "-heel-spring")) else j for j in model.joints]
robot = kl.Robot(replace(model, joints=tuple(joints), frames=(*model.frames, *frames)))
feet = [f.name for f in frames]

tasks = [kc.CenterOfMassTask(), kc.OrientationTask("cassie-pelvis")]
ik = kc.InverseKinematics(robot, [*tasks, *map(kc.PositionTask, feet)])
places = [[x, y, 0.0] for y in sides.values() for x in (0.08, -0.08)]
q = ik.solve(robot.neutral(), [[0.0, 0.0, 0.85], np.eye(3), *places], attempts=10).q
com = robot.center_of_mass(q)
wbc = kc.WholeBodyControl(robot, [kc.Tracked(t, 40.0) for t in tasks], feet, "model", friction=0.6)
aim, torques = wbc.reference([com, np.eye(3)]), []


def control(t, state):
    torques.append(wbc.step(state.q[0], robot.independent(state.qd)[0], aim).torque)
    return torques[-1]


sim = Simulator(robot, ground=Plane(friction=0.8), contacts=feet, motors="model")
v = np.zeros(robot.nv)
v[3:5] = 0.15, 0.2  # a push: 0.25 m/s, mostly to the side
run = sim.rollout(q, v, control, steps=2500, record=["q", "loop_error"])
away = np.linalg.norm(robot.center_of_mass(run.q) - com, axis=1)
slip = max(np.ptp(robot.frame_pose(run.q[200:], f)[:, :2, 3], axis=0).max() for f in feet)
print(f"pushed {1e2 * away.max():.1f} cm away, {1e3 * away[-1]:.2f} mm off at last; feet slipped {1e3 * slip:.1f} mm")
most = np.max(np.abs(torques) / [m.limit for m in wbc.motors])
print(f"torques up to {most:.2f} of their limits; loops off by {run.loop_error.max():.0e} m; status {run.status[0]}")
