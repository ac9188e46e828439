"""Blocks of random states that all laws share: 100 mechanisms x 3 states by default, 10^4 with the slow ones.

    pytest tests/algorithms -m "slow or not slow" -n auto          # all 10^4 mechanisms

A failure names its mechanism as "kind (seed n)"; `helpers.mechanism_of(n)` makes it again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers import State, assert_enough, states

import kinloop as kl

FEW = [pytest.param((10, 10 * b), id=f"seeds {10 * b}-{10 * b + 9}") for b in range(10)]
REST = [pytest.param((10, 10 * b), id=f"seeds {10 * b}-{10 * b + 9}", marks=pytest.mark.slow) for b in range(10, 30)]
MANY = [pytest.param((100, s), id=f"seeds {s}-{s + 99}", marks=pytest.mark.slow) for s in range(300, 10000, 100)]


@pytest.fixture(scope="session", params=FEW + REST + MANY)
def block(request: pytest.FixtureRequest) -> list[State]:
    return _states(*request.param, per=3)


@pytest.fixture(scope="session", params=(FEW + REST)[::3])
def small_block(request: pytest.FixtureRequest) -> list[State]:
    """One state per mechanism, for laws that need a trace or another mechanism."""
    return _states(*request.param, per=1)


def _states(n: int, seed: int, per: int) -> list[State]:
    found = list(states(n, seed, per=per))
    assert_enough(len(found), 0.9 * n * per, "states")
    return found


@pytest.fixture(scope="module")
def arm() -> kl.Robot:
    """An arm that carries a four-bar whose crank carries a tip: small, with all three axes and gravity at work."""
    b = kl.Builder("arm")

    def solid(seed: int) -> dict[str, object]:
        rng = np.random.default_rng(seed)
        return {"mass": 1.0 + seed, "com": rng.normal(size=3) / 5, "inertia": 0.1 + rng.uniform(0, 0.1, 3)}

    b.body("base", axis="z", **solid(0))
    b.body("crank", "base", axis="y", at=(0.1, 0, 0.2), **solid(1))
    b.body("coupler", "crank", axis="y", at=(0.4, 0, 0), **solid(2))
    b.body("rocker", "base", axis="y", at=(1.3, 0, 0.2), **solid(3))
    b.loop("pin", "coupler", "rocker", axis="y", at=(1.0, 0, 0), at_successor=(0.8, 0, 0))
    b.body("tip", "crank", axis="x", at=(0.2, 0, 0.1), **solid(4))
    return replace(b.mechanism(), independent=("crank_joint",)).build(backend="numpy")
