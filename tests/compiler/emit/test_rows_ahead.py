"""Laps ask for the next rows of the inputs and for those that get the outputs, all of them and little else."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from kinloop.compiler import build, compile_function
from kinloop.compiler.abi import CACHE_LINE
from kinloop.compiler.emit import rows_ahead
from kinloop.compiler.plan.planner import make_plan
from tests.compiler.graphs import linked_function

ROOM = 1 << 16
"""Lines that can be noted."""
NOTES = f"""
@noted = internal global [{ROOM} x i64] zeroinitializer
@count = internal global i64 0
define internal void @note(ptr %p, i32 %write, i32 %near, i32 %data) {{
  %n = load i64, ptr @count
  %more = add i64 %n, 1
  store i64 %more, ptr @count
  %place = getelementptr i64, ptr @noted, i64 %n
  %line = ptrtoint ptr %p to i64
  %whole = and i64 %line, -{CACHE_LINE}
  %flag = zext i32 %write to i64
  %both = or i64 %whole, %flag
  store i64 %both, ptr %place
  ret void
}}
define i64 @notes(ptr %to) {{
  %n = load i64, ptr @count
  %bytes = mul i64 %n, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr @noted, i64 %bytes, i1 false)
  store i64 0, ptr @count
  ret i64 %n
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
LINES = 8
"""Lines of an array that a lap may fetch, since there are few laps."""
ASKED = "llvm.prefetch.p0"
build_text = build.module_text


def noting(*args):
    """The text of a kernel that notes lines in place of fetching them."""
    text = build_text(*args).replace(f"declare void @{ASKED}(ptr, i32, i32, i32)", "")
    return text.replace(f"@{ASKED}(", "@note(") + NOTES


@pytest.fixture(scope="module", params=["float64", "float32"])
def kernel(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "make_plan", lambda f, fuse, **how: make_plan(f, fuse, large=1, **how))
        patch.setattr(build, "module_text", noting)
        patch.setattr(rows_ahead, "MOST", LINES)
        return compile_function(linked_function(1), dtype=request.param, cache=False).compile(batch=True)


def noted(kernel):
    """The lines that were noted since the last look: those to be read, and those to be written."""
    notes = kernel._core.variants[kernel.lanes].library.function("notes", ctypes.c_int64, ctypes.c_void_p)
    found = np.empty(ROOM, dtype=np.int64)
    lines = found[: notes(found.ctypes.data)]
    write = (lines & 1).astype(bool)
    return set(lines[~write].tolist()), set((lines[write] - 1).tolist())


def lines_of(*arrays):
    """The lines in which arrays lie, but for what they have of their last one."""
    starts = [(x.ctypes.data, x.ctypes.data + x.nbytes) for x in arrays]
    return {line for a, b in starts for line in range(a & -CACHE_LINE, b & -CACHE_LINE, CACHE_LINE)}


@pytest.mark.parametrize("rows", [2, 8, 9, 16, 17, 100])
def test_all_rows_but_the_first_are_fetched_and_nothing_far_from_them(kernel, rows):
    rng = np.random.default_rng(rows)
    inputs = [rng.uniform(-1, 1, (rows, *shape)).astype(kernel.dtype) for shape in kernel.inputs.values()]
    outputs = [np.empty((rows, *shape), kernel.dtype) for shape in kernel.outputs.values()]
    noted(kernel)
    kernel(*inputs, *outputs, threads=1)
    read, written = noted(kernel)
    assert read >= lines_of(*(x[kernel.lanes :] for x in inputs))
    assert written >= lines_of(*outputs)
    for asked, arrays in ((read, inputs), (written, outputs)):
        ends = [(x.ctypes.data - CACHE_LINE, x.ctypes.data + x.nbytes + LINES * CACHE_LINE) for x in arrays]
        assert all(any(a < line < b for a, b in ends) for line in asked)
