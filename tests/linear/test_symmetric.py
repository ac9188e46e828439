"""Symmetric products: numpy's on numbers, one triangle of arithmetic on symbols."""

from __future__ import annotations

import numpy as np
from helpers import assert_agree

from kinloop import scalar as sc
from kinloop.linear import gram, mirror, symmetric_product


def test_products_are_numpys():
    rng = np.random.default_rng(0)
    a, M = rng.normal(size=(3, 5)), np.diag([1.0, 2.0, 3.0, 4.0, 5.0])
    assert_agree(symmetric_product(a @ M, a), a @ M @ a.T)
    assert_agree(gram(a.T, M @ a.T), a @ M @ a.T)
    f = sc.trace(lambda x: gram(x.reshape(3, 5).T, M @ x.reshape(3, 5).T), {"x": 15})
    assert_agree(f(a.ravel()), a @ M @ a.T)


def test_symbols_pay_for_one_triangle():
    def product(x):
        return symmetric_product(x.reshape(3, 1), x.reshape(3, 1))

    out = sc.trace(product, {"x": 3})
    assert out.operations == {"mul": 6, "total": 6}
    assert all(out.outputs["out"][i, j] is out.outputs["out"][j, i] for i in range(3) for j in range(3))


def test_a_mirror_shows_the_upper_triangle():
    A = np.array([[1.0, 2.0], [2.0, 3.0]])
    assert_agree(mirror(A), A)
    x = sc.Graph().inputs("x", 4).reshape(2, 2)
    out = mirror(x)
    assert out[1, 0] is x[0, 1] and out[0, 1] is x[0, 1] and x[1, 0] is not x[0, 1]
