"""The builtin behind a kernel: cheap, and safe with whatever it is handed."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import subprocess
import sys
import timeit
import weakref

import numpy as np
import pytest
from helpers import assert_enough

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.compiler.run import builtin
from kinloop.errors import NonFiniteInput, ShapeError

pytestmark = pytest.mark.skipif(not builtin.usable(), reason="no builtins on this interpreter")


@pytest.fixture
def kernel():
    made = sc.trace(lambda q, v: {"a": q * 2.0 + v, "m": np.outer(q, v)}, {"q": 3, "v": 3})
    return compile_function(made, cache=False).compile().compile(batch=True)


def ready():
    return np.arange(3.0), np.ones(3), np.zeros(3), np.zeros((3, 3))


def test_ready_arrays_go_through_a_builtin(kernel):
    assert type(kernel.builtin).__name__ == "builtin_function_or_method"
    assert type(kernel).__call__ is kernel.builtin
    q, v, a, m = ready()
    out = kernel(q, v, a, m)
    assert out[0] is a and out[1] is m
    np.testing.assert_array_equal(a, [1, 3, 5])
    np.testing.assert_array_equal(m, np.outer(q, v))


def test_one_row_goes_through_it_too_where_outputs_are_given(kernel, monkeypatch):
    q, v, a, m = ready()
    expected = kernel(q, v)
    rows = a[None], m[None]
    monkeypatch.setattr(type(kernel._core), "call", None)  # the slow way would fail
    for given in ((q[None], v[None]), (q[None], v), (q, v[None])):
        out = kernel.builtin(*given, *rows)
        assert out[0] is rows[0] and out[1] is rows[1]
        for x, y in zip(out, expected, strict=True):
            np.testing.assert_array_equal(x[0], y)


def test_rows_and_outputs_have_to_agree(kernel):
    q, v, a, m = ready()
    for wrong in ((q[None], v, a, m), (q, v, a[None], m[None]), (q[None], v, a[None], m), (q, v, a[None], m)):
        with pytest.raises(ShapeError):
            kernel(*wrong)
    out = kernel(q[None], v)
    assert out[0].shape == (1, 3) and out[1].shape == (1, 3, 3)


def hostile():
    class Sub(np.ndarray):
        pass

    class Pretender:
        shape, dtype, ndim = (3,), np.dtype(float), 1

    yield from (None, 1, 1.5, "abc", b"abc", (), [], {}, object(), np.ndarray, float, Pretender(), lambda: 0)
    yield from (np.float64(1.0), np.ones(()), np.ones(2), np.ones(4), np.ones((3, 1)), np.ones((1, 3, 1)), np.ones(0))
    yield from (np.ones(3, "f4"), np.ones(3, "i8"), np.ones(3, ">f8"), np.ones(3, complex), np.ones(3, object))
    yield from (np.ones(6)[::2], np.ones((3, 3))[:, 0], np.ones(3)[::-1], np.ones(3).view(Sub), np.array(["a"] * 3))
    yield from (np.ma.ones(3), np.zeros(3, [("x", float)]), np.full(3, np.nan), memoryview(b"123"), iter([1, 2, 3]))


def test_no_argument_whatever_crashes_it(kernel):
    refused, converted = 0, 0
    for fast in (kernel, kernel.builtin):
        for bad in hostile():
            for place in range(4):
                args: list = list(ready())
                args[place] = bad
                try:
                    fast(*args)
                except (ShapeError, NonFiniteInput, TypeError):
                    refused += 1
                else:
                    assert isinstance(args[place], np.ndarray | list | tuple | memoryview)  # converted, as NumPy would
                    converted += 1
    assert_enough(refused, 220, "arguments refused and")
    assert_enough(converted, 40, "arguments converted and")
    for bad in hostile():
        for place in range(4):
            args = list(rows())
            args[place] = bad
            with contextlib.suppress(ShapeError, NonFiniteInput, TypeError):
                kernel(*args)
    for count in range(9):
        with pytest.raises((TypeError, ShapeError)) if count not in (2, 4) else pytest.raises(ShapeError):
            kernel.builtin(*[None] * count)


def test_a_view_of_numpy_subclasses_takes_the_slow_way_and_is_right(kernel):
    q, v, a, m = ready()
    kernel(np.ma.array(q), v.astype(np.float32), a, m)
    np.testing.assert_array_equal(a, [1, 3, 5])


def rows(count=5):
    rng = np.random.default_rng(count)
    return rng.normal(size=(count, 3)), rng.normal(size=(count, 3)), np.zeros((count, 3)), np.zeros((count, 3, 3))


@pytest.fixture
def no_slow_way(monkeypatch):
    def refuse(*args):
        raise AssertionError("the slow way was taken")

    monkeypatch.setattr("kinloop.compiler.core.read_call", refuse)


@pytest.mark.parametrize("count", [1, 4, 7, 64])
def test_small_batches_go_through_a_builtin_too(kernel, no_slow_way, count):
    q, v, a, m = rows(count)
    out = kernel(q, v, a, m)
    assert out[0] is a and out[1] is m
    np.testing.assert_allclose(a, 2 * q + v, rtol=1e-15)
    np.testing.assert_array_equal(m, np.einsum("bi,bj->bij", q, v))
    new_a, new_m = kernel(q, v)
    assert new_a.tobytes() == a.tobytes() and new_m.tobytes() == m.tobytes() and new_m.shape == (count, 3, 3)
    np.testing.assert_allclose(kernel(q, v[0])[0], 2 * q + v[0], rtol=1e-15)
    np.testing.assert_allclose(kernel(q[0], v)[0], 2 * q[0] + v, rtol=1e-15)


def test_a_batch_that_does_not_fit_the_builtin_is_still_right(kernel):
    q, v, a, m = rows()
    np.testing.assert_array_equal(kernel(q, v[:1])[0], 2 * q + v[:1])
    np.testing.assert_array_equal(kernel(q[::2], v[:3])[0], 2 * q[::2] + v[:3])
    for wrong in ((q, v[:4], a, m), (q, v, a[:4], m), (q, v, a, m[:, 0]), (q, v, a, m.astype("f4"))):
        with pytest.raises(ShapeError):
            kernel(*wrong)
    expected = 2 * q + v
    kernel(q, v, v, m)  # an output that is an input
    np.testing.assert_array_equal(v, expected)
    shared = np.zeros((7, 3))
    shared[:5] = q
    expected = 2 * q + expected
    kernel(shared[:5], v, shared[2:], m)
    np.testing.assert_array_equal(shared[2:], expected)
    many = np.ones((700_000, 3))
    assert (kernel(many, many)[0] == 3).all()


def test_a_bad_row_of_a_small_batch_is_named(kernel):
    q, v, a, m = rows(6)
    v[4, 0] = np.inf
    for args in ((q, v), (q, v, a, m)):
        with pytest.raises(NonFiniteInput, match=r"'v'.*inf at index 0 in row 4"):
            kernel(*args)


def test_reference_counts_stay_balanced(kernel):
    q, v, a, m = ready()
    Q, V, A, M = rows()
    bad_rows = np.full((5, 3), np.nan)
    strided = np.zeros(6)[::2]
    objects = (q, v, a, m, strided, Q, V, A, M, bad_rows, kernel, kernel.builtin)

    def use():
        for _ in range(200):
            kernel(q, v, a, m)
            kernel(q, v)
            kernel(q, v, strided, m)
            kernel(Q, V, A, M)
            kernel(Q, V)
            for args in ((Q, bad_rows), (Q, bad_rows, A, M), (Q, V[:2])):
                with contextlib.suppress(ShapeError, NonFiniteInput):
                    kernel(*args)
            for bad in (None, np.ones(4), np.full(3, np.nan)):
                with contextlib.suppress(ShapeError, NonFiniteInput):
                    kernel(bad, v, a, m)

    use()
    before = [sys.getrefcount(x) for x in objects]
    use()
    gc.collect()
    assert [sys.getrefcount(x) for x in objects] == before


def test_a_kernel_and_its_code_are_freed():
    q, _, a, _ = ready()
    made = sc.trace(lambda q: q * 3.0, {"q": 3})
    other = compile_function(made, cache=False)
    fast = other.builtin
    watch = weakref.ref(other._core)
    del other
    gc.collect()
    assert fast(q, a) is a and a[1] == 3.0  # the builtin keeps its code alive
    del fast
    gc.collect()
    assert watch() is None


def test_large_scratch_comes_from_the_heap_and_is_right():
    n = 4200
    function = sc.trace(lambda x: x * 2.0 + x[::-1], {"x": n})
    kernel = compile_function(function, cache=False)
    x, out = np.arange(float(n)), np.zeros(n)
    kernel(x, out)
    kernel(x, out)
    np.testing.assert_array_equal(out, 2 * x + x[::-1])
    np.testing.assert_array_equal(kernel(np.stack([x, x, -x]))[2], -out)
    np.testing.assert_array_equal(kernel(np.stack([x, -x, x]))[1], -out)


def test_a_call_costs_little(kernel):
    """At most 0.3 us on top of the arithmetic (here a dozen operations); twice that, for a busy machine."""
    q, v, a, m = ready()
    names = {"kernel": kernel, "q": q, "v": v, "a": a, "m": m}
    best = min(timeit.repeat("kernel(q, v, a, m)", globals=names, number=2000, repeat=40)) / 2000
    assert best < 0.6e-6


def test_without_builtins_every_form_still_works(monkeypatch):
    monkeypatch.setattr(builtin, "usable", lambda: False)
    kernel = compile_function(sc.trace(lambda q: q * 2.0, {"q": 3}), cache=False)
    a = np.zeros(3)
    assert kernel(np.ones(3), a) is a and (a == 2).all()
    assert (kernel.builtin(np.ones(3)) == 2).all()


def test_the_definition_of_a_builtin_outlives_it():
    """A builtin reads its definition as it is freed, and the collector may free what else held it first."""
    kernel = compile_function(sc.trace(lambda x: x + 1.0, {"x": 3}), cache=False)
    fast = kernel.builtin
    at = ctypes.c_void_p.from_address(id(fast) + object.__basicsize__).value
    before = ctypes.string_at(at, 4 * ctypes.sizeof(ctypes.c_void_p))
    watch = weakref.ref(kernel._core)
    del kernel, fast
    gc.collect()
    assert watch() is None
    others = [bytearray(len(before)) for _ in range(1000)]  # what is free by now is used again
    assert ctypes.string_at(at, len(before)) == before
    assert ctypes.string_at(int.from_bytes(before[:8], sys.byteorder)) == b"kernel"
    assert len(others) == 1000


def test_kernels_go_in_any_order():
    """What the collector frees, at leisure or at exit, must not look into what it freed before."""
    script = """
import gc
import numpy as np
from kinloop import scalar as sc
from kinloop.compiler import compile_function

gc.disable()
kept = []
for k in range(40):
    kernel = compile_function(sc.trace(lambda x: x * (1.0 + k) + 1.0, {"x": 3}), cache=False)
    kernel(np.ones(3))
    kernel(np.ones((9, 3)))
    ring = [kernel]
    ring.append(ring)
    kept.append(ring)
    if k % 4 == 0:
        kept.clear()
        gc.collect()
        kept.append([np.zeros(n) for n in range(1, 60)])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
