"""The inertia felt at a joint, with the base or a foot fixed."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import SingularConfiguration
from kinloop.sim.felt_inertia import bodies_that_may_rest, felt_inertias

FREQUENCY = 20.0


def test_on_a_fixed_base_it_is_the_diagonal_of_the_mass_matrix():
    robot = kl.robots.load("double_pendulum")
    q = robot.random_state(1)[0]
    found = felt_inertias(robot, q, robot.independent_names, FREQUENCY)
    np.testing.assert_allclose(found, np.diag(robot.mass_matrix(q)), rtol=1e-9)


def test_a_standing_leg_moves_the_robot_and_not_itself():
    """Inertia felt at a hip: at least what the base resists with when the foot is fixed."""
    robot = kl.robots.load("mini_cheetah")
    q = robot.neutral()
    names = robot.independent_names[6:]
    inertia = felt_inertias(robot, q, names, FREQUENCY)
    own = np.array([robot.mass_matrix(q)[k, k] for k in (robot.independent_names.index(n) for n in names)])
    assert len(names) == 12
    assert np.all(inertia >= own * (1 - 1e-9))
    assert np.max(inertia / own) > 3


def test_a_spring_keeps_what_it_holds_from_moving():
    """A stiff joint that is not named stays, so that the whole arm is felt; a slack one lets its part go."""

    def inertia(stiffness):
        b = kl.Builder("arm")
        b.body("upper", axis="y", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
        b.body("lower", "upper", axis="y", at=(1, 0, 0), mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1),
               stiffness=stiffness)  # fmt: skip
        robot = b.build()
        return felt_inertias(robot, robot.neutral(), ["upper_joint"], FREQUENCY)[0], robot.mass_matrix(robot.neutral())

    slack, M = inertia(0.0)
    stiff, _ = inertia(1e9)
    assert slack == pytest.approx(M[0, 0] - M[0, 1] ** 2 / M[1, 1], rel=1e-9)
    assert stiff == pytest.approx(M[0, 0], rel=1e-5)


def test_base_and_feet_may_rest():
    robot = kl.robots.load("mini_cheetah")
    bodies = bodies_that_may_rest(robot)
    assert bodies[0] == robot.body_names[0] and len(bodies) == 9, "elbows and feet have frames to touch with"
    assert bodies_that_may_rest(kl.robots.load("four_bar")) == [None]


def test_it_is_not_found_where_loops_do_not_follow():
    """A slider at its dead centre does not turn its crank."""
    robot = kl.robots.load("slider_crank").with_independent(["slider_joint"])
    with pytest.raises(SingularConfiguration, match="slider_joint do not determine the motion; choose another"):
        felt_inertias(robot, np.zeros(robot.nq), ["slider_joint"], FREQUENCY)
