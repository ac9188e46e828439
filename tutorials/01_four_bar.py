# %% [markdown]
# # 1. A four-bar from nothing
#
# You build a linkage by hand, draw it, let it swing, and plot what it does. Nothing is needed but kinloop, NumPy and
# matplotlib.
#
# A *four-bar* has four bars and four pins: the crank turns about a pin on the ground, the rocker about another, and the
# coupler joins their ends. The ground is the fourth bar. Three bars move, but only one number can be chosen, say the angle
# of the crank: the loop determines the other two.

# %%
import matplotlib.pyplot as plt
import numpy as np

import kinloop as kl

LENGTH = {"crank": 0.2, "coupler": 0.6, "rocker": 0.4}  # [m]


def bar(name):
    """A slender bar along x of 2 kg/m: its frame at one end, its centre of mass in the middle."""
    length = LENGTH[name]
    mass = 2.0 * length
    across = mass * length**2 / 12  # moment of inertia about an axis across the bar [kg m^2]
    return {"mass": mass, "com": (length / 2, 0, 0), "inertia": (1e-4, across, across), "axis": "y"}


# %% [markdown]
# ## Build it
#
# Every body comes with the joint that carries it, here a hinge about the y axis. Bodies and their joints form the *spanning
# tree*: crank and rocker on the world, the coupler on the crank. `loop` closes it with the fourth pin, between the
# far end of the coupler (the predecessor) and the far end of the rocker (the successor).

# %%
b = kl.Builder("four_bar")
b.body("crank", **bar("crank"))
b.body("coupler", "crank", at=(LENGTH["crank"], 0, 0), **bar("coupler"))
b.body("rocker", at=(0.5, 0, 0), **bar("rocker"))
b.loop("pin", "coupler", "rocker", axis="y", at=(LENGTH["coupler"], 0, 0), at_successor=(LENGTH["rocker"], 0, 0))
b.independent = ["crank_joint"]
robot = b.build()

print("joints of the tree:     ", robot.joint_names)
print("independent coordinates:", robot.independent_names)
print("sizes: nq =", robot.nq, " nv =", robot.nv)
assert (robot.nq, robot.nv) == (3, 1)

# %% [markdown]
# `q` holds the positions of all three joints [rad], `v` the velocity of the crank alone [rad/s]
# ([notation](../notation.md)).
#
# ## Close it
#
# Angles that you write down from a sketch do not close the loop exactly. `close` finds the nearest ones that do:

# %%
sketch = np.array([-0.5, 0.3, -1.5])
q = robot.close(sketch)
print("sketched:", sketch, " open by", np.round(1e3 * robot.loop_error(sketch)[0], 1), "mm")
print("closed:  ", np.round(q, 4))
assert robot.loop_error(q)[0] < 1e-9

# %% [markdown]
# ## Draw it
#
# `frame_pose(q, body)` is the pose of a body as a matrix (4, 4): rotation in the first three columns, origin in the last. A
# bar lies along the x axis of its body.


# %%
def ends(q, name):
    """Both ends of a bar in the plane of the linkage: x and z [m]."""
    pose = robot.frame_pose(q, name)
    return np.array([pose[[0, 2], 3], pose[[0, 2], 3] + LENGTH[name] * pose[[0, 2], 0]]).T


def draw(axes, q, color="C0", alpha=1.0):
    for name in LENGTH:
        axes.plot(*ends(q, name), "o-", color=color, alpha=alpha, linewidth=3, markersize=5)


figure, axes = plt.subplots(figsize=(5, 3.2))
for angle in np.linspace(0, 2, 6)[1:]:
    draw(axes, robot.integrate(q, [angle]), "C7", 0.3)  # the crank turned further, loop closed
draw(axes, q)
axes.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title="four-bar: now, and the crank turned further")

pin_of_coupler, pin_of_rocker = ends(q, "coupler")[:, 1], ends(q, "rocker")[:, 1]
assert np.allclose(pin_of_coupler, pin_of_rocker, atol=1e-9)

# %% [markdown]
# ## Its dynamics
#
# A torque `tau` [N m] at the crank gives it an acceleration `a` [rad/s^2]; the other way round gives the torque back. As a
# check, one dense system of equations for all bodies and the loop's forces, slow and obvious, must say the same.

# %%
v, tau = np.array([3.0]), np.array([0.8])
a = robot.forward_dynamics(q, v, tau)
print(f"acceleration of the crank {a[0]:.3f} rad/s^2")
print(f"torque back from it       {robot.inverse_dynamics(q, v, a)[0]:.3f} N m")
print(f"velocities of all joints  {np.round(robot.spanning_velocity(q, v), 3)} rad/s")
assert np.allclose(a, robot.forward_dynamics(q, v, tau, method="dense_kkt"), rtol=1e-9)

pin = robot.reactions(q, v, tau).loops["pin"]  # moment and force on the rocker
print(f"the pin pushes with       {np.linalg.norm(pin[3:]):.2f} N")

# %% [markdown]
# ## Simulate it
#
# Let go without torque. `record` names what is kept of every step; `energy` is the total energy [J].

# %%
sim = kl.Simulator(robot, dt=1e-3)
run = sim.rollout(q, [6.0], steps=3000, record=["q", "v", "energy", "loop_error"])
time = 1e-3 * np.arange(1, 3001)
total, kinetic = run.energy, robot.kinetic_energy(run.q, run.v)

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.plot(time, np.unwrap(run.q, axis=0), label=robot.joint_names)
left.set(xlabel="t [s]", ylabel="joint positions [rad]")
left.legend()
right.plot(time, kinetic, label="kinetic")
right.plot(time, total - kinetic, label="potential")
right.plot(time, total, "k--", label="total")
right.set(xlabel="t [s]", ylabel="energy [J]")
right.legend()

print("the crank turned", round(np.ptp(np.unwrap(run.q[:, 0])) / (2 * np.pi), 1), "times")
print("energy kept to 1e-6:", np.ptp(total) < 1e-6 * total[0], " loop closed to 1e-9 m:", run.loop_error.max() < 1e-9)
assert np.ptp(total) < 1e-6 * total[0] and run.loop_error.max() < 1e-9

# %% [markdown]
# Watch it in a browser: `kinloop.viewer.record(robot, time, run.q, "four_bar.html")` writes a page that plays.
#
# Next: [the same from a URDF file](02_urdf_with_a_loop.md).
