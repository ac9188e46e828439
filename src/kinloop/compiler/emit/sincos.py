"""Sine and cosine together, as LLVM IR: exact range reduction, then one polynomial each.

The angle is reduced by the nearest multiple n of pi/2 (Cody and Waite). With FMA three parts of pi/2 are
enough: x - n p1 is exact, and each of the two steps after it rounds once. Without FMA the parts have 33
bits, so that their products with n are exact up to n = 2^20, and what the second step rounds away is kept.
The polynomials are minimax fits of (sin r - r) / r^3 and (cos r - 1 + r^2/2) / r^4 in z = r^2 over
|r| <= pi/4, relative error below 2^-57. Angles beyond LIMIT, and infinities, go to libm one by one; the
other lanes keep their results.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinloop.compiler.abi import symbol
from kinloop.compiler.emit.common_functions import define
from kinloop.compiler.emit.ir import UNLIKELY, Module, Writer
from kinloop.compiler.emit.kernel_layout import Layout
from kinloop.compiler.emit.lane_arithmetic import LaneArithmetic, any_lane
from kinloop.compiler.emit.vector_type import Vector

LIMIT = 1e5
SIN = (
    "-0x1.5555555555548p-3", "0x1.111111110f7cap-7", "-0x1.a01a019bfd179p-13", "0x1.71de356711e88p-19",
    "-0x1.ae5e59f537bdfp-26", "0x1.5d8fa303c4cb6p-33",
)  # fmt: skip
COS = (
    "0x1.555555555554bp-5", "-0x1.6c16c16c14f8ap-10", "0x1.a01a019c83916p-16", "-0x1.27e4f7ea37e58p-22",
    "0x1.1ee9d752c6eeep-29", "-0x1.8fa4660971550p-37",
)  # fmt: skip
TWO_OVER_PI = "0x1.45f306dc9c883p-1"
# All parts are positive, so that -0.0 stays -0.0.
HALF_PI_FMA = ("0x1.921fb54442d18p+0", "0x1.1a62633145c06p-54", "0x1.c1cd129024e09p-107")
HALF_PI_33 = ("0x1.921fb54400000p+0", "0x1.0b4611a600000p-34", "0x1.3198a2e000000p-69", "0x1.b839a252049c1p-104")
ROUND = 1.5 * 2.0**52  # adding it leaves the nearest integer in the low bits


def _hex(vector: Vector, digits: str) -> str:
    return vector.const(float.fromhex(digits))


def _sincos(m: LaneArithmetic, x: str) -> tuple[str, str]:
    """The sine and cosine of |x| <= LIMIT, lane by lane."""
    vector, new = m.vector, m.writer.new
    I = vector.bits
    shifted = m.fma(x, _hex(vector, TWO_OVER_PI), vector.const(ROUND))
    quadrant = new(f"bitcast {vector.type} {shifted} to {I}")
    n = m.sub(shifted, vector.const(ROUND))
    r = _reduce(m, x, n)
    z = m.mul(r, r)
    s = m.fma(m.mul(r, z), m.polynomial(z, [_hex(vector, c) for c in SIN]), r)
    s = m.intrinsic("copysign", s, r)  # only the sine of -0.0 needs it
    c = m.fma(z, m.polynomial(z, [vector.const(-0.5), *[_hex(vector, c) for c in COS]]), vector.const(1.0))
    odd = new(f"shl {I} {quadrant}, {vector.splat('i64', '63')}")
    odd = new(f"icmp slt {I} {odd}, {vector.splat('i64', '0')}")
    sine = new(f"select {vector.truth} {odd}, {vector.type} {c}, {vector.type} {s}")
    cosine = new(f"select {vector.truth} {odd}, {vector.type} {s}, {vector.type} {c}")
    next_quadrant = new(f"add {I} {quadrant}, {vector.splat('i64', '1')}")
    return _signed(m, sine, quadrant), _signed(m, cosine, next_quadrant)


def _signed(m: LaneArithmetic, value: str, quadrant: str) -> str:
    """`value`, negative where bit 1 of `quadrant` is set."""
    vector, new = m.vector, m.writer.new
    T, I = vector.type, vector.bits
    sign = new(f"shl {I} {quadrant}, {vector.splat('i64', '62')}")
    sign = new(f"and {I} {sign}, {vector.splat('i64', str(-(2**63)))}")
    bits = new(f"bitcast {T} {value} to {I}")
    return new(f"bitcast {I} {new(f'xor {I} {bits}, {sign}')} to {T}")


def _reduce(m: LaneArithmetic, x: str, n: str) -> str:
    """x - n pi/2, rounded about once."""
    vector = m.vector
    parts = [_hex(vector, c) for c in (HALF_PI_FMA if m.has_fma else HALF_PI_33)]
    if m.has_fma:
        minus_n = m.writer.new(f"fneg {vector.type} {n}")
        for part in parts:
            x = m.fma(minus_n, part, x)
        return x
    a = m.sub(x, m.mul(n, parts[0]))  # exact
    second = m.mul(n, parts[1])
    r = m.sub(a, second)
    lost = m.sub(m.sub(a, r), second)
    rest = m.add(m.sub(m.mul(n, parts[2]), lost), m.mul(n, parts[3]))
    return m.sub(r, rest)


def _write_huge(w: Writer, block: Vector, source: str, targets: Sequence[str]) -> None:
    """libm's answers in place of those of the polynomial, for the angles of a block that are too large for it."""
    R, narrow, one = block.real, block.real == "float", Vector(1, "double")
    with w.count(0, block.width) as lane:
        x = w.load(R, w.offset(source, lane.index, R), block.real_size)
        x = w.new(f"fpext float {x} to double") if narrow else x
        size = w.call("double", "llvm.fabs.f64", f"double {x}")
        with w.when(w.new(f"fcmp ogt double {size}, {one.const(LIMIT)}")):
            for name, target in zip(("sin", "cos"), targets, strict=True):
                far = w.call("double", symbol(name), f"double {x}")
                far = w.new(f"fptrunc double {far} to float") if narrow else far
                w.store(R, far, w.offset(target, lane.index, R), block.real_size)


def write_angles(module: Module, layout: Layout, fma: bool) -> None:
    """@angles(from, sines, cosines, number of blocks): a loop over blocks of angles.

    For W lanes a block is one angle of W states; for one state it is as many of its angles as the vector
    unit takes. Single precision computes in double: as accurate as can be, and one code for both.
    """
    block = layout.register
    wide = block.as_double()
    B, T, narrow = block.type, wide.type, block.real == "float"
    with define(module, layout, "angles") as w:
        m = LaneArithmetic(w, wide, fma)
        with w.count(0, "%blocks", at_least_once=True) as loop:
            place = w.integer("mul", loop.index, block.size)
            source, *targets = (w.offset(base, place) for base in ("%at", "%sin", "%cos"))
            x = w.load(B, source, block.real_size)
            if narrow:
                x = w.new(f"fpext {B} {x} to {T}")
            for target, y in zip(targets, _sincos(m, x), strict=True):
                y = w.new(f"fptrunc {T} {y} to {B}") if narrow else y
                w.store(B, y, target, block.real_size)
            huge = w.new(f"fcmp ogt {T} {m.intrinsic('fabs', x)}, {wide.const(LIMIT)}")
            with w.when(any_lane(w, wide, huge), UNLIKELY):
                _write_huge(w, block, source, targets)
        w.ret()
