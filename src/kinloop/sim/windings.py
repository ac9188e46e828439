"""The electrical side of a motor: what voltage and current leave of its force at a speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinloop.inputs import checked_number

SMALLEST = 1e-12
"""Constants and resistances below this are slips."""


@dataclass(frozen=True)
class Winding:
    """A direct-current motor, or a brushless one by the values of its q axis: force = constant * current.

        voltage = resistance * current + constant * speed

    `constant` [N m/A, V s/rad] and `resistance` [Ohm] are the motor's, `voltage` [V] and `current` [A] the most that
    its drive gives. At standstill it pushes with `stall_force`, without load it runs at `no_load_speed`.
    """

    constant: float
    resistance: float
    voltage: float
    current: float = np.inf

    def __post_init__(self) -> None:
        for name in ("constant", "resistance", "voltage"):
            checked_number(f"{name} of a winding", getattr(self, name), "be a positive number", SMALLEST)
        if self.current != np.inf:
            checked_number("current of a winding", self.current, "not be negative", 0.0)

    @property
    def damping(self) -> float:
        """By how much its force falls with its speed where the voltage is used up."""
        return self.constant**2 / self.resistance

    @property
    def most(self) -> float:
        """The force of the largest current."""
        return self.constant * self.current

    @property
    def stall_force(self) -> float:
        """The force at rest under full voltage [N m, N]."""
        return min(self.most, self.constant * self.voltage / self.resistance)

    @property
    def no_load_speed(self) -> float:
        """The speed at which full voltage gives no force [rad/s, m/s]."""
        return self.voltage / self.constant

    def bounds(self, speed: Any) -> tuple[Any, Any]:
        """The forces between which the voltage leaves a choice; both are of one sign where the motor is overrun."""
        push, back = self.constant * self.voltage / self.resistance, self.damping * speed
        return -push - back, push - back
