"""One environment, by Gymnasium's own checker."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env

from kinloop.learn.single_env import KinloopEnv
from kinloop.learn.vector_env import KinloopVectorEnv
from tests.learn.small_tasks import Balancing


def test_it_passes_gymnasiums_checker():
    check_env(KinloopEnv(Balancing(push=1.0, latency=(0.0, 0.02))), skip_render_check=True)


def test_it_does_what_a_row_does():
    task = Balancing(push=1.0)
    single, many = KinloopEnv(task), KinloopVectorEnv(task, 4)
    seen, _ = single.reset(seed=12)
    assert np.array_equal(seen, many.reset(seed=10)[0][2])
    for _ in range(5):
        a, b = single.step(np.array([0.3])), many.step(np.full((4, 1), 0.3))
        assert np.array_equal(a[0], b[0][2]) and a[1] == b[1][2]
