"""A loop closed by a joint of any type."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from kinloop import scalar as sc
from kinloop.errors import ModelError
from kinloop.model.facts import written_here
from kinloop.model.frame import WORLD, composed
from kinloop.model.joints import JointType, check_joint_type
from kinloop.model.loops.body_loop import BodyLoop
from kinloop.model.loops.closure import Place
from kinloop.model.loops.picture import Mark, Picture
from kinloop.model.loops.row_writer import RowWriter
from kinloop.spatial import Transform

if TYPE_CHECKING:
    from kinloop.model.topology import Topology


@dataclass(frozen=True, eq=False)
class LoopJoint(BodyLoop):
    """A joint of any type that closes a loop between two bodies (or a body and the world)."""

    type: JointType
    predecessor_placement: Transform = field(default_factory=Transform.identity)
    successor_placement: Transform = field(default_factory=Transform.identity)

    def __post_init__(self) -> None:
        check_joint_type(self.type, self.what)
        if not self.type.says_loop_rows:
            raise ModelError(
                f"{self.what} is closed by a joint of type {self.type.name!r}, which does not say its loop rows; "
                "use that type for a tree joint, or define its loop_rows(writer)"
            )

    @property
    def frames(self) -> tuple[Transform, Transform]:
        return self.predecessor_placement, self.successor_placement

    def write(self, writer: RowWriter) -> None:
        self.type.loop_rows(writer)

    def reattached(self, predecessor: Place, successor: Place) -> Self:
        (P, T_P), (S, T_S) = predecessor, successor
        return replace(
            self,
            predecessor=P,
            successor=S,
            predecessor_placement=composed(T_P, self.predecessor_placement),
            successor_placement=composed(T_S, self.successor_placement),
        )

    def own_functions(self, top: Topology) -> list[sc.Function]:
        return [] if written_here(self) and written_here(self.type) else [self.traced_rows(top)]

    @property
    def kind(self) -> str:
        return f"{self.type.name} joint"

    def picture(self, top: Topology) -> Picture:
        """A pin on the predecessor, or on the successor where that is the world."""
        body, T = (self.successor, self.successor_placement)
        if self.predecessor != WORLD:
            body, T = (self.predecessor, self.predecessor_placement)
        return super().picture(top)._replace(marks=(Mark(body, T, self.type),))
