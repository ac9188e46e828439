# %% [markdown]
# # 7. Derivatives, and a small optimal-control problem
#
# Derivatives of dynamics are what optimal control, estimation and learning live on. Here they are checked against differences,
# and then used: a slider-crank throws up a pole that stands on its cart, with torque at the crank alone.

# %%
import matplotlib.pyplot as plt
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
print(robot.nq, "joints, of which independent:", robot.independent_names)

# %% [markdown]
# ## Along which direction
#
# A derivative with respect to `q` cannot vary one joint alone: the loop would open. It is taken along the motions that the
# robot can make: column $k$ is the slope along `robot.integrate(q, s * e_k)`, with $e_k$ the unit vector of the independent
# coordinate $k$. All other joints follow ([derivatives](../derivatives.md)).

# %%
q, v = robot.random_state(3)
tau = np.array([0.5, 0.0])
da_dq, da_dv, da_dtau = robot.forward_dynamics_derivatives(q, v, tau)

eps = 1e-6
for k, e in enumerate(np.eye(2)):
    ahead, behind = (robot.forward_dynamics(robot.integrate(q, s * e), v, tau) for s in (eps, -eps))
    assert np.allclose((ahead - behind) / (2 * eps), da_dq[:, k], rtol=1e-5, atol=1e-5)
assert np.allclose(da_dtau, np.linalg.inv(robot.mass_matrix(q)))
print("da_dq =", np.round(da_dq, 3).tolist())

# %% [markdown]
# The gradient of any number made of the accelerations is cheaper than the whole matrix: a *vector-Jacobian product*, here of
# the sum of squares of $a$.

# %%
gradient = robot.compile("forward_dynamics", derivative="vjp")
a = robot.forward_dynamics(q, v, tau)
_, bar_q, bar_v, bar_tau = gradient(q, v, tau, 2 * a)  # the weights are d(a.a)/da
assert np.allclose(bar_q, 2 * a @ da_dq) and np.allclose(bar_tau, 2 * a @ da_dtau)

# %% [markdown]
# ## The problem
#
# The pole hangs down; in two seconds it shall stand, the crank be back where it was, and everything be at rest:
#
# $$\min_u\ \sum_k \big(10^{-2} u_k^2 + 10^{-3} v_k^T v_k\big)\,\ +\ 200\,(\text{pole} - 2\pi)^2 + 20\,(\text{crank} -
# \text{crank}_0)^2 + 40\,v_T^T v_T,\qquad |u_k|\le 5\ \text{N m}.$$
#
# Costs are functions written with NumPy; they are traced, and differentiated exactly. `q[3]` is the pole's angle, 0 and
# $2\pi$ upright, $\pi$ hanging.

# %%
start = robot.close([np.pi / 2, -np.pi / 2 - 0.3, 0.0, 0.0])
start[3] = np.pi
crank = start[0]


def cost(q, v, u, t):
    return 1e-2 * u @ u + 1e-3 * v @ v


def terminal(q, v):
    return 200.0 * (q[3] - 2.0 * np.pi) ** 2 + 20.0 * (q[0] - crank) ** 2 + 40.0 * v @ v


dynamics = SmoothDynamics(robot, dt=0.025, motors=["crank_joint"])
solver = ILQR(dynamics, cost, terminal, limits=(-5.0, 5.0), tolerance=1e-6)
found = solver.solve(start, steps=80, iterations=300)  # begins with no torque at all
print("converged:", bool(found.converged), f" cost {found.cost:.2f}")
print(f"the pole ends {np.degrees(found.q[-1, 3]) - 360:.1f} degrees from upright")
assert found.converged and abs(found.q[-1, 3] - 2 * np.pi) < 0.05
assert robot.loop_error(found.q).max() < 1e-9 and np.abs(found.controls).max() <= 5.0

# %%
time = 0.025 * np.arange(81)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.plot(time, np.degrees(found.q[:, 3]) - 360, label="pole, from upright")
left.plot(time, np.degrees(found.q[:, 0] - crank), label="crank, from its start")
left.set(xlabel="t [s]", ylabel="[degrees]")
left.legend()
right.step(time[:-1], found.controls[:, 0], where="post")
right.set(xlabel="t [s]", ylabel="torque at the crank [N m]")

# %% [markdown]
# ## It holds what it found
#
# With the controls come feedback gains. From a start that is 0.05 rad beside, the controls alone miss, and with the gains
# they do not:

# %%
ends = []
for gains in (found.gains, 0.0 * found.gains):
    q, v = robot.integrate(start, [0.0, 0.05]), np.zeros(2)
    for k, u in enumerate(found.controls):
        dx = np.concatenate([robot.difference(found.q[k], q), v - found.v[k]])
        v = v + 0.025 * robot.forward_dynamics(q, v, [*np.clip(u + gains[k] @ dx, -5.0, 5.0), 0.0])
        q = robot.integrate(q, v, 0.025)
    ends.append(abs(np.degrees(q[3]) - 360))
print(f"pole from upright: {ends[0]:.1f} degrees with feedback, {ends[1]:.0f} without")
assert ends[0] < 0.5 * ends[1]

# %% [markdown]
# More: contact in trajectories, batches, crocoddyl and collocation under [control](../control.md#trajectory-optimisation).
#
# Next: [masses from measured motions](08_identification.md).
