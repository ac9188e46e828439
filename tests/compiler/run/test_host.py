"""The widths of vector registers that are used, and that results do not depend on them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kinloop.compiler import compile_function, core
from kinloop.compiler.run.host import host, register_bits
from tests.compiler.graphs import random_function, random_states


@pytest.mark.parametrize(
    ("features", "bits"),
    [
        ("+sse2,+neon", 128),
        ("+avx,-avx2,+sse2", 256),
        ("+avx,+avx2,-avx512f,-avx512vbmi2", 256),
        ("+avx,+avx2,+avx512f,-avx512vbmi2", 256),
        ("+avx,+avx2,+avx512f,+avx512vbmi2", 512),
        ("", 128),
    ],
)
def test_wide_registers_are_used_where_they_are_fast(features, bits):
    assert register_bits(features) == bits


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("straight", [True, False])
def test_results_do_not_depend_on_the_width_nor_on_how_rows_are_written(dtype, straight, monkeypatch):
    target, function = dataclasses.replace(host(), straight=straight), random_function(7)
    q, v = (x.astype(dtype) for x in random_states(np.random.default_rng(2), 37))
    found = []
    for bits in [128, 256, 512]:
        if bits <= target.bits:
            monkeypatch.setattr(core, "host", lambda bits=bits: dataclasses.replace(target, bits=bits))
            kernel = compile_function(function, dtype=dtype, cache=False)
            assert kernel.lanes == bits // (8 * np.dtype(dtype).itemsize)
            rows = [np.concatenate([np.ravel(y) for y in kernel(a, b)]) for a, b in zip(q, v, strict=True)]
            many = np.concatenate([y.reshape(len(q), -1) for y in kernel(q, v)], axis=1)
            assert many.tobytes() == np.stack(rows).tobytes()
            found.append(many.tobytes())
    assert len(set(found)) == 1
