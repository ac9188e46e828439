"""Small helpers that write LLVM IR as text."""

from __future__ import annotations

import functools
import struct
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Vector:
    """The LLVM type of `width` numbers side by side; width 1 is a plain number."""

    width: int
    real: str  # "double" or "float"

    @functools.cached_property
    def type(self) -> str:
        return self.of(self.real)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.width * self.real_size

    @property
    def real_size(self) -> int:
        return 8 if self.real == "double" else 4

    @functools.cached_property
    def suffix(self) -> str:
        """The ending of intrinsics of this type."""
        return ("" if self.width == 1 else f"v{self.width}") + ("f64" if self.real == "double" else "f32")

    def of(self, element: str) -> str:
        """As many of another element type."""
        return element if self.width == 1 else f"<{self.width} x {element}>"

    def splat(self, element: str, text: str) -> str:
        """The same constant in every lane."""
        return text if self.width == 1 else f"splat ({element} {text})"

    def const(self, x: float) -> str:
        if self.real == "float":
            with np.errstate(over="ignore"):
                x = float(np.float32(x))
        return self.splat(self.real, f"0x{struct.unpack('>Q', struct.pack('>d', x))[0]:016X}")

    def as_double(self) -> Vector:
        return Vector(self.width, "double")


class Writer:
    """Lines of one function body; `new` names a value."""

    def __init__(self, vector: Vector, fma: bool) -> None:
        self.vector, self.has_fma = vector, fma
        self.lines: list[str] = []
        self.count = 0

    def new(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def add(self, a: str, b: str) -> str:
        return self.new(f"fadd {self.vector.type} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.new(f"fsub {self.vector.type} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        return self.new(f"fmul {self.vector.type} {a}, {b}")

    def call(self, intrinsic: str, *args: str) -> str:
        T = self.vector.type
        return self.new(f"call {T} @llvm.{intrinsic}.{self.vector.suffix}({', '.join(f'{T} {a}' for a in args)})")

    def fma(self, a: str, b: str, c: str) -> str:
        """a b + c, rounded once where the host can."""
        return self.call("fma", a, b, c) if self.has_fma else self.add(self.mul(a, b), c)

    def polynomial(self, z: str, coefficients: list[str]) -> str:
        """The polynomial in z with these coefficients, lowest power first, in pairs (Estrin): a short chain."""
        terms, power = coefficients, z
        while len(terms) > 1:
            odd = [terms[-1]] if len(terms) % 2 else []
            terms = [self.fma(b, power, a) for a, b in zip(terms[::2], terms[1::2])] + odd
            if len(terms) > 1:
                power = self.mul(power, power)
        return terms[0]

    def any_lane(self, mask: str) -> str:
        """True if any lane of a truth value is."""
        n = self.vector.width
        if n == 1:
            return mask
        bits = self.new(f"bitcast <{n} x i1> {mask} to i{n}")
        return self.new(f"icmp ne i{n} {bits}, 0")


def branch_if_any(vector: Vector, base: str, slot: int, go: str, end: str) -> list[str]:
    """On at the label `go` if a slot is not zero in some lane, else at `end`."""
    T, n = vector.type, vector.width
    lines = [
        f"  %gate_at = getelementptr {T}, ptr {base}, i64 {slot}",
        f"  %gate = load {T}, ptr %gate_at, align {min(vector.size, 64)}",
        f"  %open = fcmp une {T} %gate, {vector.const(0.0)}",
    ]
    if n > 1:
        lines += [f"  %bits = bitcast <{n} x i1> %open to i{n}", f"  %any = icmp ne i{n} %bits, 0"]
    return [*lines, f"  br i1 {'%any' if n > 1 else '%open'}, label %{go}, label %{end}"]


def declare_intrinsics(vector: Vector) -> list[str]:
    """Declarations of every intrinsic used on this type."""
    T, s = vector.type, vector.suffix
    lines = [f"declare {T} @llvm.{f}.{s}({T})" for f in ("sqrt", "fabs", "floor")]
    lines.append(f"declare {T} @llvm.fma.{s}({T}, {T}, {T})")
    lines.append(f"declare {T} @llvm.copysign.{s}({T}, {T})")
    return lines
