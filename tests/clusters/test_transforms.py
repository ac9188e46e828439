"""The stacked cluster transforms of [Chignoli2023, section V-B], on the system of its Figure 5.

Bodies 1-2-3 in a chain close a loop to the ground (cluster 1), 4-5 a loop on body 1 (cluster 2), and
6 on body 1 and 7 on body 2 are geared to each other (cluster 3, with two output bodies). The second
equation of (21) is printed without the stars of its force transforms; what holds is tested here.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree, mechanisms

from kinloop.algorithms.trees.articulated import cluster_subspace
from kinloop.algorithms.trees.kinematics import motion, world_poses
from kinloop.clusters import ClusterTree, grow, random_closed
from kinloop.clusters.stacked_transforms import (
    cluster_force_transform,
    cluster_motion_transform,
    remap_force,
    remap_motion,
)
from kinloop.model import WORLD, Builder
from kinloop.model.sketch import Sketch

ONE, NONE = np.eye(6), np.zeros((6, 6))


def figure_5() -> ClusterTree:
    s = Sketch(np.random.default_rng(5), "figure_5")
    b = Builder("figure_5")
    parents = {1: WORLD, 2: "B1", 3: "B2", 4: "B1", 5: "B4", 6: "B1", 7: "B2"}
    for i, parent in parents.items():
        at = s.place()
        b.body(f"B{i}", parent, **s.mass(), axis=s.axis(), at=at.p, rotation=at.R, joint_name=f"J{i}")
    b.rod("ground", "B3", WORLD, (0.1, 0.2, 0.0), (0.3, 0.0, 0.2), 0.6)
    b.rod("tie", "B5", "B1", (0.1, 0.0, 0.1), (0.0, 0.2, 0.1), 0.5)
    b.gear("J6", "J7", -2.0)
    return grow(b.mechanism())


@pytest.fixture(scope="module")
def system():
    tree = figure_5()
    q = random_closed(tree, np.random.default_rng(0))
    poses = world_poses(tree.top, q)

    def X(i: int, j: int) -> np.ndarray:
        """Motion transform from body j to body i, numbered as in the figure; 0 is the ground."""
        there = poses[i - 1]
        return there.matrix() if j == 0 else there.matrix() @ np.linalg.inv(poses[j - 1].matrix())

    def X_star(i: int, j: int) -> np.ndarray:
        """Force transform from body j to body i."""
        return X(j, i).T

    return tree, q, poses, X, X_star


def test_the_clusters_are_those_of_the_figure(system):
    tree = system[0]
    assert [c.bodies for c in tree] == [(0, 1, 2), (3, 4), (5, 6)]
    assert [c.parent for c in tree] == [-1, 0, 0]
    assert [c.outputs for c in tree] == [(-1, -1, -1), (0, 0), (0, 1)]


def test_motion_transforms_between_clusters_are_as_printed_17(system):
    tree, _, poses, X, _ = system
    assert_agree(cluster_motion_transform(tree, poses, 0, -1), np.block([[X(1, 0)], [X(2, 0)], [X(3, 0)]]))
    assert_agree(cluster_motion_transform(tree, poses, 1, 0), np.block([[X(4, 1), NONE, NONE], [X(5, 1), NONE, NONE]]))
    assert_agree(cluster_motion_transform(tree, poses, 2, 0), np.block([[X(6, 1), NONE, NONE], [NONE, X(7, 2), NONE]]))


def test_force_transforms_between_clusters_are_as_printed_18(system):
    tree, _, poses, _, X = system
    third = np.block([[X(1, 6), NONE], [NONE, X(2, 7)], [NONE, NONE]])
    second = np.block([[X(1, 4), X(1, 5)], [NONE, NONE], [NONE, NONE]])
    assert_agree(cluster_force_transform(tree, poses, 0, 2), third)
    assert_agree(cluster_force_transform(tree, poses, 0, 1), second)
    assert_agree(cluster_force_transform(tree, poses, -1, 0), np.block([[X(0, 1), X(0, 2), X(0, 3)]]))


def test_motion_remaps_are_as_printed_20(system):
    tree, _, poses, X, _ = system
    first = np.block([[ONE, NONE, NONE], [X(2, 1), ONE, NONE], [X(3, 1), X(3, 2), ONE]])
    assert_agree(remap_motion(tree, poses, 0), first)
    assert_agree(remap_motion(tree, poses, 1), np.block([[ONE, NONE], [X(5, 4), ONE]]))
    assert_agree(remap_motion(tree, poses, 2), np.eye(12))


def test_force_remaps_are_as_printed_23(system):
    tree, _, poses, _, X = system
    first = np.block([[ONE, -X(1, 2), NONE], [NONE, ONE, -X(2, 3)], [NONE, NONE, ONE]])
    assert_agree(remap_force(tree, poses, 0), first)
    assert_agree(remap_force(tree, poses, 1), np.block([[ONE, -X(4, 5)], [NONE, ONE]]))
    assert_agree(remap_force(tree, poses, 2), np.eye(12))


def everywhere():
    """Poses at closed positions of the figure's system and of random mechanisms."""
    tree = figure_5()
    yield tree, random_closed(tree, np.random.default_rng(1)), np.random.default_rng(2)
    for r in mechanisms(22, seed=11):
        yield r.tree, random_closed(r.tree, r.rng), r.rng


def test_forces_travel_by_the_transpose_of_motions():
    for tree, q, _ in everywhere():
        poses = world_poses(tree.top, q)
        for c in tree:
            X = cluster_motion_transform(tree, poses, c.index, c.parent)
            assert_agree(cluster_force_transform(tree, poses, c.parent, c.index), X.T)


def test_remaps_of_motion_and_force_are_inverse_transposes_21():
    for tree, q, _ in everywhere():
        poses = world_poses(tree.top, q)
        for c in tree:
            product = remap_motion(tree, poses, c.index).T @ remap_force(tree, poses, c.index)
            assert_agree(product, np.eye(len(product)), cond=10.0)


def test_remapped_forces_are_statically_equivalent_on_every_body_22():
    for tree, q, rng in everywhere():
        top = tree.top
        poses = world_poses(top, q)
        for c in tree:
            f = rng.normal(size=(len(c.bodies), 6))
            F = (remap_force(tree, poses, c.index) @ f.ravel()).reshape(-1, 6)
            across_joints = net_forces(poses, zip(c.bodies, [top.parent[i] for i in c.bodies], f, strict=True))
            across_cluster = net_forces(poses, zip(c.bodies, c.outputs, F, strict=True))
            for body in across_joints.keys() | across_cluster.keys():
                a, b = (x.get(body, np.zeros(6)) for x in (across_joints, across_cluster))
                assert_agree(a, b, scale=10.0)


def net_forces(poses, exchanges) -> dict[int, np.ndarray]:
    """What each body feels, about the world's origin, of forces +f on a body and -f on another."""
    net: dict[int, np.ndarray] = {}
    for i, j, f in exchanges:
        w = poses[i].force(f)
        net[i] = net.get(i, np.zeros(6)) + w
        net[j] = net.get(j, np.zeros(6)) - w
    return net


def test_the_cluster_subspace_is_24_and_carries_the_velocity_33():
    for tree, q, rng in everywhere():
        top = tree.top
        v = rng.normal(size=tree.nv)
        everything = range(len(top))
        kin = motion(tree, q, v, turning=everything)
        poses = world_poses(top, q)
        for c in tree:
            blocks = np.zeros((6 * len(c.bodies), len(c.dofs)))
            for a, i in enumerate(c.bodies):
                columns = [c.dofs.index(d) for d in range(top.v_of[i].start, top.v_of[i].stop)]
                blocks[6 * a : 6 * a + 6, columns] = kin.S[i]
            S = remap_motion(tree, poses, c.index) @ blocks @ kin.embedding[c.index].G
            per_body = cluster_subspace(top, c, kin)
            assert_agree(S, np.concatenate([per_body[i] for i in c.bodies]), cond=10.0)
            X = cluster_motion_transform(tree, poses, c.index, c.parent)
            above = np.concatenate([kin.v[i] for i in tree.clusters[c.parent].bodies]) if c.parent >= 0 else np.zeros(6)
            here = np.concatenate([kin.v[i] for i in c.bodies])
            assert_agree(here, X @ above + S @ v[c.v], cond=1e3, scale=1.0)
