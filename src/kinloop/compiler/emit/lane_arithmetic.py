"""Arithmetic on all lanes of a vector, as LLVM IR."""

from __future__ import annotations

from kinloop.compiler.emit.ir import Module, Writer
from kinloop.compiler.emit.vector_type import Vector


class LaneArithmetic:
    """Writes operations on numbers of one vector type; `fma` says whether the host rounds a b + c once."""

    def __init__(self, writer: Writer, vector: Vector, fma: bool) -> None:
        self.writer, self.vector, self.has_fma = writer, vector, fma

    def add(self, a: str, b: str) -> str:
        return self.writer.new(f"fadd {self.vector.type} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.writer.new(f"fsub {self.vector.type} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        return self.writer.new(f"fmul {self.vector.type} {a}, {b}")

    def intrinsic(self, name: str, *args: str) -> str:
        T = self.vector.type
        return self.writer.call(T, f"llvm.{name}.{self.vector.suffix}", *[f"{T} {a}" for a in args])

    def fma(self, a: str, b: str, c: str) -> str:
        """a b + c, rounded once where the host can."""
        return self.intrinsic("fma", a, b, c) if self.has_fma else self.add(self.mul(a, b), c)

    def polynomial(self, z: str, coefficients: list[str]) -> str:
        """The polynomial in z with these coefficients, lowest power first, in pairs (Estrin): a short chain."""
        terms, power = coefficients, z
        while len(terms) > 1:
            odd = [terms[-1]] if len(terms) % 2 else []
            terms = [self.fma(b, power, a) for a, b in zip(terms[::2], terms[1::2])] + odd
            if len(terms) > 1:
                power = self.mul(power, power)
        return terms[0]


def in_all_lanes(w: Writer, vector: Vector, x: str) -> str:
    """The number `x` in every lane."""
    if vector.width == 1:
        return x
    first = w.new(f"insertelement {vector.type} poison, {vector.real} {x}, i32 0")
    return w.new(f"shufflevector {vector.type} {first}, {vector.type} poison, {vector.of('i32')} zeroinitializer")


def lane_bits(w: Writer, vector: Vector, mask: str) -> str:
    """The truth values of the lanes as the bits of an integer, `vector.width` of them."""
    return mask if vector.width == 1 else w.new(f"bitcast {vector.truth} {mask} to i{vector.width}")


def any_lane(w: Writer, vector: Vector, mask: str) -> str:
    """Whether a truth value holds in any lane."""
    bits = lane_bits(w, vector, mask)
    return bits if vector.width == 1 else w.compare("ne", bits, 0, f"i{vector.width}")


def all_lanes(w: Writer, vector: Vector, mask: str) -> str:
    """Whether a truth value holds in all lanes."""
    bits = lane_bits(w, vector, mask)
    return bits if vector.width == 1 else w.compare("eq", bits, -1, f"i{vector.width}")


def any_nonzero(w: Writer, vector: Vector, scratch: str, slot: int) -> str:
    """Whether a slot of the scratch array is not zero in any lane."""
    value = w.load(vector.type, w.offset(scratch, slot, vector.type), vector.align)
    return any_lane(w, vector, w.new(f"fcmp une {vector.type} {value}, {vector.const(0.0)}"))


def declare_intrinsics(module: Module, vector: Vector) -> None:
    """Declare every intrinsic used on this type."""
    T, s = vector.type, vector.suffix
    for name in ("sqrt", "fabs", "floor"):
        module.declare(T, f"llvm.{name}.{s}", T)
    module.declare(T, f"llvm.fma.{s}", T, T, T)
    module.declare(T, f"llvm.copysign.{s}", T, T)
