"""Two ways to a kernel: from a traced function, and from a recipe that is traced only if it must be."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from kinloop.compiler import compile_function, load_or_compile
from kinloop.errors import CompileError, KinloopError, MethodError
from tests.compiler.graphs import random_function, random_states


def test_an_unknown_dtype_is_refused():
    with pytest.raises(MethodError, match="float16"):
        compile_function(random_function(0), dtype="float16")
    assert compile_function(random_function(0), dtype=np.float32, cache=False).dtype == np.float32


def test_a_cached_recipe_is_not_traced_again():
    made = []

    def make():
        made.append(1)
        return random_function(4)

    q, v = random_states(np.random.default_rng(0), 9)
    first = load_or_compile(("robot", 1.5, np.arange(3)), make)
    expected = first(q, v)
    assert made == [1]
    second = load_or_compile(("robot", 1.5, np.arange(3)), make)
    assert made == [1] and second.operations == first.operations and second.outputs == first.outputs
    assert [x.tobytes() for x in second(q, v)] == [x.tobytes() for x in expected]
    assert made == [1]
    second(q[0], v[0])  # the code for one state was not made yet
    assert made == [1, 1]
    load_or_compile(("robot", 1.5, np.arange(4)), make)
    assert made == [1, 1, 1]
    with pytest.raises(TypeError, match="recipe"):
        load_or_compile((object(),), make)


def test_without_llvmlite_kinloop_imports_and_says_what_to_do():
    code = """
import sys
sys.modules["llvmlite"] = None
import kinloop.compiler as c
from kinloop import scalar
from kinloop.errors import CompileError
assert not c.available()
try:
    c.compile_function(scalar.trace(lambda x: x, {"x": 1}))
except CompileError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install llvmlite" in done.stdout
    assert issubclass(CompileError, KinloopError)
