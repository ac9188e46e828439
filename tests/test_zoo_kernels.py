"""Kernels of every robot of the zoo: equal to the NumPy path, and the same bits however they are run."""

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers import assert_agree

import kinloop as kl
from kinloop.clusters import conditioning

QUANTITIES = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "inverse_osim")


@pytest.mark.parametrize("name", kl.robots.names())
@pytest.mark.sample(6)
def test_kernels_equal_the_numpy_path(name):
    robot = kl.robots.load(name)
    plain = kl.Robot.from_tree(robot.tree, backend="numpy")
    rng = np.random.default_rng(3)
    q, v = robot.random_state(rng)
    a, tau = rng.normal(size=(2, robot.nv))
    cond = conditioning(robot.tree, q) * float(np.linalg.cond(plain.mass_matrix(q))) if robot.nv else 1.0
    frames = [robot.frame_names[-1], robot.body_names[0]]
    given = {"forward_dynamics": (q, v, tau), "inverse_dynamics": (q, v, a)}
    for quantity in QUANTITIES:
        options = {"frames": frames} if quantity == "inverse_osim" else {}
        found = robot.compute(quantity, *given.get(quantity, (q,)), **options)
        expected = plain.compute(quantity, *given.get(quantity, (q,)), **options)
        # 1e-13, scaled by conditioning: the one tolerance of the tests is 1e3 eps = 2e-13
        assert_agree(found, expected, cond, f"{name} {quantity}")


@pytest.fixture(scope="module")
def cheetah():
    robot = kl.robots.load("mini_cheetah")
    rng = np.random.default_rng(0)
    states = [robot.random_state(rng) for _ in range(64)]
    Q = np.tile(np.array([s[0] for s in states]), (64, 1))
    V = np.tile(np.array([s[1] for s in states]), (64, 1))
    return robot, Q, V, rng.normal(size=(4096, robot.nv))


def test_results_do_not_depend_on_batch_size_order_or_threads(cheetah):
    robot, Q, V, tau = cheetah
    kernel = robot.compile("forward_dynamics")
    whole = kernel(Q, V, tau, threads=1)
    assert np.array_equal(kernel(Q, V, tau, threads=2), whole)
    for size in (1, 7, 64):
        assert np.array_equal(kernel(Q[:size], V[:size], tau[:size]), whole[:size])
    order = np.random.default_rng(1).permutation(4096)
    assert np.array_equal(kernel(Q[order], V[order], tau[order]), whole[order])
    assert np.array_equal(kernel(Q[5], V[5], tau[5]), whole[5])


def test_a_bad_row_is_reported_and_touches_no_other(cheetah):
    robot, Q, V, tau = cheetah
    kernel = robot.compile("forward_dynamics")
    whole = kernel(Q[:100], V[:100], tau[:100])
    for bad in (np.nan, np.inf):
        spoiled = V[:100].copy()
        spoiled[42, 7] = bad
        with pytest.raises(kl.KinloopError, match="42"):
            kernel(Q[:100], spoiled, tau[:100])
        out = kernel(Q[:100], spoiled, tau[:100], on_nonfinite="nan")
        assert np.all(np.isnan(out[42]))
        assert np.array_equal(np.delete(out, 42, axis=0), np.delete(whole, 42, axis=0))


SCRIPT = """
import numpy as np, kinloop as kl
robot = kl.robots.load("planar_leg_linkage")
q, v = robot.random_state(5)
print(robot.forward_dynamics(np.tile(q, (9, 1)), v, np.ones(2)).tobytes().hex())
"""


def test_a_fresh_a_cached_and_another_process_s_kernel_give_the_same_bits(tmp_path):
    env = dict(os.environ, KINLOOP_CACHE_DIR=str(tmp_path))
    fresh, cached = (
        subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    off = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env | {"KINLOOP_CACHE": "off"}, capture_output=True, text=True, check=True
    ).stdout
    assert fresh == cached == off
    assert fresh.strip()
