"""Kernels of graphs that read tables by an index: lanes and single states are bit for bit the same, C too."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

import kinloop.scalar as sc
from kinloop.compiler import compile_function
from kinloop.errors import CompileError
from tests.compiler.row_graphs import random_rows, row_graph


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_a_batch_are_what_they_are_alone(seed):
    f, size = row_graph(seed)
    function = sc.trace(f, {"x": size})
    kernel = compile_function(function, name=f"rows{seed}")
    x = random_rows(seed, 37)
    batch = kernel(x)
    np.testing.assert_array_equal(batch, np.array([kernel(row) for row in x]))
    np.testing.assert_allclose(batch, np.array([function(row) for row in x]), rtol=1e-12, atol=1e-12)


def test_keys_of_any_sign_are_looked_at_together_and_one_by_one():
    """Zeros with a sign and what is no number are not below zero, wherever they are among others."""
    function = sc.trace(lambda x: np.array([*sc.nearest([y / z for y, z in zip(x[:19], x[19:])], 4)[0]]), {"x": 38})
    rng = np.random.default_rng(3)
    x = np.hstack([rng.choice([-1.0, -0.0, 0.0, 1.0, 2.0], (40, 19), p=[0.05, 0.3, 0.3, 0.3, 0.05]), np.ones((40, 19))])
    x[::3, 19:] = rng.choice([0.0, -0.0, 1.0], (14, 19))
    x[8:16] = x[8]
    kernel = compile_function(function, name="signs", cache=False)
    with np.errstate(all="ignore"):
        want = np.array([function(row) for row in x])
    np.testing.assert_array_equal(kernel(x), want)
    np.testing.assert_array_equal([kernel(row) for row in x], want)


def test_single_precision():
    f, size = row_graph(0)
    function = sc.trace(f, {"x": size})
    kernel, x = compile_function(function, name="rows32", dtype="float32"), random_rows(0, 20)
    np.testing.assert_allclose(
        kernel(x.astype(np.float32)), np.array([function(row) for row in x]), rtol=1e-3, atol=1e-4
    )


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_exported_c(tmp_path):
    f, size = row_graph(1)
    function = sc.trace(f, {"x": size})
    kernel = compile_function(function, name="rows")
    kernel.export_c(tmp_path)
    files = [str(path) for path in tmp_path.glob("*.c")]
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Werror", *files, "-o", str(tmp_path / "main"), "-lm"], check=True)
    for row in random_rows(1, 5):
        text = " ".join(repr(float(number)) for number in row)
        done = subprocess.run([tmp_path / "main"], input=text, capture_output=True, text=True, check=True)
        np.testing.assert_allclose(np.array(done.stdout.split(), dtype=float), function(row), rtol=1e-12, atol=1e-12)


def test_casadi_is_refused_by_name():
    pytest.importorskip("casadi")
    for f in (lambda x: np.array([sc.take(x[:2], x[2])]), lambda x: np.array(sc.nearest(x, 1)[0]),
              lambda x: sc.scan(lambda c, r, s: ([], [r[0]]), [], x[:, None])[1]):  # fmt: skip
        kernel = compile_function(sc.trace(f, {"x": 3}), name="refused")
        with pytest.raises(CompileError, match="contact between bodies"):
            kernel.to_casadi()
