"""Machine code and the memory it works in."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.compiler.run import variant
from tests.compiler.graphs import random_function, random_states


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="the system has no huge pages")
def test_large_scratch_arrays_lie_on_huge_pages_and_change_no_bit(monkeypatch):
    function = random_function(7)
    q, v = random_states(np.random.default_rng(2), 21)
    plain = [x.tobytes() for x in compile_function(function, cache=False)(q, v)]
    monkeypatch.setattr(variant, "LARGE", 0)
    kernel = compile_function(function, cache=False)
    assert [x.tobytes() for x in kernel(q, v)] == plain
    made = kernel.compile(batch=True)._core.variants[kernel.lanes]
    assert made._scratch() % variant.HUGE_PAGE == 0
    assert made._local.memory.size >= made.scratch_bytes + variant.HUGE_PAGE


def test_rows_longer_than_what_is_fetched_ahead_are_read_whole():
    function = sc.trace(lambda x: np.array([np.sum(x), x[-1]], dtype=object), {"x": 300})
    kernel = compile_function(function, cache=False)
    x = np.random.default_rng(0).normal(size=(37, 300))
    found = kernel(x)
    assert found.tobytes() == np.stack([kernel(row) for row in x]).tobytes()
    np.testing.assert_allclose(found[:, 0], x.sum(axis=1), rtol=1e-12, atol=1e-12)
