"""Types and constants of numbers side by side."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from kinloop.compiler.emit.vector_type import Vector


def value(text: str) -> float:
    (number,) = struct.unpack(">d", bytes.fromhex(text.removeprefix("0x")))
    return number


def test_one_lane_is_a_plain_number():
    one, four = Vector(1, "double"), Vector(4, "double")
    assert (one.type, one.bits, one.truth, one.suffix, one.size) == ("double", "i64", "i1", "f64", 8)
    assert (four.type, four.bits, four.truth, four.suffix) == ("<4 x double>", "<4 x i64>", "<4 x i1>", "v4f64")
    assert four.one_lane() == one and Vector(4, "float").as_double() == four
    assert four.const(0.0).startswith("splat (double ")


def test_alignment_is_the_size_up_to_a_cache_line():
    assert [Vector(n, "float").align for n in (1, 4, 8, 16, 32)] == [4, 16, 32, 64, 64]


@pytest.mark.parametrize("x", [0.1, -0.0, math.inf, -math.inf, 5e-324, 1e300, math.pi])
def test_constants_keep_every_bit_and_single_precision_rounds_once(x):
    assert struct.pack("d", value(Vector(1, "double").const(x))) == struct.pack("d", x)
    with np.errstate(over="ignore"):
        single = float(np.float32(x))
    assert struct.pack("d", value(Vector(1, "float").const(x))) == struct.pack("d", single)
    for real in ("double", "float"):
        assert Vector(8, real).each([x, 1.0]) == [Vector(1, real).const(x), Vector(1, real).const(1.0)]


def test_nan_stays_nan():
    assert math.isnan(value(Vector(1, "float").const(math.nan)))
