"""The same numbers from CasADi."""

from __future__ import annotations

import numpy as np
import pytest

from kinloop.compiler import compile_function
from tests.compiler.graphs import random_function


@pytest.mark.parametrize("seed", [0, 1])
def test_casadi_computes_the_same(seed):
    pytest.importorskip("casadi")
    kernel = compile_function(random_function(seed), name="swing 2", cache=False)
    made = kernel.to_casadi()
    assert made.name() == "kl_swing_2" and made.name_in() == ["q", "v"] and made.name_out() == ["a", "m"]
    rng = np.random.default_rng(seed)
    q, v = rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 3)
    a, m = kernel(q, v)
    got_a, got_m = made(q, v)
    np.testing.assert_allclose(np.array(got_a)[:, 0], a, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(np.array(got_m), m, rtol=1e-13, atol=1e-13)
