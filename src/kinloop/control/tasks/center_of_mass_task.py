"""The centre of mass at a place."""

from __future__ import annotations

from dataclasses import dataclass

from kinloop.control.tasks.task import Task, chosen_axes
from kinloop.control.world_motion import WorldMotion
from kinloop.model.topology import Topology
from kinloop.scalar import Array


@dataclass(frozen=True)
class CenterOfMassTask(Task):
    """The centre of mass of the whole robot at a point (3,) of the world, along some `axes` of it."""

    axes: str = "xyz"

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen_axes(self.axes, self.label)

    def bodies(self, top: Topology) -> tuple[int, ...]:
        return ()

    def error(self, at: WorldMotion, target: Array) -> Array:
        gap: Array = target - at.center_of_mass
        return gap[chosen_axes(self.axes, self.label)]

    def jacobian(self, at: WorldMotion, target: Array) -> Array:
        return at.center_of_mass_jacobian[chosen_axes(self.axes, self.label)]

    def bias(self, at: WorldMotion, target: Array) -> Array:
        return at.center_of_mass_bias[chosen_axes(self.axes, self.label)]
