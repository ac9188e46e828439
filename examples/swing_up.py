"""iLQR swings up a pole on the cart of a slider-crank, with torque at the crank alone: the pole has no motor."""

import numpy as np

import kinloop as kl
from kinloop.control import ILQR, SmoothDynamics

b = kl.Builder("swinger")
b.body("crank", mass=1.0, com=(0.1, 0, 0), inertia=(1e-3, 0.01, 0.01), axis="y")
b.body("rod", "crank", at=(0.2, 0, 0), mass=0.5, com=(0.3, 0, 0), inertia=(1e-3, 0.01, 0.01), axis="y")
b.body("cart", at=(0.7, 0, 0), mass=1.0, inertia=(0.01, 0.01, 0.01), joint="prismatic", axis="x")
b.body("pole", "cart", mass=0.3, com=(0, 0, 0.4), inertia=(0.01, 0.01, 1e-3), axis="y")
b.loop("pin", "rod", "cart", axis="y", at=(0.6, 0, 0))
b.independent = ["crank_joint", "pole_joint"]
robot = b.build()

start = robot.close([np.pi / 2, -np.pi / 2 - 0.3, 0.0, 0.0])
start[3] = np.pi  # the pole hangs
crank = start[0]


def cost(q, v, u, t):
    return 1e-2 * u @ u + 1e-3 * v @ v


def terminal(q, v):
    return 200.0 * (q[3] - 2.0 * np.pi) ** 2 + 20.0 * (q[0] - crank) ** 2 + 40.0 * v @ v


# Two seconds of smooth motion, every step closed; the start is no torque at all.
dynamics = SmoothDynamics(robot, dt=0.025, motors=["crank_joint"])
solver = ILQR(dynamics, cost, terminal, limits=(-5.0, 5.0), tolerance=1e-6)
found = solver.solve(start, steps=80, iterations=300)
print(f"{found.reasons[0]}: cost {found.cost:.3f}")

for k in range(0, 81, 16):
    print(f"t = {k * dynamics.dt:.1f} s: pole {np.degrees(found.q[k, 3]) - 360.0:+7.1f} degrees from upright")
print(f"torque between {found.controls.min():.2f} and {found.controls.max():.2f} N m, limit 5")
print(f"loop open by {robot.loop_error(found.q).max():.0e} m at most")

# The gains that come with it hold the motion against a wrong start, where the controls alone do not.
for gains, name in ((found.gains, "with feedback"), (0.0 * found.gains, "without")):
    q, v = robot.integrate(start, [0.0, 0.05]), np.zeros(2)
    for k, u in enumerate(found.controls):
        dx = np.concatenate([robot.difference(found.q[k], q), v - found.v[k]])
        v = v + dynamics.dt * robot.forward_dynamics(q, v, [*np.clip(u + gains[k] @ dx, -5.0, 5.0), 0.0])
        q = robot.integrate(q, v, dynamics.dt)
    print(f"pole let go 0.05 rad beside: {name} it ends {np.degrees(q[3]) - 360.0:+.1f} degrees from upright")
