# %% [markdown]
# # 11. Your own joint, loop and algorithm
#
# kinloop can be extended from your own code, without touching the package: a new type of joint, a new equation that closes
# a loop, a new algorithm that becomes machine code.

# %%
import matplotlib.pyplot as plt
import numpy as np

import kinloop as kl
from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.model.joints import JointType, X, Z
from kinloop.spatial import Transform, axis_rotation, cross

# %% [markdown]
# ## A joint: a pin in a slot
#
# A pin slides along a slot and turns in it. Its positions are the distance along x [m] and the angle about z [rad]. A joint type
# says where its child is (`pose`), how it moves per unit velocity (`columns`: a column of six numbers per freedom, angular
# first, in the axes of the slot), and how the directions of motion change in the axes of the child
# (`subspace_bias`).


# %%
class PinInSlot(JointType):
    """A pin in a slot along x: q = (distance [m], angle [rad] about z)."""

    nq = nv = 2

    def pose(self, q):
        return Transform(axis_rotation(np.array(Z), q[1]), np.array(X) * q[0])

    def columns(self, q):
        return np.array([[0.0, 0.0, 0.0, *X], [*Z, 0.0, 0.0, 0.0]]).T

    def subspace_bias(self, q, qd):
        slide = self.subspace(q)[3:, 0] * qd[0]
        return np.concatenate([np.zeros(3), -cross(np.array(Z) * qd[1], slide)])


# %% [markdown]
# ## A loop: any equation between joints
#
# A cam lifts a follower: the height of the follower is a function of the angle of the cam. Write the function with
# `kinloop.scalar`, whose sine and cosine work on numbers and on symbols; its derivatives are made for you.

# %%
LIFT = 0.03  # [m]


def profile(cam):
    return LIFT * (1 - sc.cos(2 * cam))  # two lifts per turn


b = kl.Builder("cam_drive", gravity=(0, -9.81, 0))
solid = {"mass": 1.0, "com": (0.05, 0.02, 0), "inertia": (0.01, 0.01, 0.02)}
b.body("cam", axis="z", **solid)
b.body("follower", joint="prismatic", axis="y", at=(0.3, 0, 0), **solid)
b.body("arm", "follower", joint=PinInSlot(), **solid)
b.coupling(["follower_joint"], ["cam_joint"], profile)
robot = b.build()
print(robot.independent_names)

# %% [markdown]
# Everything knows them now. A law checks both at once: what power goes in must come out as kinetic and potential energy,
# $\frac{d}{dt}(T + V) = \tau^T v$.

# %%
q, v = robot.random_state(0)
tau = np.array([0.3, -0.2, 0.1])
a = robot.forward_dynamics(q, v, tau)
assert np.allclose(a, robot.forward_dynamics(q, v, tau, method="dense_kkt"))


def energy(s):
    """Total energy s seconds later, to second order."""
    q_s = robot.integrate(q, v + 0.5 * s * a, s)
    return robot.kinetic_energy(q_s, v + s * a) + robot.potential_energy(q_s)


h = 1e-4
rate = (energy(h) - energy(-h)) / (2 * h)
print(f"energy grows by {rate:.4f} W, the forces give {tau @ v:.4f} W")
assert np.isclose(rate, tau @ v, rtol=1e-5, atol=1e-5)

run = kl.Simulator(robot, dt=1e-3).rollout(robot.neutral(), [8.0, 0.0, 0.0], steps=1500, record=["q", "energy"])
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
time = 1e-3 * np.arange(1, 1501)
left.plot(time, 1e3 * run.q[:, robot.q_index("follower_joint")])
left.set(xlabel="t [s]", ylabel="follower [mm]")
right.plot(time, run.q[:, robot.q_index("arm_joint")], label=["slot [m]", "angle [rad]"])
right.set(xlabel="t [s]", ylabel="arm")
right.legend()
assert np.ptp(run.energy) < 1e-5 * np.abs(run.energy).max()

# %% [markdown]
# ## An algorithm
#
# An algorithm is a function written in NumPy. With numbers it computes; with symbols the same lines leave a graph, which
# becomes machine code. Methods of a robot may be used inside. Here: the power that gravity takes,
# $P = g(q)^T v$, and the torque that it takes from the cam alone.


# %%
def gravity_power(q, v):
    g = robot.gravity_force(q)
    return np.array([g @ v, g[0]])


function = sc.trace(gravity_power, {"q": robot.nq, "v": robot.nv})
kernel = compile_function(function, name="gravity_power")
print("operations:", kernel.operations["total"])
assert np.allclose(kernel(q, v), gravity_power(q, v))

Q, V = robot.random_state(1, size=1000)
many = kernel(Q, V)  # a thousand states, several per instruction
print("batch:", many.shape)
assert np.allclose(many[7], gravity_power(Q[7], V[7]))

# %% [markdown]
# The kernel has derivatives too, forward and reverse, as every graph has: `sc.jvp` and `sc.vjp` give graphs of them. To add
# an algorithm to the package itself, with a name that `robot.compute` and `robot.compile` know, see [extending](../extending.md).
#
# Next: [coming from Pinocchio or MuJoCo](12_from_elsewhere.md).
