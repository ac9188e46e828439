"""What rollouts record of their controls, and what follows from these: forces of motors, accelerations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.scalar import Array
from kinloop.sim.schedule import Schedule

if TYPE_CHECKING:
    from kinloop.sim.engine import Engine

OF_CONTROLS = ("controls", "motor_force", "a", "qdd")
"""Records of steps: each is of the step that led to the recorded state."""


def of_steps(names: tuple[str, ...], engine: Engine) -> tuple[str, ...]:
    """Outputs of the step kernel that these records need (`sensors.OF_STEPS`), besides those that sensors do."""
    if not engine.takes_steps:
        return ()
    told = "motor_force" in names and engine.system.drive.states
    return (*(("acceleration",) if {"a", "qdd"} & set(names) else ()), *(("told",) if told else ()))


def needs_controls(names: tuple[str, ...], engine: Engine) -> bool:
    """Whether controls have to be kept for these records."""
    forces = "motor_force" in names and not engine.system.drive.states
    return "controls" in names or forces or (not engine.takes_steps and bool({"a", "qdd"} & set(names)))


class RecordedControls:
    """The controls (B, N, nu) of the steps that led to the records of a schedule; nan where none did."""

    def __init__(self, schedule: Schedule, rows: int, nu: int) -> None:
        self._steps = schedule.due - (schedule.beyond == 0.0)
        self.array = np.full((rows, len(self._steps), nu), np.nan)

    def under(self, start: int, stop: int, u: Array) -> None:
        """Steps from `start` on and before `stop` were taken under u (B or 1, steps or 1, nu)."""
        a, b = np.searchsorted(self._steps, (start, stop))
        if a < b:
            self.array[:, a:b] = u if u.shape[1] == 1 else u[:, self._steps[a:b] - start]


def where_told(kernel: Callable[..., Any], *given: Array) -> Array:
    """What a kernel says of recorded states, arrays (B, N, n), where all of these are numbers; elsewhere nan."""
    rows = [x.reshape(-1, x.shape[-1]) for x in given]
    told = np.logical_and.reduce([np.isfinite(x).all(axis=1) for x in rows])
    found = np.asarray(kernel(*(x[told] for x in rows))) if told.any() else np.zeros((0, 0))
    out = np.full((len(told), found.shape[1] if told.any() else 0), np.nan)
    out[told] = found
    return out.reshape(*given[0].shape[:2], -1)
