"""Simulation: a four-bar that keeps its energy, then a batch of quadrupeds pushed while they stand."""

import tempfile
import time
from pathlib import Path

import numpy as np

import kinloop as kl
from kinloop.sim import Motor, Plane, Simulator

# A parallelogram linkage, spinning through its singular configurations (all bars in line).
linkage = kl.robots.load("four_bar")
q0 = linkage.close([0.5, 0.5, -0.5])
run = Simulator(linkage, dt=1e-3, integrator="rk4").rollout(q0, [5.0], steps=5000, record=["q", "energy", "loop_error"])
drift = np.ptp(run.energy) / abs(run.energy[0])
print(f"four-bar: {np.ptp(run.q[:, 0]) / 2 / np.pi:.1f} turns, through singular configurations: {run.singular[0]}")
print(f"          energy drift {drift:.0e}, loops open by {run.loop_error.max():.0e} m")

# Mini Cheetah with its rotors, on the ground, with servos at its joints.
robot = kl.robots.load("mini_cheetah")
joints = [n for n in robot.independent_names if n.endswith("link_joint")]
feet = [f for f in robot.frame_names if f.endswith("foot_contact")]
stance = np.array([{"abad": 0.0, "hip": -0.8, "knee": 1.6}[j.split("_")[1]] for j in joints])
sim = Simulator(
    robot, ground=Plane(friction=0.8), contacts=feet, motors=[Motor(j, "position", 60.0, 1.0) for j in joints]
)

v = np.zeros(robot.nv)
v[[robot.independent_names.index(j) for j in joints]] = stance
q = robot.integrate(robot.neutral(), v)  # from the neutral pose to the stance, rotors and all
q[2] -= min(robot.frame_pose(q, f)[2, 3] for f in feet)

B = 256
pushes = np.zeros((B, robot.nv))
pushes[:, 3:5] = np.random.default_rng(0).uniform(-1.0, 1.0, (B, 2))  # up to 1 m/s sideways and forward
start = time.perf_counter()
run = sim.rollout(q, pushes, stance, steps=1500, record=["q", "gap", "contact_force"], every=50)
rate = B * 1500 / (time.perf_counter() - start)
standing = np.sum(run.q[:, -1, 2] > 0.2)
weight = 9.81 * sum(b.mass for b in robot.mechanism.bodies)
print(f"{B} quadrupeds pushed: {standing} still stand; {rate:,.0f} steps per second, compiling included")
pressed = run.contact_force[0, -1, :, 2].sum() / weight
print(f"the first presses with {pressed:.3f} of its weight, {-1e6 * run.gap[:, -1].min():.2f} um deep")

with tempfile.TemporaryDirectory() as folder:
    path = run.save(Path(folder) / "pushes.npz")
    print("saved and read back:", kl.sim.load(path)["q"].shape)
