"""Sums and joins of vectors: in an order that lets constants fold, and with the places of the parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from kinloop.scalar import Array, Symbol


def total(parts: Sequence[Array]) -> Array:
    """The sum of arrays; plain numbers first, so that what is constant folds before it meets a symbol."""
    numbers = [p for p in parts if p.dtype != object]
    rest = [p for p in parts if p.dtype == object]
    if len(rest) < 2 and len(numbers) < 2:
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]
    known = sum(numbers[1:], numbers[0]) if numbers else None
    if not rest:
        assert known is not None
        return known
    out = np.empty(rest[0].shape, dtype=object)
    for k in np.ndindex(out.shape):
        constants = [x[k] for x in rest if not isinstance(x[k], Symbol)]
        symbols = [x[k] for x in rest if isinstance(x[k], Symbol)]
        value = (known[k] if known is not None else 0.0) + sum(constants)
        for s in symbols:
            value = value + s
        out[k] = value
    return out


def join(parts: Sequence[Array]) -> Array:
    """One vector after the other; none at all is a vector of length zero."""
    return np.concatenate(parts) if parts else np.zeros(0)


def spans(sizes: Sequence[int]) -> list[slice]:
    """Where each of the parts of given sizes lies when they are joined."""
    ends = np.cumsum([0, *sizes])
    return [slice(int(a), int(b)) for a, b in pairwise(ends)]
