"""No kernel touches memory beside its arrays: each ends, or begins, at a page that the system guards.

A touch kills the process, so each probe runs in one of its own.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import subprocess
import sys
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import Kernel, build, compile_function, guarded_check
from kinloop.compiler.plan import find_rows
from kinloop.compiler.plan.planner import make_plan
from kinloop.compiler.run.host import host

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs mprotect")

PAGE = mmap.PAGESIZE
STEPS = 5
EMPTY = np.empty

# What a careless change of the batch loop might do: look beyond the last row, or write lanes that are no rows.
PLANTS = {
    "read": ("sub i64 %stop, 1\n", "add i64 %stop, 40\n"),
    "write": ("sub i64 %stop, %", "add i64 %stop, %"),
}


def guarded(array: np.ndarray, at_end: bool) -> np.ndarray:
    """A copy of `array` between two pages that must not be touched, up against the one behind or before it."""
    if not array.size:
        return array.copy()
    pages = -(-array.nbytes // PAGE)
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    hold = ctypes.c_char.from_buffer(memory)
    libc = ctypes.CDLL(None, use_errno=True)
    for page in (0, pages + 1):
        assert libc.mprotect(ctypes.c_void_p(ctypes.addressof(hold) + page * PAGE), ctypes.c_size_t(PAGE), 0) == 0
    start = PAGE + (pages * PAGE - array.nbytes if at_end else 0)
    copy = np.frombuffer(memory, array.dtype, array.size, start).reshape(array.shape)
    copy[...] = array
    return copy


def make(dtype: str) -> tuple[Kernel, list[int]]:
    """A kernel of inputs around every multiple of the lanes; each output is twice its input, and a state."""
    lanes = host().lanes(dtype)
    sizes = [0, 1, lanes - 1, lanes, lanes + 1, 2 * lanes + 1]
    names = [f"x{n}" for n in sizes]
    function = sc.trace(lambda *x: {f"y{len(a)}": 2.0 * a for a in x}, dict(zip(names, sizes, strict=True)))
    return compile_function(function, dtype=dtype, cache=False), sizes


def probe(dtype: str, at_end: bool, plant: str) -> None:
    """Every number of rows up to twice the lanes and one, in every form of call."""
    real = build.module_text

    def planted(*args):
        old, new = PLANTS[plant]
        text = real(*args)
        assert text.count(old) > 0
        return text.replace(old, new)

    if plant:
        build.module_text = planted
    kernel, sizes = make(dtype)
    rng = np.random.default_rng(0)
    for rows in range(1, 2 * kernel.lanes + 2):
        print(f"{dtype} rows={rows} at_end={at_end}", flush=True)
        inputs = [rng.normal(size=(rows, n)).astype(dtype) for n in sizes]
        with mock.patch.object(np, "empty", lambda shape, dtype=float: guarded(EMPTY(shape, dtype), at_end)):
            check_calls(kernel, inputs, at_end)
            check_steps(kernel, inputs, at_end)
            check_steps_on_arrays(kernel, inputs, at_end)
    check_single(dtype, at_end)
    check_idle_lanes(dtype, at_end)


def check_idle_lanes(dtype: str, at_end: bool) -> None:
    """Rows of one state that do not fill vector registers: outputs are written, and read again by other segments."""
    rowed, lanes = partial(make_plan, segment=2, large=1), host().lanes(dtype)
    for n in (3, 5, lanes + 3, 2 * lanes - 1):

        def body(x: Any, s: Any) -> dict[str, Any]:
            first = x * s[0]
            second = first * s[1] + x
            return {"first": first, "second": second, "third": second * s[2] - first}

        with mock.patch.object(build, "make_plan", rowed), mock.patch.object(find_rows, "WORTH", 0.0):
            kernel = compile_function(sc.trace(body, {"x": n, "s": 3}), dtype=dtype, cache=False).compile()
        rest = n % kernel.lanes
        text = kernel._core.build().text(1)
        assert (rest.bit_count() > 1) == ("@llvm.masked.store" in text.split("define", 1)[1])
        x, s = guarded(np.arange(1, n + 1, dtype=dtype), at_end), np.array([2, 3, 5], dtype=dtype)
        outputs = [guarded(np.zeros_like(x), at_end) for _ in range(3)]
        for result, expected in zip(kernel(x, s, *outputs), (2 * x, 7 * x, 33 * x), strict=True):
            np.testing.assert_array_equal(result, expected)


def check_single(dtype: str, at_end: bool) -> None:
    """The only output of one state is written in place; a guarded builtin reads inputs once more."""
    for n in (1, 3, 4, 5, 7, 8, 9, 70):
        kernel = compile_function(sc.trace(lambda x: {"y": 2.0 * x}, {"x": n}), dtype=dtype, cache=False)
        x = guarded(np.arange(n, dtype=dtype), at_end)
        fast = kernel.guarded(kernel, [1e12])
        for given in (x, guarded(x[None], at_end)):
            out = guarded(np.zeros_like(given), at_end)
            for result in (kernel(given, out), kernel(given), kernel(given, out=out, threads=1), fast(given)):
                np.testing.assert_array_equal(result, 2 * given)
        check_rows(kernel, n, dtype, at_end)


def check_rows(kernel: Kernel, n: int, dtype: str, at_end: bool) -> None:
    """A guarded builtin for rows reads inputs and results once more, and has a judge write down what it finds."""
    judge = compile_function(sc.trace(lambda x: {"faults": x[[0, -1, 0]] * 0.5}, {"x": n}), dtype=dtype, cache=False)
    with mock.patch.object(np, "empty", lambda shape, dtype=float: guarded(EMPTY(shape, dtype), at_end)):
        fast = kernel.guarded(kernel, [1e12], judge, 2, rows=True)
        check = guarded_check(kernel, n, 1e12, judge, 2, rows=True)
    for rows in (1, 2, 5, 63, 64, 65, 131):
        x = guarded(np.ones((rows, n), dtype=dtype), at_end)
        np.testing.assert_array_equal(fast(x), 2 * x)
        assert dtype == "float32" or check(x) is None


def check_calls(kernel: Kernel, inputs: list[np.ndarray], at_end: bool) -> None:
    held = [guarded(x, at_end) for x in inputs]
    wide = [guarded(np.concatenate([x, x], axis=1), at_end) for x in inputs]
    part = [w[:, w.shape[1] // 2 :] if at_end else w[:, : w.shape[1] // 2] for w in wide]
    lone = [guarded(x[0], at_end) for x in inputs]
    for given, options in ((held, {}), (held, {"threads": 1}), (part, {}), ([*lone[:3], *held[3:]], {})):
        outputs = [guarded(np.zeros_like(x), at_end) for x in inputs]
        for results in (kernel(*given, *outputs, **options), kernel(*given, **options)):
            for x, y in zip(given, results, strict=True):
                np.testing.assert_array_equal(y, np.broadcast_to(2 * x, y.shape))
    outputs = [guarded(np.zeros_like(x), at_end) for x in lone]
    for results in (kernel(*lone, *outputs), kernel(*lone, threads=1)):
        for x, y in zip(lone, results, strict=True):
            np.testing.assert_array_equal(y, 2 * x)
    held[-1][-1, -1] = np.nan
    bad = kernel(*held, on_nonfinite="nan")
    assert all(np.isnan(y[-1]).all() and np.isfinite(y[:-1]).all() for y in bad)


def check_steps(kernel: Kernel, inputs: list[np.ndarray], at_end: bool) -> None:
    """The largest two inputs change from step to step, the others double."""
    names, outputs = list(kernel.inputs), list(kernel.outputs)
    stepped = names[-2:]
    given = [np.repeat(x[:, None], STEPS, axis=1) if n in stepped else x for n, x in zip(names, inputs, strict=True)]
    feedback = dict(zip(names[:-2], outputs, strict=False))
    held = [guarded(x, at_end) for x in given]
    results = kernel.iterate(*held, steps=STEPS, feedback=feedback, stepped=stepped, every=2)
    for name, out, x in zip(names, outputs, inputs, strict=True):
        want = np.repeat(2 * x[:, None], STEPS // 2, axis=1) if name in stepped else 2**STEPS * x
        np.testing.assert_array_equal(results[out], want)


def check_steps_on_arrays(kernel: Kernel, inputs: list[np.ndarray], at_end: bool) -> None:
    """The same on arrays that stay where they are, with tables for each row and for all, and records beside guards."""
    names, outputs, rows = list(kernel.inputs), list(kernel.outputs), len(inputs[0])
    feedback = dict(zip(names[:-2], outputs, strict=False))
    real = np.zeros
    with mock.patch.object(np, "zeros", lambda shape, dtype=float: guarded(real(shape, dtype), at_end)):
        stepping = kernel.stepping(rows, feedback)
    for name, x in zip(names[:-2], inputs, strict=False):
        stepping.arrays[name][:] = x
    each, alike = (np.repeat(x[:, None], STEPS, axis=1) for x in inputs[-2:])
    tables = guarded(each, at_end), guarded(alike[:1], at_end)
    records = [guarded(np.zeros((rows, STEPS // 2, x.shape[1]), dtype=x.dtype), at_end) for x in inputs[-2:]]
    for name, out, table, record in zip(names[-2:], outputs[-2:], tables, records, strict=True):
        stepping.read_table(name, table)
        stepping.record(out, record)
    kernel.advance(stepping, STEPS, every=2)
    for name, x in zip(names[:-2], inputs, strict=False):
        np.testing.assert_array_equal(stepping.arrays[name], 2**STEPS * x)
    for record, table in zip(records, tables, strict=True):
        np.testing.assert_array_equal(record, np.broadcast_to(2 * table[:, : STEPS // 2], record.shape))


def run_probe(*args: object) -> subprocess.CompletedProcess[str]:
    script = f"from tests.compiler.test_memory_bounds import probe; probe{args!r}"
    paths = os.pathsep.join([os.path.join(os.getcwd(), "src"), os.getcwd(), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )


@pytest.mark.parametrize(
    ("dtype", "at_end"),
    [
        ("float64", True),
        ("float32", False),
        pytest.param("float64", False, marks=pytest.mark.slow),
        pytest.param("float32", True, marks=pytest.mark.slow),
    ],
    ids=["float64-guard behind", "float32-guard before", "float64-guard before", "float32-guard behind"],
)
def test_no_call_touches_memory_beside_its_arrays(dtype, at_end):
    done = run_probe(dtype, at_end, "")
    assert done.returncode == 0, f"after {done.stdout.splitlines()[-1:]}: {done.stderr}"
    assert len(done.stdout.splitlines()) >= 5


@pytest.mark.parametrize("plant", list(PLANTS))
def test_the_guard_notices_a_row_too_many(plant):
    done = run_probe("float64", True, plant)
    assert done.returncode in (-signal.SIGSEGV, -signal.SIGBUS), done.stderr
