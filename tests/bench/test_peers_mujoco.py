"""MuJoCo agrees with dense_kkt as far as its soft loops let it."""

import pytest

from kinloop import robots
from kinloop.bench import peers_mujoco
from kinloop.bench.contenders import relative_error
from kinloop.bench.peers import make_problem, missing

pytestmark = pytest.mark.skipif("mujoco" in missing(), reason="pip install 'kinloop[peers]'")


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "skid_rover", "belt_chain"])
def test_mujoco_agrees_softly(name):
    x = make_problem(robots.load(name, **({"links": 2} if name == "belt_chain" else {})))
    (p,) = peers_mujoco.forward_peers(x)
    exact = x.robot.forward_dynamics(x.q, x.v, x.tau, method="dense_kkt")
    assert relative_error(p.result(), exact) < 1e-3


def test_steps_and_batches_are_counted():
    x = make_problem(robots.load("four_bar"))
    (step,), (batch,) = peers_mujoco.step_peers(x), peers_mujoco.batch_peers(x, 1)
    step.call()
    batch.call()
    batch.close()
    assert step.states == peers_mujoco.STEPS
    assert batch.states % peers_mujoco.STEPS == 0


def test_impossible_inertias_are_named():
    assert peers_mujoco.impossible_inertias(robots.load("double_pendulum")) == ["link1", "link2"]
    assert peers_mujoco.impossible_inertias(robots.load("slider_crank")) == []
