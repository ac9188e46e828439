"""Springs and dampers of users in the semi-implicit step: dampers at its end, springs at the mean of both its ends.

Along each of their coordinates, with J its line in the independent velocities at the middle of the step, x the
coordinate there, v0 and v1 the velocities at the ends of the step in the axes of the middle,

    f = -d J v1 - k (x + h J (v1 - v0) / 4),     the mean of x - h J v0 / 2 and x + h J v1 / 2                      (1)

stable for any stiffness and damping, and springs keep their energy. But in a step in which something touches, positions
move by h v1, with which (1) gives energy to springs that are stiffer than steps can follow. Where contact is possible
springs therefore are taken a part b nearer to x - h J v0 / 2 + h J v1:

    f = -d J v1 - k (x + b h J v0 / 2 + (1 + 3 b) h J (v1 - v0) / 4),  b = (s / (4 + s))^2,  s = h^2 k J M^-1 J^T  (2)

b is of order h^4, and 1 for a spring that is very stiff. The part of (2) that depends on v1 - v0 is that of an inertia
1 / e = h d + (1 + 3 b) h^2 k / 4 along the coordinate. With the change c of velocities under the other part and all
other forces, its impulses r solve

    (e + J M^-1 J^T) r = -J c                                                                                     (3)

a positive definite system of one line per coordinate. Contacts see the inertia too (`contact.propagation.Soft`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.articulated import Articulated
from kinloop.algorithms.trees.body_forces import in_used_frame
from kinloop.algorithms.trees.kinematics import Motion, scatter
from kinloop.clusters import ClusterTree
from kinloop.linear import Factor
from kinloop.scalar import Array
from kinloop.sim.contact.propagation import Propagated, Soft, softened
from kinloop.sim.force_state import BodyPlaces
from kinloop.sim.on_loops import spanning
from kinloop.sim.outside import Outside
from kinloop.sim.smooth_motion import SmoothMotion, accelerate
from kinloop.sim.spring_rows import Row


class Lossy(NamedTuple):
    """A spring or damper of a step: a unit force g on the spanning coordinates, its damping, and k b of (2).

    `rates` are J v0, and J v1 where nothing touches.
    """

    g: Array
    damping: float
    faded: Any
    rates: tuple[Any, Any]


class Yielding(NamedTuple):
    """The smooth motion of a step among forces of users: `pushed` is what pushes do to the spanning coordinates."""

    s: SmoothMotion
    pushed: Array
    lossy: list[Lossy]

    def working(self, after: Array, flying: Any, h: Any) -> Array:
        """Mean forces of all but springs, which only store energy, in a step that ends with these spanning velocities.

        Dampers act with the velocity at the end, after all blows. Where nothing touches, what (2) has beyond (1) is
        the loss of springs that are too stiff for the step; where something does, losses are not told apart.
        """
        out = self.pushed
        for g, damping, faded, (start, free) in self.lossy:
            end = free if flying is True else sc.where(flying, free, g @ after)
            lost = faded * (h * (0.75 * end - 0.25 * start))
            lost = lost if flying is True else sc.where(flying, lost, 0.0)
            out = out - (damping * end + lost) * g
        return out


def accelerate_outside(
    tree: ClusterTree, outside: Outside, kin: Motion, art: list[Articulated], q: Array, f: Array, here: Array,
    beyond: Array, u: Array, h: Any, turning: Collection[int], touching: bool,
) -> Yielding:  # fmt: skip
    """The smooth motion at the middle q of a step of length h that begins with the velocities `here`.

    f are forces at joints. Velocities change by h times the accelerations and `beyond`. Bodies in `turning` have their
    true frames in `kin`. `touching` says whether contact is possible.
    """
    pushed = outside.after(0.5 * h).pushed(q, scatter(tree, [e.qd for e in kin.embedding]), u)
    rows = [(row, g) for row, g in outside.rows(tree.top, q) if row.stiffness or row.damping]
    if not rows:
        return Yielding(accelerate(tree, kin, art, q, f + pushed), pushed, [])
    z = [_propagated(tree, kin, art, row, q, turning).row() for row, _ in rows]
    nearer = [_nearer(row, x[0], h) if touching else 0.0 for (row, _), (x, _) in zip(rows, z, strict=True)]
    start, given = spanning(tree, kin.embedding, here), f + pushed
    for (row, g), b in zip(rows, nearer, strict=True):
        x, rate = row.x, g @ start
        given = given - (row.stiffness * (x + 0.5 * h * b * rate) + row.damping * rate) * g
    known = accelerate(tree, kin, art, q, given)
    e = [
        1.0 / (h * row.damping + ((0.25 + 0.75 * b) * h * h) * row.stiffness)
        for (row, _), b in zip(rows, nearer, strict=True)
    ]
    change = spanning(tree, kin.embedding, h * (known.a + beyond))
    impulses = Factor(_mobility(z, tree.nv, e)).solve(np.array([-(g @ change) for _, g in rows]))
    lossy = []
    for (row, g), r, part, b in zip(rows, impulses, e, nearer, strict=True):
        given = given + (r / h) * g
        lossy.append(Lossy(g, row.damping, row.stiffness * b, (g @ start, g @ start - r * part)))
    s = accelerate(tree, kin, art, q, given)
    return Yielding(s._replace(soft=_softening(z, tree.nv, e)), pushed, lossy)


def _nearer(row: Row, z: Array, h: Any) -> Any:
    """b of (2)."""
    s = (h * h * row.stiffness) * (z @ z)
    part = s / (4.0 + s)
    return part * part


def _propagated(
    tree: ClusterTree, kin: Motion, art: list[Articulated], row: Row, q: Array, turning: Collection[int]
) -> Propagated:
    """A unit force along a coordinate, propagated inward."""
    if row.wrench is None:
        return Propagated.joint(tree, kin, art, row.dof)
    places, u = BodyPlaces(tree.top, q), dict[int, Array]()
    for body, sign in ((row.second, 1.0), (row.first, -1.0)):
        if body < 0:
            continue
        f = sign * places.pose(body).force_back(row.wrench)
        f = f if body in turning else in_used_frame(tree.top, body, q, f)
        for k, x in Propagated.wrench(tree, kin, art, body, f[:, None]).u.items():
            u[k] = u[k] + x if k in u else x
    return Propagated(tree, art, u)


def _mobility(z: list[tuple[Array, list[int]]], nv: int, e: list[Any]) -> Array:
    """The matrix of (3)."""
    Z = np.zeros((len(z), nv), dtype=object if any(x.dtype == object for x, _ in z) else float)
    for k, (x, at) in enumerate(z):
        Z[k, at] = x[0]
    return Z @ Z.T + np.diag(e)


def _softening(z: list[tuple[Array, list[int]]], nv: int, e: list[Any]) -> tuple[Soft, ...]:
    """What contacts see of the springs: each among those before it."""
    out: tuple[Soft, ...] = ()
    for (x, at), part in zip(z, e, strict=True):
        row, on = softened(out, nv, x, at)
        out = (*out, Soft.of(row[0], on, nv, part))
    return out
