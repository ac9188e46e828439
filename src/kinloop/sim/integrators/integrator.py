"""What an integrator says about itself, and what it does for a rollout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from kinloop.scalar import Array
from kinloop.sim.batch import Batch
from kinloop.sim.controls import ControlFunction
from kinloop.sim.recorder import Recorder
from kinloop.sim.stepper import System

Progress = Callable[[int, int], None]
"""Called now and then with the number of steps done and of steps to do."""


class IntegratorOptions(NamedTuple):
    """What a user may choose of integrators; each takes what concerns it."""

    substeps: int
    tolerance: float


class Integrator(Protocol):
    """A method of integration."""

    name: ClassVar[str]
    """By which the user asks for it."""
    has_contact: ClassVar[bool]
    """Whether contact, joint stops and dry friction act; else only smooth forces do."""

    @classmethod
    def make(cls, options: IntegratorOptions) -> Self:
        """The integrator with the user's options."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What its kernels depend on, besides the system."""

    def memory_size(self, system: System) -> int:
        """How many numbers `State.memory` has per batch row."""

    def run(
        self,
        batch: Batch,
        u: Array | ControlFunction,
        steps: int,
        recorder: Recorder,
        threads: int | None,
        progress: Progress | None,
    ) -> dict[str, Any]:
        """Bring all batch rows `steps` times dt further and record; what to add to `Rollout.info`."""
