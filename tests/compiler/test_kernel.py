"""A kernel computes what the graph says, for one state and for batches, whatever the form of the call."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function, load_or_compile
from kinloop.compiler.run import threads as parallel
from kinloop.errors import CompileError, KinloopError, MethodError, NonFiniteInput, ShapeError
from tests.compiler.graphs import every_operation, random_function, reference

SIZES = (1, 7, 64, 4096)


def states(rng, rows):
    return rng.uniform(-2, 2, (rows, 4)), rng.uniform(-2, 2, (rows, 3))


def double(n=3):
    """A kernel simple enough to predict: out = 2 x + y."""
    return compile_function(sc.trace(lambda x, y: 2.0 * x + y, {"x": n, "y": n}, "z"), name="double", cache=False)


def remake_double(n):
    made = sc.trace(lambda x, y: 2.0 * x + y, {"x": n, "y": n}, "z")
    return compile_function(made, name="double", recipe=(remake_double, (n,)), cache=False)


@pytest.mark.parametrize("seed", range(6))
def test_a_kernel_replays_its_graph(seed):
    function = random_function(seed)
    kernel = compile_function(function, cache=False)
    q, v = states(np.random.default_rng(seed), 37)
    expected = reference(function, q, v)
    for got, want in zip(kernel(q, v), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)
    for got, want in zip(kernel(q[5], v[5]), expected, strict=True):
        np.testing.assert_allclose(got, want[5], rtol=1e-13, atol=1e-13)


def test_every_operation_answers_as_numpy_for_special_values():
    """Infinite and nan intermediates too: they arise inside, since the inputs themselves must be finite."""
    function = every_operation()
    kernel = compile_function(function, cache=False)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e300, -1e300, 1e-310, 1e5, 3e7, 1e15, np.pi]
    x, y = (a.reshape(-1, 1) for a in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        (want,) = reference(function, x, y)
    np.testing.assert_allclose(kernel(x, y), want, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose([kernel(a, b) for a, b in zip(x, y)], want, rtol=1e-14, atol=1e-15)


def test_infinity_and_nan_inside_the_graph_reach_every_function():
    unary = (sc.sin, sc.cos, sc.tan, sc.asin, sc.acos, sc.atan, sc.sqrt, sc.exp, sc.log, sc.abs, sc.floor)

    def body(x):
        inf, nan = 1.0 / x[0], (x[0] * 1.0) / x[0]
        out = [f(z) for f in unary for z in (inf, -inf, nan)]
        for f in (sc.minimum, sc.maximum, sc.atan2):
            out += [f(a, b) for a in (inf, nan, 1.0 + x[0]) for b in (-inf, nan, 2.0 + x[0])]
        return np.array(out, dtype=object)

    function = sc.trace(body, {"x": 1})
    # x / x is folded to 1 by the graph: nan has to come from 0 * inf.
    nan_function = sc.trace(lambda x: body([x[0] - x[1], x[2]]), {"x": 3})
    for made, x in ((function, np.zeros((1, 1))), (nan_function, np.array([[1.0, 1.0, 0.0]]))):
        (want,) = reference(made, x)
        kernel = compile_function(made, cache=False)
        np.testing.assert_allclose(kernel(x)[0], want[0], rtol=1e-15)
        np.testing.assert_allclose(kernel(np.repeat(x, 5, axis=0)), np.repeat(want, 5, axis=0), rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_results_are_bitwise_equal_over_batch_size_order_and_threads(dtype):
    kernel = compile_function(random_function(3), dtype=dtype, cache=False)
    rng = np.random.default_rng(0)
    q, v = (x.astype(dtype) for x in states(rng, max(SIZES)))
    q[11] *= 1e7  # beyond the polynomial's range
    whole = kernel(q, v, threads=1)
    for size in SIZES:
        for part, all_rows in zip(kernel(q[:size], v[:size]), whole, strict=True):
            assert part.tobytes() == all_rows[:size].tobytes()
    ones = [kernel(q[i], v[i]) for i in range(40)]
    for k, all_rows in enumerate(whole):
        assert np.array([one[k] for one in ones]).tobytes() == all_rows[:40].tobytes()
    order = rng.permutation(len(q))
    for threads in (1, 2, 3):
        for part, all_rows in zip(kernel(q[order], v[order], threads=threads), whole, strict=True):
            assert part.tobytes() == all_rows[order].tobytes()


def test_single_precision_agrees_to_its_own_accuracy():
    function = random_function(1, loops=False)
    q, v = states(np.random.default_rng(2), 50)
    for single, full in zip(compile_function(function, dtype="float32")(q, v), compile_function(function)(q, v)):
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, full, rtol=3e-4, atol=3e-5)


@pytest.mark.parametrize("rows", range(1, 20))
def test_any_number_of_rows_is_right_and_nothing_else_is_written(rows):
    kernel = double(5)
    rng = np.random.default_rng(rows)
    x, y = rng.normal(size=(rows, 5)), rng.normal(size=(rows, 5))
    guarded = np.full((rows + 2, 5), 7.0)
    kernel(x, y, out=guarded[1:-1])
    np.testing.assert_array_equal(guarded[1:-1], 2 * x + y)
    assert (guarded[[0, -1]] == 7.0).all()


def test_inputs_broadcast_over_leading_axes():
    kernel = double()
    x, y = np.arange(12.0).reshape(4, 1, 3), np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(kernel(x, y), 2 * x + y)
    np.testing.assert_array_equal(kernel(x[0, 0], y), 2 * x[0, 0] + y)
    np.testing.assert_array_equal(kernel([1, 2, 3], [0.5, 0, 0]), [2.5, 4, 6])
    assert kernel(np.zeros((0, 3)), y[0]).shape == (0, 3)
    assert kernel(np.zeros((5, 0, 3)), y[0]).shape == (5, 0, 3)
    np.testing.assert_array_equal(kernel(x[:1], y[:1]), 2 * x[:1] + y[:1])


def test_strided_and_foreign_inputs_are_read_right():
    kernel = double()
    wide = np.random.default_rng(0).normal(size=(9, 8))
    x, y = wide[:, 1:4], wide[::-1, 4:7]
    np.testing.assert_array_equal(kernel(x, y), 2 * x + y)
    np.testing.assert_array_equal(kernel(np.asfortranarray(x), y[:, ::-1]), 2 * x + y[:, ::-1])
    np.testing.assert_array_equal(kernel(x.astype(">f8"), y), 2 * x + y)
    np.testing.assert_array_equal(kernel(np.arange(3), np.array([True, False, True])), [1, 2, 5])
    shifted = np.frombuffer(b"x" + x[0].tobytes(), dtype=np.uint8)[1:].view(float)
    assert not shifted.flags.aligned
    np.testing.assert_array_equal(kernel(shifted, y[0]), 2 * x[0] + y[0])


def test_outputs_may_be_strided_or_overlap_the_inputs():
    kernel = double()
    x = np.random.default_rng(0).normal(size=(10, 3))
    expected = 2 * x[:-1] + x[1:]
    out = np.zeros((9, 6))
    assert kernel(x[:-1], x[1:], out=out[:, ::2]).base is out
    np.testing.assert_array_equal(out[:, ::2], expected)
    kernel(x[:-1], x[1:], out=x[:-1])
    np.testing.assert_array_equal(x[:-1], expected)
    one, other = np.arange(3.0), np.ones(3)
    kernel(one, other, one)
    np.testing.assert_array_equal(one, [1, 3, 5])


def test_several_outputs_scalars_and_matrices_keep_their_shapes():
    def body(x):
        return {"s": x[0] * x[1], "m": np.outer(x, x), "one": np.array([x[0]], dtype=object)}

    kernel = compile_function(sc.trace(body, {"x": 2}), cache=False)
    s, m, one = kernel([2.0, 3.0])
    assert s.shape == () and s == 6
    np.testing.assert_array_equal(m, [[4, 6], [6, 9]])
    assert one.shape == (1,)
    s, m, one = kernel(np.full((4, 5, 2), 2.0))
    assert s.shape == (4, 5) and m.shape == (4, 5, 2, 2) and one.shape == (4, 5, 1)
    ready = (np.empty(()), np.empty((2, 2)), np.empty(1))
    assert all(a is b for a, b in zip(kernel(np.array([2.0, 3.0]), *ready), ready))
    assert all(a is b for a, b in zip(kernel([2.0, 3.0], out=ready), ready))
    assert kernel.outputs == {"s": (), "m": (2, 2), "one": (1,)} and kernel.inputs == {"x": (2,)}


def test_empty_inputs_and_constant_outputs():
    kernel = compile_function(sc.trace(lambda x, y: np.array([4.0, x[0]], dtype=object), {"x": 1, "y": 0}), cache=False)
    np.testing.assert_array_equal(kernel([1.0], []), [4, 1])
    np.testing.assert_array_equal(kernel(np.ones((3, 1)), np.zeros((3, 0))), [[4, 1]] * 3)
    constant = compile_function(sc.Function({"x": 0}, {"c": np.array([1.0, 2.0])}, sc.Graph()), cache=False)
    np.testing.assert_array_equal(constant(np.zeros(0)), [1, 2])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rows", [1, 3, 9, 130])
def test_a_bad_row_is_named_or_nan_and_the_others_do_not_change(bad, rows):
    kernel = compile_function(random_function(5), cache=False)
    q, v = states(np.random.default_rng(1), rows)
    good = kernel(q, v)
    row = rows // 2
    v = v.copy()
    v[row, 1] = bad
    with pytest.raises(NonFiniteInput, match=rf"'v'.* is {bad} at index 1 in row {row};"):
        kernel(q, v)
    for threads in (1, 2):
        for got, want in zip(kernel(q, v, on_nonfinite="nan", threads=threads), good, strict=True):
            assert np.isnan(got[row]).all()
            rest = np.arange(rows) != row
            assert got[rest].tobytes() == want[rest].tobytes()


def test_the_first_of_many_bad_rows_is_named_over_threads():
    kernel = double()
    x = np.ones((1000, 3))
    x[[17, 500, 900], 2] = np.nan
    with pytest.raises(NonFiniteInput, match="row 17"):
        kernel(x, x, threads=2)
    grid = np.ones((2, 3, 3))
    grid[1, 2, 0] = np.inf
    with pytest.raises(NonFiniteInput, match=r"row \(1, 2\)"):
        kernel(grid, np.ones(3))


def test_wrong_calls_raise_and_say_what_is_expected():
    kernel, x = double(), np.ones(3)
    wrong = [
        (TypeError, (x,), {}), (TypeError, (x,) * 4, {}), (TypeError, (), {}), (TypeError, (x, x, x), {"out": x}),
        (TypeError, (x, x), {"nonsense": 1}), (TypeError, (x, x), {"out": (x, x)}),
        (ShapeError, (x, np.ones(4)), {}), (ShapeError, (x, 1.0), {}), (ShapeError, (x, None), {}),
        (ShapeError, (x, "abc"), {}), (ShapeError, (x, x + 1j), {}), (ShapeError, (x, [[1, 2], [3]]), {}),
        (ShapeError, (x, np.array([None] * 3)), {}), (ShapeError, (np.ones((2, 3)), np.ones((5, 3))), {}),
        (ShapeError, (x, x, np.ones(4)), {}), (ShapeError, (x, x, np.ones(3, "f4")), {}),
        (ShapeError, (x, x, [0, 0, 0]), {}), (ShapeError, (x, x, np.ones((3, 1))), {}),
        (ShapeError, (np.ones((2, 3)), x, np.ones(3)), {}), (ShapeError, (x, x), {"out": "abc"}),
        (MethodError, (x, x), {"threads": 0}), (MethodError, (x, x), {"threads": "two"}),
        (MethodError, (x, x), {"on_nonfinite": "ignore"}), (NonFiniteInput, (x, x * np.nan), {}),
    ]  # fmt: skip
    for _ in range(2):  # before and after the builtin is made
        for error, args, options in wrong:
            with pytest.raises(error) as caught:
                kernel(*args, **options)
            assert isinstance(caught.value, KinloopError) or error is TypeError
        kernel(x, x)
    with pytest.raises(ShapeError, match=r"'y' of kernel double.* must have shape \(..., 3\), received \(4,\)"):
        kernel(x, np.ones(4))
    locked = np.ones(3)
    locked.flags.writeable = False
    with pytest.raises(ShapeError, match="read-only"):
        kernel(x, x, locked)
    np.testing.assert_array_equal(kernel(locked, locked), [3, 3, 3])


def test_threads_come_from_the_environment(monkeypatch):
    kernel, x = double(), np.ones((2_000_000, 3))
    used = []
    run = parallel.run_chunks
    monkeypatch.setattr("kinloop.compiler.run.kernel.run_chunks", lambda *a: used.append(a[-1]) or run(*a))
    for text, most in (("2", 2), ("1", 1), ("", parallel._cores())):
        monkeypatch.setenv("KINLOOP_THREADS", text)
        assert (kernel(x, x) == 3).all() and used[-1] <= most
    monkeypatch.setenv("KINLOOP_THREADS", "many")
    with pytest.raises(MethodError, match="KINLOOP_THREADS"):
        kernel(x, x)
    few = np.empty((64, 3))
    assert (kernel(x[:64], x[:64], out=few) == 3).all() and used[-1] == 1  # not worth a second thread


def test_many_python_threads_may_share_a_new_kernel():
    kernel = compile_function(random_function(7), cache=False)
    q, v = states(np.random.default_rng(3), 64)
    answers: list = [None] * 8

    def work(k):
        answers[k] = kernel(q, v) if k % 2 else [np.array(x) for x in zip(*[kernel(*s) for s in zip(q, v)])]

    workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in workers:
        t.start()
    for t in workers:
        t.join()
    assert len({b"".join(np.ascontiguousarray(x).tobytes() for x in a) for a in answers}) == 1


def test_a_kernel_pickles_as_its_recipe_and_never_as_code():
    kernel = remake_double(3)
    data = pickle.dumps(kernel)
    assert b"remake_double" in data and len(data) < 200
    np.testing.assert_array_equal(pickle.loads(data)([1, 2, 3], [0, 0, 1]), [2, 4, 7])
    assert copy.deepcopy(kernel) is kernel
    with pytest.raises(TypeError, match="without a recipe"):
        pickle.dumps(double())


def test_a_kernel_tells_about_itself():
    function = random_function(2)
    kernel = compile_function(function, name="swing", cache=False)
    assert kernel.name == "swing" and "swing(q: 4, v: 3)" in repr(kernel)
    assert kernel.operations == function.operations and kernel.operations["total"] > 100
    assert "define" in kernel.ir and kernel.nbytes > 1000 and kernel.dtype == np.float64
    assert kernel.function is function


def test_names_do_not_enter_the_generated_code():
    name = "evil_name_xyz"
    function = sc.trace(lambda a: {name: a * 2.0}, {name: 2})
    assert name not in compile_function(function, name=name, cache=False).ir


def test_an_unknown_dtype_is_refused():
    with pytest.raises(MethodError, match="float16"):
        compile_function(random_function(0), dtype="float16")
    assert compile_function(random_function(0), dtype=np.float32, cache=False).dtype == np.float32


def test_a_cached_recipe_is_not_traced_again():
    made = []

    def make():
        made.append(1)
        return random_function(4)

    q, v = states(np.random.default_rng(0), 9)
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
