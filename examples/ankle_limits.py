"""Which torques a parallel ankle can hold: the limits of two motors, seen at knee and ankle, and a plot of them."""

import tempfile
from pathlib import Path

import numpy as np

import kinloop as kl
from kinloop.control import MotorSpace
from kinloop.sim import Motor

LIMIT = 1.5  # N m of each rotor

tello = kl.robots.load("tello")
motors = [Motor(f"left-thigh-to-knee-ankle-rotor-{k}", limit=LIMIT) for k in (1, 2)]
leg = MotorSpace(tello, motors, joints=["left-thigh-to-shin", "left-shin-to-foot"])

print("knee, ankle [rad]   most at the knee alone, at the ankle alone, of both at once [N m]   condition")
for x in ([0.0, 0.0], [0.6, -0.4], [1.2, -0.6], [0.0, 0.6]):
    reachable = leg.reachable(x)
    knee, ankle = (reachable.largest_along(axis) for axis in np.eye(2))
    both = ", ".join(f"{t:.2f}" for t in reachable.box())
    print(f"{x!s:18s}  {knee:17.2f}, {ankle:18.2f},   {both:28s}   {leg.condition(x):9.2f}")

x = np.array([0.6, -0.4])
y, force, J = leg.map(x, [8.0, 4.0])
print(f"at {x}: rotors stand at {np.round(y, 3)} rad and push with {np.round(force, 3)} N m")
back = leg.joint_position(y) - x, leg.joint_force(x, force) - [8.0, 4.0]
print(f"and back: positions to {np.abs(back[0]).max():.0e} rad, torques to {np.abs(back[1]).max():.0e} N m")

stiffness = np.diag([60.0, 20.0])
bare, loaded = (leg.motor_gains(x, stiffness, force=f)[0] for f in (None, force))
print(f"motor gains for {np.diag(stiffness)} N m/rad: {np.round(bare, 3).tolist()}")
print(f"under this load, with the geometric term: {np.round(loaded, 3).tolist()}")

path = leg.reachable(x).plot(Path(tempfile.gettempdir()) / "ankle_limits.svg")
print(f"plot: {path.name}, {path.stat().st_size // 1000} kB")
