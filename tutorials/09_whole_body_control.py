# %% [markdown]
# # 9. Whole-body control with contacts
#
# Tello stands on the ground and squats. Nobody says which motor shall do what: at every millisecond a small optimisation finds
# the torques of all motors and the forces under the feet that move the centre of mass as wanted.

# %%
import matplotlib.pyplot as plt
import numpy as np

import kinloop as kl
from kinloop.control import CenterOfMassTask, InverseKinematics, OrientationTask, PoseTask, Reference, WholeBodyControl
from kinloop.sim import ContactPoint, Motor, Plane

robot = kl.robots.load("tello")
SIDES = {"left": 0.126, "right": -0.126}
LIMIT = 3.0  # torque of every rotor [N m]
motors = [Motor(joint, limit=LIMIT) for joint in robot.joint_names if "rotor" in joint]
soles = [ContactPoint(f"{side}-foot", (x, 0.0, -0.041)) for side in SIDES for x in (0.1, -0.05)]  # toe and heel
print(len(motors), "motors at rotors,", len(soles), "points of contact")

# %% [markdown]
# ## Where it stands
#
# Feet flat, torso upright, the centre of mass over the middle of the feet, found by [inverse
# kinematics](05_inverse_kinematics.md).

# %%
feet = np.tile(np.eye(4), (2, 1, 1))
feet[:, :3, 3] = [[-0.025, y, 0.041] for y in SIDES.values()]
tasks = [PoseTask("left-foot"), PoseTask("right-foot"), OrientationTask("torso"), CenterOfMassTask(level=1)]
q0 = InverseKinematics(robot, tasks).solve(robot.neutral(), [*feet, np.eye(3), [0.0, 0.0, 0.5]]).q
com0 = robot.center_of_mass(q0)

# %% [markdown]
# ## The controller
#
# Unknown are torques $u$ and contact forces. They must obey the equations of motion with all loops, keep feet that stand where
# they are, stay inside friction cones and motor limits, and bring the accelerations of the tasks as near as
# possible to
#
# $$\ddot x_{ref} + k\,(x_{ref} - x) + d\,(\dot x_{ref} - \dot x).$$
#
# A `Reference` holds $x_{ref}$, $\dot x_{ref}$, $\ddot x_{ref}$; gains $k$ and $d$ are those of the task
# ([details](../control.md#whole-body-control)). The QP solver comes with `pip install 'kinloop[control]'`.

# %%
DEPTH, RATE = 0.06, 2 * np.pi  # [m], [rad/s]


def reference(t):
    """Down by 6 cm and up again in one second."""
    c, s = np.cos(RATE * t), np.sin(RATE * t)
    down = np.array([0.0, 0.0, -0.5 * DEPTH])
    return Reference(com0 + down * (1 - c), down * RATE * s, down * RATE**2 * c)


wbc = WholeBodyControl(robot, [CenterOfMassTask(), OrientationTask("torso")], soles, motors, friction=0.6)
step = wbc.step(q0, np.zeros(robot.nv), [reference(0.0), np.eye(3)])
pushed = step.force.reshape(-1, 3)[:, 2].sum()
weight = 9.81 * sum(body.mass for body in robot.mechanism.bodies)
print(f"at the start the ground pushes up with {pushed:.1f} N, the weight is {weight:.1f} N: it begins to fall")
assert np.isclose(pushed, weight * (1 + reference(0.0).acceleration[2] / 9.81), rtol=0.01)
print(f"torques between {step.torque.min():.2f} and {step.torque.max():.2f} N m")

# %% [markdown]
# ## In simulation
#
# The simulated ground is harder to please than the controller's model of it: feet may slip and lift.

# %%
torques = []


def control(t, state):
    v = robot.independent(state.qd[0])
    torques.append(wbc.step(state.q[0], v, [reference(t), np.eye(3)]).torque)
    return torques[-1]


sim = kl.Simulator(robot, dt=1e-3, ground=Plane(friction=0.8), contacts=soles, motors=motors)
run = sim.rollout(q0, None, control, steps=1000, record=["q", "contact_force", "loop_error"])

time = 1e-3 * np.arange(1, 1001)
com = robot.center_of_mass(run.q)
wanted = np.array([reference(t).target for t in time])
off = 1e3 * np.abs(com - wanted).max()
slip = 1e3 * max(np.ptp(robot.frame_pose(run.q, f"{side}-heel_contact")[:, :2, 3], axis=0).max() for side in SIDES)
print(f"centre of mass down by {1e2 * (com0[2] - com[:, 2].min()):.1f} cm, never more than 1 mm off: {off < 1.0}")
print(f"feet slipped by less than 0.5 mm: {slip < 0.5}; torques up to {np.abs(torques).max():.1f} of {LIMIT} N m")
assert run.status[0] == 1 and off < 1.0 and slip < 0.5
assert np.abs(torques).max() <= LIMIT + 1e-9 and run.loop_error.max() < 1e-9

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.plot(time, com[:, 2], label="simulated")
left.plot(time, wanted[:, 2], "k:", label="wanted")
left.set(xlabel="t [s]", ylabel="height of the centre of mass [m]")
left.legend()
right.plot(time, np.array(torques)[:, :5], label=[m.joint.removeprefix("left-") for m in motors[:5]])
right.set(xlabel="t [s]", ylabel="torques of the left leg [N m]")
right.legend(fontsize=6)

# %% [markdown]
# Next: [thousands of environments and a learner](10_environments_and_a_learner.md).
