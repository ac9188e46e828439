# %% [markdown]
# # 6. Constrained motion: feet welded, hands tied
#
# Standing feet, hands on one object, a foot on a pedal: such constraints come and go. They are not part of the mechanism but
# asked for in a call: `constrained_dynamics(q, v, tau, constraints)` gives the accelerations *and* the forces of the
# constraints, their *multipliers*. Loops inside the robot stay closed at the same time.

# %%
import matplotlib.pyplot as plt
import numpy as np

import kinloop as kl
from kinloop.control import InverseKinematics, OrientationTask, PoseTask, PositionTask

robot = kl.robots.load("tello_with_arms")
print(robot.nv, "freedoms,", len(robot.loop_names), "loops inside")

# %% [markdown]
# ## A configuration that keeps them
#
# Both feet flat on the ground, and both hands at one point in front of the chest, by [inverse
# kinematics](05_inverse_kinematics.md):

# %%
left, right = np.tile(np.eye(4), (2, 1, 1))
left[:3, 3], right[:3, 3] = (-0.025, 0.126, 0.041), (-0.025, -0.126, 0.041)
tasks = [PoseTask("left-foot"), PoseTask("right-foot"), OrientationTask("torso", weight=0.1)]
tasks += [PositionTask("left-hand-contact"), PositionTask("right-hand-contact")]
chest = np.array([0.25, 0.0, 0.6])
found = InverseKinematics(robot, tasks).solve(robot.neutral(), [left, right, np.eye(3), chest, chest], attempts=5)
q = found.q
print("reached:", bool(found.reached))
hands = [robot.frame_pose(q, f"{side}-hand-contact")[:3, 3] for side in ("left", "right")]
assert np.allclose(hands[0], hands[1], atol=1e-8)

# %% [markdown]
# ## Accelerations and multipliers
#
# - `kl.Weld(frame)` keeps a frame from accelerating at all: 6 rows.
# - `kl.Point(frame)` keeps its origin: 3 rows. `kl.Point(frame, other)` ties two frames of the robot together.
# - `kl.Rows(frame, K, k)` keeps any combination, K times the acceleration of the frame equal to k.
#
# A multiplier is the force that its row exerts on the frame, in the frame's axes, moment first [N m, N].

# %%
feet = [kl.Weld("left-foot"), kl.Weld("right-foot")]
tied = [*feet, kl.Point("left-hand-contact", "right-hand-contact")]
v, tau = np.zeros(robot.nv), np.zeros(robot.nv)

a, multipliers = robot.constrained_dynamics(q, v, tau, tied)
on_left, on_right, between_hands = np.split(multipliers, [6, 12])
print("left foot carries ", np.round(on_left[5], 1), "N")
print("right foot carries", np.round(on_right[5], 1), "N")
print("hands pull with   ", np.round(np.linalg.norm(between_hands), 1), "N")

# %% [markdown]
# Three checks. The feet do not accelerate. The hands accelerate alike. And Newton's law: what the ground does to both
# feet is the mass times the acceleration of the centre of mass, less gravity.

# %%
assert np.allclose(robot.frame_acceleration(q, v, a, "left-foot"), 0.0, atol=1e-7)
left_hand, right_hand = (
    robot.frame_acceleration(q, v, a, f"{side}-hand-contact", axes="world")[3:] for side in ("left", "right")
)
assert np.allclose(left_hand, right_hand, atol=1e-6)

mass = sum(body.mass for body in robot.mechanism.bodies)
of_com = robot.center_of_mass_jacobian(q) @ a  # at rest: no further term
from_ground = np.zeros(3)
for foot, force in (("left-foot", on_left[3:]), ("right-foot", on_right[3:])):
    from_ground += robot.frame_pose(q, foot)[:3, :3] @ force
assert np.allclose(from_ground, mass * (of_com - robot.mechanism.gravity), atol=1e-6)
print(f"the robot falls with {-of_com[2]:.2f} m/s^2: feet carry {from_ground[2]:.0f} of {9.81 * mass:.0f} N")

# %% [markdown]
# ## Methods
#
# The default `pv` goes through the tree of clusters once for all constraints; `pv_early` gets rid of constraints on the way;
# `dense_kkt` is the slow witness. All say the same ([derivation](../algorithms/pv.md)).

# %%
again, _ = robot.constrained_dynamics(q, v, tau, tied, method="dense_kkt")
print("the same accelerations:", np.allclose(again, a, rtol=1e-6, atol=1e-6 * np.abs(a).max()))
assert np.allclose(again, a, rtol=1e-6, atol=1e-6 * np.abs(a).max())

# %% [markdown]
# ## A motion
#
# With feet welded the robot lets its motors go and sinks. Steps of the midpoint rule in NumPy are enough here; `stabilize`
# lets errors that steps leave decay within `period` seconds.

# %%
held = [
    kl.Weld("left-foot", at=robot.frame_pose(q, "left-foot"), stabilize=True, period=0.05),
    kl.Weld("right-foot", at=robot.frame_pose(q, "right-foot"), stabilize=True, period=0.05),
    kl.Point("left-hand-contact", "right-hand-contact", stabilize=True, period=0.05),
]
dt, height, apart, load = 2e-3, [], [], []
for _ in range(150):
    a, forces = robot.constrained_dynamics(q, v, tau, held)
    middle, v_middle = robot.integrate(q, v, dt / 2), v + dt / 2 * a
    a, forces = robot.constrained_dynamics(middle, v_middle, tau, held)
    q, v = robot.integrate(q, v_middle, dt), v + dt * a
    ends = [robot.frame_pose(q, f"{side}-hand-contact")[:3, 3] for side in ("left", "right")]
    height.append(robot.center_of_mass(q)[2])
    apart.append(1e3 * np.linalg.norm(ends[0] - ends[1]))
    load.append([forces[5], forces[11]])

time = dt * np.arange(1, 151)
figure, (one, two) = plt.subplots(1, 2, figsize=(8, 3))
one.plot(time, height)
one.set(xlabel="t [s]", ylabel="height of the centre of mass [m]")
two.plot(time, load, label=["left foot", "right foot"])
two.set(xlabel="t [s]", ylabel="force on a foot along its z axis [N]")
two.legend()
moved = np.abs(robot.frame_pose(q, "left-foot")[:3, 3] - left[:3, 3]).max()
print(f"sank by {1e2 * (height[0] - height[-1]):.0f} cm; hands stay together and feet in place to 0.1 mm:", end=" ")
print(max(apart) < 0.1 and 1e3 * moved < 0.1)
assert max(apart) < 0.1 and 1e3 * moved < 0.1 and robot.loop_error(q).max() < 1e-9

# %% [markdown]
# The ground of a [simulation](../simulation.md#contact) is another matter: it pushes and never pulls, and feet may slide.
#
# Next: [derivatives, and a small optimal-control problem](07_derivatives_and_optimal_control.md).
