"""Sine and cosine together, as LLVM IR: exact range reduction, then one polynomial each.

The angle is reduced by the nearest multiple n of pi/2 (Cody and Waite). With FMA three parts of pi/2 are
enough: x - n p1 is exact, and each of the two steps after it rounds once. Without FMA the parts have 33
bits, so that their products with n are exact up to n = 2^20, and what the second step rounds away is kept.
The polynomials are minimax fits of (sin r - r) / r^3 and (cos r - 1 + r^2/2) / r^4 in z = r^2 over
|r| <= pi/4, relative error below 2^-57. Angles beyond LIMIT, and infinities, go to libm one by one; the
other lanes keep their results.
"""

from __future__ import annotations

from kinloop.compiler.emit.ir import Vector, Writer

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


def sincos(w: Writer, x: str) -> tuple[str, str]:
    """Write the sine and cosine of |x| <= LIMIT, lane by lane."""
    vector = w.vector
    I, hexed = vector.of("i64"), lambda c: vector.const(float.fromhex(c))
    shifted = w.fma(x, hexed(TWO_OVER_PI), vector.const(ROUND))
    quadrant = w.new(f"bitcast {vector.type} {shifted} to {I}")
    n = w.sub(shifted, vector.const(ROUND))
    r = _reduce(w, x, n)
    z = w.mul(r, r)
    s = w.fma(w.mul(r, z), w.polynomial(z, [hexed(c) for c in SIN]), r)
    s = w.call("copysign", s, r)  # only the sine of -0.0 needs it
    c = w.fma(z, w.polynomial(z, [vector.const(-0.5), *[hexed(c) for c in COS]]), vector.const(1.0))

    def bits(value: str) -> str:
        return w.new(f"bitcast {vector.type} {value} to {I}")

    def signed(value: str, turns: str) -> str:
        """`value`, negative where bit 1 of `turns` is set."""
        sign = w.new(f"shl {I} {turns}, {vector.splat('i64', '62')}")
        sign = w.new(f"and {I} {sign}, {vector.splat('i64', str(-(2**63)))}")
        return w.new(f"bitcast {I} {w.new(f'xor {I} {bits(value)}, {sign}')} to {vector.type}")

    odd = w.new(f"shl {I} {quadrant}, {vector.splat('i64', '63')}")
    odd = w.new(f"icmp slt {I} {odd}, {vector.splat('i64', '0')}")
    mask = f"{vector.of('i1')} {odd}, {vector.type}"
    sine = w.new(f"select {mask} {c}, {vector.type} {s}")
    cosine = w.new(f"select {mask} {s}, {vector.type} {c}")
    next_quadrant = w.new(f"add {I} {quadrant}, {vector.splat('i64', '1')}")
    return signed(sine, quadrant), signed(cosine, next_quadrant)


def _reduce(w: Writer, x: str, n: str) -> str:
    """x - n pi/2, rounded about once."""
    vector = w.vector
    parts = [vector.const(float.fromhex(c)) for c in (HALF_PI_FMA if w.has_fma else HALF_PI_33)]
    if w.has_fma:
        minus_n = w.new(f"fneg {vector.type} {n}")
        for part in parts:
            x = w.fma(minus_n, part, x)
        return x
    a = w.sub(x, w.mul(n, parts[0]))  # exact
    second = w.mul(n, parts[1])
    r = w.sub(a, second)
    lost = w.sub(w.sub(a, r), second)
    rest = w.add(w.sub(w.mul(n, parts[2]), lost), w.mul(n, parts[3]))
    return w.sub(r, rest)


def _huge_lanes(w: Writer, x: str, huge: str, pair: tuple[str, str]) -> tuple[str, str]:
    """Write libm's answers into the lanes that are too large for the polynomial."""
    vector, out = w.vector, list(pair)
    for k, name in enumerate(("sin", "cos")):
        if vector.width == 1:
            out[k] = w.new(f"call double @kinloop_{name}(double {x})")
            continue
        for lane in range(vector.width):
            one = w.new(f"extractelement {vector.type} {x}, i32 {lane}")
            old = w.new(f"extractelement {vector.type} {out[k]}, i32 {lane}")
            own = w.new(f"extractelement {vector.of('i1')} {huge}, i32 {lane}")
            far = w.new(f"call double @kinloop_{name}(double {one})")
            best = w.new(f"select i1 {own}, double {far}, double {old}")
            out[k] = w.new(f"insertelement {vector.type} {out[k]}, double {best}, i32 {lane}")
    return out[0], out[1]


def angles_function(block: Vector, fma: bool) -> list[str]:
    """A function that loops over blocks of angles: @angles(from, sines, cosines, number of blocks).

    For W lanes a block is one angle of W states; for one state it is as many of its angles as the vector
    unit takes. Single precision computes in double: as accurate as can be, and one code for both.
    """
    wide = block.as_double()
    w = Writer(wide, fma)
    narrow = block.real == "float"
    B, T = block.type, wide.type
    w.lines.append("define internal void @angles(ptr %at, ptr %sin, ptr %cos, i64 %blocks) #0 {")
    w.do("br label %loop")
    w.label("loop")
    w.do("%i = phi i64 [ 0, %0 ], [ %next, %store ]")
    place = w.new(f"mul i64 %i, {block.size}")
    ends = [w.new(f"getelementptr i8, ptr {p}, i64 {place}") for p in ("%at", "%sin", "%cos")]
    x = w.new(f"load {B}, ptr {ends[0]}, align {block.real_size}")
    if narrow:
        x = w.new(f"fpext {B} {x} to {T}")
    near = sincos(w, x)
    huge = w.new(f"fcmp ogt {T} {w.call('fabs', x)}, {wide.const(LIMIT)}")
    w.do(f"br i1 {w.any_lane(huge)}, label %far, label %store, !prof !0")
    w.label("far")
    far = _huge_lanes(w, x, huge, near)
    w.do("br label %store")
    w.label("store")
    pair = [w.new(f"phi {T} [ {near[k]}, %loop ], [ {far[k]}, %far ]") for k in range(2)]
    for slot, y in zip(ends[1:], pair):
        if narrow:
            y = w.new(f"fptrunc {T} {y} to {B}")
        w.do(f"store {B} {y}, ptr {slot}, align {block.real_size}")
    w.do("%next = add i64 %i, 1")
    w.do("%more = icmp ult i64 %next, %blocks")
    w.do("br i1 %more, label %loop, label %end")
    w.label("end")
    w.do("ret void")
    w.lines.append("}")
    return w.lines
