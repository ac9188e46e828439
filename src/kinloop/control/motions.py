"""Rows of motions, and kernels called on rows of which some may be lost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop.compiler import Kernel
from kinloop.kernels import Computed
from kinloop.scalar import Array

SOURCES = ("control/smooth_dynamics.py", "control/traced_cost.py", "sim/linearization")


LARGE = float(np.finfo(float).max)
"""What stands for no limit where a kernel wants finite numbers."""

Limits = tuple[Array, Array]
"""The least and the largest controls (nu,)."""


class Motions(NamedTuple):
    """Rows of motions: q (b, T + 1, nq), v (b, T + 1, nv), u (b, T, nu)."""

    q: Array
    v: Array
    u: Array


def rows_of(kernel: Computed, *given: Array, threads: int | None = None) -> Any:
    """What a kernel computes of rows; nan for rows that are not finite."""
    if isinstance(kernel, Kernel):
        return kernel(*given, threads=threads, on_nonfinite="nan")
    return kernel(*given)
