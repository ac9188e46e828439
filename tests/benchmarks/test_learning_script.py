"""benchmarks/learning.py: both sides have the same task, so that a comparison of their speeds means something."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("gymnasium")

from benchmarks.learning import MuJoCoVectorEnv, Walk
from kinloop.learn.tasks.legged_machine import go1
from kinloop.learn.vector_env import KinloopVectorEnv

SCENE = Path(__file__).resolve().parents[3] / "shared" / "models" / "menagerie" / "unitree_go1" / "scene.xml"


@pytest.mark.skipif(not SCENE.exists(), reason="the Menagerie is not there")
def test_go1_is_seen_and_rewarded_alike_and_moves_alike():
    task = Walk(go1(SCENE), 100)
    ours, theirs = KinloopVectorEnv(task, 8), MuJoCoVectorEnv(SCENE, task, 8, 1, False)
    ours.reset(seed=0), theirs.reset()
    state = ours.rows.state()
    m, q, qd = theirs.model, state.q, state.qd
    w, x, y, z = q[:, 3:7].T
    theirs.state[:, theirs.q] = q
    theirs.state[:, 1 + m.nq + 3 : 1 + m.nq + 6] = qd[:, :3]
    R = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                  [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                  [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])  # fmt: skip
    theirs.state[:, 1 + m.nq : 1 + m.nq + 3] = np.einsum("ijb,bj->bi", R, qd[:, 3:6])
    theirs.command[:] = ours.kernels.carried.split(ours.rows.carried)["command"]
    np.testing.assert_allclose(theirs._observe()[0], ours.rows.observations(slice(None)), atol=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(4):  # 80 ms: the feet come down
        action = np.clip(0.3 * rng.normal(size=(8, 12)), -1, 1)
        a, b = ours.step(action), theirs.step(action)
    apart = np.abs(a[0] - b[0])
    assert np.median(apart) < 0.02 and apart[:, :3].max() < 0.05, "they fall and land together, hard feet and soft"
    assert ours.rows.state().q[:, 2] == pytest.approx(theirs.state[:, 3], abs=0.02)
    assert a[1] == pytest.approx(b[1], abs=0.15), "but for the feet in step"
