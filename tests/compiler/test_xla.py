"""Kernels as foreign functions of XLA's, called with call frames that are made here: no JAX is needed."""

import ctypes

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler import compile_function
from kinloop.compiler.abi import Frame
from kinloop.errors import MethodError


class CallFrame:
    """A call frame with buffers of arrays, as XLA hands it over."""

    def __init__(self, inputs, outputs):
        self._kept = []
        self.words = (ctypes.c_int64 * 32)()
        for at, arrays in ((Frame.ARGUMENTS, inputs), (Frame.RESULTS, outputs)):
            buffers = [self._buffer(x) for x in arrays]
            self._put(at, self._keep((ctypes.c_int64 * len(buffers))(*buffers)))
        self._put(Frame.STAGE, Frame.EXECUTE)

    def _buffer(self, x):
        shape = self._keep((ctypes.c_int64 * max(x.ndim, 1))(*x.shape))
        words = (ctypes.c_int64 * 6)(48, 0, {8: 12, 4: 11}[x.itemsize], x.ctypes.data, x.ndim, shape)
        return self._keep(words)

    def _keep(self, x):
        self._kept.append(x)
        return ctypes.addressof(x)

    def _put(self, at, word):
        self.words[at // 8] = word

    def call(self, handler):
        return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(handler.address)(ctypes.addressof(self.words))


@pytest.fixture(scope="module")
def kernel():
    function = sc.trace(
        lambda x, y: {"z": np.array([x[0] * y[0] + x[1], sc.sin(x[0])]), "w": x - 1.0}, {"x": 2, "y": 1}
    )
    return compile_function(function, name="mixed")


@pytest.fixture(scope="module")
def judge():
    return compile_function(sc.trace(lambda x: {"faults": np.array([x[1], 0.0])}, {"x": 2}), name="faults")


def outputs(rows, dtype=float):
    return [np.full((*rows, 2), 7.0, dtype=dtype) for _ in range(2)]


@pytest.mark.parametrize("rows", [(), (1,), (5,), (3, 4), (100,)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_handler_computes_what_the_kernel_does(kernel, rows, dtype):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(*rows, n)).astype(dtype) for n in (2, 1))
    found = outputs(rows, dtype)
    handler = kernel.xla_handler(np.prod(rows) > 1, dtype == np.float32)
    assert CallFrame([x, y], found).call(handler) is None
    expected = kernel(x.astype(float), y.astype(float))
    assert all(np.array_equal(a, b.astype(dtype)) for a, b in zip(found, expected, strict=True))


def test_an_input_of_one_row_serves_all(kernel):
    x, y, found = np.random.default_rng(1).normal(size=(40, 2)), np.array([3.0]), outputs((40,))
    CallFrame([x, y], found).call(kernel.xla_handler(True))
    assert np.array_equal(found[0], kernel(x, y)[0])
    single = outputs((40,), np.float32)
    CallFrame([x.astype(np.float32), y.astype(np.float32)], single).call(kernel.xla_handler(True, True))
    assert np.array_equal(single[0], kernel(x.astype(np.float32), y)[0].astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_that_the_judge_finds_fault_with_are_nan(kernel, judge, dtype):
    x, y = np.zeros((70, 2), dtype=dtype), np.ones((70, 1), dtype=dtype)
    x[[3, 69], 1] = 1.5
    x[40, 1] = np.nan
    found = outputs((70,), dtype)
    CallFrame([x, y], found).call(kernel.xla_handler(True, dtype == np.float32, judge, 2))
    bad = np.zeros(70, dtype=bool)
    bad[[3, 40, 69]] = True
    for out in found:
        assert np.array_equal(np.isnan(out).all(axis=1), bad) and np.isfinite(out[~bad]).all()


def test_no_rows_are_no_work(kernel):
    found = outputs((0,))
    assert CallFrame([np.zeros((0, 2)), np.zeros((0, 1))], found).call(kernel.xla_handler(False)) is None


def test_other_stages_compute_nothing(kernel):
    found = outputs(())
    frame = CallFrame([np.zeros(2), np.zeros(1)], found)
    frame._put(Frame.STAGE, 1)
    assert frame.call(kernel.xla_handler(False)) is None and (found[0] == 7.0).all()


def test_the_version_is_told_when_asked_for(kernel):
    frame = CallFrame([], [])
    metadata, extension = (ctypes.c_int64 * 6)(), (ctypes.c_int64 * 4)(32, Frame.METADATA, 0, 0)
    extension[3] = ctypes.addressof(metadata)
    frame._put(Frame.EXTENSION, ctypes.addressof(extension))
    assert frame.call(kernel.xla_handler(False)) is None
    major, minor = np.frombuffer(metadata, dtype=np.int32)[[Frame.MAJOR_PLACE // 4, Frame.MINOR_PLACE // 4]]
    assert (major, minor) == (Frame.MAJOR, Frame.MINOR)


def test_equal_handlers_have_equal_names_and_others_not(kernel, judge):
    names = [kernel.xla_handler(rows, single, j, 2).name for rows in (0, 1) for single in (0, 1) for j in (None, judge)]
    assert len(set(names)) == len(names) and kernel.xla_handler(0, 0, judge, 2).name in names


def test_kernels_of_single_precision_are_refused():
    function = sc.trace(lambda x: {"y": 2.0 * x}, {"x": 2})
    with pytest.raises(MethodError, match="a handler takes a kernel of float64, this one is of float32"):
        compile_function(function, dtype="float32").xla_handler(False)
