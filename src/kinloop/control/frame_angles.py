"""Angles of a frame against another as coordinates: a serial ankle's pitch and roll, where no joint has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import find_frame
from kinloop.errors import MethodError
from kinloop.model import WORLD, Body, Joint, Mechanism
from kinloop.model.joints import Revolute
from kinloop.model.loops import LoopFunction
from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import Transform


@dataclass(frozen=True)
class FrameAngles:
    """Angles [rad] that turn the axes of `base` into those of `frame`, one after the other about the turned `axes`.

    `FrameAngles("foot", "shin", "yx")` are a foot's pitch and roll: R = R_y(pitch) R_x(roll) R_z(rest), where the rest
    is zero if the foot hangs in a universal joint. Both frames are bodies, named frames, or "world".
    """

    frame: str
    base: str
    axes: str = "yx"

    def __post_init__(self) -> None:
        known = isinstance(self.axes, str) and 1 <= len(self.axes) <= 3 and set(self.axes) <= set("xyz")
        if not known or len(set(self.axes)) != len(self.axes):
            raise MethodError(f"axes of {self.frame!r} are {self.axes!r}; give one to three different letters of 'xyz'")

    @property
    def names(self) -> tuple[str, ...]:
        """A name for every angle."""
        return tuple(f"{self.frame} about {axis}" for axis in self.axes)


def angles(R: Array, axes: str) -> list[Any]:
    """The angles a, b, c of R = R_i(a) R_j(b) R_k(c) about the `axes` i, j, k, as many as are named."""
    order = [*map("xyz".index, axes)]
    while len(order) < 3:
        order.append(next(k for k in ((order[-1] + 1) % 3, (order[-1] + 2) % 3) if k not in order))
    i, j, k = order
    s = 1.0 if (j - i) % 3 == 1 else -1.0
    a = sc.atan2(-s * R[j, k], R[k, k])
    b = sc.atan2(s * R[i, k], sc.sqrt(R[i, i] * R[i, i] + R[i, j] * R[i, j]))
    c = sc.atan2(-s * R[i, j], R[i, i])
    return [a, b, c][: len(axes)]


class Measured(NamedTuple):
    """A function of joint positions that gives angles of a frame, the joints between the two frames, and the body that
    carries both."""

    carrier: str
    joints: tuple[str, ...]
    call: Callable[..., list[Any]]


def measured(top: Topology, asked: FrameAngles) -> Measured:
    """How angles of a frame follow from the joints between it and its base."""
    (i, placed), (j, base) = (
        (-1, Transform.identity()) if name == WORLD else find_frame(top, name) for name in (asked.frame, asked.base)
    )
    common, down, up = top.paths(i, j)
    if not (down or up):
        raise MethodError(f"frames {asked.frame!r} and {asked.base!r} are fixed to each other; no angle between them")

    def turned(bodies: Sequence[int], positions: Sequence[Any]) -> Array:
        R = np.eye(3)
        for b, q in zip(bodies, positions, strict=True):
            R = R @ top.placement[b].R @ top.types[b].pose(np.atleast_1d(np.asarray(q))).R
        return R

    def call(*positions: Any) -> list[Any]:
        R_base = turned(up, positions[len(down) :]) @ base.R
        return angles(R_base.T @ (turned(down, positions[: len(down)]) @ placed.R), asked.axes)

    carrier = top.bodies[common].name if common >= 0 else WORLD
    return Measured(carrier, tuple(top.joints[b].name for b in (*down, *up)), call)


def with_angles(mechanism: Mechanism, asked: Sequence[FrameAngles]) -> Mechanism:
    """The mechanism with a coordinate for every angle: that of a body without mass which loops turn as the frame."""
    top = Topology.of(mechanism)
    for a in asked:
        found, names = measured(top, a), a.names
        bodies = [Body(name) for name in names]
        joints = [Joint(name, found.carrier, name, Revolute((1.0, 0.0, 0.0))) for name in names]

        def phi(*positions: Any, found: Measured = found, n: int = len(names)) -> list[Any]:
            return [x - y for x, y in zip(positions[:n], found.call(*positions[n:]), strict=True)]

        loop = LoopFunction(f"angles of {a.frame}", (*names, *found.joints), phi)
        mechanism = replace(
            mechanism,
            bodies=(*mechanism.bodies, *bodies),
            joints=(*mechanism.joints, *joints),
            loops=(*mechanism.loops, loop),
        )
    return mechanism


def angle_values(top: Topology, asked: Sequence[FrameAngles], q: Array) -> Array:
    """The angles at positions q of the robot, on numbers."""
    out: list[float] = []
    for a in asked:
        found = measured(top, a)
        at = [top.q_of[top.joint_index[name]] for name in found.joints]
        out += [float(x) for x in found.call(*(q[s] for s in at))]
    return np.array(out)
