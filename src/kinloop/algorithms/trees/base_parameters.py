"""The combinations of a robot's numbers that forces can show, from its regressor at many states.

Stacked regressors W = Q R, without exchange of columns: a pivot of R that is zero belongs to a column that depends on
those before it, at every state [Gautier1991]. Derivation: docs/algorithms/regressor.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinloop.scalar import Array

SMALL = 1e-8
"""Columns that add less than this part of their length to those before them depend on them."""


class BaseParameters(NamedTuple):
    """The identifiable combinations: tau = Y[:, kept] @ values, values = combination @ pi.

    `kept` are columns of Y, `combination` is (len(kept), len(pi)); in row n the entry of kept[n] is 1.
    """

    kept: list[int]
    combination: Array
    names: list[str]


def base_parameters(Y: Array, names: list[str]) -> BaseParameters:
    """Of stacked regressors (rows, len(pi)) in general position: columns that say something new, and what they hide."""
    length = np.linalg.norm(Y, axis=0)
    W = Y / np.where(length > 0.0, length, 1.0)
    R = np.linalg.qr(W, mode="r")
    count = Y.shape[1]
    pivots = np.abs(np.diag(R, 0)) if len(R) >= count else np.append(np.abs(np.diag(R)), np.zeros(count - len(R)))
    kept = [k for k in range(count) if pivots[k] > SMALL and length[k] > 0.0]
    combination = np.linalg.lstsq(W[:, kept], W, rcond=None)[0] * length / length[kept][:, None]
    combination[np.abs(combination) * length[kept][:, None] < SMALL * np.maximum(length, 1e-300)] = 0.0
    return BaseParameters(kept, combination, [names[k] for k in kept])
