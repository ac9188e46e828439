"""Kernels in several modules, compiled side by side."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.compiler.build import MODULE_END
from kinloop.compiler.run.compilation import Compilation, compile_text
from kinloop.compiler.run.host import host
from kinloop.errors import CompileError, MethodError

N = 40


@pytest.fixture(scope="module")
def large() -> sc.Function:
    """Sums of products without any order, in several segments and modules; some call libm."""

    def f(x):
        rng = np.random.default_rng(4)
        values = list(x)
        for k in range(3000):
            a, b, c = (values[i] for i in rng.integers(max(0, len(values) - 300), len(values), size=3))
            values.append(sc.atan2(a, 2.0 + b * b) if k % 500 == 7 else 0.5 * (a * b - c))
        return np.array(values[-N:], dtype=object)

    return sc.trace(f, {"x": N})


@pytest.mark.parametrize("batch", [False, True])
def test_code_is_the_same_however_many_threads_compile_it(large, monkeypatch, batch):
    kernel = compile_function(large, cache=False)
    build, lanes = kernel._core.build(), kernel.lanes if batch else 1
    assert MODULE_END in build.text(lanes)
    made = []
    for threads in ("1", "4"):
        monkeypatch.setenv("KINLOOP_THREADS", threads)
        made.append(build.object_code(lanes))
    assert made[0] == made[1] and len(made[0][0]["code"]) > 2
    x = np.random.default_rng(0).uniform(-1, 1, (3, N))
    expected = [large(row) for row in x]
    found = kernel(x) if batch else [kernel(row) for row in x]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_small_kernels_are_one_module():
    function = sc.trace(lambda x: x * math.pi, {"x": 3})
    assert MODULE_END not in compile_function(function, cache=False).ir


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_module_that_llvm_refuses_is_named(monkeypatch, threads):
    monkeypatch.setenv("KINLOOP_THREADS", threads)
    good = "define void @f() { ret void }"
    with pytest.raises(CompileError, match=r"LLVM refused a kernel(.|\n)*nonsense"), Compilation(host()) as made:
        for text in (good, "nonsense", good):
            made.add(text)
    assert made.codes == []


def test_modules_that_could_not_be_written_are_not_waited_for(monkeypatch):
    monkeypatch.setenv("KINLOOP_THREADS", "2")
    with pytest.raises(ZeroDivisionError), Compilation(host()) as made:
        made.add("define void @f() { ret void }")
        made.add("nonsense")
        raise ZeroDivisionError
    assert made.codes == []


def test_a_wrong_number_of_threads_is_refused(monkeypatch):
    monkeypatch.setenv("KINLOOP_THREADS", "none")
    with pytest.raises(MethodError, match="KINLOOP_THREADS='none'"):
        Compilation(host())


def test_an_unfinished_module_is_an_error_of_ours():
    with pytest.raises(CompileError):
        compile_text("define void @f() {", host())
