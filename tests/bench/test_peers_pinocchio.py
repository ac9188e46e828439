"""Pinocchio agrees with dense_kkt on trees, loops and gears."""

import numpy as np
import pytest

from kinloop import robots
from kinloop.bench import peers_pinocchio
from kinloop.bench.contenders import relative_error
from kinloop.bench.peers import make_problem, missing

pytestmark = pytest.mark.skipif("pinocchio" in missing(), reason="pip install 'kinloop[peers]'")


def exact(x):
    return x.robot.forward_dynamics(x.q, x.v, x.tau, method="dense_kkt")


@pytest.mark.parametrize("name", ["double_pendulum", "four_bar", "six_bar", "bricard", "wishbone", "skid_rover"])
def test_pinocchio_agrees(name):
    x = make_problem(robots.load(name))
    found = {p.name: relative_error(p.result(), exact(x)) for p in peers_pinocchio.forward_peers(x)}
    assert found
    lcaba = found.pop("pinocchio lcaba", 0.0)  # stops at its proximal tolerance
    assert lcaba < 1e-7 and max(found.values(), default=0.0) < 1e-11


def test_pinocchio_answers_again_what_it_answered_first():
    x = make_problem(robots.load("four_bar_chain", links=3))
    peers = peers_pinocchio.forward_peers(x)
    first = [p.result() for p in peers]
    for p, a in zip(peers, first, strict=True):
        np.testing.assert_allclose(p.result(), a, rtol=1e-12)


def test_pinocchio_gears_are_mimic_joints():
    robot = robots.load("geared_chain", links=3)
    x, a = make_problem(robot), np.ones(3)
    (rnea,) = peers_pinocchio.inverse_peers(x, a)
    assert relative_error(rnea.result(), robot.inverse_dynamics(x.q, x.v, a, method="dense_kkt")) < 1e-12
    (crba,) = peers_pinocchio.mass_peers(x)
    assert relative_error(crba.result(), robot.mass_matrix(x.q, method="dense_kkt")) < 1e-12


@pytest.mark.parametrize("make", [lambda: robots.load("serial_chain", links=5), lambda: robots.load("jvrc1_urdf")])
def test_jacobians_of_frames_agree(make):
    x = make_problem(make())
    if x.robot.mechanism.closures:
        assert peers_pinocchio.jacobian_peers(x, x.robot.frame_names[-1]) == []
        return
    for frame in (x.robot.frame_names[0], x.robot.frame_names[-1]):
        (peer,) = peers_pinocchio.jacobian_peers(x, frame)
        np.testing.assert_allclose(peer.result(), x.robot.frame_jacobian(x.q, frame), atol=1e-12)
