"""What a robot consists of: bodies, joints, loops, frames and coordinates, by name and number."""

from __future__ import annotations

from kinloop.algorithms.trees.kinematics import FrameAt, find_frame
from kinloop.clusters import ClusterTree


class RobotStructure:
    """Names and sizes of a mechanism in its clusters."""

    def __init__(self, tree: ClusterTree) -> None:
        self.mechanism, self.tree = tree.top.mechanism, tree

    def __repr__(self) -> str:
        return (
            f"<Robot {self.name!r}: {len(self.body_names)} bodies in {len(self.tree)} clusters, "
            f"nq={self.nq}, nv={self.nv}, n_spanning={self.n_spanning}>"
        )

    @property
    def name(self) -> str:
        return self.mechanism.name

    @property
    def nq(self) -> int:
        """Number of spanning-tree positions."""
        return self.tree.top.nq

    @property
    def nv(self) -> int:
        """Number of independent velocities."""
        return self.tree.nv

    @property
    def n_spanning(self) -> int:
        """Number of spanning-tree velocities."""
        return self.tree.top.n_spanning

    @property
    def body_names(self) -> list[str]:
        return [b.name for b in self.mechanism.bodies]

    @property
    def joint_names(self) -> list[str]:
        return [j.name for j in self.mechanism.joints]

    @property
    def loop_names(self) -> list[str]:
        """Loops and couplings, in the order of `loop_error`."""
        return [p.name for p in self.mechanism.closures]

    @property
    def frame_names(self) -> list[str]:
        """Bodies, then named frames: all can be used where a frame is asked for."""
        return self.body_names + [f.name for f in self.mechanism.frames]

    @property
    def independent_names(self) -> list[str]:
        """Names of the coordinates of v."""
        return [self.tree.top.coordinates[d] for d in self.tree.independent_dofs]

    def frame(self, name: str) -> FrameAt:
        """Body index and placement of a frame."""
        return find_frame(self.tree.top, name)
