"""Controls of a rollout: held, a table over time, a table per batch row, or a function of time and state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinloop.errors import MethodError, ShapeError
from kinloop.inputs import checked, checked_count
from kinloop.scalar import Array
from kinloop.sim.state import State

ControlFunction = Callable[[Any, State], ArrayLike]
"""(time [s], states of all batch rows) -> controls (nu,) or (B, nu).

The time is that of the states: it goes on where a rollout is continued. It is one number, and an array (B,) where batch
rows began at different times.
"""


def as_controls(
    controls: ArrayLike | ControlFunction | None, steps: int | None, state: State, nu: int
) -> tuple[Array | ControlFunction, int, State]:
    """Controls (B or 1, T or 1, nu) for all rows and steps, or a function; the number of steps; the states they move.

    `controls` is None, (nu,) held, (T, nu) for all batch rows, (B, T, nu), or a function. One state under controls for
    several rows is repeated.
    """
    if callable(controls):
        if steps is None:
            raise MethodError("a control function needs steps=, the number of steps to take")
        return controls, checked_count("steps", steps), state
    u = checked("controls", np.zeros(nu) if controls is None else controls, nu)
    if u.ndim > 3:
        raise ShapeError(f"controls must have shape (nu,), (T, nu) or (B, T, nu), received {u.shape}")
    steps = checked_count("steps", steps) if steps is not None else (u.shape[-2] if u.ndim > 1 else 0)
    if steps < 1:
        raise MethodError("say how many steps to take: steps=, or controls with a time axis (T, nu)")
    if u.ndim > 1 and u.shape[-2] not in (1, steps) and u.shape[-2] < steps:
        raise ShapeError(f"controls have {u.shape[-2]} steps, {steps} are asked for")
    u = u if u.ndim == 3 else u[None] if u.ndim == 2 else u[None, None]
    rows = max(len(state), len(u))
    if len(state) not in (1, rows) or len(u) not in (1, rows):
        raise ShapeError(f"{len(state)} states and controls for {len(u)} rows do not match")
    if len(state) < rows:
        state = state.repeated(rows)
    return u, steps, state


def ask(function: ControlFunction, since: float, began: Array, state: State, nu: int) -> Array:
    """What a control function says `since` seconds after rows began at the times `began` (B,): (B or 1, 1, nu)."""
    same = len(began) == 1 or bool((began == began[0]).all())
    u = answer(function(float(began[0] + since) if same else began + since, state), nu, len(state))
    return u[:, None] if u.ndim == 2 else u[None, None]


def answer(u: ArrayLike, nu: int, rows: int) -> Array:
    """What a control function said, as an array (nu,) or (B or 1, nu)."""
    u = checked("u", u, nu)
    if u.ndim > 2 or (u.ndim == 2 and len(u) not in (1, rows)):
        raise ShapeError(f"u must have shape ({nu},) or ({rows}, {nu}), received {u.shape}")
    return u
