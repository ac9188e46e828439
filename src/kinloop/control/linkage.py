"""The clusters between motors and joints, alone: what closes their loops when some coordinates are given.

A linkage is the part of a robot that motors and joints share, in a topology of its own: how the robot stands elsewhere
does not matter to it. It has two charts, one in which the joints are independent and one in which the motors are. To
find the configuration at given joints is to set these and close the loops by Newton's rounds on all others, and so it
is for given motors. docs/control.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import scatter
from kinloop.clusters import ClusterTree
from kinloop.clusters.newton import newton
from kinloop.clusters.tree import Cluster, chart_with
from kinloop.errors import ModelError, SingularConfiguration
from kinloop.linear import determinant
from kinloop.model.facts import written_here
from kinloop.model.topology import Topology
from kinloop.scalar import Array

FAR = 1e6
"""No correction is this long [m, rad]; rotors behind large gears turn many times."""

FINEST = 2.0**-14
"""The smallest part of a way that is tried before loops count as stuck."""


@dataclass(frozen=True, eq=False)
class Linkage:
    """Clusters of a robot by themselves, and which of their coordinates are joints, motors, and held.

    Numbers of coordinates are places in the spanning velocity of `joints.top`; `place_of` says where their positions
    are. `gear` multiplies positions of motors. `motors` is None where motors and what is held do not determine
    the motion. `bodies` are numbers in the robot, of which q is the robot's, or the robot's with further joints.
    """

    joints: ClusterTree
    motors: ClusterTree | None
    joint_dofs: tuple[int, ...]
    motor_dofs: tuple[int, ...]
    held_dofs: tuple[int, ...]
    gear: Array
    place_of: tuple[int, ...]
    bodies: tuple[int, ...]

    def positions(self, dofs: Sequence[int]) -> list[int]:
        """Places in q of some coordinates."""
        return [self.place_of[d] for d in dofs]


def make_linkage(
    tree: ClusterTree, joints: Sequence[int], motors: Sequence[int], held: Sequence[int], gear: Array
) -> Linkage:
    """The linkage of coordinates of a robot, given by their places in the spanning velocity."""
    shared = sorted({tree.cluster_of[tree.top.body_of[d]] for d in (*joints, *motors, *held)})
    clusters = [tree.clusters[k] for k in shared]
    bodies = tuple(sorted(i for c in clusters for i in c.bodies))
    alone = all(map(written_here, (*(p for c in clusters for p in c.parts), *(tree.top.types[i] for i in bodies))))
    bodies = bodies if alone else tuple(range(len(tree.top)))
    top = tree.top.of_bodies(bodies) if alone else tree.top
    old = [d for i in bodies for d in range(tree.top.v_of[i].start, tree.top.v_of[i].stop)]
    number = {d: k for k, d in enumerate(old)}
    to, fro, fixed = ([number[d] for d in dofs] for dofs in (joints, motors, held))
    renumbered = _renumbered(clusters, bodies, number)
    thought = _charted(top, renumbered, [*to, *fixed], "joints")
    assert thought is not None, "charts of joints are there, or refused"
    driven = _charted(top, renumbered, [*fro, *fixed], "")
    return Linkage(thought, driven, tuple(to), tuple(fro), tuple(fixed), gear, top.plain_places(), bodies)


def _renumbered(clusters: Sequence[Cluster], bodies: Sequence[int], number: dict[int, int]) -> list[Cluster]:
    """Clusters with their bodies and coordinates numbered as those of a topology of their own."""
    body, index = {i: k for k, i in enumerate(bodies)}, {c.index: k for k, c in enumerate(clusters)}
    return [
        replace(
            c,
            index=index[c.index],
            bodies=tuple(body[i] for i in c.bodies),
            parent=index.get(c.parent, -1),
            outputs=tuple(body.get(i, -1) for i in c.outputs),
            dofs=tuple(number[d] for d in c.dofs),
        )
        for c in clusters
    ]


def _charted(top: Topology, clusters: Sequence[Cluster], dofs: Sequence[int], what: str) -> ClusterTree | None:
    """The tree of clusters in charts in which `dofs` are independent.

    Where there is no such chart: an error about `what`, or None if that is empty.
    """
    out: list[Cluster] = []
    start = 0
    for c in clusters:
        wanted = [k for k, d in enumerate(c.dofs) if d in dofs]
        chart = chart_with(c, wanted)
        if chart is None and not what:
            return None
        if chart is None:
            names = [top.coordinates[d] for d in c.dofs]
            m = len(c.chart.independent)
            raise ModelError(
                f"{what} {[names[k] for k in wanted]} do not determine the motion of {names}, which has {m} "
                f"freedom{'s' if m != 1 else ''}; name as many of these as joints, or hold some "
                "where they are: held={name: None}"
            )
        v = slice(start, start + len(chart.independent))
        out.append(replace(c, chart=chart, v=v))
        start = v.stop
    return ClusterTree(top, out)


def found_at(linkage: Linkage, tree: ClusterTree, dofs: Sequence[int], values: Array, near: Array) -> tuple[Array, Any]:
    """The closed q at which the independent `dofs` of a tree have `values`, and whether it is on the branch of `near`.

    Independent coordinates that are not among `dofs` stay as they are, as far as they have positions.
    Newton's rounds begin where tangent and curvature at `near` lead. Loops that could be assembled in several ways are
    told apart by the signs of the determinants that vanish where the ways meet.
    """
    places = linkage.positions(dofs)
    step = dict(zip(dofs, values - near[places], strict=True))
    dy = np.array([step.get(d, 0.0) for d in tree.independent_dofs])
    along = [tree.embedding(c, near, dy) for c in tree]
    start = tree.top.integrate(near, scatter(tree, [e.qd + 0.5 * e.g for e in along]))
    start = start.astype(object) if np.asarray(values).dtype == object else start
    start[places] = values
    q, well = newton(tree, start, FAR, curved=True)
    for c in tree.loop_clusters:
        K, before = tree.rows(c, q).K, tree.rows(c, near).K
        for rows, columns in c.chart.blocks:
            block = np.ix_(rows, columns)
            well = sc.logical_and(well, determinant(K[block]) * determinant(before[block]) > 0.0)
    return q, well


def followed(linkage: Linkage, tree: ClusterTree, dofs: Sequence[int], values: Array, near: Array, what: str) -> Array:
    """The closed q at `values`, on numbers: reached from `near` in a straight line of these coordinates.

    An error says how far they get where loops come to a dead centre or cannot be closed on the way.
    """
    places = linkage.positions(dofs)
    q, begin, done, part = near, near[places], 0.0, 0.5
    while done < 1.0:
        part = min(part, 1.0 - done)
        with np.errstate(all="ignore"):
            trial, well = found_at(linkage, tree, dofs, begin + (done + part) * (values - begin), q)
        if bool(well):
            q, done, part = np.asarray(trial, dtype=float), done + part, 2.0 * part
        elif part > FINEST:
            part = 0.5 * part
        else:
            names = [tree.top.coordinates[d] for d in dofs]
            loops = [p.name for c in tree.loop_clusters for p in c.parts]
            raise SingularConfiguration(
                f"the {what} {names} do not get to {np.array2string(values, precision=4)}: at "
                f"{np.array2string(q[places], precision=4)}, after {100 * done:.1f} % of the way from where they "
                f"start, the loops {loops} come to a dead centre or cannot be closed; stay on this side of it, or "
                "give near=, a configuration beyond it"
            )
    return q
