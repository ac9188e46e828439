"""Shortest solutions: those of the pseudoinverse, on numbers and on symbols, also of rows that are nearly dependent."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree

from kinloop import scalar as sc
from kinloop.linear import shortest_solution


@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (1, 1), (1, 4), (2, 3), (4, 4), (5, 9)])
def test_it_is_what_the_pseudoinverse_gives(rows, columns):
    rng = np.random.default_rng(rows)
    A, b = rng.normal(size=(rows, columns)), rng.normal(size=rows)
    expected = np.linalg.pinv(A) @ b if rows else np.zeros(columns)
    found = shortest_solution(A, b)
    assert_agree(found, expected, np.linalg.cond(A) if rows else 1.0)
    traced = sc.trace(
        lambda A, b: {"x": shortest_solution(A.reshape(rows, columns), b)}, {"A": rows * columns, "b": rows}
    )
    assert_agree(traced(A.ravel(), b), found, scale=1.0)


@pytest.mark.parametrize("apart", [1e-3, 1e-6])
def test_rows_that_are_nearly_dependent_lose_no_more_digits_than_they_must(apart):
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(4, 7)), rng.normal(size=4)
    A[3] = A[0] + A[1] + apart * A[3]
    b = A @ (A.T @ x)
    found = shortest_solution(A, b)
    assert_agree(A @ found, b, scale=1.0)
    assert_agree(found, A.T @ x, np.linalg.cond(A))


def test_columns_of_zeros_stay_out_of_it():
    A = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, -1.0]])
    x = sc.trace(lambda b: {"x": shortest_solution(A, b)}, {"b": 2}).outputs["x"]
    assert x[1] == 0.0
