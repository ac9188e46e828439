"""Steps along closed loops and differences of configurations, with their derivatives as array libraries ask for them.

Directions of positions, and gradients with respect to them, have an entry for every number of q. A step

    q' = q + v dt      independent coordinates exactly, dependent ones by closing the loops

is differentiated where it is explicit: the independent coordinates of q' are a function m(q, v, dt) without loops,
and the others follow their change as all closed motions do,

    dq' = E(q') G(q') L(q') dm                                                                             (1)

with E, G and L of `kinloop.algorithms.differentiated`. Newton's rounds are not differentiated, but where only some
coordinates of a ball are independent, since closing the loops then turns these too.
"""

from __future__ import annotations

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.differentiated import closed_gradient, closed_part, closed_rate
from kinloop.algorithms.trees import positions
from kinloop.algorithms.trees.kinematics import independent_change, scatter, tangent_directions
from kinloop.clusters import ClusterTree
from kinloop.clusters.newton import corrected, newton
from kinloop.scalar import Array

ROUNDS = 4
"""Rounds of Newton's that are differentiated: as many as lead from any step worth taking to rounding."""


def turns_in_part(tree: ClusterTree) -> bool:
    """Whether of some joint that has more positions than velocities only some coordinates are independent."""
    top, free = tree.top, set(tree.independent_dofs)
    joints = (set(range(top.n_spanning)[dofs]) for kind, dofs in zip(top.types, top.v_of) if kind.nq != kind.nv)
    return any(own & free and not own <= free for own in joints)


def stepped(tree: ClusterTree, q: Array, v: Array, dt: Array) -> dict[str, Array]:
    """The closed configuration reached from q by the velocity v in time dt (1,); nan where loops are not closed."""
    end, well = newton(tree, _moved(tree, q, v, dt))
    return {"q": np.array([sc.where(well, x, np.nan) for x in tree.top.normalized(end)])}


def _moved(tree: ClusterTree, q: Array, v: Array, dt: Array) -> Array:
    """All joints moved at the velocities they begin with."""
    dy = v * dt[0]
    return tree.top.integrate(q, scatter(tree, [tree.jacobian(c, q) @ dy[c.v] for c in tree]))


def _explicit(tree: ClusterTree, q: Array, v: Array, dt: Array) -> tuple[Array, Array]:
    """m, among all positions, and q'."""
    moved = _moved(tree, q, v, dt)
    end = tree.top.normalized(newton(tree, moved)[0])
    for _ in range(ROUNDS if turns_in_part(tree) else 0):
        for c in tree:
            if c.parts:
                moved = corrected(tree, c, moved).q
    return moved, end


def stepped_pushforward(
    tree: ClusterTree, q: Array, v: Array, dt: Array, dq: Array, dv: Array, ddt: Array
) -> dict[str, Array]:
    """dq' along changes of q, v and dt."""
    moved, end = _explicit(tree, q, v, dt)
    dm = sc.jvp(moved, [*q, *v, *dt], [*closed_part(tree, q, dq), *dv, *ddt])
    return {"dq": closed_rate(tree, end, independent_change(tree, end, dm))}


def stepped_pullback(tree: ClusterTree, q: Array, v: Array, dt: Array, bar_q: Array) -> dict[str, Array]:
    """The gradient of bar_q . q' with respect to q, v and dt."""
    moved, end = _explicit(tree, q, v, dt)
    # (1) backwards, by columns: q' comes out of Newton's rounds, which no graph leads back through
    bar_y = np.array([direction @ bar_q for direction in tangent_directions(tree, end)])
    bar_m = np.array([independent_change(tree, end, e) @ bar_y for e in np.eye(len(q))])
    found = sc.vjp(moved, [*q, *v, *dt], bar_m)
    along_q, along_v, along_t = np.split(found, [len(q), len(q) + len(v)])
    return {"bar_q": closed_gradient(tree, q, along_q), "bar_v": along_v, "bar_dt": along_t}


def difference(tree: ClusterTree, q0: Array, q1: Array) -> dict[str, Array]:
    """The independent step from q0 to q1."""
    return {"v": positions.difference(tree, q0, q1)}


def difference_pushforward(tree: ClusterTree, q0: Array, q1: Array, dq0: Array, dq1: Array) -> dict[str, Array]:
    """Its change along changes of q0 and q1."""
    along = [*closed_part(tree, q0, dq0), *closed_part(tree, q1, dq1)]
    return {"dv": sc.jvp(positions.difference(tree, q0, q1), [*q0, *q1], along)}


def difference_pullback(tree: ClusterTree, q0: Array, q1: Array, bar_v: Array) -> dict[str, Array]:
    """The gradient of bar_v . difference with respect to q0 and q1."""
    found = sc.vjp(positions.difference(tree, q0, q1), [*q0, *q1], bar_v)
    n = len(q0)
    return {"bar_q0": closed_gradient(tree, q0, found[:n]), "bar_q1": closed_gradient(tree, q1, found[n:])}
