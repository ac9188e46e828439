"""The robot and the states on which kernels are tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import kinloop as kl


def four_bar(length: float = 0.4, independent: tuple[str, ...] = ()) -> kl.Mechanism:
    b = kl.Builder("four_bar")
    solid = {"mass": 1.0, "inertia": (0.01, 0.01, 0.01)}
    b.body("crank", axis="y", **solid)
    b.body("coupler", "crank", axis="y", at=(length, 0, 0), **solid)
    b.body("rocker", axis="y", at=(1.2, 0, 0), **solid)
    b.loop("pin", "coupler", "rocker", axis="y", at=(1.0, 0, 0), at_successor=(0.8, 0, 0))
    return replace(b.mechanism(), independent=independent)


def state(robot: kl.Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q, v = robot.random_state(rng)
    return q, v, rng.normal(size=robot.nv)
