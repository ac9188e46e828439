"""Numbers that users give, checked once and then read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinloop.errors import ModelError
from kinloop.scalar import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def frozen(x: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """A read-only float array of the given shape, or an error that says what was given."""
    try:
        a = np.array(x, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be numbers of shape {shape}, received {x!r}") from None
    if a.shape != shape:
        raise ModelError(f"{what} must have shape {shape}, received shape {a.shape}")
    if not np.all(np.isfinite(a)):
        raise ModelError(f"{what} must be finite, received {a.tolist()}")
    a.setflags(write=False)
    return a


def is_finite(x: object) -> bool:
    """Whether x is one finite number."""
    return isinstance(x, int | float | np.number) and bool(np.isfinite(x))
