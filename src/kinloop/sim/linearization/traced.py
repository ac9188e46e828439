"""Functions that differentiate graphs, called with numbers: they are traced once, and the numbers put in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from kinloop import scalar as sc
from kinloop.scalar import Array


class Traced:
    """A function of named vectors that needs symbols, for symbols and numbers alike."""

    def __init__(self, call: Callable[..., dict[str, Any]], inputs: Mapping[str, int]) -> None:
        self._call, self._inputs = call, dict(inputs)

    def __call__(self, *given: Array) -> dict[str, Any]:
        """Its outputs by name."""
        if sc.is_symbolic(*given):
            return self._call(*given)
        return self.function.named(*given)

    @cached_property
    def function(self) -> sc.Function:
        """The trace."""
        return sc.trace(self._call, self._inputs)
