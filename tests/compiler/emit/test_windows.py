"""Windows: pointers next to the slots that are used most make code smaller, and change nothing else."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from kinloop.compiler import compile_function
from kinloop.compiler.emit import windows
from kinloop.compiler.emit.vector_type import Vector
from kinloop.compiler.emit.windows import FEWEST, MOST, WIDE, find_windows, used_slots, window_width
from kinloop.compiler.plan.stage_types import Plan, Segment
from tests.compiler.graphs import random_function, random_states


def test_windows_begin_where_most_slots_of_use_lie_together():
    slots = {38: 1, 70: 9, 71: 2, 200: 3, 231: 4, 232: 9, 5000: FEWEST - 1}
    assert find_windows(slots, 32) == [231, 70]
    assert find_windows({**slots, 5001: 1}, 32) == [231, 70, 5000]
    assert find_windows({3: 100, 15: 7}, 32) == []  # near the beginning as they are
    many = {100 * k: FEWEST + k for k in range(1, MOST + 4)}
    assert find_windows(many, 32) == [100 * k for k in range(MOST + 3, 3, -1)]


def test_slots_are_counted_as_a_segment_uses_them():
    operations = {5: ("add", (0, 1)), 6: ("mul", (5, 1)), 7: ("neg", (4,))}
    plan = Plan(2, 1, 9, (), operations, {0: 0, 1: 1, 4: 6}, {6: (2, 7), 7: (8,)})
    segment = Segment((5, 6, 7), ((0, 5), (0.5, 8)))
    assert used_slots(plan, segment) == Counter({0: 1, 1: 1, 6: 1, 2: 1, 7: 1, 8: 2, 5: 1})


def test_windows_are_as_wide_as_a_byte_reaches():
    assert [window_width(Vector(1, real)) for real in ("double", "float")] == [32, 64]
    assert [window_width(Vector(64 // n, real)) for n, real in ((8, "double"), (4, "float"))] == [256, 256]
    assert window_width(Vector(4, "double")) == 0  # instructions on 256 bits count bytes


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_windows_make_code_smaller_and_change_no_bit(monkeypatch, dtype):
    function = random_function(3, size=900)
    q, v = random_states(np.random.default_rng(5), 9)
    kernel = compile_function(function, dtype=dtype, cache=False)
    one, many = [kernel(a, b) for a, b in zip(q, v, strict=True)], kernel(q, v)
    sizes = {lanes: variant.library.code_size for lanes, variant in kernel._core.variants.items()}
    wide = kernel.lanes * np.dtype(dtype).itemsize == WIDE
    assert "asm" in kernel._core.build().text(1) and ("asm" in kernel.ir) == wide
    monkeypatch.setattr(windows, "MOST", 0)
    plain = compile_function(function, dtype=dtype, cache=False)
    for row, a, b in zip(one, q, v, strict=True):
        assert [x.tobytes() for x in row] == [x.tobytes() for x in plain(a, b)]
    assert [x.tobytes() for x in many] == [x.tobytes() for x in plain(q, v)]
    for lanes, variant in plain._core.variants.items():
        assert sizes[lanes] < variant.library.code_size or (lanes > 1 and not wide)
