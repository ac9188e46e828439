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
from kinloop.compiler import Kernel, common, compile_function, guarded_check, guards
from kinloop.compiler.emit.guarded_call import KEPT_ROWS
from kinloop.compiler.run import builtin, threads

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
        found = fast(q, v)
        assert isinstance(found, tuple)
        for x, y in zip(found, kernel(q, v), strict=True):
            assert x.shape == y.shape and x.tobytes() == y.tobytes() and x.flags.writeable and x.flags.owndata
    assert not other.calls


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 15, 31, 32, 33, 36, 70, 150])
def test_every_number_is_looked_at(n):
    """Wherever it lies: beyond a limit or not finite among the inputs, not finite among the outputs."""
    kernel, other = make(lambda x: {"y": x * 1e300}, x=n), Other()
    fast = kernel.guarded(other, [1e100])
    x = np.full(n, 1e5)
    assert fast(x).tobytes() == kernel(x).tobytes()
    memory = np.full(n + 8, 1e5)
    for shift in range(8):
        memory[:] = np.nan  # beside it nothing is looked at
        here = memory[shift : shift + n]
        here[:] = 1e5
        assert isinstance(fast(here), np.ndarray) and not other.calls
        for k in range(n):
            here[k] = np.inf
            assert fast(here) == "other" and other.calls.pop()
            here[k] = 1e5
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
    for bad in (None, *strange()):
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
    assert sys.getrefcount(one(q)) == sys.getrefcount(np.ones(3)) + 1  # it may serve again
    assert all(sys.getrefcount(x) == 4 for x in several(q, v))  # the tuple, x, the argument; it may serve again


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
    np.testing.assert_array_equal(constant.guarded(other, [])(), np.arange(3.0))
    empty = make(lambda q: {"a": q}, q=0)
    assert empty.guarded(other, [1e12])(np.ones(0)).shape == (0,)
    assert not other.calls


def test_its_code_is_kept_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("KINLOOP_CACHE_DIR", str(tmp_path))
    first = guards._library.__wrapped__()
    files = list(tmp_path.rglob("*.kernel"))
    assert len(files) == 1
    monkeypatch.setattr(common, "compile_text", None)  # no need of it any more
    again = guards._library.__wrapped__()
    assert again.code_size == first.code_size


# --- rows


def spread(n: int, *shapes: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, *shape)) for shape in shapes]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 63, 64, 65, 200])
def test_rows_give_what_the_kernel_gives(kernel, n):
    other = Other()
    fast = kernel.guarded(other, [1e12, 1e100], rows=True)
    Q, V = spread(n, (3,), (3,))
    for q, v in ((Q, V), (Q[0], V), (Q, V[0])):
        for x, y in zip(fast(q, v), kernel(q, v), strict=True):
            assert x.shape == y.shape and x.tobytes() == y.tobytes() and x.flags.writeable and x.flags.owndata
    assert not other.calls


def test_rows_that_are_not_ready_go_elsewhere(kernel):
    other = Other()
    fast = kernel.guarded(other, [1e12, 1e12], rows=True)
    Q, V = spread(8, (3,), (3,))
    for args in (
        (Q[0], V[0]), (Q[:0], V[:0]), (Q, V[:7]), (Q[:1], V), (Q[None], V[None]), (Q[:, :2], V), (Q[::2], V[::2]), (Q,),
        (Q, V, None), (Q.astype("f4"), V), (Q.T, V), (Q.tolist(), V), (Q, V[:, :1]), (Q[..., None], V), (3.0, V),
    ):  # fmt: skip
        assert fast(*args) == "other"
        (found, _) = other.calls.pop()
        assert len(found) == len(args) and all(x is y for x, y in zip(found, args, strict=True))


@pytest.mark.parametrize("n", [1, 5, 64, 70, 130])
def test_every_number_of_every_row_is_looked_at(n):
    kernel, other = make(lambda x: {"y": x * 1e300}, x=3), Other()
    fast = kernel.guarded(other, [1e100], rows=True)
    X = np.full((n, 3), 1e5)
    for row in {0, n // 2, n - 1}:
        for k in range(3):
            for bad in (1e99, np.nan, -np.inf, 1e101):  # the first is allowed, but not finite in the end
                X[row, k] = bad
                assert fast(X) == "other"
            X[row, k] = 1e5
    assert isinstance(fast(X), np.ndarray)
    X[-1, -1] = np.inf
    assert fast(X[:-1]).shape == (n - 1, 3) if n > 1 else True  # memory behind the rows does not count


def test_the_judge_looks_at_every_row():
    kernel, other = make(lambda q, v: {"a": q + v}, q=2, v=2), Other()
    judge = make(lambda q: {"faults": np.array([q[0], q[1], 7.0])}, q=2)
    n = 150
    for judged in (1, 2):
        fast = kernel.guarded(other, [1e12, 1e12], judge, judged, rows=True)
        for row in (0, 63, 64, 127, 128, n - 1):
            for k in range(2):
                Q, V = np.zeros((n, 2)), np.ones((n, 2))
                Q[row, k] = 2.0
                found = fast(Q, V)
                assert isinstance(found, np.ndarray) == (k >= judged), (row, k, judged)
        assert isinstance(fast(np.ones(2), V), np.ndarray)
        assert fast(np.full(2, 2.0), V) == "other"


def test_inputs_may_have_two_axes():
    kernel, other = make(lambda q, f: {"a": q * 2.0, "b": f + 1.0}, q=3, f=12), Other()
    shapes = [(3,), (2, 6)]
    one, rows = (kernel.guarded(other, [1e9, 10.0], shapes=shapes, rows=k) for k in (False, True))
    q, f = np.ones(3), np.arange(12.0).reshape(2, 6) / 2
    assert [x.tobytes() for x in one(q, f)] == [x.tobytes() for x in kernel(q, f.ravel())]
    Q, F = np.stack([q, q + 1, q]), np.stack([f, -f, f / 2])
    for given in ((Q, F), (q, F), (Q, f)):
        flat = given[1].reshape(*given[1].shape[:-2], 12)
        assert [x.tobytes() for x in rows(*given)] == [x.tobytes() for x in kernel(given[0], flat)]
    assert not other.calls
    for bad in (f.ravel(), f.reshape(6, 2), f.reshape(1, 12), f.reshape(12, 1), f.T.copy(), f * 2, f[:, ::-1], f[:1]):
        assert one(q, bad) == "other"
    for bad in (F[:2], F.reshape(3, 12), F.reshape(6, 6), F * 2, F.reshape(3, 6, 2)):
        assert rows(Q, bad) == "other"
    for shape in ((2, 5), (2, 7), (3, 6), (1, 6), (2, 0), (2, 6, 1)):
        assert one(q, np.zeros(shape)) == rows(Q, np.zeros((3, *shape))) == "other"
    assert rows(q, f) == "other" and one(Q, F) == "other"


def test_outputs_that_are_looked_at_are_not_handed_over():
    kernel = make(lambda q: {"a": q * 2.0, "r": q[:2] - q[1], "lost": np.array(q[2])}, q=3)
    other = Other()
    for rows in (False, True):
        fast = kernel.guarded(other, [1e12], hidden=(1e-6, 0.5), rows=rows)
        good, bad, lost = np.array([1.0, 1.0, 0.0]), np.array([1.0, 1.1, 0.0]), np.array([1.0, 1.0, 1.0])
        if rows:
            good, bad, lost = (np.stack([good, x]) for x in (good, bad, lost))
        assert fast(good).tobytes() == (2.0 * good).tobytes()
        before = sys.getrefcount(None)
        assert fast(bad) == fast(lost) == fast(bad * np.nan) == "other"
        assert abs(sys.getrefcount(None) - before) < 20
    pair = make(lambda q: {"a": q * 2.0, "b": q * 3.0, "r": q - q[0]}, q=2).guarded(other, [1e12], hidden=(1.0,))
    a, b = pair(np.ones(2))
    assert a.tolist() == [2.0, 2.0] and b.tolist() == [3.0, 3.0]


def test_one_state_in_rows_gives_rows():
    kernel = make(lambda q, u: {"a": q * 2.0 + u[0], "m": np.outer(q, q), "r": q - u[0]}, q=3, u=1)
    other = Other()
    fast = kernel.guarded(other, [1e12, 1e12], shapes=[(1, 3), (1,)], hidden=(10.0,), as_row=True)
    q, u = np.array([1.0, 2.0, 3.0]), np.array([0.5])
    a, m = fast(q[None], u)
    assert a.shape == (1, 3) and a[0].tobytes() == (2.0 * q + 0.5).tobytes()
    assert m.shape == (1, 3, 3) and m[0].tobytes() == np.outer(q, q).tobytes()
    assert a.flags.owndata and a.flags.writeable and not other.calls
    for wrong in (q, np.stack([q, q]), q[:, None], q[None, None], 20.0 * q[None]):
        assert fast(wrong, u) == "other"


def test_outputs_that_are_not_handed_over_are_freed():
    kernel = make(lambda q: {"a": q * 2.0, "r": np.ones(4000) * q[0]}, q=3)
    for rows, q in ((False, np.ones(3)), (True, np.ones((2, 3)))):
        fast = kernel.guarded(Other(), [1e12], hidden=(2.0,), rows=rows)
        fast(q)
        tracemalloc.start()
        try:
            for _ in range(100):
                assert isinstance(fast(q), np.ndarray)
            assert tracemalloc.get_traced_memory()[0] < 100_000  # one of them has 32,000 bytes
        finally:
            tracemalloc.stop()


def test_what_is_looked_at_only_gives_none():
    judge, other = make(lambda q: {"faults": q[:2]}, q=3), Other()
    for rows, good in ((False, np.zeros(3)), (True, np.zeros((70, 3)))):
        check = guarded_check(other, 3, 5.0, judge, judged=1, rows=rows)
        plain = guarded_check(other, 3, 5.0, None, judged=0, rows=rows)
        bad = good.copy()
        np.atleast_2d(bad)[-1, 0] = 2.0
        assert check(good) is plain(good) is plain(bad) is None and not other.calls
        assert check(bad) == plain(bad * 3.0) == plain(good[..., :2]) == plain(good, good) == "other"
        other.calls.clear()


@pytest.fixture
def narrow(monkeypatch):
    """Threads for little work."""
    monkeypatch.setattr(guards, "SINGLE_THREAD_WORK", 1000)
    monkeypatch.setattr(threads, "_WORK_PER_THREAD", 500)
    monkeypatch.setenv("KINLOOP_THREADS", "3")
    seen = []
    plain = guards.run_chunks
    monkeypatch.setattr(guards, "run_chunks", lambda *x: (seen.append(x[-1]), plain(*x))[1])
    return seen


def test_many_rows_go_to_threads(narrow):
    kernel = make(lambda q, f: {"a": q * 2.0 + f[:3], "m": np.outer(q, f)}, q=3, f=12)
    judge, other = make(lambda q: {"faults": q[:1] * 0.1}, q=3), Other()
    fast = kernel.guarded(other, [1e12, 1e9], judge, 1, shapes=[(3,), (2, 6)], rows=True)
    Q, F = spread(1000, (3,), (2, 6))
    for q, f in ((Q, F), (Q[3], F), (Q, F[3])):
        for x, y in zip(fast(q, f), kernel(q, f.reshape(*f.shape[:-2], 12)), strict=True):
            assert x.tobytes() == y.tobytes() and x.shape == y.shape
    assert narrow == [3] * 3 and not other.calls
    for row in (0, 333, 500, 999):
        wrong = Q.copy()
        wrong[row, 0] = 11.0
        assert fast(wrong, F) == "other"
        assert other.calls.pop()[0][0] is wrong
    assert fast(Q[:4], F[:4])[0].shape == (4, 3) and len(narrow) == 7  # few rows do not wake threads


def test_looking_at_many_rows_takes_threads_too(narrow):
    judge, other = make(lambda q: {"faults": q[:2]}, q=3), Other()
    check = guarded_check(other, 3, 5.0, judge, judged=2, rows=True)
    Q = np.zeros((5000, 3))
    assert check(Q) is None and narrow
    Q[4321, 1] = 1.5
    assert check(Q) == "other"


KEEPS = (lambda x: x, lambda x: x[1:], memoryview, lambda x: x.T, lambda x: x[::-1], lambda x: np.asarray(x).ravel())
"""Ways to have an array: itself, views, a buffer."""


def test_results_that_somebody_has_never_change(kernel):
    fast, rng = kernel.guarded(Other(), [1e12, 1e100]), np.random.default_rng(0)
    held: list[tuple[Any, np.ndarray]] = []
    for k in range(200):
        q, v = rng.normal(size=(2, 3))
        kept = KEEPS[k % len(KEEPS)](fast(q, v)[k % 2])
        if k % 3:
            held.append((kept, np.array(kept)))
        del kept
    for kept, was in held:
        assert np.array_equal(np.asarray(kept), was)


def test_arrays_that_nobody_has_any_more_serve_again(kernel):
    fast, q, v = kernel.guarded(Other(), [1e12, 1e100]), np.ones(3), np.ones(3)
    assert len({id(fast(q, v)[0]) for _ in range(50)}) == 1
    seen = set()
    for _ in range(50):
        a, _m, _n = fast(q, v)  # the next ones are made while these are there
        seen.add(id(a))
    assert len(seen) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.setflags(write=False),
        lambda m: setattr(m, "shape", (9,)),
        lambda m: setattr(m, "shape", (1, 9)),
        lambda m: m.resize((2, 2), refcheck=False),
        lambda m: setattr(m, "dtype", np.int64),
    ],
)
def test_arrays_that_were_changed_do_not_serve_again(kernel, change):
    fast, q, v = kernel.guarded(Other(), [1e12, 1e100]), np.arange(3.0), np.ones(3)
    for _ in range(3):
        m = fast(q, v)[1]
        assert m.shape == (3, 3) and m.dtype == np.float64 and m.flags.writeable and np.array_equal(m, np.outer(q, v))
        change(m)
        del m


def test_weak_references_to_results_end_with_them(kernel):
    fast, q, v = kernel.guarded(Other(), [1e12, 1e100]), np.ones(3), np.ones(3)
    weak = weakref.ref(fast(q, v)[0])
    before = weak()
    assert before is not None
    before = before.copy()
    for _ in range(5):
        fast(2.0 * q, v)
    assert weak() is None or np.array_equal(weak(), before)


def test_kept_arrays_go_with_the_builtin(kernel):
    fast = kernel.guarded(Other(), [1e12, 1e100])
    weak = weakref.ref(fast(np.ones(3), np.ones(3))[0])
    del fast
    gc.collect()
    assert weak() is None


MANY = 6000
"""Rows with which arrays of all outputs are large enough to be kept, but for those of the last."""


def rows_of(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.normal(size=(MANY, 3)) for _ in range(2)]


def test_results_of_rows_that_somebody_has_never_change(kernel):
    fast, rng = kernel.guarded(Other(), [1e12, 1e100], rows=True), np.random.default_rng(0)
    held: list[tuple[Any, np.ndarray]] = []
    for k in range(40):
        q, v = rows_of(rng)
        kept = KEEPS[k % len(KEEPS)](fast(q, v)[k % 2])
        if k % 3:
            held.append((kept, np.array(kept)))
        del kept
    for kept, was in held:
        assert np.array_equal(np.asarray(kept), was)


def test_arrays_of_rows_serve_again_for_as_many_rows(kernel):
    fast, rng = kernel.guarded(Other(), [1e12, 1e100], rows=True), np.random.default_rng(0)
    assert KEPT_ROWS[0] <= 3 * MANY < 9 * MANY <= KEPT_ROWS[1]
    q, v = rows_of(rng)
    seen = set()
    for _ in range(20):
        a, m, _n = fast(q, v)
        assert np.array_equal(m, q[:, :, None] * v[:, None, :])
        seen.add(id(a))
    assert len(seen) == 2
    for n in (MANY - 1, MANY, MANY - 1):
        a, m, _n = fast(q[:n], v[:n])
        assert len(a) == n and np.array_equal(m, q[:n, :, None] * v[:n, None, :])


def test_what_rows_are_not_kept_of_goes(kernel):
    fast, (q, v) = kernel.guarded(Other(), [1e12, 1e100], rows=True), rows_of(np.random.default_rng(0))
    for n in (10, KEPT_ROWS[1] // 3 + 10):  # too small to be worth it, too large to be kept
        many = [np.resize(x, (n, 3)) for x in (q, v)]
        weak = weakref.ref(fast(*many)[0])
        assert weak() is None


@pytest.mark.parametrize("change", [lambda m: m.setflags(write=False), lambda m: m.resize((2, 2), refcheck=False)])
def test_arrays_of_rows_that_were_changed_do_not_serve_again(kernel, change):
    fast, (q, v) = kernel.guarded(Other(), [1e12, 1e100], rows=True), rows_of(np.random.default_rng(0))
    for _ in range(3):
        m = fast(q, v)[1]
        assert m.shape == (MANY, 3, 3) and m.flags.writeable and np.array_equal(m, q[:, :, None] * v[:, None, :])
        change(m)
        del m
