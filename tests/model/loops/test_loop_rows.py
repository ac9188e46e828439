"""Rows of several closures together."""

from __future__ import annotations

import numpy as np
from helpers import mechanisms

from kinloop.clusters import random_closed
from kinloop.model import LoopRows, stacked_rows


def test_stacked_rows_put_each_part_in_its_place():
    r = next(mechanisms(1, seed=3, kind="several"))
    q = random_closed(r.tree, r.rng)
    n = r.tree.top.n_spanning
    both = stacked_rows(r.tree.top, r.mechanism.loops, range(n), q)
    each = [stacked_rows(r.tree.top, [p], range(n), q) for p in r.mechanism.loops]
    np.testing.assert_array_equal(both.K, np.concatenate([x.K for x in each]))
    np.testing.assert_array_equal(both.phi, np.concatenate([x.phi for x in each]))
    assert stacked_rows(r.tree.top, [], range(n), q).K.shape == (0, n)


def test_columns_of_other_coordinates_are_left_out():
    r = next(mechanisms(1, seed=3, kind="several"))
    q = random_closed(r.tree, r.rng)
    n = r.tree.top.n_spanning
    whole = stacked_rows(r.tree.top, r.mechanism.loops, range(n), q)
    some = [n - 1, 0]
    np.testing.assert_array_equal(stacked_rows(r.tree.top, r.mechanism.loops, some, q).K, whole.K[:, some])


def test_no_rows_have_the_shape_of_their_coordinates():
    rows = LoopRows.none(range(4))
    assert (rows.dofs, rows.phi.shape, rows.K.shape, rows.k.shape) == ([0, 1, 2, 3], (0,), (0, 4), (0,))
