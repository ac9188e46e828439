"""Sine and cosine to 2 ulp below 1e5, correct beyond, with and without FMA."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function, core
from kinloop.compiler.run.host import host

PI_60 = Fraction(3141592653589793238462643383279502884197169399375105820974944592307816406286, 10**75)
EXTENDED = np.finfo(np.longdouble).nmant > 60


def make(dtype="float64"):
    def body(x):
        return {"s": np.array([sc.sin(x[0])], dtype=object), "c": np.array([sc.cos(x[0])], dtype=object)}

    return compile_function(sc.trace(body, {"x": 1}), dtype=dtype, cache=False)


@pytest.fixture(params=[True, False], ids=["fma", "no fma"])
def sincos(request, monkeypatch):
    target = host()
    if request.param and not target.fma:
        pytest.skip("this CPU has no FMA")
    changed = dataclasses.replace(target, fma=request.param)
    monkeypatch.setattr(core, "host", lambda: changed)
    return make()


def ulps(got, exact):
    """Distance in units of the last place of the exact result; `exact` has more digits than a double."""
    return np.abs((got - exact) / np.spacing(np.abs(exact.astype(float)))).astype(float)


def angles():
    rng = np.random.default_rng(0)
    turns = np.arange(1, 63661) * (np.pi / 2)
    near = [turns, np.nextafter(turns, 0), np.nextafter(turns, np.inf)]
    between = (np.arange(63660) + 0.5) * (np.pi / 2)
    spread = [rng.uniform(-limit, limit, 100_000) for limit in (0.8, 4.0, 100.0, 1e5)]
    tiny = 10.0 ** rng.uniform(-300, 0, 20_000)
    x = np.concatenate([*near, between, *spread, tiny, -tiny])
    return x[np.abs(x) < 1e5]


@pytest.mark.skipif(not EXTENDED, reason="needs long doubles with more digits than doubles")
def test_two_ulp_below_1e5(sincos):
    x = angles()
    s, c = sincos(x[:, None])
    exact = x.astype(np.longdouble)
    assert ulps(s[:, 0], np.sin(exact)).max() < 2
    assert ulps(c[:, 0], np.cos(exact)).max() < 2


def exact_sine(x: float) -> Fraction:
    """The sine of a double near a multiple of pi, by rational arithmetic: an independent witness."""
    x = Fraction(x)
    n = round(x / PI_60)
    r = x - n * PI_60
    total, term = Fraction(0), r
    for k in range(1, 30, 2):
        total += term
        term = -term * r * r / ((k + 1) * (k + 2))
    return -total if n % 2 else total


def test_the_neighbourhood_of_multiples_of_pi_by_rational_arithmetic(sincos):
    n = np.unique(np.geomspace(1, 31830, 200).astype(int))
    x = np.concatenate([n * np.pi, np.nextafter(n * np.pi, 0), np.nextafter(n * np.pi, np.inf)])
    s, _ = sincos(x[:, None])
    for a, got in zip(x, s[:, 0]):
        want = exact_sine(float(a))
        assert abs(Fraction(float(got)) - want) <= 2 * Fraction(float(np.spacing(abs(float(want)))))


def test_huge_angles_are_right_and_leave_their_neighbours_alone(sincos):
    x = np.array([0.3, 1e5, 1.00001e5, 3e8, 1e22, -1e300, 2.0, 1.7e308, -4.0])
    s, c = sincos(x[:, None])
    np.testing.assert_allclose(s[:, 0], np.sin(x), rtol=1e-15)
    np.testing.assert_allclose(c[:, 0], np.cos(x), rtol=1e-15)
    for i, a in enumerate(x):
        one = sincos(np.array([a]))
        assert one[0][0] == s[i, 0] and one[1][0] == c[i, 0]


def test_zeros_keep_their_sign(sincos):
    s, c = sincos(np.array([[0.0], [-0.0]]))
    assert not np.signbit(s[0, 0]) and np.signbit(s[1, 0]) and (c == 1.0).all()


def test_single_precision_rounds_once():
    x = np.random.default_rng(1).uniform(-1e5, 1e5, 20_000).astype(np.float32)
    s, c = make("float32")(x[:, None])
    np.testing.assert_allclose(s[:, 0], np.sin(x.astype(float)), rtol=1.2e-7, atol=1e-12)
    np.testing.assert_allclose(c[:, 0], np.cos(x.astype(float)), rtol=1.2e-7, atol=1e-12)


def test_an_angle_in_any_place_of_a_state_gives_the_same_bits():
    """One state computes its angles side by side in the vector unit: the place must not matter."""
    x = np.random.default_rng(2).uniform(-50, 50, 11)
    many = compile_function(sc.trace(lambda q: np.array([sc.sin(a) for a in q], dtype=object), {"q": 11}), cache=False)
    one = make()
    assert many(x).tobytes() == np.array([one(np.array([a]))[0][0] for a in x]).tobytes()
