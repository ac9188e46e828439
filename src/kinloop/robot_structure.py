"""What a robot consists of: bodies, joints, loops, frames and coordinates, by name and number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kinloop.algorithms.trees.kinematics import FrameAt, find_frame
from kinloop.clusters import ClusterTree
from kinloop.errors import UnknownName, unknown
from kinloop.model.joint import position_names
from kinloop.model.parameters import open_parameters, parameter_value
from kinloop.scalar import Array


class RobotStructure:
    """Names and sizes of a mechanism in its clusters."""

    def __init__(self, tree: ClusterTree) -> None:
        self.mechanism, self.tree = tree.top.mechanism, tree

    def __repr__(self) -> str:
        bodies, clusters = len(self.body_names), len(self.tree)
        return (
            f"<Robot {self.name!r}: {bodies} bod{'y' if bodies == 1 else 'ies'} in {clusters} "
            f"cluster{'' if clusters == 1 else 's'}, nq={self.nq}, nv={self.nv}, n_spanning={self.n_spanning}>"
        )

    @property
    def name(self) -> str:
        """The name of the mechanism."""
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
        """Bodies, in the order of their joints."""
        return [b.name for b in self.mechanism.bodies]

    @property
    def joint_names(self) -> list[str]:
        """Joints of the spanning tree, in the order of `q`."""
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

    @property
    def position_names(self) -> list[str]:
        """Names of the entries of q: a joint's own name, or "base[0]" and so on where it has several."""
        return list(self._positions)

    @property
    def spanning_names(self) -> list[str]:
        """Names of the entries of qd and qdd."""
        return list(self.tree.top.coordinates)

    def q_index(self, joint: str) -> slice:
        """Where the positions of a joint, or one of them ("base[3]"), are in q; `position_names` is the way back."""
        return _found(joint, self.tree.top.joint_index, self.tree.top.q_of, self._positions)

    def spanning_index(self, joint: str) -> slice:
        """Where the velocities of a joint, or one of them, are in qd and qdd; `spanning_names` is the way back."""
        top = self.tree.top
        return _found(joint, top.joint_index, top.v_of, top.coordinates)

    def v_index(self, joint: str) -> slice:
        """Where the velocities of a joint, or one of them ("base[3]"), are in v, tau and a.

        `independent_names` is the way back. A joint that follows from others is not in v: an error says so.
        """
        top, independent = self.tree.top, self.tree.independent_dofs
        here = self.spanning_index(joint)
        wanted = list(range(here.start, here.stop))
        if dependent := [top.coordinates[d] for d in wanted if d not in independent]:
            names = ", ".join(map(repr, dependent))
            raise UnknownName(
                f"joint {joint!r} is not in v: {names} follow{'s' if len(dependent) == 1 else ''} from other "
                "coordinates; take one of robot.independent_names, or make it independent by robot.with_independent"
            )
        start = independent.index(wanted[0]) if wanted else 0
        return slice(start, start + len(wanted))

    def body_index(self, body: str) -> int:
        """Where a body is among `body_names`, and in arrays with a row per body such as f_ext."""
        names = self.body_names
        if body not in names:
            raise unknown("body", body, names)
        return names.index(body)

    def parameters(self) -> dict[str, Array]:
        """The values of everything that `compile(..., parameters=[...])` can leave open, by name.

        Of every body "torso.mass" [kg], "torso.com" (3) [m], "torso.inertia" (6) [kg m^2]: xx, yy, zz, xy, xz, yz about
        the centre of mass; of every joint "knee.position" (3) [m], "knee.rpy" (3) [rad], "knee.armature" [kg m^2, kg];
        of every linear coupling "gear.ratio" (m, n). For identification see `inertial_parameters`.
        """
        top = self.tree.top
        return {name: parameter_value(top, name) for name in open_parameters(top)}

    @property
    def _positions(self) -> list[str]:
        return [name for j in self.mechanism.joints for name in position_names(j)]

    def frame(self, name: str) -> FrameAt:
        """Body index and placement of a frame."""
        return find_frame(self.tree.top, name)


def _found(joint: str, joints: Mapping[str, int], places: Sequence[slice], coordinates: Sequence[str]) -> slice:
    """Where a joint, or one of its coordinates, is in a vector."""
    if joint in joints:
        return places[joints[joint]]
    if joint not in coordinates:
        raise unknown("joint", joint, dict.fromkeys([*joints, *coordinates]))
    start = coordinates.index(joint)
    return slice(start, start + 1)
