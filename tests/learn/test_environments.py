"""Environments by name, as Gymnasium makes them."""

from __future__ import annotations

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from kinloop.learn.environments import TASKS, KinloopVectorEnv  # noqa: E402

PREFIX = "kinloop.learn.environments:kinloop/"


def test_every_task_is_registered():
    known = {spec for spec in gymnasium.registry if spec.startswith("kinloop/")}
    assert known == {f"kinloop/{name}-v0" for name in TASKS}


def test_gymnasium_makes_one_and_many():
    env = gymnasium.make(f"{PREFIX}PlanarLegHop-v0", rise=(0.03, 0.03))
    check_env(env.unwrapped, skip_render_check=True)
    many = gymnasium.make_vec(
        f"{PREFIX}PlanarLegHop-v0", num_envs=6, vectorization_mode="vector_entry_point", autoreset="same_step",
        dtype="float32",
    )  # fmt: skip
    assert isinstance(many.unwrapped, KinloopVectorEnv)
    seen, _ = many.reset(seed=0)
    assert seen.shape == (6, 12) and seen.dtype == np.float32
