"""A robot from a file: a URDF with a mimic joint and a loop, loaded, checked, computed."""

import tempfile
from pathlib import Path

import numpy as np

import kinloop as kl


def link(name: str) -> str:
    inertia = '<inertia ixx="1e-3" iyy="2e-3" izz="2e-3" ixy="0" ixz="0" iyz="0"/>'
    return f'<link name="{name}"><inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>{inertia}</inertial></link>'


def hinge(name: str, parent: str, child: str, at: str, more: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{at}"/><axis xyz="0 1 0"/>'
    return f'<joint name="{name}" type="continuous">{ends}{more}</joint>'


URDF = "\n".join(
    [
        '<robot name="gripper">',
        '<link name="base"/>',
        *map(link, ("finger", "tip", "support", "thumb")),
        hinge("finger_joint", "base", "finger", "0 0 0"),
        hinge("tip_joint", "finger", "tip", "0.2 0 0"),
        hinge("support_joint", "base", "support", "0.05 0 0.06"),
        hinge("thumb_joint", "base", "thumb", "0 0 -0.05", '<mimic joint="finger_joint" multiplier="-1"/>'),
        '<loop name="pin" type="revolute"><axis xyz="0 1 0"/>',
        '<predecessor link="tip"><origin xyz="0.02 0 0.06"/></predecessor>',
        '<successor link="support"><origin xyz="0.2 0 0"/></successor></loop>',
        "</robot>",
    ]
)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "gripper.urdf"
    path.write_text(URDF)
    robot = kl.load(path).with_independent(["finger_joint"])

print(robot)
print("clusters:", [[robot.body_names[i] for i in c.bodies] for c in robot.tree])
q = robot.neutral()
print("loops and couplings:", dict(zip(robot.loop_names, robot.loop_error(q).round(12).tolist(), strict=True)))
a = robot.forward_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv))
print(f"let go, {robot.independent_names[0]} accelerates with {a[0]:.3f} rad/s^2")
print(f"to hold it: {robot.bias_force(q, np.zeros(robot.nv))[0]:.4f} N m")
