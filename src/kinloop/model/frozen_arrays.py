"""Numbers that users give, checked once and then read-only."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from kinloop.errors import ModelError
from kinloop.scalar import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


LARGEST = 1e50
"""What nobody means beyond: masses times squares of lengths stay far from overflow below it."""


def frozen(x: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """A read-only float array of the given shape, or an error that says what was given."""
    try:
        a = np.array(x)
        if a.dtype != float:
            a = a.astype(float) if a.dtype.kind in "biufO" else None
    except (TypeError, ValueError):
        a = None
    if a is None:
        raise ModelError(f"{what} must be numbers of shape {shape}, received {x!r}")
    if a.shape != shape:
        raise ModelError(f"{what} must have shape {shape}, received shape {a.shape}")
    if [value for value in a.ravel().tolist() if not -LARGEST <= value <= LARGEST]:
        raise ModelError(f"{what} must be finite and at most {LARGEST:.0e} in size, received {a.tolist()}")
    a.setflags(write=False)
    return a


def frozen_numbers(x: object, count: int, what: str) -> tuple[float, ...]:
    """`frozen` as a tuple; one of floats, as most are, is taken as it is."""
    if type(x) is tuple and len(x) == count and all(type(y) is float and -LARGEST <= y <= LARGEST for y in x):
        return x
    return tuple(frozen(x, (count,), what).tolist())  # type: ignore[arg-type]  # checked there


def frozen_number(x: object, what: str) -> float:
    """One finite number."""
    if type(x) is float and -LARGEST <= x <= LARGEST:
        return x
    return float(frozen(x, (), what))  # type: ignore[arg-type]  # checked there


def is_finite(x: object) -> bool:
    """Whether x is one finite number."""
    return isfinite(x) if isinstance(x, float) else isinstance(x, int | np.number) and bool(np.isfinite(x))
