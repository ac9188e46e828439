"""The handle of a kernel: the same bits whatever the form of the call, facts about itself, pickling."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.compiler.emit.kernel_layout import IN_PLACE
from tests.compiler.graphs import double, random_function, random_states

SIZES = (1, 7, 64, 4096)


def remake_double(n):
    made = sc.trace(lambda x, y: {"z": 2.0 * x + y}, {"x": n, "y": n})
    return compile_function(made, name="double", recipe=(remake_double, (n,)), cache=False)


@pytest.mark.parametrize("arrays", [1, 2, IN_PLACE, IN_PLACE + 1])
def test_outputs_have_the_same_bits_in_place_and_from_slots(arrays):
    def some(x):
        return {f"out{k}": np.array([x[0] * float(k), 3.0, sc.sin(x[1]), x[k % 2]])[: k % 4 + 1] for k in range(arrays)}

    function = sc.trace(some, {"x": 2})
    kernel, x = compile_function(function, cache=False), np.array([0.3, -0.7])
    expected, one, rows = (made if arrays > 1 else (made,) for made in (function(x), kernel(x), kernel(x[None])))
    given = tuple(np.full(out.shape, np.nan) for out in one)
    kernel(x, *given)
    for known, out, row, filled in zip(expected, one, rows, given, strict=True):
        assert np.allclose(out, known, rtol=1e-15)
        assert out.tobytes() == row[0].tobytes() == filled.tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_results_are_bitwise_equal_over_batch_size_order_and_threads(dtype):
    kernel = compile_function(random_function(3), dtype=dtype, cache=False)
    rng = np.random.default_rng(0)
    q, v = (x.astype(dtype) for x in random_states(rng, max(SIZES)))
    q[11] *= 1e7  # beyond the polynomial's range
    whole = kernel(q, v, threads=1)
    for size in SIZES:
        for part, all_rows in zip(kernel(q[:size], v[:size]), whole, strict=True):
            assert part.tobytes() == all_rows[:size].tobytes()
    ones = [kernel(q[i], v[i]) for i in range(40)]
    for k, all_rows in enumerate(whole):
        assert np.array([one[k] for one in ones]).tobytes() == all_rows[:40].tobytes()
    order = rng.permutation(len(q))
    for threads in (1, 2, 3):
        for part, all_rows in zip(kernel(q[order], v[order], threads=threads), whole, strict=True):
            assert part.tobytes() == all_rows[order].tobytes()


def test_a_kernel_pickles_as_its_recipe_and_never_as_code():
    kernel = remake_double(3)
    data = pickle.dumps(kernel)
    assert b"remake_double" in data and len(data) < 200
    np.testing.assert_array_equal(pickle.loads(data)([1, 2, 3], [0, 0, 1]), [2, 4, 7])
    assert copy.deepcopy(kernel) is kernel
    with pytest.raises(TypeError, match="without a recipe"):
        pickle.dumps(double())


def test_a_kernel_tells_about_itself():
    function = random_function(2)
    kernel = compile_function(function, name="swing", cache=False)
    assert kernel.name == "swing" and "swing(q: 4, v: 3)" in repr(kernel)
    assert kernel.operations == function.operations and kernel.operations["total"] > 100
    assert "define" in kernel.ir and kernel.nbytes > 1000 and kernel.dtype == np.float64
    assert kernel.function is function


def test_names_do_not_enter_the_generated_code():
    name = "evil_name_xyz"
    function = sc.trace(lambda a: {name: a * 2.0}, {name: 2})
    assert name not in compile_function(function, name=name, cache=False).ir
