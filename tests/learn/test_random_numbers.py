"""Random numbers inside kernels: the published generator, exactly, wherever it is computed."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop import compiler
from kinloop import scalar as sc
from kinloop.errors import MethodError
from kinloop.learn.random_numbers import M1, M2, STREAM, Draws, streams


def exact(stream):
    """The generator in whole numbers of any size."""
    x, y, m1, m2 = [int(a) for a in stream[:3]], [int(a) for a in stream[3:]], int(M1), int(M2)
    while True:
        x = [x[1], x[2], (1403580 * x[1] - 810728 * x[0]) % m1]
        y = [y[1], y[2], (527612 * y[2] - 1370589 * y[0]) % m2]
        yield ((x[2] - y[2]) % m1 or m1) / (m1 + 1)


@pytest.mark.parametrize("start", [[12345.0] * 6, [M1 - 1.0] * 3 + [M2 - 1.0] * 3, [0, 0, 1.0, 0, 0, 1.0]])
def test_numbers_are_those_of_exact_arithmetic(start):
    draws, reference = Draws(start), exact(start)
    for _ in range(2000):
        assert draws.uniform() == pytest.approx(next(reference), rel=1e-15)


def test_kernels_carry_the_same_streams_bit_for_bit():
    def call(stream):
        draws = Draws(stream)
        return {"x": np.array([*draws.uniform(-1.0, 3.0, 5), *draws.normal(size=3)]), "after": draws.stream}

    kernel = compiler.compile_function(sc.trace(call, {"stream": STREAM}), cache=False)
    rows = streams(range(37))
    x, after = kernel(rows, threads=2)
    for k in (0, 9, 36):
        alone = call(rows[k])
        assert np.array_equal(after[k], alone["after"])
        np.testing.assert_allclose(x[k], alone["x"], rtol=1e-13)  # a kernel rounds a product and a sum once
        assert np.array_equal(kernel(rows[k])[0], x[k])


def test_numbers_are_spread_as_they_should_be():
    draws = [Draws(s) for s in streams(range(400))]
    x = np.array([[d.uniform() for _ in range(50)] for d in draws])
    assert 0.0 < x.min() < 1e-3 and 0.999 < x.max() < 1.0
    assert abs(x.mean() - 0.5) < 5 * np.sqrt(1 / 12 / x.size)
    assert abs(np.corrcoef(x[:-1].ravel(), x[1:].ravel())[0, 1]) < 5 / np.sqrt(x.size)  # neighbouring seeds
    assert abs(np.corrcoef(x[:, :-1].ravel(), x[:, 1:].ravel())[0, 1]) < 5 / np.sqrt(x.size)
    counts = np.histogram(x, 16, (0, 1))[0]
    assert np.sum((counts - x.size / 16) ** 2) / (x.size / 16) < 45  # chi squared, 15 degrees of freedom
    z = np.array([d.normal(2.0, 3.0) for d in draws for _ in range(20)])
    assert abs(z.mean() - 2.0) < 5 * 3 / np.sqrt(z.size) and abs(z.std() - 3.0) < 0.15
    assert abs(np.mean([d.happens(0.3) for d in draws for _ in range(20)]) - 0.3) < 0.03


def test_seeds_have_streams_of_their_own():
    found = streams([*range(1000), 2**63, 2**64 - 1])
    assert len(np.unique(found, axis=0)) == len(found)
    assert np.all(found >= 1) and np.all(found[:, :3] < M1) and np.all(found[:, 3:] < M2)
    assert np.array_equal(found, np.floor(found))
    with pytest.raises(MethodError, match=r"seed -1 is negative; give whole numbers from 0 on"):
        streams([3, -1])
