"""`out=` and `threads=1`: read by the builtin, with the answers and the words of the Python way."""

from __future__ import annotations

import contextlib
import gc
import math
import sys
import threading
import time

import numpy as np
import pytest
from helpers import assert_enough

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.compiler.run import builtin
from kinloop.compiler.run.threads import SINGLE_THREAD_WORK
from kinloop.errors import NonFiniteInput

pytestmark = pytest.mark.skipif(not builtin.usable(), reason="no builtins on this interpreter")


@pytest.fixture(scope="module")
def kernel():
    made = sc.trace(lambda q, v: {"a": q * 2.0 + v, "m": np.outer(q, v)}, {"q": 3, "v": 3})
    return compile_function(made, cache=False).compile().compile(batch=True)


@pytest.fixture(scope="module")
def single():
    """A kernel with one output, made for rows only."""
    return compile_function(sc.trace(lambda q: q * 2.0, {"q": 3}), cache=False).compile(batch=True)


@pytest.fixture
def no_slow_way(monkeypatch):
    def refuse(*args):
        raise AssertionError("the slow way was taken")

    monkeypatch.setattr("kinloop.compiler.core.read_call", refuse)


def rows(count=5):
    rng = np.random.default_rng(count)
    return rng.normal(size=(count, 3)), rng.normal(size=(count, 3)), np.zeros((count, 3)), np.zeros((count, 3, 3))


@pytest.mark.parametrize("count", [1, 7, 8, 64])
def test_ready_arrays_go_through_the_builtin(kernel, single, no_slow_way, count):
    q, v, a, m = rows(count)
    expected = [x.tobytes() for x in kernel(q, v)]
    forms = [((q, v), {"out": (a, m)}), ((q, v), {"out": (a, m), "threads": 1}), ((q, v, a, m), {"threads": 1})]
    forms += [((q, v), {"threads": 1, "out": (a, m)}), ((q, v, a, m), {"out": None, "threads": None})]
    for args, keywords in forms:
        a[:], m[:] = 0.0, 0.0
        out = kernel(*args, **keywords)
        assert type(out) is tuple and out[0] is a and out[1] is m
        assert [x.tobytes() for x in out] == expected
    for keywords in ({"threads": 1}, {"out": None}, {"threads": None, "out": None}):
        made = kernel(q, v, **keywords)
        assert [x.tobytes() for x in made] == expected and made[0] is not a
    assert single(q, out=a, threads=1) is a and (a == 2 * q).all()
    np.testing.assert_array_equal(kernel(q, v[0], threads=1)[0], 2 * q + v[0])


def test_one_state_goes_through_the_builtin_as_it_is_and_in_a_row(kernel, no_slow_way):
    for k in (0, slice(0, 1)):
        q, v, a, m = (x[k] for x in rows(1))
        expected = [x.tobytes() for x in kernel(q, v)]
        for keywords in ({"out": (a, m)}, {"out": (a, m), "threads": 1}):
            a[:], m[:] = 0.0, 0.0
            out = kernel(q, v, **keywords)
            assert out[0] is a and out[1] is m and [x.tobytes() for x in out] == expected
        for keywords in ({}, {"threads": 1}, {"out": None}):
            made = kernel(q, v, **keywords)
            assert [(x.shape, x.tobytes()) for x in made] == [(a.shape, expected[0]), (m.shape, expected[1])]


def neighbours(count, order):
    """Inputs and outputs side by side in memory, in this order; the second input may be one row."""
    shapes = {"q": (count, 3), "v": (count, 3), "v1": (3,), "a": (count, 3), "m": (count, 3, 3)}
    sizes = [math.prod(shapes[name]) for name in order]
    pieces = np.split(np.arange(1.0, 1 + sum(sizes)), np.cumsum(sizes)[:-1])
    found = {name[0]: piece.reshape(shapes[name]) for name, piece in zip(order, pieces, strict=True)}
    return [found[name] for name in "qvam"]


@pytest.mark.parametrize(
    "order", [("q", "v", "a", "m"), ("a", "q", "m", "v"), ("m", "v1", "a", "q"), ("q", "a", "v1", "m")]
)
def test_neighbours_in_memory_are_no_overlap(kernel, no_slow_way, order):
    q, v, a, m = neighbours(5, order)
    expected = [x.tobytes() for x in kernel(q, v)]
    for out in (kernel(q, v, a, m), kernel(q, v, out=(a, m), threads=1)):
        assert [x.tobytes() for x in out] == expected


def test_one_thread_takes_any_number_of_rows(single, no_slow_way):
    q = np.ones((SINGLE_THREAD_WORK // single._core.work + 9, 3))
    assert (single(q, threads=1) == 2).all()
    out = np.zeros_like(q)
    assert single(q, out=out, threads=1) is out and (out == 2).all()
    with pytest.raises(AssertionError, match="slow way"):
        single(q, out=out)


def unusual():
    """Calls with fresh arrays: what the builtin does not expect, and what it must not take for something else."""
    q, v, a, m = rows()
    out = {"out": (a, m)}
    alone = {"threads": 1}
    yield from (
        ((x, v), out | alone) for x in (q.tolist(), q.astype("f4"), q.astype(">f8"), q.astype(int), q[:1], q[0])
    )
    wide, turned = np.ones((5, 6)), np.asfortranarray(q)
    yield from (((x, v), out | alone) for x in (wide[:, ::2], wide[:, 1:4], turned, q[::-1], q.view(np.matrix)))
    yield from (((q[:4], v), keywords) for keywords in (alone, out, out | alone))
    yield from (((q[:, :2], v), keywords) for keywords in (alone, out, out | alone))
    yield (q[:0], v[:0]), alone
    yield (q[:0], v[:0]), {"out": (a[:0], m[:0])}
    yield (q[0], v[0]), alone
    yield (q[0], v[0]), {"out": (a[0], m[0])} | alone
    yield (q[None], v[None]), {"out": (a[None], m[None])} | alone
    for one in (0, slice(0, 1)):
        for x in (a[1], a[1:2], a[1].astype("f4"), a[1, :2], q[one], v[one], a[1].tolist(), None):
            yield (q[one], v[one]), {"out": (x, m[one])}
        yield (q[one], v[0]), {"out": (a[one], m[one])}
        yield (q[one], v[:2]), {}
        yield from (((q[one], v[one]), {"out": x}) for x in ((a[one],), [a[one], m[one]], a[one], (m[one], a[one])))
        yield from (((x, v[one]), {"out": (a[one], m[one])}) for x in (np.full(3, np.nan), q[one].tolist()))
    yield (q, v, a, m), out
    yield (q, v, a), alone
    yield (q,), out
    yield (), out | alone
    for x in (a[:4], a[:, :2], a.astype("f4"), a.astype(">f8"), wide[:, ::2], None, a.tolist(), q, v, m):
        yield (q, v), {"out": (x, m)}
        yield (q, v, x, m), alone
    locked = np.zeros((5, 3))
    locked.flags.writeable = False
    yield (q, v), {"out": (locked, m)}
    yield (q, v, locked, m), alone
    for x in ((a,), (a, m, a), [a, m], a, (), [], 1, "ab", (m, a), np.zeros((2, 5, 3)), object):
        yield (q, v), {"out": x} | alone
    for x in (0, -1, True, 1.0, "1", [1], np.int64(1), 2, 3, 10**30, False):
        yield (q, v), out | {"threads": x}
    yield (q, v), alone | {"on_nonfinite": "nan"}
    yield (q, v), alone | {"on_nonfinite": "never"}
    yield (q, v), alone | {"thread": 1}
    yield (q, v), {"".join(["thr", "eads"]): 1} | {"".join(["o", "ut"]): (a, m)}
    bad = q.copy()
    bad[3, 1] = np.inf
    yield from (((bad, v), keywords) for keywords in (alone, out | alone, out, out | {"on_nonfinite": "nan"}))
    yield from overlapping()


def overlapping():
    """Outputs that share memory with an input of more rows than there are lanes, by little, much, or just not."""
    _, v, _, m = rows(40)
    for begin in (0, 1, 119, 120, 121, 179, 239, 240):
        for one_row in (False, True):
            memory = np.arange(360.0)
            q, out = (memory[k : k + 120].reshape(40, 3) for k in (120, begin))
            yield (q[0] if one_row else q, v), {"out": (out, m), "threads": 1}
            yield (v, q[0] if one_row else q, out, m), {}


def answer(call, args, keywords):
    """What a call gives or raises, and what it leaves in the arrays it was given, as something to compare."""
    try:
        found = call(*args, **keywords)
        given = found if isinstance(found, tuple) else (found,)
        said: object = [(type(x), x.shape, x.dtype, x.tobytes()) for x in given]
    except Exception as error:
        said = type(error), str(error).split("call() ")[-1]
    listed = keywords.get("out")
    kept = [*args, *(listed if isinstance(listed, tuple | list) else [listed])]
    return said, [x.tobytes() for x in kept if isinstance(x, np.ndarray)]


def test_unusual_calls_have_the_answers_and_errors_of_the_python_way(kernel):
    raised = 0
    for fast, slow in zip(unusual(), unusual(), strict=True):
        found, expected = answer(kernel, *fast), answer(kernel._core.call, *slow)
        assert found == expected
        raised += isinstance(found[0], tuple)
    assert_enough(raised, 40, "calls refused and")


def test_reference_counts_stay_balanced(kernel):
    q, v, a, m = rows()
    pair, bad, one = (a, m), np.full((5, 3), np.nan), 1
    objects = (q, v, a, m, pair, bad, kernel, kernel.builtin)

    def use():
        for _ in range(200):
            kernel(q, v, out=pair, threads=one)
            kernel(q, v, a, m, threads=one)
            kernel(q, v, threads=one)
            kernel(q[0], v[0], out=(a[0], m[0]))
            kernel(q[:1], v[:1])
            for keywords in ({"out": pair}, {"threads": one}):
                with contextlib.suppress(NonFiniteInput):
                    kernel(q, bad, **keywords)

    use()
    gc.collect()
    before = [sys.getrefcount(x) for x in objects]
    use()
    gc.collect()
    assert [sys.getrefcount(x) for x in objects] == before


def test_who_asks_for_one_thread_leaves_the_interpreter_to_others(single):
    """Another thread waits for the interpreter, which by itself changes hands every hundred seconds."""
    q, gate, seen = np.ones((2000, 3)), threading.Lock(), threading.Event()
    out, before = np.zeros_like(q), sys.getswitchinterval()
    gate.acquire()
    other = threading.Thread(target=lambda: (gate.acquire(), seen.set()))
    other.start()
    sys.setswitchinterval(100)
    try:
        gate.release()
        for _ in range(100):
            single(q, out)
            single(q, out=out)
        kept = not seen.is_set()
        end = time.monotonic() + 10
        while not seen.is_set() and time.monotonic() < end:
            single(q, out=out, threads=1)
        assert kept and seen.is_set()
    finally:
        sys.setswitchinterval(before)
        other.join()
