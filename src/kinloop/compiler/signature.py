"""What goes in and out of a kernel, by name."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Signature:
    """A kernel's name, the sizes of its inputs, the shapes of its outputs (both of one state), and its dtype."""

    name: str
    inputs: dict[str, int]
    outputs: dict[str, tuple[int, ...]]
    dtype: str

    @functools.cached_property
    def real(self) -> np.dtype[Any]:
        return np.dtype(self.dtype)

    @property
    def output_sizes(self) -> list[int]:
        """Numbers in each output."""
        return [math.prod(shape) for shape in self.outputs.values()]

    def __str__(self) -> str:
        return f"{self.name}({', '.join((*self.inputs, *self.outputs))})"
