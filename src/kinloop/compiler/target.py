"""The machine that code is made for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """What code generation depends on."""

    triple: str
    cpu: str
    features: str
    fma: bool
    bits: int  # width of the vector registers that measure fastest
    llvm: str
    straight: bool = False  # whether rows are written faster straight from registers than through a buffer

    def lanes(self, dtype: str) -> int:
        """States computed side by side."""
        return self.bits // (64 if dtype == "float64" else 32)
