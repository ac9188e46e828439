"""Random graphs that read tables by an index and go over their rows, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import kinloop.scalar as sc

SIZE = 30
ROUNDS = 5


def row_graph(seed: int) -> tuple[Callable[[Any], Any], int]:
    """A function of a vector, and the size of that."""
    rng = np.random.default_rng(seed)
    weights, constants = rng.normal(size=(4, 3)), rng.normal(size=(7, 2))
    pick = rng.permutation(12)[:9].reshape(3, 3)

    def f(x: Any) -> Any:
        x = np.asarray(x)
        table, index, count = x[:12].reshape(4, 3) * weights, x[12:17], x[17]

        def row_of(carry: Any, row: Any, shared: Any) -> Any:
            entry = sc.take(np.asarray(shared[:12]).reshape(4, 3), row[0])
            number = sc.take(constants, row[0] + shared[12])
            return [0.5 * carry[0] + entry @ row[1:4]], [carry[0] + entry[0], sc.sin(number[0] * entry[1]), number[1]]

        rows = np.concatenate([index[:, None], x[18:23, None] * np.ones((1, 3)) + x[None, 23:26]], axis=1)
        (end,), left = sc.scan(row_of, [x[0]], rows, [table.ravel(), x[26:27]], count)
        ids, many = sc.nearest(x[:12] - 0.2, 3)

        def sweep(carry: Any, given: Any, shared: Any) -> Any:
            tables = [np.asarray(shared).reshape(ROUNDS, 3), np.asarray(carry[1:])[:, None]]
            step, new = sc.scan(lambda c, r, s: ([c[0] * s[0] + r[1] * r[3]], [r[3] + r[0]]), [carry[0]], tables, given)
            return np.array([0.1 * step[0], *new[:, 0]], dtype=object)

        begin = np.array([x[1], *x[2:7]])
        swept = sc.repeat(3, sweep, begin, x[27:28], when=x[28] > 0.0, shared=left.ravel())
        taken = [sc.take(table[pick[:, 0] % 4] + 1.0, index[0]), sc.take(x[pick], ids[1]).ravel()]
        return np.array([end, *left.flat, *ids, many, *swept, *taken[0], *taken[1]])

    return f, SIZE


def random_rows(seed: int, count: int) -> np.ndarray:
    """Inputs of such graphs; indices lie within their tables and beyond."""
    rng = np.random.default_rng(100 + seed)
    x = rng.normal(size=(count, SIZE))
    x[:, 12:17], x[:, 17] = rng.integers(-1, 6, size=(count, 5)), rng.integers(-1, 8, size=count)
    x[:, 26] = rng.integers(0, 4, size=count)
    return x
