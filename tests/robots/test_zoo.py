"""The zoo as a whole: every robot builds, closes, moves; options and mistakes are handled in words."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.errors import MethodError, UnknownName

from .numpy_robots import build


@pytest.fixture(scope="module", params=kl.robots.names())
def robot(request):
    return build(request.param)


def test_neutral_and_random_states_are_closed(robot):
    assert np.max(robot.loop_error(robot.neutral()), initial=0.0) < 1e-9
    for seed in range(3):
        q, _ = robot.random_state(seed)
        assert np.max(robot.loop_error(q), initial=0.0) < 1e-9


def test_forward_dynamics_inverts_inverse_dynamics(robot):
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    tau = robot.inverse_dynamics(q, v, a)
    M = robot.mass_matrix(q)
    scale = np.linalg.cond(M) * np.finfo(float).eps * 1e3
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), a, rtol=0, atol=scale * (1 + np.abs(a).max()))
    np.testing.assert_array_less(0, np.linalg.eigvalsh(M))


def test_has_a_name_and_a_line_about_it(robot):
    assert robot.name in kl.robots.names()
    assert 20 < len(kl.robots.describe(robot.name)) < 110


def test_load_gives_a_robot():
    assert isinstance(kl.robots.load("four_bar"), kl.Robot)


def test_unknown_robot_lists_near_names():
    with pytest.raises(UnknownName, match=r"no robot named 'telo'; did you mean 'tello'"):
        kl.robots.load("telo")


def test_unknown_option_lists_the_options_there_are():
    with pytest.raises(MethodError, match="'geared_chain' has no option 'link'; it takes links, ratio"):
        kl.robots.mechanism("geared_chain", link=3)
    with pytest.raises(MethodError, match="'four_bar' has no option 'name'; it takes none"):
        kl.robots.mechanism("four_bar", name="x")
