"""What peers need to know of a robot, and what is said of those that are missing."""

import sys

import numpy as np
import pytest

from kinloop import robots
from kinloop.bench import peers_mujoco, peers_pinocchio
from kinloop.bench.peers import batch_for, make_problem, missing, spanning_force


def test_forces_stand_on_the_independent_joints():
    x = make_problem(robots.load("four_bar"))
    force = spanning_force(x)
    assert force[x.robot.tree.independent_dofs].tolist() == x.tau.tolist()
    assert np.count_nonzero(force) == 1


def test_batches_take_about_a_millisecond():
    assert batch_for(1e-6) == 1000 and batch_for(1.0) == 4 and batch_for(0.0) == 4096


def test_missing_peers_are_named_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    assert missing()["pinocchio"] == "pinocchio is not installed: pip install 'kinloop[peers]'"


@pytest.mark.skipif(bool(missing()), reason="pip install 'kinloop[peers]'")
def test_what_peers_cannot_express_they_do_not_answer():
    assert not peers_pinocchio.forward_peers(make_problem(robots.load("belt_chain", links=2)))
    assert not peers_mujoco.forward_peers(make_problem(robots.load("rssr")))
    assert not peers_pinocchio.forward_peers(make_problem(robots.load("stewart")))
