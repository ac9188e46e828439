"""Joints at their places in a posture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kinloop.control.tasks.task import Task
from kinloop.control.world_motion import WorldMotion
from kinloop.errors import unknown
from kinloop.inputs import checked
from kinloop.model.topology import Topology
from kinloop.scalar import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class PostureTask(Task):
    """Joints where they are in a configuration q (nq,), which need not be closed; dependent joints may be named too.

    Without names, all joints but free ones, and but rotors that turn with a joint. The error is what moves each joint
    there [rad, m].
    """

    joints: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.joints is not None:
            object.__setattr__(self, "joints", tuple(self.joints))

    def bodies(self, top: Topology) -> tuple[int, ...]:
        self._dofs(top)
        return ()

    def _dofs(self, top: Topology) -> list[int]:
        """The spanning coordinates of the joints."""
        names = self.joints
        if names is None:
            chosen = [i for i, t in enumerate(top.types) if not (t.is_free or top.spins_unseen[i])]
        else:
            for name in names:
                if name not in top.joint_index:
                    raise unknown("joint", name, top.joint_index)
            chosen = [top.joint_index[name] for name in names]
        return [d for i in chosen for d in range(top.v_of[i].start, top.v_of[i].stop)]

    def target_size(self, top: Topology) -> int:
        return top.nq

    def flat_target(self, top: Topology, target: ArrayLike) -> Array:
        return checked(f"target of {self.label}", target, top.nq)

    def error(self, at: WorldMotion, target: Array) -> Array:
        top = at.tree.top
        gap: Array = top.difference(at.q, target)[self._dofs(top)]
        return gap

    def jacobian(self, at: WorldMotion, target: Array) -> Array:
        rows: Array = at.G[self._dofs(at.tree.top)]
        return rows

    def bias(self, at: WorldMotion, target: Array) -> Array:
        rows: Array = at.spanning_bias[self._dofs(at.tree.top)]
        return rows
