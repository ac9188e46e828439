"""Blocks of random states that all laws share: 300 mechanisms x 3 states by default, 10^4 with the slow ones.

    pytest tests/algorithms -m "slow or not slow" -n auto          # all 10^4 mechanisms

A failure names its mechanism as "kind (seed n)"; `helpers.mechanism_of(n)` makes it again.
"""

from __future__ import annotations

import pytest
from helpers import State, assert_enough, states

FEW = [pytest.param((10, 10 * b), id=f"seeds {10 * b}-{10 * b + 9}") for b in range(30)]
MANY = [pytest.param((100, s), id=f"seeds {s}-{s + 99}", marks=pytest.mark.slow) for s in range(300, 10000, 100)]


@pytest.fixture(scope="session", params=FEW + MANY)
def block(request: pytest.FixtureRequest) -> list[State]:
    return _states(*request.param, per=3)


@pytest.fixture(scope="session", params=FEW[::3])
def small_block(request: pytest.FixtureRequest) -> list[State]:
    """One state per mechanism, for laws that need a trace or another mechanism."""
    return _states(*request.param, per=1)


def _states(n: int, seed: int, per: int) -> list[State]:
    found = list(states(n, seed, per=per))
    assert_enough(len(found), 0.9 * n * per, "states")
    return found
