"""Sums over the parts of rows that are there are those over all of them."""

from __future__ import annotations

import numpy as np

import kinloop.scalar as sc
from kinloop.compiler import compile_function
from kinloop.sim.contact.sparse_rows import Part, products, pushed, velocities

PARTS = [[1, 4], [2], [5, 6, 7], [0, 3]]
N, K = 8, 3


def given(rng, rows):
    """Rows z that are zero in some parts, u, w, x, and signs that parts are absent; the last part never is."""
    z, absent = rng.normal(size=(rows, K, N)), rng.integers(0, 2, (rows, len(PARTS) - 1)).astype(float)
    absent[8:16] = absent[8]  # lanes that agree
    for n, at in enumerate(PARTS[:-1]):
        z[np.ix_(np.flatnonzero(absent[:, n]), range(K), at)] = 0.0
    return np.hstack([z.reshape(rows, -1), rng.normal(size=(rows, K + N + K)), absent])


def sums(values):
    z, u, w, x, absent = np.split(values, np.cumsum([K * N, K, N, K]))
    z, parts = z.reshape(K, N), [Part(at, a) for at, a in zip(PARTS, (*absent, False), strict=True)]
    return np.concatenate([velocities(parts, u, z, w), pushed(parts, w, z, x), products(parts, z).ravel()])


def test_sums_are_those_of_dense_rows():
    rows = given(np.random.default_rng(0), 24)
    for row in rows:
        z, u, w, x, _ = np.split(row, np.cumsum([K * N, K, N, K]))
        z = z.reshape(K, N)
        dense = np.concatenate([u + z @ w, w + z.T @ x, (z @ z.T).ravel()])
        np.testing.assert_allclose(sums(row).astype(float), dense, rtol=1e-13, atol=1e-14)


def test_a_state_computes_what_it_does_alone():
    """What is absent in a state is not even looked at: the rows may hold anything there."""
    kernel = compile_function(sc.trace(lambda v: sums(v), {"v": K * N + 2 * K + N + len(PARTS) - 1}), cache=False)
    rows = given(np.random.default_rng(1), 24)
    alone = np.array([kernel(row) for row in rows])
    assert kernel(rows).tobytes() == alone.tobytes()
    np.testing.assert_allclose(alone, np.array([sums(row) for row in rows]).astype(float), rtol=1e-13, atol=1e-14)
    for row in rows:
        row[: K * N].reshape(K, N)[:, [k for at, a in zip(PARTS, row[-3:], strict=False) if a for k in at]] = 1e300
    assert kernel(rows).tobytes() == alone.tobytes()
