"""A cluster by itself: its own bodies in a topology of their own, to which all others are the world.

What loops tie together moves relative to one body outside, whatever that one does. So a cluster is analysed in a
topology of its few bodies, however many the robot has, and two clusters that differ in nothing but their names and
their place in the robot are analysed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from kinloop.model.facts import written_here
from kinloop.model.frame import WORLD
from kinloop.model.loops import LoopClosure
from kinloop.model.topology import Topology
from kinloop.scalar import Array


class Alone:
    """The bodies of a cluster in `top`, a topology that has no others; `bodies` and `dofs` are their numbers there.

    Closures and joint types that users wrote may look at more than they say: with them `top` is the whole robot's.
    """

    def __init__(self, whole: Topology, bodies: Sequence[int], parts: Sequence[LoopClosure]) -> None:
        ours = all(map(written_here, (*parts, *(whole.types[i] for i in bodies))))
        self.top = whole.of_bodies(bodies) if ours else whole
        self.bodies = tuple(range(len(bodies))) if ours else tuple(bodies)
        self.dofs = tuple(d for i in self.bodies for d in range(self.top.v_of[i].start, self.top.v_of[i].stop))
        self.drawn = False
        """Whether positions were drawn: what was found with them is this cluster's alone."""
        self._whole, self._places = whole, tuple(bodies)

    def random(self, rng: np.random.Generator) -> Array:
        """Positions of all joints of `top`, drawn as for the whole robot."""
        self.drawn = True
        return self.taken(self._whole.random(rng))

    def taken(self, q: Array) -> Array:
        """Positions of the joints of `top` out of the whole robot's q."""
        return q if self.top is self._whole else np.concatenate([q[self._whole.q_of[i]] for i in self._places])

    def put(self, q: Array, own: Array) -> None:
        """Write positions of the cluster's joints, out of those of `top`, into the whole robot's q."""
        for i, k in zip(self._places, self.bodies, strict=True):
            q[self._whole.q_of[i]] = own[self.top.q_of[k]]


def likeness(alone: Alone, parts: Sequence[LoopClosure], wanted: Sequence[int]) -> str | None:
    """What equal clusters have in common: geometry, homes, closures, and the coordinates wanted, but not their names.

    None where users' own kinds do not tell what they depend on.
    """
    top = alone.top
    if not all(map(written_here, (*parts, *top.types))):
        return None
    numbers: dict[str, list[tuple[str, int]]] = {}
    for role, named in (("body", top.bodies), ("joint", top.joints), ("part", parts)):
        for k, name in enumerate(x.name for x in named):
            numbers.setdefault(name, []).append((role, k))

    def plain(x: Any) -> Any:
        if isinstance(x, str):
            return numbers.get(x, "outside" if x in top.mechanism.body_names or x == WORLD else x)
        if isinstance(x, np.ndarray):
            return x.shape, x.tobytes()
        if isinstance(x, tuple | list):
            return tuple(map(plain, x))
        if is_dataclass(x) and not callable(x):
            return (type(x), *(plain(getattr(x, f.name)) for f in fields(x)))
        return x if x is None or isinstance(x, int | float) else id(x)  # a user's function is like itself alone

    joints = [(plain(j.type), plain(j.placement), j.home) for j in top.joints]
    return repr((top.parent, joints, [plain(p) for p in parts], tuple(wanted)))
