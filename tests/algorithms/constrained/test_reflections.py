"""Reflections: orthogonal, their own inverse, and free of arithmetic where nothing needs turning."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree

from kinloop import scalar as sc
from kinloop.algorithms.constrained.reflections import pivot_columns, reflect, reflected


@pytest.mark.parametrize(("r", "m"), [(2, 1), (4, 2), (6, 3)])
def test_reflected_rows_leave_nothing_below_the_rank(r, m):
    Y = np.random.default_rng(r).normal(size=(r, m))
    columns, _ = pivot_columns(Y, 1e-12)
    turns, T = reflect(Y.copy(), columns)
    assert len(columns) == m
    assert_agree(T, reflected(turns, Y), 10.0, scale=1.0)
    assert_agree(T[m:], np.zeros((r - m, m)))
    assert_agree(T.T @ T, Y.T @ Y, 10.0)
    assert_agree(reflected(turns[::-1], T), Y, 10.0)


def test_symbols_are_reflected_as_numbers_are():
    Y = np.random.default_rng(0).normal(size=(4, 2))
    columns, _ = pivot_columns(Y, 1e-12)
    traced = sc.trace(lambda y: reflect(y.reshape(4, 2), columns)[1], {"y": 8})
    assert_agree(traced(Y.ravel()), reflect(Y.copy(), columns)[1], 10.0, scale=1.0)


def test_a_column_with_one_entry_is_exchanged_without_arithmetic():
    x = sc.Graph().inputs("x", 1)[0]
    Y = np.array([[0.0], [0.0], [x]], dtype=object)
    turns, T = reflect(Y, (0,))
    assert len(turns) == 1 and turns[0].w is None
    assert T[0, 0] is x and T[1, 0] == T[2, 0] == 0.0


def test_columns_that_move_nothing_are_not_pivots():
    Y = np.array([[1.0, 1e-9], [0.0, 1e-9]])
    columns, lengths = pivot_columns(Y, 1e-6)
    assert columns == (0,) and lengths[0] == 1.0
