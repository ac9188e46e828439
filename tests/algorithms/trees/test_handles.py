"""Handles: what passes through them keeps its power, whether a cluster has one root or several."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from helpers import assert_agree, assert_enough, mechanisms

from kinloop.algorithms.trees.handles import Handles
from kinloop.algorithms.trees.kinematics import Motion, motion
from kinloop.clusters import Cluster, ClusterTree, random_closed
from kinloop.spatial import Inertia


def held_clusters(one_root: bool) -> Iterator[tuple[ClusterTree, Cluster, Motion, Handles, np.random.Generator]]:
    """Clusters that hang on another one, by one root or by several, in a random motion."""
    for r in mechanisms(44, seed=1200):
        q = random_closed(r.tree, r.rng)
        kin = motion(r.tree, q, r.rng.normal(size=r.tree.nv))
        for c in r.tree:
            handles = Handles(r.tree.top, c, kin)
            if c.parent >= 0 and (handles.root is not None) == one_root:
                yield r.tree, c, kin, handles, r.rng


def rigidly(tree: ClusterTree, c: Cluster, kin: Motion, above: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Motions of a cluster's bodies where its joints are locked."""
    out: dict[int, np.ndarray] = {}
    for i in c.bodies:
        parent = tree.top.parent[i]
        out[i] = kin.T[i].motion(out[parent] if parent in out else above[parent])
    return out


@pytest.mark.parametrize(("one_root", "least"), [(True, 40), (False, 15)])
@pytest.mark.sample(5)
def test_forces_through_handles_keep_their_power(one_root, least):
    compared = 0
    for tree, c, kin, handles, rng in held_clusters(one_root):
        above = {s: rng.normal(size=6) for s in c.outputs}
        forces = {i: rng.normal(size=6) for i in c.bodies}
        bodies = rigidly(tree, c, kin, above)
        power = sum(forces[i] @ bodies[i] for i in c.bodies)
        at, moved = handles.propagate(forces), handles.from_parent(above)
        assert set(at) == set(moved)
        scale = sum(float(np.linalg.norm(forces[i]) * np.linalg.norm(bodies[i])) for i in c.bodies)
        assert_agree(sum(at[s] @ moved[s] for s in at), power, 10.0, scale=scale)
        assert_agree(sum(f @ above[s] for s, f in handles.to_parent(at).items()), power, 10.0, scale=scale)
        compared += 1
    assert_enough(compared, least, "clusters")


@pytest.mark.parametrize(("one_root", "least"), [(True, 40), (False, 15)])
@pytest.mark.sample(5)
def test_inertias_through_handles_keep_the_energy_of_rigid_motions(one_root, least):
    compared = 0
    for tree, c, kin, handles, rng in held_clusters(one_root):
        above = {s: rng.normal(size=6) for s in c.outputs}
        A = {i: rng.normal(size=(6, 6)) for i in c.bodies}
        I = {i: Inertia((a @ a.T)[:3, :3], (a @ a.T)[:3, 3:], (a @ a.T)[3:, 3:]) for i, a in A.items()}
        pairs = [(i, j) for i in c.bodies for j in c.bodies if i < j][:3]
        B = {pair: rng.normal(size=(6, 6)) for pair in pairs}
        v = rigidly(tree, c, kin, above)
        energy = sum(v[i] @ I[i].apply(v[i]) for i in c.bodies) + 2 * sum(v[i] @ b @ v[j] for (i, j), b in B.items())
        whole, blocks = handles.propagate_inertia(I, B)
        u = handles.from_parent(above)
        felt = sum(u[s] @ x.apply(u[s]) for s, x in whole.items())
        felt += 2 * sum(u[s] @ b @ u[t] for (s, t), b in blocks.items())
        scale = sum(float(np.linalg.norm(A[i]) ** 2 * np.linalg.norm(v[i]) ** 2) for i in c.bodies)
        assert_agree(felt, energy, 10.0, scale=scale)
        at = handles.inertia_to_parent(whole)
        felt = sum(above[s] @ x.apply(above[s]) for s, x in at.items())
        felt += 2 * sum(above[s] @ b @ above[t] for (s, t), b in blocks.items() if s in above)
        assert_agree(felt, energy, 10.0, scale=scale)
        compared += 1
    assert_enough(compared, least, "clusters")


@pytest.mark.parametrize(("one_root", "least"), [(True, 40), (False, 15)])
@pytest.mark.sample(5)
def test_velocity_products_split_at_the_handles(one_root, least):
    """From an output body to a body of the cluster they are those of the handle and those beyond it."""
    compared = 0
    for tree, c, kin, handles, rng in held_clusters(one_root):
        above = {s: rng.normal(size=6) for s in c.outputs}
        C, at = handles.relative_bias(), handles.accelerations(above)
        expected: dict[int, np.ndarray] = {}
        still: dict[int, np.ndarray] = {}
        for i in c.bodies:
            parent = tree.top.parent[i]
            expected[i] = kin.T[i].motion(expected.get(parent, above.get(parent))) + kin.c[i]
            if i == handles.root:
                still[i] = at[i]
            else:
                still[i] = kin.T[i].motion(still[parent] if parent in still else at[parent])
            scale = float(np.max(np.abs(expected[i]))) + float(np.max(np.abs(C[i])))
            assert_agree(still[i] + C[i], expected[i], 100.0, scale=scale)
        compared += 1
    assert_enough(compared, least, "clusters")
