"""Tello standing on its toes and heels: motor torques through its differentials, and what the bearings carry."""

import numpy as np

import kinloop as kl

robot = kl.robots.load("tello")
print(robot)
q = robot.neutral()  # closed: the rods of all differentials at their length
rest = np.zeros(robot.nv)

# Contact forces that carry the weight: shortest ones that leave no force on the free base.
contacts = ["left-toe_contact", "left-heel_contact", "right-toe_contact", "right-heel_contact"]
J = np.concatenate([robot.frame_jacobian(q, c)[3:] for c in contacts])  # linear rows, in the contacts' axes
weight = robot.bias_force(q, rest)
push = np.linalg.lstsq(J[:, :6].T, weight[:6], rcond=None)[0].reshape(4, 3)
up = sum(robot.frame_pose(q, c)[2, :3] @ f for c, f in zip(contacts, push, strict=True))
print(f"weight {9.81 * sum(b.mass for b in robot.mechanism.bodies):.2f} N, contacts push up with {up:.2f} N")

# The same forces as external wrenches, each in its body's frame.
f_ext = np.zeros((len(robot.body_names), 6))
for name, force in zip(contacts, push, strict=True):
    body, placement = robot.frame(name)
    f_ext[body] += placement.force(np.concatenate([np.zeros(3), force]))

tau = robot.inverse_dynamics(q, rest, rest, f_ext)
print(f"force left on the base: {np.abs(tau[:6]).max():.1e}")
for name, torque in zip(robot.independent_names[6:11], tau[6:11], strict=True):
    print(f"  {name:35s} {torque:8.3f} N m")

loads = robot.reactions(q, rest, tau, f_ext)
print("bearings of the left leg [N, N m]:")
for joint in ("left-hip-clamp-to-gimbal", "left-gimbal-to-thigh", "left-thigh-to-shin", "left-shin-to-foot"):
    wrench = loads.joints[joint]
    print(f"  {joint:35s} {np.linalg.norm(wrench[3:]):8.1f} {np.linalg.norm(wrench[:3]):8.2f}")
print("what the left knee-ankle differential does to its joints [N m]:")
for joint, torque in loads.transmissions["left-knee-ankle-differential"].items():
    print(f"  {joint:35s} {float(torque):8.3f}")
