"""iLQR lets a five-bar leg jump from hard ground, with two motors at the hip: contact is in the derivatives."""

import numpy as np

import kinloop as kl
from kinloop.control import ILQR
from kinloop.sim import ContactPoint, Plane


def bar(length: float, mass: float) -> dict:
    """A slender bar that hangs down from its joint."""
    across = mass * length**2 / 12
    return {"mass": mass, "com": (0, 0, -length / 2), "inertia": (across, across, 1e-5), "axis": "y"}


b = kl.Builder("jumper")
b.body("trunk", mass=4.0, inertia=(0.02, 0.02, 0.02), joint="prismatic", axis="z")
for side, x in (("front", 0.03), ("rear", -0.03)):
    b.body(f"{side}_thigh", "trunk", at=(x, 0, 0), armature=0.01, damping=0.05, **bar(0.15, 0.3))
    b.body(f"{side}_shank", f"{side}_thigh", at=(0, 0, -0.15), **bar(0.25, 0.15))
b.frame("foot", "front_shank", at=(0, 0, -0.25))
b.loop("ankle", "front_shank", "rear_shank", axis="y", at=(0, 0, -0.25), at_successor=(0, 0, -0.25))
b.independent = ["trunk_joint", "front_thigh_joint", "rear_thigh_joint"]
robot = b.build()

# Crouched, the foot on the ground; torques that carry the weight there.
crouch = robot.close([0.3, -1.1, 1.7, 1.1, -1.7])
crouch[0] -= robot.frame_pose(crouch, "foot")[2, 3]
weight = robot.gravity_force(crouch)
up = robot.frame_jacobian(crouch, "foot", axes="world")[5]
hold = (weight - up * weight[0] / up[0])[1:]
print(f"crouched at {crouch[0]:.3f} m, the hip motors hold it with {np.round(hold, 2)} N m")

sim = kl.Simulator(
    robot, dt=5e-3, ground=Plane(friction=0.8), contacts=[ContactPoint("foot")], motors=robot.independent_names[1:]
)


def cost(q, v, u, t):
    return 1e-4 * u @ u


def terminal(q, v):  # after 0.4 s: the trunk half a metre high, the leg drawn in
    drawn = (q[1] - crouch[1]) ** 2 + (q[3] - crouch[3]) ** 2
    return 1000.0 * (q[0] - 0.5) ** 2 + v[0] ** 2 + 100.0 * drawn + 0.1 * v @ v


# The start: push with three times the holding torque for 0.1 s, then draw the leg in a little.
push = np.where(np.arange(80)[:, None] < 20, 3.0 * hold, -0.3 * hold)
found = ILQR(sim, cost, terminal, limits=(-20.0, 20.0)).solve(crouch, controls=push)
foot = robot.frame_pose(found.q, "foot")[:, 2, 3]
off = sim.dt * np.flatnonzero(foot < 1e-4)[-1]
print(f"{found.reasons[0]}: cost {found.cost:.3f}")
print(f"trunk up to {found.q[:, 0].max():.2f} m, foot up to {foot.max():.2f} m, at the end {found.q[-1, 0]:.3f} m")
print(f"leaves the ground at {1e3 * off:.0f} ms; lowest foot {1e3 * foot.min():.2f} mm")
print(f"torque up to {np.abs(found.controls).max():.1f} N m, loop open by {robot.loop_error(found.q).max():.0e} m")
