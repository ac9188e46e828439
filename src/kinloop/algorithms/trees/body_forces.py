"""What acts on each body by itself: the bias force of its motion, and wrenches from outside."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from kinloop.model.topology import Topology
from kinloop.scalar import Array
from kinloop.spatial import rigid_bias


def body_bias(
    top: Topology, v: Sequence[Array], q: Array, f_ext: Array | None, turning: Collection[int] = ()
) -> list[Array]:
    """p_i: the force each body needs to keep its velocity, less the wrench on it from outside.

    Bodies in `turning` have their true frames in this motion, as in `kinematics.motion`.
    """
    return less_outside(top, [rigid_bias(I, u) for I, u in zip(top.inertia, v, strict=True)], q, f_ext, turning)


def less_outside(
    top: Topology, p: list[Array], q: Array, f_ext: Array | None, turning: Collection[int] = ()
) -> list[Array]:
    """Forces on the bodies less the wrenches from outside."""
    if f_ext is None:
        return p
    return [x - (f_ext[i] if i in turning else in_used_frame(top, i, q, f_ext[i])) for i, x in enumerate(p)]


def in_used_frame(top: Topology, i: int, q: Array, f: Array) -> Array:
    """A wrench on body i in the frame the algorithms use for it, which need not spin with the body."""
    if not top.spins_unseen[i]:
        return f
    R = top.types[i].pose(q[top.q_of[i]]).R
    return np.concatenate([R @ f[:3], R @ f[3:]])
