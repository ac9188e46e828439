"""The same motion computed from two descriptions of a mechanism, joint by joint."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_rnea import cluster_rnea
from kinloop.clusters import ClusterTree


def pairs(a: ClusterTree, b: ClusterTree, by: str = "child") -> list[tuple[int, int]]:
    """Moving joints of two trees that carry bodies of the same name (or have the same name)."""
    index = {getattr(j, by): k for k, j in enumerate(b.top.joints)}
    return [(i, index[getattr(j, by)]) for i, j in enumerate(a.top.joints) if j.type.nv]


def carry(a: ClusterTree, b: ClusterTree, x: np.ndarray, what: str, by: str = "child") -> np.ndarray:
    """Positions ("q") or spanning velocities ("v") of tree a put in the places of tree b."""
    out = b.top.neutral() if what == "q" else np.zeros(b.top.n_spanning)
    for i, k in pairs(a, b, by):
        place_a, place_b = (t.top.q_of if what == "q" else t.top.v_of for t in (a, b))
        out[place_b[k]] = x[place_a[i]]
    return out


def dynamics(tree: ClusterTree, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Spanning accelerations for spanning forces, and the inverse dynamics of those accelerations."""
    v = qd[tree.independent_dofs]
    G, rates, g = tree.spanning_motion(q, v)
    assert np.allclose(rates, qd, atol=1e-9 * (1 + np.max(np.abs(qd), initial=0.0))), "qd breaks a loop"
    a = cluster_aba(tree, q, v, G.T @ force)
    return G @ a + g, cluster_rnea(tree, q, v, a) - G.T @ force


def same_dynamics(a: ClusterTree, b: ClusterTree, q: np.ndarray, rng: np.random.Generator, by: str = "child") -> float:
    """Largest relative difference of forward dynamics of two trees at q (of a) and a random velocity and force."""
    _, qd, _ = a.spanning_motion(q, rng.normal(size=a.nv))
    force = rng.normal(size=a.top.n_spanning)
    mine, _ = dynamics(a, q, qd, force)
    theirs, _ = dynamics(b, *(carry(a, b, x, k, by) for x, k in ((q, "q"), (qd, "v"), (force, "v"))))
    return relative(carry(a, b, mine, "v", by), theirs)


def relative(a: Any, b: Any) -> float:
    a, b = np.asarray(a), np.asarray(b)
    size = max(float(np.max(np.abs(a), initial=0.0)), float(np.max(np.abs(b), initial=0.0)))
    return float(np.max(np.abs(a - b), initial=0.0)) / size if size else 0.0
