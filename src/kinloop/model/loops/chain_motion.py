"""Motion of a body relative to an ancestor, in the ancestor's axes: what loop equations are made of.

With parent quantities (w, v, alpha, a: angular velocity, velocity of the origin, and the accelerations
at constant joint rates) and r the vector from the parent's origin to the child's:

    w     = w_p + w_rel                                                       (1)
    v     = v_p + w_p x r + u_rel                                             (2)
    alpha = alpha_p + w_p x w_rel + d w_rel                                   (3)
    a     = a_p + alpha_p x r + w_p x (w_p x r) + 2 w_p x u_rel + d u_rel     (4)

where w_rel, u_rel are the joint's own motion in the parent's axes and `d` their rates in the parent's
frame at constant joint rates. Derivation: docs/algorithms/constraints.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kinloop.scalar import Array
from kinloop.spatial import Transform, cross

if TYPE_CHECKING:
    from kinloop.model.topology import Topology


class Column(NamedTuple):
    """What one coordinate moves: a turn `w` about, and a shift `u` of, the point `origin`."""

    dof: int
    w: Array
    u: Array
    origin: Array


class ChainEnd(NamedTuple):
    """Pose, velocity columns, velocity and velocity-product acceleration of a body, seen from an ancestor."""

    T: Transform
    columns: list[Column]
    w: Array
    v: Array
    alpha: Array
    a: Array

    @staticmethod
    def at_rest() -> ChainEnd:
        """The ancestor itself."""
        zero = np.zeros(3)
        return ChainEnd(Transform.identity(), [], zero, zero, zero, zero)

    def point(self, c: Array) -> tuple[Array, Array, Array]:
        """Position, velocity and velocity-product acceleration of a point fixed at `c` in the body."""
        r = self.T.R @ c
        turn = cross(self.w, r)
        return self.T.p + r, self.v + turn, self.a + cross(self.alpha, r) + cross(self.w, turn)


def walk(top: Topology, path: Sequence[int], q: Array, qd: Array | None) -> ChainEnd:
    """Follow a path of bodies outward from an ancestor; `qd=None` leaves the motion at rest."""
    T = Transform.identity()
    zero = np.zeros(3)
    w, v, alpha, a = zero, zero, zero, zero
    columns: list[Column] = []
    for i in path:
        kind, at = top.types[i], T.then(top.placement[i])
        qi = q[top.q_of[i]]
        joint = kind.pose(qi)
        motion = kind.columns(qi)
        W, U = at.R @ motion[:3], at.R @ motion[3:]
        child = at.then(joint)
        first = top.v_of[i].start
        columns += [Column(first + k, W[:, k], U[:, k], child.p) for k in range(kind.nv)]
        if qd is not None:
            rates = qd[top.v_of[i]]
            bias = kind.columns_bias(qi, rates)
            r = child.p - T.p
            w_rel, u_rel = W @ rates, U @ rates
            swing = cross(w, r)
            a = a + cross(alpha, r) + cross(w, swing) + 2.0 * cross(w, u_rel) + at.R @ bias[3:]  # (4)
            v = v + swing + u_rel  # (2)
            alpha = alpha + cross(w, w_rel) + at.R @ bias[:3]  # (3)
            w = w + w_rel  # (1)
        T = child
    return ChainEnd(T, columns, w, v, alpha, a)
