"""The LLVM type of numbers that lie side by side in a vector register."""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinloop.compiler.abi import CACHE_LINE


@dataclass(frozen=True)
class Vector:
    """`width` numbers side by side; width 1 is a plain number."""

    width: int
    real: str  # "double" or "float"

    @functools.cached_property
    def type(self) -> str:
        return self.of(self.real)

    @functools.cached_property
    def bits(self) -> str:
        """The integers of the same size."""
        return self.of(f"i{8 * self.real_size}")

    @functools.cached_property
    def truth(self) -> str:
        """As many truth values."""
        return self.of("i1")

    @functools.cached_property
    def size(self) -> int:
        """Bytes."""
        return self.width * self.real_size

    @functools.cached_property
    def real_size(self) -> int:
        """Bytes of one number."""
        return 8 if self.real == "double" else 4

    @functools.cached_property
    def align(self) -> int:
        """What the address of a slot of the scratch array is a multiple of."""
        return min(self.size, CACHE_LINE)

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
        """The number `x` in every lane."""
        if self.real == "float":
            with np.errstate(over="ignore"):
                x = float(np.float32(x))
        return self.splat(self.real, f"0x{struct.unpack('>Q', struct.pack('>d', x))[0]:016X}")

    def each(self, numbers: Sequence[float]) -> list[str]:
        """Every number in a lane of its own, as `one_lane().const` writes it."""
        with np.errstate(over="ignore"):
            rounded = np.asarray(numbers, dtype=np.float32 if self.real == "float" else np.float64)
        digits = rounded.astype(">f8").tobytes().hex().upper()
        return [f"0x{digits[k : k + 16]}" for k in range(0, len(digits), 16)]

    def as_double(self) -> Vector:
        return Vector(self.width, "double")

    def one_lane(self) -> Vector:
        return Vector(1, self.real)
