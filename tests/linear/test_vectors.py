"""Sums that let constants fold before they meet symbols, and joined vectors."""

from __future__ import annotations

import numpy as np
from helpers import assert_agree

from kinloop import scalar as sc
from kinloop.linear import join, spans, total


def test_a_total_is_the_sum():
    parts = [np.full((2, 2), float(k)) for k in range(4)]
    assert_agree(total(parts), np.full((2, 2), 6.0))
    assert total(parts[1:2]) is parts[1]
    f = sc.trace(lambda x: total([x, np.ones(2), x * x, np.ones(2)]), {"x": 2})
    assert_agree(f([1.0, 3.0]), [4.0, 14.0])


def test_constants_meet_before_symbols_do():
    f = sc.trace(lambda x: total([x, np.ones(2), x * x, -np.ones(2)]), {"x": 2})
    assert f.operations == {"mul": 2, "add": 2, "total": 4}


def test_joined_parts_lie_in_their_spans():
    parts = [np.arange(3.0), np.zeros(0), np.array([7.0])]
    whole = join(parts)
    for part, at in zip(parts, spans([len(p) for p in parts]), strict=True):
        np.testing.assert_array_equal(whole[at], part)
    assert join([]).shape == (0,) and spans([]) == []
