"""Machine code that kernels have in common: once on a machine, found where kernels look for it."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import common, compile_function
from kinloop.compiler.build import common_code
from kinloop.compiler.emit.common_functions import _signatures
from kinloop.compiler.emit.kernel_layout import Layout
from kinloop.compiler.run.host import host

SCRIPT = """
import numpy as np
from kinloop import scalar as sc
from kinloop.compiler import load_or_compile
kernel = load_or_compile("a kernel", lambda: sc.trace(lambda x: sc.sin(x), {"x": 3}))
print(kernel(np.ones((9, 3))).tobytes().hex())
"""


def answer() -> str:
    return subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_it_is_kept_on_disk(monkeypatch, own_cache, dtype):
    first = common.kept_library("common", host(), dtype, lambda: common_code(host(), dtype))
    assert len(list(own_cache.glob("*.kernel"))) == 1
    monkeypatch.setattr(common, "compile_text", None)  # no need of it any more
    assert common.kept_library("common", host(), dtype, str).code_size == first.code_size > 0


def test_every_function_is_loaded():
    for lanes in (1, 4):
        assert set(_signatures(Layout((), (), "float64", lanes, 4))) <= set(common.FUNCTIONS)


def test_kernels_do_not_bring_it_along():
    kernel = compile_function(sc.trace(lambda x: sc.sin(x), {"x": 3}), cache=False)
    for name in common.FUNCTIONS:
        assert f" @{name}(" not in kernel.ir
        assert f"define {name}" not in kernel.ir


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[: len(data) // 2], lambda data: data[::-1]])
def test_a_broken_file_is_made_again(own_cache, damage):
    first = answer()
    files = list(own_cache.glob("*.kernel"))
    assert len(files) == 2
    for file in files:
        file.write_bytes(damage(file.read_bytes()))
    assert answer() == first


def test_kernels_of_either_precision_go_side_by_side():
    kernels = {
        dtype: compile_function(sc.trace(lambda x: sc.cos(x) * 2.0, {"x": 5}), dtype=dtype, cache=False)
        for dtype in ("float64", "float32")
    }
    for rows in (1, 3, 40):
        x = np.random.default_rng(rows).normal(size=(rows, 5))
        for dtype, kernel in kernels.items():
            np.testing.assert_allclose(kernel(x.astype(dtype)), 2 * np.cos(x.astype(dtype)), rtol=1e-6)


def test_threads_that_ask_at_once_get_the_same(monkeypatch):
    made = []

    def slow(target, dtype):
        made.append(object())
        time.sleep(0.05)
        return made[-1]

    monkeypatch.setattr(common, "_linked", functools.cache(slow))
    got: list[object] = []
    threads = [threading.Thread(target=lambda: got.append(common.link_common(host(), "float64"))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(made) == 1 and set(map(id, got)) == {id(made[0])}
