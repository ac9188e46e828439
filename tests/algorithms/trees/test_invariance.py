"""What must not matter: the choice of independent coordinates, of the spanning tree, and of the world frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers import State, assert_agree, assert_enough, drop, mechanisms, state_of

from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.energy import kinetic_energy
from kinloop.clusters import ClusterTree, conditioning, grow
from kinloop.errors import ModelError
from kinloop.model import WORLD, Joint, LoopJoint, Mechanism, Rod
from kinloop.spatial import Transform, apply_pose, quaternion_rotation

from .rerooting import Rerooted, reroot


def spanning_acceleration(tree: ClusterTree, q, qd, force, f_ext) -> np.ndarray:
    """qdd under spanning joint forces, computed in the tree's own charts."""
    G, _, g = tree.spanning_motion(q, qd[tree.independent_dofs])
    return G @ cluster_aba(tree, q, qd[tree.independent_dofs], G.T @ force, f_ext) + g


def other_coordinates(s: State, rng: np.random.Generator) -> list[str]:
    """Another choice that determines the motion here: rows of G taken in a random order while they add rank."""
    names = []
    for c in s.tree:
        if c.parts and c.m:
            taken = rows_of_full_rank(s.tree.jacobian(c, s.q), c.m, rng)
            names += [s.tree.top.coordinates[c.dofs[k]] for k in taken] if len(taken) == c.m else []
    return names


def rows_of_full_rank(G: np.ndarray, m: int, rng: np.random.Generator) -> list[int]:
    G = G / np.maximum(np.max(np.abs(G), axis=0), 1e-300)
    taken: list[int] = []
    for k in rng.permutation(len(G)):
        trial = G[[*taken, int(k)]]
        if len(taken) < m and np.linalg.svd(trial, compute_uv=False)[-1] > 1e-2:
            taken.append(int(k))
    return taken


def test_the_choice_of_independent_coordinates_does_not_matter(small_block):
    compared, another = 0, 0
    for s in small_block:
        rng = np.random.default_rng(0)
        names = other_coordinates(s, rng)
        try:
            other = grow(replace(s.tree.top.mechanism, independent=names))
        except ModelError:
            drop("another choice of coordinates good here, but singular at all samples")
            continue
        assert set(names) <= {other.top.coordinates[d] for d in other.independent_dofs}
        qd = s.tree.spanning_jacobian(s.q) @ s.v
        force = rng.normal(size=s.tree.top.n_spanning)
        cond = s.cond * conditioning(other, s.q)
        ours, theirs = (spanning_acceleration(t, s.q, qd, force, s.f_ext) for t in (s.tree, other))
        assert_agree(theirs, ours, cond, s.name)
        energies = [kinetic_energy(t, s.q, qd[t.independent_dofs]) for t in (s.tree, other)]
        assert_agree(*energies, cond, s.name)
        compared += 1
        another += set(other.independent_dofs) != set(s.tree.independent_dofs)
    assert_enough(compared, 0.8 * len(small_block), "mechanisms")
    assert_enough(another, 0.5 * len(small_block), "mechanisms with other coordinates")


def moved_world(m: Mechanism, T: Transform) -> Mechanism:
    """The same mechanism, set up elsewhere: everything that touches the world is moved by T, gravity turns with it."""

    def joint(j: Joint) -> Joint:
        return replace(j, placement=T.then(j.placement)) if j.parent == WORLD else j

    def loop(x):
        if isinstance(x, LoopJoint):
            ends = {
                f"{end}_placement": T.then(getattr(x, f"{end}_placement"))
                for end in ("predecessor", "successor")
                if getattr(x, end) == WORLD
            }
            return replace(x, **ends)
        if isinstance(x, Rod):
            ends = {
                f"{end}_point": apply_pose(T, getattr(x, f"{end}_point"))
                for end in ("predecessor", "successor")
                if getattr(x, end) == WORLD
            }
            return replace(x, **ends)
        return x

    return replace(
        m, joints=[joint(j) for j in m.joints], loops=[loop(x) for x in m.loops], gravity=T.R @ m.gravity
    )  # fmt: skip


def test_the_place_of_the_world_frame_does_not_matter(small_block):
    for s in small_block:
        rng = np.random.default_rng(1)
        q = rng.normal(size=4)
        T = Transform(quaternion_rotation(q / np.linalg.norm(q)), rng.normal(size=3))
        independent = [s.tree.top.coordinates[d] for d in s.tree.independent_dofs]
        other = grow(replace(moved_world(s.tree.top.mechanism, T), independent=independent))
        cond = s.cond * conditioning(other, s.q)
        assert_agree(cluster_crba(other, s.q), s.M, cond, s.name)
        here, there = (cluster_aba(t, s.q, s.v, s.tau, s.f_ext) for t in (s.tree, other))
        assert_agree(there, here, cond, s.name)


@pytest.mark.parametrize("kind", ["planar", *(f"loop_{t}" for t in ("revolute", "prismatic", "helical", "universal"))])
@pytest.mark.sample(3)
def test_the_joint_at_which_a_loop_is_cut_does_not_matter(kind):
    _compare_cuts(kind)


@pytest.mark.parametrize("kind", [f"loop_{t}" for t in ("spherical", "planar", "cylindrical", "fixed")])
@pytest.mark.sample(2)
def test_the_joint_at_which_a_loop_is_cut_does_not_matter_either(kind):
    _compare_cuts(kind)


def _compare_cuts(kind: str) -> None:
    compared = 0
    for r in mechanisms(12, seed=700, kind=kind, branches=False):
        s = state_of(r)
        if s is None:  # counted there
            continue
        other = reroot(s)
        if other is None:
            drop("a loop that ends on its own root has no second body to hang on it")
            continue
        compared += 1
        _same_motion(s, other)
    assert_enough(compared, 3, "loops")


def _same_motion(s: State, other: Rerooted) -> None:
    """The joints that both trees share must move alike, under the same wrenches on the bodies."""
    top, new = s.tree.top, other.tree.top
    cond = s.cond * conditioning(other.tree, other.q)
    G, _, g = s.tree.spanning_motion(s.q, s.v)
    qdd = G @ cluster_aba(s.tree, s.q, s.v, np.zeros(s.tree.nv), s.f_ext) + g
    v = other.qd[other.tree.independent_dofs]
    G_new, qd_new, g_new = other.tree.spanning_motion(other.q, v)
    assert_agree(qd_new, other.qd, cond, s.name, scale=float(np.max(np.abs(other.qd), initial=1.0)))
    free = cluster_aba(other.tree, other.q, v, np.zeros(other.tree.nv), other.f_ext)
    qdd_new = G_new @ free + g_new
    scale = max(float(np.max(np.abs(qdd), initial=0.0)), float(np.max(np.abs(qdd_new), initial=0.0)))
    for name in other.shared:
        mine, theirs = top.v_of[top.joint_index[name]], new.v_of[new.joint_index[name]]
        assert_agree(qdd_new[theirs], qdd[mine], 10.0 * cond, f"{s.name}, {name}", scale)
    energies = kinetic_energy(s.tree, s.q, s.v), kinetic_energy(other.tree, other.q, v)
    if not top.armature.any():
        assert_agree(*energies, cond, s.name)
