"""An example task for `kinloop.sim.gym`: Mini Cheetah, with its rotors, learns to stand."""

from __future__ import annotations

import numpy as np

from kinloop.clusters import ClusterTree
from kinloop.clusters.framing import framed
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.contact.ground import Plane
from kinloop.sim.gym import KinloopVectorEnv, Task
from kinloop.sim.motors import Motor
from kinloop.sim.on_loops import closed_twice
from kinloop.sim.simulator import Simulator
from kinloop.sim.state import State

POSE = {"abad": 0.0, "hip": -0.8, "knee": 1.6}


def posed(tree: ClusterTree, angles: dict[str, float]) -> Array:
    """The closed configuration with the named joints at given angles, all else neutral."""
    q = tree.top.neutral()
    for name, x in angles.items():
        q[tree.top.q_of[tree.top.joint_index[name]]] = x
    return closed_twice(framed(tree), q)[0]


class Standing(Task):
    """Stand still at 0.27 m, under servos whose targets the actions shift by up to half a radian."""

    hold = 10
    limit = 500
    height = 0.27

    def __init__(self, robot: Robot, dt: float = 1e-3) -> None:
        joints = [n for n in robot.independent_names if n.endswith("link_joint")]
        feet = [f for f in robot.frame_names if f.endswith("foot_contact")]
        servos = [Motor(j, "position", kp=60.0, kd=1.0) for j in joints]
        self.sim = Simulator(robot, dt, ground=Plane(0.8), contacts=feet, motors=servos)
        self.pose = np.array([POSE[j.split("_")[1]] for j in joints])
        self.places = [robot.tree.top.q_of[robot.tree.top.joint_index[j]].start for j in joints]
        self.dofs = [robot.tree.top.v_of[robot.tree.top.joint_index[j]].start for j in joints]
        self.home = posed(robot.tree, dict(zip(joints, self.pose, strict=True)))
        self.home[2] -= min(float(robot.frame_pose(self.home, f)[2, 3]) for f in feet)
        self.action_size = len(joints)
        self.observation_size = 1 + 3 + 6 + 3 * len(joints)

    def start(self, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        q = np.repeat(self.home[None], count, axis=0)
        q[:, 2] += rng.uniform(0.0, 0.05, count)
        return q, 0.1 * rng.normal(size=(count, self.sim.robot.nv))

    def controls(self, action: Array) -> Array:
        return self.pose + 0.5 * action

    def observe(self, state: State, action: Array) -> Array:
        q, qd = state.q, state.qd
        return np.concatenate(
            [q[:, 2:3], _up(q), qd[:, :6], q[:, self.places] - self.pose, qd[:, self.dofs], action], axis=1
        )

    def reward(self, state: State, action: Array) -> Array:
        high = np.exp(-((state.q[:, 2] - self.height) ** 2) / 0.01)
        calm = 0.05 * np.sum(state.qd[:, :6] ** 2, axis=1) + 0.01 * np.sum(action**2, axis=1)
        reward: Array = high * _up(state.q)[:, 2] - np.minimum(calm, 2.0)
        return reward

    def ended(self, state: State) -> Array:
        return (state.q[:, 2] < 0.12) | (_up(state.q)[:, 2] < 0.5)


def _up(q: Array) -> Array:
    """The vertical in the axes of the base, (environments, 3): the last row of its rotation matrix."""
    w, x, y, z = q[:, 3:7].T
    return np.stack([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)], axis=1)


def standing(robot: Robot, num_envs: int = 16, threads: int | None = None) -> KinloopVectorEnv:
    """The vector environment of `Standing`; pass `kinloop.robots.load("mini_cheetah")`."""
    return KinloopVectorEnv(Standing(robot), num_envs, threads)
