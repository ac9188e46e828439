"""Couplings and user functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers import assert_agree

from kinloop import scalar as sc
from kinloop.errors import ModelError
from kinloop.model import Builder
from kinloop.model.topology import Topology

SOLID = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


def pair(couple) -> Topology:
    b = Builder("pair")
    for name in "abc":
        b.body(name, **SOLID, axis="z")
    couple(b)
    return Topology.of(b.mechanism())


KINDS = {
    "gear": (lambda b: b.gear("a_joint", "b_joint", 6.0, 0.5), lambda y: 6 * y + 0.5, lambda y: 6.0, lambda y: 0.0),
    "polynomial": (
        lambda b: b.polynomial("a_joint", "b_joint", (1, 2, 3, 4)),
        lambda y: 1 + 2 * y + 3 * y**2 + 4 * y**3,
        lambda y: 2 + 6 * y + 12 * y**2,
        lambda y: 6 + 24 * y,
    ),
    "constant": (lambda b: b.polynomial("a_joint", "b_joint", (0.3,)), lambda y: 0.3, lambda y: 0.0, lambda y: 0.0),
    "function": (
        lambda b: b.coupling(["a_joint"], ["b_joint"], lambda y: sc.sin(2.0 * y) + 1.0),
        lambda y: math.sin(2 * y) + 1,
        lambda y: 2 * math.cos(2 * y),
        lambda y: -4 * math.sin(2 * y),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_gamma_G_and_g_are_value_slope_and_curvature(kind):
    couple, value, slope, curve = KINDS[kind]
    top = pair(couple)
    c = top.mechanism.couplings[0]
    q, qd = np.array([0.0, 0.7, 0.2]), np.array([0.0, -1.3, 2.0])
    gamma, G, g = c.explicit(top, q, qd)
    assert_agree(gamma, [value(0.7)])
    assert_agree(G, [[slope(0.7)]])
    assert_agree(g, [curve(0.7) * 1.3**2])
    rows = c.rows(top, q, qd)
    assert rows.dofs == [0, 1]
    assert_agree(rows.K, [[1.0, -slope(0.7)]])
    assert_agree(rows.phi, [-value(0.7)])
    assert_agree(rows.k, g)


def test_a_linear_coupling_takes_any_matrix():
    matrix = [[1.0, 2.0]]
    top = pair(lambda b: b.linear(["a_joint"], ["b_joint", "c_joint"], matrix, [0.1]))
    rows = top.mechanism.couplings[0].rows(top, np.array([1.0, 0.2, 0.3]))
    assert_agree(rows.phi, [1.0 - (0.2 + 0.6 + 0.1)])
    assert_agree(rows.K, [[1.0, -1.0, -2.0]])


def test_a_function_of_several_joints_gives_mixed_second_derivatives():
    top = pair(lambda b: b.loop_function("f", ["a_joint", "b_joint"], lambda x, y: [x * y * y, sc.exp(x)]))
    x, y, u, w = 0.4, 0.9, -0.3, 1.1
    rows = top.mechanism.loops[0].rows(top, np.array([x, y, 0.0]), np.array([u, w, 0.0]))
    assert_agree(rows.K, [[y * y, 2 * x * y], [math.exp(x), 0.0]])
    assert_agree(rows.k, [-(4 * y * u * w + 2 * x * w * w), -math.exp(x) * u * u])


def test_joints_of_several_coordinates_come_as_arrays():
    b = Builder("ball")
    b.body("ball", **SOLID, joint="spherical")
    b.loop_function("upright", ["ball_joint"], lambda q: 2 * (q[1] * q[3] - q[0] * q[2]))
    top = Topology.of(b.mechanism())
    q = top.types[0].random(np.random.default_rng(0))
    loop = top.mechanism.loops[0]
    rows = loop.rows(top, q)
    h = 1e-6
    slope = [
        (loop.rows(top, top.integrate(q, h * e)).phi - loop.rows(top, top.integrate(q, -h * e)).phi) / (2 * h)
        for e in np.eye(3)
    ]
    assert_agree(rows.K, np.array(slope).T, cond=1e4)


def branches(x):
    return x if x > 0 else -x


@pytest.mark.parametrize("f", [lambda x: math.sin(x), lambda x: np.sinh(x), branches], ids=["math", "numpy", "if"])
def test_a_function_that_cannot_be_traced_says_how_to_write_it(f):
    top = pair(lambda b: b.loop_function("bend", ["a_joint"], f))
    with pytest.raises(ModelError, match=r"loop 'bend' could not be traced.*write it with kinloop\.scalar functions"):
        top.mechanism.loops[0].rows(top, np.zeros(3))


def test_a_coupling_function_must_return_one_value_per_dependent_joint():
    top = pair(lambda b: b.coupling(["a_joint"], ["b_joint"], lambda y: [y, y], name="two"))
    with pytest.raises(ModelError, match="coupling 'two' returns 2 values for 1 dependent joints; return one value"):
        top.mechanism.couplings[0].explicit(top, np.zeros(3))
