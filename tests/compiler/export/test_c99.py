"""The same numbers from C, compiled with the system's compiler."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.compiler.export.c_interface import identifiers
from kinloop.compiler.plan.planner import make_plan
from kinloop.compiler.plan.stage_types import Move, Series
from tests.compiler.graphs import every_operation, random_function

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")


def build(kernel, folder):
    files = kernel.export_c(folder)
    assert [f.suffix for f in files] == [".c", ".h", ".c"] and files[2].name == "main.c"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-ffp-contract=off"]
    program = folder / "program"
    done = subprocess.run([CC, *flags, files[0], files[2], "-o", program, "-lm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

    def run(*inputs):
        text = " ".join(repr(float(x)) for x in np.concatenate(inputs))
        out = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
        return np.array([float(x) for x in out.stdout.split()])

    return run


@needs_cc
@pytest.mark.parametrize("seed", [0, 1])
def test_c_code_computes_the_same(tmp_path, seed):
    kernel = compile_function(random_function(seed), name="swing", cache=False)
    run = build(kernel, tmp_path)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        q, v = rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 3)
        expected = np.concatenate([x.ravel() for x in kernel(q, v)])
        np.testing.assert_allclose(run(q, v), expected, rtol=1e-13, atol=1e-13)


@needs_cc
def test_every_operation_in_c_and_in_single_precision(tmp_path):
    for dtype, tolerance in (("float64", 1e-14), ("float32", 1e-6)):
        kernel = compile_function(every_operation(), dtype=dtype, cache=False)
        run = build(kernel, tmp_path / dtype)
        for x, y in ((0.3, 0.7), (0.7, -0.2)):
            np.testing.assert_allclose(run([x], [y]), kernel([x], [y]), rtol=tolerance)


@needs_cc
def test_hostile_names_become_harmless(tmp_path):
    names = ['a"; system("reboot"); //', "*/ int x;", "../../etc/passwd", "double", "", "1st", "q", "q", "ünï", "a\nb"]
    function = sc.Function({"a\n#include <x>": 1}, {"*/ evil": np.zeros(1)}, sc.Graph())
    kernel = compile_function(function, name="../../*/ name", cache=False)
    assert np.all(build(kernel, tmp_path)([1.0]) == 0.0)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kl_name.c", "kl_name.h", "main.c", "program"]
    words = identifiers(names)
    assert len(set(words)) == len(names)
    assert all(w.isascii() and w.isidentifier() and w != "double" for w in words)


def test_the_example_complains_about_missing_numbers(tmp_path):
    if CC is None:
        pytest.skip("no C compiler")
    kernel = compile_function(random_function(0), cache=False)
    build(kernel, tmp_path)
    done = subprocess.run([tmp_path / "program"], input="1 2", capture_output=True, text=True)
    assert done.returncode == 1 and "expected 7 numbers, received 2" in done.stderr


@needs_cc
def test_what_a_kernel_rolls_up_is_written_out(tmp_path):
    def body(x):
        c, out = x[0], []
        for k in (*range(300), *range(301, 600)):  # two stretches of angles that are moved together
            s, r = sc.sin(x[k]), (0.3 + 1e-3 * k) * c
            for _ in range(5):
                c = 0.4 * c * s + r * (c - 0.5 * s)
            out.append(c)
        return np.array(out, dtype=object)

    function = sc.trace(body, {"x": 600})
    stages = make_plan(function, True).stages
    assert any(isinstance(stage, Series) for stage in stages) and any(isinstance(stage, Move) for stage in stages)
    kernel = compile_function(function, name="links", cache=False)
    x = np.random.default_rng(0).uniform(-1, 1, 600)
    np.testing.assert_allclose(build(kernel, tmp_path)(x), kernel(x), rtol=1e-9, atol=1e-12)
