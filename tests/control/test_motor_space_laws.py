"""Motor spaces of random mechanisms: every kind of loop and coupling, any coordinates as joints and as motors.

Witnesses that know nothing of motor spaces: the robot's own loops and velocities, differences along closed motions.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_enough, drop, mechanism_of

import kinloop as kl
from kinloop.control import MotorSpace
from kinloop.errors import KinloopError
from kinloop.model.random import KINDS

COUPLED = [kind for kind in KINDS if kind not in ("tree", "locked")]
"""All kinds that have loops or couplings and move."""


class Case:
    """A space of one cluster of a random robot, and a position near where the robot was drawn.

    Coordinates of balls, which have no positions of their own, are `held`.
    """

    def __init__(
        self, robot: kl.Robot, q: np.ndarray, joints: list[int], motors: list[int], held: list[int], rng
    ) -> None:
        top = robot.tree.top
        places = top.plain_places()
        self.robot, self.joints, self.motors, self.rng = robot, joints, motors, rng
        names = [[top.coordinates[d] for d in dofs] for dofs in (motors, joints)]
        self.space = MotorSpace(robot, *names, held={top.coordinates[d]: None for d in held}, at=q)
        self.at, self.driven = ([places[d] for d in dofs] for dofs in (joints, motors))
        self.x = q[self.at] + rng.uniform(-0.02, 0.02, len(joints))
        self.q = self.space.configuration(self.x, q)
        self.J = self.space.jacobian(self.x)
        self.G = np.asarray(robot.tree.spanning_jacobian(self.q), dtype=float)
        if held:
            turns = self.G[held]
            self.G = self.G @ (np.eye(robot.nv) - np.linalg.pinv(turns) @ turns)


def cases(kind: str, count: int) -> list[Case]:
    """Spaces of mechanisms of a kind, of clusters with loops, where J is far from singular."""
    out: list[Case] = []
    for seed in range(20 * count):
        r = mechanism_of(seed, kind)
        robot = kl.Robot(r.mechanism, backend="numpy")
        places, q = robot.tree.top.plain_places(), robot.close(np.array(r.mechanism.keyframes[0].q))
        for c in robot.tree:
            plain, m = [d for d in c.dofs if places[d] >= 0], len(c.chart.independent)
            held = [d for d in c.dofs if places[d] < 0][: max(0, m - 1)]
            m -= len(held)
            if not c.parts or len(plain) < m or not m:
                continue
            joints, motors = ([int(d) for d in r.rng.choice(plain, m, replace=False)] for _ in range(2))
            try:
                case = Case(robot, q, joints, motors, held, r.rng)
            except KinloopError:
                drop("coordinates that do not determine the motion, or a dead centre near by")
                continue
            if not case.space.condition(case.x) < 1e4:
                drop("motors that hardly hold the joints")
                continue
            out.append(case)
            if len(out) == count:
                return out
    return out


@pytest.mark.parametrize("count", [1, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", COUPLED)
@pytest.mark.sample(5)
def test_maps_of_random_mechanisms_agree_with_their_loops(kind, count):
    found = cases(kind, count)
    assert_enough(len(found), count, kind)
    for case in found:
        space, robot, x, q, J, n = case.space, case.robot, case.x, case.q, case.J, len(case.joints)
        size = 1.0 + np.abs(q).max()
        assert robot.loop_error(q).max() < 1e-10 * size and np.allclose(q[case.at], x, atol=1e-12 * size)
        y = space.motor_position(x)
        assert np.allclose(y, q[case.driven], rtol=1e-11, atol=1e-11 * size)
        # velocities of all closed motions of the robot
        qd = case.G @ case.rng.normal(size=(robot.nv, 5))
        scale = np.abs(qd).max() * (1.0 + np.abs(J).max())
        assert np.abs(J @ qd[case.joints] - qd[case.motors]).max() < 1e-9 * scale
        # power, and forces both ways
        f, xd = case.rng.normal(size=(2, n))
        fm = space.motor_force(x, f)
        scale = 1.0 + np.abs(fm).max() * np.abs(J).max()
        assert abs(fm @ space.motor_velocity(x, xd) - f @ xd) < 1e-10 * scale
        assert np.abs(space.joint_force(x, fm) - f).max() < 1e-10 * scale
        # differences along closed motions
        h, bend = 1e-5, 1.0 + np.abs(J).max() ** 3
        ahead, behind = ([space.jacobian(x + s * h * d, near=q).T @ f for d in np.eye(n)] for s in (1, -1))
        H = np.asarray(space.geometric_stiffness(x, f), dtype=float)
        assert np.abs(H - (np.array(ahead) - np.array(behind)).T / (2 * h)).max() < 1e-5 * (bend + np.abs(H).max() ** 2)
        back = space.joint_position(y, near=q)
        assert np.abs(back - x).max() < 1e-9 * size * float(space.condition(x))
