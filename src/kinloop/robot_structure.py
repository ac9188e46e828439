"""What a robot consists of: bodies, joints, loops, frames and coordinates, by name and number."""

from __future__ import annotations

from kinloop.algorithms.trees.kinematics import FrameAt, find_frame
from kinloop.clusters import ClusterTree
from kinloop.errors import UnknownName, unknown


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

    def q_index(self, joint: str) -> slice:
        """Where the positions of a joint are in q."""
        top = self.tree.top
        if joint not in top.joint_index:
            raise unknown("joint", joint, self.joint_names)
        return top.q_of[top.joint_index[joint]]

    def v_index(self, joint: str) -> slice:
        """Where the velocities of a joint, or of one of its coordinates ("base[3]"), are in v, tau and a."""
        top = self.tree.top
        if joint in top.joint_index:
            here = top.v_of[top.joint_index[joint]]
            wanted = list(range(here.start, here.stop))
        elif joint in top.coordinates:
            wanted = [top.coordinates.index(joint)]
        else:
            raise unknown("joint", joint, [*self.joint_names, *top.coordinates])
        independent = self.tree.independent_dofs
        if dependent := [top.coordinates[d] for d in wanted if d not in independent]:
            raise UnknownName(
                f"joint {joint!r} is not in v: {', '.join(map(repr, dependent))} follow from other coordinates; take "
                "one of robot.independent_names, or make it independent by robot.with_independent"
            )
        start = independent.index(wanted[0]) if wanted else 0
        return slice(start, start + len(wanted))

    def frame(self, name: str) -> FrameAt:
        """Body index and placement of a frame."""
        return find_frame(self.tree.top, name)
