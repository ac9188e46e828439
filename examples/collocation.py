"""Direct collocation with CasADi and IPOPT: a four-bar linkage turns its crank by half a turn with least effort."""

import casadi as ca
import numpy as np

import kinloop as kl
from kinloop.control.collocation import collocation


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
f = collocation(robot)

# Trapezoidal collocation: loops are equations at every node, only the crank is integrated.
N, T = 60, 0.8
h = T / N
start = robot.close([-0.5, 0.3, -1.5])
guess = [start]  # step by step, so that the linkage stays assembled the same way
for _ in range(N):
    guess.append(robot.integrate(guess[-1], [np.pi / N]))

opti = ca.Opti()
q, v, u = opti.variable(robot.nq, N + 1), opti.variable(robot.nv, N + 1), opti.variable(1, N + 1)
a = [f.acceleration(q[:, k], v[:, k], u[:, k]) for k in range(N + 1)]
for k in range(N + 1):
    opti.subject_to(f.loops(q[:, k]) == 0)
for k in range(N):
    step = f.independent(q[:, k + 1]) - f.independent(q[:, k])
    opti.subject_to(step == h / 2 * (v[:, k] + v[:, k + 1]))
    opti.subject_to(v[:, k + 1] - v[:, k] == h / 2 * (a[k] + a[k + 1]))
opti.subject_to([q[0, 0] == start[0], q[0, N] == start[0] + np.pi, v[:, 0] == 0, v[:, N] == 0])
opti.subject_to(opti.bounded(-4.0, u, 4.0))
opti.minimize(h * ca.sumsqr(u))
opti.set_initial(q, np.transpose(guess))
opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
found = opti.solve()

Q, V, U = (np.atleast_2d(found.value(x)) for x in (q, v, u))
stats = found.stats()
print(f"IPOPT: {stats['return_status']} after {stats['iter_count']} iterations, effort {found.value(opti.f):.4f}")
print(f"torque between {U.min():.3f} and {U.max():.3f} N m; loop open by {robot.loop_error(Q.T).max():.0e} m at most")

# The same torques in a simulation with small steps.
sim = kl.Simulator(robot, dt=1e-4)
times = np.arange(round(T / sim.dt)) * sim.dt + sim.dt / 2
run = sim.rollout(Q[:, 0], None, np.interp(times, h * np.arange(N + 1), U[0])[:, None])
off = np.degrees(run.q[-1, 0] - Q[0, N])
print(f"simulated, the crank ends {off:+.2f} degrees beside, at {run.v[-1, 0]:+.3f} rad/s")
