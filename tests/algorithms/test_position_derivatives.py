"""Derivatives of steps and differences of configurations, with respect to all numbers of q."""

from functools import partial

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.algorithms import position_derivatives as pd
from kinloop.clusters import grow
from kinloop.clusters.closing import close_step
from kinloop.model import Builder
from tests.helpers import EVERY_KIND, comfortable, differences, relative

H = 2e-4


def traced(call, tree, *given):
    sizes = {f"x{k}": len(x) for k, x in enumerate(given)}
    return [*sc.trace(partial(call, tree), sizes).named(*given).values()]


def ball_in_a_loop():
    """A loop of balls and pins: of a ball only some coordinates are independent."""
    b = Builder("balls")
    bar = {"mass": 1.0, "com": (0.2, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}
    b.body("base", joint="free", mass=2.0, inertia=(0.1, 0.1, 0.1))
    b.body("left", "base", joint="spherical", at=(-0.3, 0.0, 0.0), **bar)
    b.body("right", "base", joint="spherical", at=(0.3, 0.0, 0.0), **bar)
    b.loop("pin", "left", "right", "spherical", at=(0.45, 0.1, 0.0), at_successor=(-0.15, 0.1, 0.0))
    return grow(b.mechanism())


def check(tree, q, v):
    rng = np.random.default_rng(0)
    v = 0.3 * v / (1.0 + np.linalg.norm(v))
    dy, dv, dt, ddt = rng.normal(size=tree.nv), rng.normal(size=tree.nv), 0.7, 0.4
    start = differences(lambda s: close_step(tree, q, s * dy), H)
    end = close_step(tree, q, v * dt)
    (found,) = traced(pd.stepped, tree, q, v, np.array([dt]))
    assert relative(found, end) < 1e-12

    def moved(s):
        return close_step(tree, close_step(tree, q, s * dy), (v + s * dv) * (dt + s * ddt))

    scale = 1.0 + np.abs(start).max()
    (pushed,) = traced(pd.stepped_pushforward, tree, q, v, np.array([dt]), start, dv, np.array([ddt]))
    assert relative(pushed, differences(moved, H), scale) < 1e-8
    weights = rng.normal(size=len(q))
    bars = traced(pd.stepped_pullback, tree, q, v, np.array([dt]), weights)
    back = bars[0] @ start + bars[1] @ dv + bars[2][0] * ddt
    assert abs(back - weights @ pushed) < 1e-11 * np.linalg.norm(weights) * scale * 10.0

    (gap,) = traced(pd.difference, tree, q, end)
    turn = rng.normal(size=tree.nv)
    arrival = differences(lambda s: close_step(tree, end, s * turn), H)
    (pushed,) = traced(pd.difference_pushforward, tree, q, end, start, arrival)
    measured = differences(
        lambda s: pd.positions.difference(tree, close_step(tree, q, s * dy), close_step(tree, end, s * turn)), H
    )
    assert relative(pushed, measured, scale) < 1e-8
    weights = rng.normal(size=len(gap))
    bars = traced(pd.difference_pullback, tree, q, end, weights)
    assert abs(bars[0] @ start + bars[1] @ arrival - weights @ pushed) < 1e-11 * np.linalg.norm(weights) * scale * 10.0


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_steps_and_differences_have_exact_derivatives(kind):
    s = comfortable(kind, 3)
    check(s.tree, s.q, s.v)


def test_balls_that_turn_in_part_have_exact_derivatives():
    tree = ball_in_a_loop()
    assert pd.turns_in_part(tree)
    q = close_step(tree, tree.top.neutral(), 0.2 * np.random.default_rng(1).normal(size=tree.nv))
    check(tree, q, np.random.default_rng(2).normal(size=tree.nv))
