"""A small task for tests: a cart under a pole, on a rail, with everything that tasks may have."""

from __future__ import annotations

import numpy as np

import kinloop as kl
from kinloop import scalar as sc
from kinloop.learn.learning_task import Start, Task, times
from kinloop.sim import ExternalForce, Motor, Simulator


def cart() -> kl.Robot:
    b = kl.Builder("cart")
    b.body("cart", joint="prismatic", axis="x", mass=1.0, inertia=(0.1, 0.1, 0.1), joint_name="rail")
    b.body("pole", "cart", axis="y", mass=0.2, com=(0, 0, 0.3), inertia=(0.01, 0.01, 0.001), joint_name="hinge")
    return b.build()


class Balancing(Task):
    """A force on the cart keeps the pole up; the pole is pushed at random."""

    hold, limit, action_size = 4, 25, 1
    memory = {"steps": 1, "asked": 1}

    def __init__(self, robot: kl.Robot | None = None, vary=True, latency=(0.0, 0.0), push=0.0, **options) -> None:
        self.latency, self.push = latency, push
        self.vary = {"pole.mass": times(0.5, 2.0), "rail.strength": times(0.8, 1.2)} if vary else {}
        pushes = [ExternalForce("pole", lambda s: [0, 0, 0, s.u[0], 0, 0], inputs=("x",))]
        self.sim = Simulator(
            cart() if robot is None else robot, 5e-3, motors=[Motor("rail")], forces=pushes, open=list(self.vary),
            **options,
        )  # fmt: skip

    def start(self, random):
        q = [random.uniform(-0.1, 0.1), random.normal(0.0, 0.05)]
        return Start(q, [0.0, random.uniform(-0.1, 0.1)], {"asked": [random.uniform(-0.5, 0.5)]})

    def controls(self, state):
        return np.array([5.0 * state.action[0], self.push * state.random.normal()])

    def remember(self, state):
        return {"steps": state.memory["steps"] + 1.0}

    def observe(self, state):
        return np.array([*state.q, *state.qd, *state.memory["asked"], *state.memory["steps"], state.t, *state.action])

    def reward(self, state):
        return sc.cos(state.q[1]) - 0.1 * (state.q[0] - state.memory["asked"][0]) ** 2

    def ended(self, state):
        return sc.abs(state.q[1]) > 0.3


class Turning(Task):
    """A four-bar turns freely."""

    action_size, hold = 1, 5

    def __init__(self, robot: kl.Robot) -> None:
        self.sim = Simulator(robot)

    def start(self, random):
        q = self.sim.robot.neutral().astype(object)
        q[0] = q[0] + random.uniform(0.2, 0.4)
        return Start(q, [random.uniform(2.0, 3.0)])

    def controls(self, state):
        return 0.0 * state.action

    def observe(self, state):
        return state.q

    def reward(self, state):
        return state.twist("link2")[0]

    def ended(self, state):
        return state.q[0] > 9.0
