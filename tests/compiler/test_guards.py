"""Guarded builtins: what is beyond doubt is computed as the kernel does, all else goes elsewhere as it came."""

from __future__ import annotations

import gc
import sys
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest
from helpers import assert_enough

from kinloop import scalar as sc
from kinloop.compiler import Kernel, compile_function, guards
from kinloop.compiler.run import builtin

pytestmark = pytest.mark.skipif(not builtin.usable(), reason="no builtins on this interpreter")


class Other:
    """Notes what it is called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **options: Any) -> str:
        self.calls.append((args, options))
        return "other"


def make(call, **inputs: int) -> Kernel:
    return compile_function(sc.trace(call, inputs), cache=False)


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return make(lambda q, v: {"a": q * 2.0 + v, "m": np.outer(q, v), "n": np.array(q @ v)}, q=3, v=3)


def test_ready_arrays_give_what_the_kernel_gives(kernel):
    other = Other()
    fast = kernel.guarded(other, [1e12, 1e100])
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v = rng.normal(size=(2, 3))
        v.flags.writeable = False
        for given in ((q, v), (q, v, None), (q, v, None, None)):
            found = fast(*given)
            assert isinstance(found, tuple)
            for x, y in zip(found, kernel(q, v), strict=True):
                assert x.shape == y.shape and x.tobytes() == y.tobytes() and x.flags.writeable and x.flags.owndata
    assert not other.calls


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 36, 70])
def test_every_number_is_looked_at(n):
    """Whatever its place: beyond a limit or not finite among the inputs, not finite among the outputs."""
    kernel, other = make(lambda x: {"y": x * 1e300}, x=n), Other()
    fast = kernel.guarded(other, [1e100])
    x = np.full(n, 1e5)
    assert fast(x).tobytes() == kernel(x).tobytes()
    for k in range(n):
        for good in (1e8, -1e8, 0.0, 5e-324):
            x[k] = good
            assert isinstance(fast(x), np.ndarray) and not other.calls
        for bad in (1e100, -1e100, 1.001e100, np.nan, np.inf, -np.inf):  # 1e100 is allowed, 1e400 is not finite
            x[k] = bad
            assert fast(x) == "other"
            assert other.calls.pop() == ((x,), {})
        x[k] = 1e5


def test_limits_are_exact():
    kernel, other = make(lambda x: {"y": x * 0.5}, x=2), Other()
    fast = kernel.guarded(other, [1e12])
    for sign in (1.0, -1.0):
        assert fast(np.array([0.0, sign * 1e12]))[1] == sign * 5e11
        assert fast(np.array([0.0, sign * np.nextafter(1e12, np.inf)])) == "other"
    assert len(other.calls) == 2


def test_each_input_has_its_own_limit(kernel):
    other = Other()
    fast = kernel.guarded(other, [1.0, 10.0])
    assert isinstance(fast(np.ones(3), np.full(3, 10.0)), tuple)
    assert fast(np.full(3, 2.0), np.ones(3)) == "other"
    assert fast(np.ones(3), np.full(3, 11.0)) == "other"


def test_what_the_judge_finds_wrong_goes_elsewhere():
    kernel, other = make(lambda q, v: {"a": q + v}, q=2, v=2), Other()
    judge = make(lambda q: {"faults": np.array([q[0], q[1], 7.0])}, q=2)
    for judged, wrong in ((0, ()), (1, (0,)), (2, (0, 1)), (3, (0, 1, 2))):
        fast = kernel.guarded(other, [1e12, 1e12], judge, judged)
        for q in ((0.0, 0.0), (1.0, 1.0), (1.0 + 1e-15, 0.0), (0.0, 2.0), (2.0, 2.0)):
            given = (np.array(q), np.ones(2))
            doubtful = any((*q, 7.0)[k] > 1.0 for k in wrong)
            found = fast(*given)
            assert (isinstance(found, str) and found == "other") == doubtful
            assert doubtful or found.tobytes() == kernel(*given).tobytes()
    spoilt = make(lambda q: {"faults": np.array([1.0 / q[0] - 1.0 / q[1], 0.0])}, q=2)  # nan at zero
    fast = kernel.guarded(other, [1e12, 1e12], spoilt, 2)
    assert fast(np.zeros(2), np.ones(2)) == "other"
    assert isinstance(fast(np.ones(2), np.ones(2)), np.ndarray)


def strange() -> list[Any]:
    class Sub(np.ndarray):
        pass

    class Pretender:
        shape, dtype, ndim = (3,), np.dtype(float), 1

    return [
        1, 1.5, "abc", (), [], [1.0, 2.0, 3.0], {}, object(), np.ndarray, Pretender(), lambda: 0, np.float64(1.0),
        np.ones(()), np.ones(2), np.ones(4), np.ones((1, 3)), np.ones((3, 1)), np.ones(0), np.ones(3, "f4"),
        np.ones(3, "i8"), np.ones(3, ">f8"), np.ones(3, complex), np.ones(3, object), np.ones(6)[::2],
        np.ones((3, 3))[:, 0], np.ones(3)[::-1], np.ones(3).view(Sub), np.ma.ones(3), np.zeros(3, [("x", float)]),
    ]  # fmt: skip


def test_whatever_is_not_ready_goes_elsewhere_as_it_came(kernel):
    other, given = Other(), 0
    fast = kernel.guarded(other, [1e12, 1e12])
    q, v = np.ones(3), np.ones(3)
    for bad in (None, *strange()):
        for args in ((bad, v), (q, bad)):
            assert fast(*args) == "other"
            (found, options), given = other.calls.pop(), given + 1
            assert len(found) == len(args) and all(x is y for x, y in zip(found, args, strict=True)) and not options
    for bad in strange():
        for args in ((q, v, bad), (q, v, None, bad), (q, v, bad, None)):
            assert fast(*args) == "other"
            assert other.calls.pop()[0][2:] == args[2:]
    for args in ((), (q,)):
        assert fast(*args) == "other"
    assert fast(q, v, f_ext=None) == "other"
    assert other.calls.pop() == ((q, v), {"f_ext": None})
    assert_enough(given, 60, "strange arguments")


def test_errors_from_elsewhere_arrive(kernel):
    def refuse(*args: Any) -> None:
        raise ValueError(f"{len(args)} arguments")

    fast = kernel.guarded(refuse, [1e12, 1e12])
    with pytest.raises(ValueError, match="3 arguments"):
        fast(1, 2, 3)


def test_references_stay_balanced_and_nothing_piles_up(kernel):
    single = make(lambda q: {"a": 1.0 / q}, q=3)  # infinite at zero: the array that was made goes
    judge = make(lambda q: {"faults": q[:2]}, q=3)
    other = Other()
    several, one = kernel.guarded(other, [1e12, 1e12], judge, 2), single.guarded(other, [1e12])
    q, v, zero, two = np.ones(3), np.ones(3), np.zeros(3), np.full(3, 2.0)
    objects = (q, v, zero, two, other, several, one, kernel)

    def use() -> None:
        for _ in range(300):
            several(q, v)
            several(q, v, None)
            several(two, v)
            several(q, 1)
            one(q)
            one(zero)
        other.calls.clear()

    use()
    before = [sys.getrefcount(x) for x in objects]
    use()
    gc.collect()
    assert [sys.getrefcount(x) for x in objects] == before
    assert sys.getrefcount(one(q)) == sys.getrefcount(np.ones(3))
    assert all(sys.getrefcount(x) == 3 for x in several(q, v))  # the tuple, x, the argument


def test_results_that_are_not_handed_over_are_freed():
    kernel = make(lambda q: {"a": np.ones(4000) / q[0], "b": q * 1.0}, q=3)
    fast, zero = kernel.guarded(lambda *args: None, [1e12]), np.zeros(3)
    fast(zero)
    tracemalloc.start()
    try:
        for _ in range(100):
            assert fast(zero) is None
        assert tracemalloc.get_traced_memory()[0] < 100_000  # one of them has 32,000 bytes
    finally:
        tracemalloc.stop()


def test_it_keeps_its_code_and_goes_with_whom_it_calls():
    class Owner:
        def __init__(self) -> None:
            self.fast = make(lambda q: {"a": q * 3.0}, q=3).guarded(self.other, [1e12])

        def other(self, *args: Any) -> None:
            """Holds the owner, which holds the builtin."""

    owner = Owner()
    watch, fast = weakref.ref(owner), owner.fast
    gc.collect()
    assert fast(np.ones(3))[1] == 3.0
    del owner, fast
    gc.collect()
    assert watch() is None


def test_a_large_kernel_is_right_too():
    n = 9000  # more scratch than fits on a stack
    kernel = make(lambda x: {"y": x * 2.0 + x[::-1]}, x=n)
    x = np.random.default_rng(1).normal(size=n)
    assert kernel.guarded(Other(), [1e12])(x).tobytes() == kernel(x).tobytes()


def test_without_builtins_the_other_is_called(monkeypatch, kernel):
    monkeypatch.setattr(builtin, "usable", lambda: False)
    other = Other()
    assert kernel.guarded(other, [1e12, 1e12]) is other


def test_single_precision_goes_elsewhere():
    single = compile_function(sc.trace(lambda q: {"a": q * 2.0}, {"q": 3}), dtype="float32", cache=False)
    other = Other()
    assert single.guarded(other, [1e12]) is other


def test_kernels_without_inputs_or_outputs():
    other = Other()
    constant = make(lambda: {"a": np.arange(3.0)})
    np.testing.assert_array_equal(constant.guarded(other, [])(None), np.arange(3.0))
    empty = make(lambda q: {"a": q}, q=0)
    assert empty.guarded(other, [1e12])(np.ones(0)).shape == (0,)
    assert not other.calls


def test_its_code_is_kept_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("KINLOOP_CACHE_DIR", str(tmp_path))
    first = guards._library.__wrapped__()
    files = list(tmp_path.rglob("*.kernel"))
    assert len(files) == 1
    monkeypatch.setattr(guards, "compile_text", None)  # no need of it any more
    again = guards._library.__wrapped__()
    assert again.code_size == first.code_size
