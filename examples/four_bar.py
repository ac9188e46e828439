"""A four-bar linkage by hand: three bars and a pin that closes the loop. Its motion, and the load on the pin."""

import numpy as np

import kinloop as kl


def bar(length: float, mass: float) -> dict:
    """A slender bar along x, its frame at one end."""
    across = mass * length**2 / 12
    return {"mass": mass, "com": (length / 2, 0, 0), "inertia": (1e-4, across, across)}


b = kl.Builder("four_bar")
b.body("crank", **bar(0.2, 0.5), axis="y")
b.body("coupler", "crank", **bar(0.6, 1.2), axis="y", at=(0.2, 0, 0))
b.body("rocker", **bar(0.4, 0.8), axis="y", at=(0.5, 0, 0))
b.loop("pin", "coupler", "rocker", "revolute", axis="y", at=(0.6, 0, 0), at_successor=(0.4, 0, 0))
b.independent = ["crank_joint"]
robot = b.build()
print(robot)

# q has all three joints, v and tau only the crank. Close the loop from a rough guess.
q = robot.close([-0.5, 0.3, -1.5])
print(f"joints {np.round(q, 4)} rad, loop open by {robot.loop_error(q)[0]:.1e} m")

v, tau = np.array([3.0]), np.array([0.8])
a = robot.forward_dynamics(q, v, tau)
print(f"crank at {v[0]} rad/s under {tau[0]} N m accelerates with {a[0]:.3f} rad/s^2")
print(f"all joints turn with {np.round(robot.spanning_velocity(q, v), 3)} rad/s")
print(f"torque back from the motion: {robot.inverse_dynamics(q, v, a)[0]:.6f} N m")
print(f"a dense solve of everything gives {robot.forward_dynamics(q, v, tau, method='dense_kkt')[0]:.3f} rad/s^2")

pin = robot.reactions(q, v, tau).loops["pin"]
print(f"the pin pushes the rocker with {np.linalg.norm(pin[3:]):.2f} N")

# The crank let go with 6 rad/s: small steps of the midpoint rule, the loop closed at each, energy kept.
v, dt = np.array([6.0]), 2e-3
energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
for _ in range(150):
    half = robot.integrate(q, v, dt / 2)
    v_half = v + dt / 2 * robot.forward_dynamics(q, v, [0.0])
    v = v + dt * robot.forward_dynamics(half, v_half, [0.0])
    q = robot.integrate(q, v_half, dt)
drift = robot.kinetic_energy(q, v) + robot.potential_energy(q) - energy
print(f"after 0.3 s the crank is at {q[0]:.2f} rad, energy drifted by {drift / energy:.1e} of {energy:.2f} J")
