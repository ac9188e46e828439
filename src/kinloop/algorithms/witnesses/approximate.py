"""What people use instead: ignore the loops, keep the independent joints, add reflected inertias.

The independent tree keeps the bodies whose joints are independent. "Approximate" adds to each joint
the inertia of the dropped bodies about their own axes, reflected by the squared ratio at the neutral
configuration; "unconstrained" adds nothing. [Chignoli2023, sections II-C to II-E]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_efpa import cluster_efpa
from kinloop.algorithms.trees.cluster_rnea import cluster_rnea
from kinloop.clusters import ClusterTree, grow, neutral
from kinloop.errors import MethodError
from kinloop.model.mechanism import Mechanism
from kinloop.scalar import Array
from kinloop.spatial import Transform


class IndependentTree(NamedTuple):
    """A tree of the independent joints: its positions are q[positions], its velocities v[velocities] of the robot."""

    tree: ClusterTree
    positions: list[int]
    velocities: list[int]
    bodies: list[int]


def independent_tree(tree: ClusterTree, reflect: bool) -> IndependentTree:
    """The tree of independent joints, with or without reflected inertias."""
    return tree.once(_independent_tree, reflect)


def _independent_tree(tree: ClusterTree, reflect: bool) -> IndependentTree:
    top, chosen = tree.top, set(tree.independent_dofs)
    if top.open:
        raise MethodError(f"approximate methods take parameters as they are; {', '.join(top.open)} cannot be left open")
    kept = [i for i in range(len(top)) if all(d in chosen for d in range(top.v_of[i].start, top.v_of[i].stop))]
    for i in kept:
        if top.parent[i] >= 0 and top.parent[i] not in kept:
            raise MethodError(
                f"the independent joints do not form a tree: {top.joints[i].name!r} hangs on "
                f"{top.bodies[top.parent[i]].name!r}, whose joint is dependent; approximate methods need link joints "
                "as independent coordinates (robot.with_independent([...]))"
            )
    reflected = reflected_inertia(tree, kept) if reflect else np.zeros(top.n_spanning)
    joints = tuple(
        replace(top.joints[i], armature=top.joints[i].armature + float(reflected[top.v_of[i]].sum())) for i in kept
    )
    mechanism = Mechanism(top.mechanism.name, tuple(top.bodies[i] for i in kept), joints, gravity=top.mechanism.gravity)
    positions = [k for i in kept for k in range(top.q_of[i].start, top.q_of[i].stop)]
    dofs = [d for i in kept for d in range(top.v_of[i].start, top.v_of[i].stop)]
    if len(dofs) != tree.nv:
        partly = next(top.coordinates[d] for d in tree.independent_dofs if d not in dofs)
        raise MethodError(
            f"{partly!r} is independent while other coordinates of its joint are not; approximate methods need whole "
            "joints as independent coordinates (robot.with_independent([...]))"
        )
    velocities = [tree.independent_dofs.index(d) for d in dofs]
    return IndependentTree(grow(mechanism), positions, velocities, kept)


def reflected_inertia(tree: ClusterTree, kept: Sequence[int]) -> Array:
    """Diagonal of G^T I G over the dropped joints' own axes, at the neutral configuration."""
    top = tree.top
    q = neutral(tree)
    G = tree.spanning_jacobian(q)
    out = np.zeros(top.n_spanning)
    for i in range(len(top)):
        if i not in kept:
            S = top.types[i].subspace(q[top.q_of[i]])
            ratios = G[top.v_of[i]]
            out[tree.independent_dofs] += np.einsum("dk,de,ek->k", ratios, S.T @ top.inertia[i].apply(S), ratios)
    return out


def _on_tree(
    ind: IndependentTree, algorithm: Callable[..., Array], q: Array, v: Array, x: Array, f_ext: Array | None
) -> Array:
    """An algorithm (q, v, tau or a) on the independent tree, with velocities in the robot's order."""
    order = ind.velocities
    found: Array = algorithm(
        ind.tree, q[ind.positions], v[order], x[order], None if f_ext is None else f_ext[ind.bodies]
    )
    back: Array = found[np.argsort(order)]
    return back


def approximate_aba(tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """Forward dynamics of the independent tree with reflected inertias."""
    return _on_tree(independent_tree(tree, True), cluster_aba, q, v, tau, f_ext)


def unconstrained_aba(tree: ClusterTree, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """Forward dynamics of the independent tree alone."""
    return _on_tree(independent_tree(tree, False), cluster_aba, q, v, tau, f_ext)


def approximate_rnea(tree: ClusterTree, q: Array, v: Array, a: Array, f_ext: Array | None = None) -> Array:
    """Inverse dynamics of the independent tree with reflected inertias."""
    return _on_tree(independent_tree(tree, True), cluster_rnea, q, v, a, f_ext)


def unconstrained_rnea(tree: ClusterTree, q: Array, v: Array, a: Array, f_ext: Array | None = None) -> Array:
    """Inverse dynamics of the independent tree alone."""
    return _on_tree(independent_tree(tree, False), cluster_rnea, q, v, a, f_ext)


def approximate_efpa(tree: ClusterTree, q: Array, frames: Sequence[tuple[int, Transform]]) -> Array:
    """Inverse OSIM of the independent tree with reflected inertias."""
    return _efpa(tree, q, frames, True)


def unconstrained_efpa(tree: ClusterTree, q: Array, frames: Sequence[tuple[int, Transform]]) -> Array:
    """Inverse OSIM of the independent tree alone."""
    return _efpa(tree, q, frames, False)


def _efpa(tree: ClusterTree, q: Array, frames: Sequence[tuple[int, Transform]], reflect: bool) -> Array:
    ind = independent_tree(tree, reflect)
    for body, _ in frames:
        if body not in ind.bodies:
            raise MethodError(
                f"body {tree.top.bodies[body].name!r} is not part of the independent tree; "
                "use an exact method for its frames"
            )
    return cluster_efpa(ind.tree, q[ind.positions], [(ind.bodies.index(b), at) for b, at in frames])
