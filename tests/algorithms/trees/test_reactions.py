"""Bearing loads: Newton's law for every body, with the wrenches of all its joints and loops."""

from __future__ import annotations

import numpy as np
from helpers import State, assert_agree, assert_enough, drop

from kinloop import scalar as sc
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.kinematics import motion, world_poses
from kinloop.algorithms.trees.reactions import Reactions, reactions
from kinloop.algorithms.witnesses.dense_kkt import dense_kkt, spanning_dynamics
from kinloop.model import LoopJoint, Rod
from kinloop.spatial import cross_force, cross_motion


def loads(s: State) -> Reactions:
    return Reactions(s.tree, reactions(s.tree, s.q, s.v, s.tau, s.f_ext))


def world_accelerations(s: State, a: np.ndarray) -> list[np.ndarray]:
    """Spatial accelerations about the world's origin, in world axes, less gravity; from the joints' own motion."""
    top = s.tree.top
    G, qd, g = s.tree.spanning_motion(s.q, s.v)
    qdd = G @ a + g
    poses = world_poses(top, s.q)
    v: list[np.ndarray] = []
    acc: list[np.ndarray] = []
    for i, parent in enumerate(top.parent):
        t, q, u, w = top.types[i], s.q[top.q_of[i]], qd[top.v_of[i]], qdd[top.v_of[i]]
        own = poses[i].motion_back(t.subspace(q) @ u)
        v.append(own if parent < 0 else v[parent] + own)
        push = poses[i].motion_back(t.subspace(q) @ w + t.subspace_bias(q, u)) + cross_motion(v[i], own)
        acc.append((np.array([0, 0, 0, *-top.mechanism.gravity]) if parent < 0 else acc[parent]) + push)
    return acc


def test_every_body_obeys_newton_and_euler(block):
    for s in block:
        top, poses = s.tree.top, world_poses(s.tree.top, s.q)
        a = cluster_aba(s.tree, s.q, s.v, s.tau, s.f_ext)
        r = loads(s)
        felt = [poses[i].force(s.f_ext[i]) for i in range(len(top))]
        for i, parent in enumerate(top.parent):
            f = poses[i].force(r.joints[top.joints[i].name])
            felt[i] = felt[i] + f
            if parent >= 0:
                felt[parent] = felt[parent] - f
        for loop in top.mechanism.loops:
            if isinstance(loop, LoopJoint | Rod):
                i, j = top.body_index[loop.predecessor], top.body_index[loop.successor]
                f = poses[j].force(r.loops[loop.name]) if j >= 0 else r.loops[loop.name]
                if j >= 0:
                    felt[j] = felt[j] + f
                if i >= 0:
                    felt[i] = felt[i] - f
        twists = motion(s.tree, s.q, s.v, turning=range(len(top))).v
        inertial = [np.linalg.norm(I.apply(v)) * np.linalg.norm(v) for I, v in zip(top.inertia, twists, strict=True)]
        scale = max(*inertial, *(float(np.max(np.abs(f))) for f in [*felt, *r.joints.values(), *r.loops.values()]))
        for i, acc in enumerate(world_accelerations(s, a)):
            X = poses[i].matrix()
            I, v = X.T @ top.inertia[i].matrix() @ X, poses[i].motion_back(twists[i])
            assert_agree(felt[i], I @ acc + cross_force(v, I @ v), s.cond, f"{s.name}, body {i}", scale)


def test_along_its_freedom_a_joint_carries_only_its_drive(block):
    """S^T f = actuator + coupling force - armature times acceleration."""
    for s in block:
        top = s.tree.top
        a = cluster_aba(s.tree, s.q, s.v, s.tau, s.f_ext)
        r = loads(s)
        G, _, g = s.tree.spanning_motion(s.q, s.v)
        drive = -top.armature * (G @ a + g)
        drive[s.tree.independent_dofs] += s.tau
        for forces in r.transmissions.values():
            for name, f in forces.items():
                drive[top.coordinates.index(name)] += f
        scale = max(float(np.max(np.abs(f), initial=0.0)) for f in r.joints.values())
        for i, joint in enumerate(top.joints):
            S = top.types[i].subspace(s.q[top.q_of[i]])
            assert_agree(S.T @ r.joints[joint.name], drive[top.v_of[i]], s.cond, f"{s.name}, {joint.name}", scale)


def test_loops_do_no_work(block):
    """A loop's wrench is workless in every closed motion."""
    compared = 0
    for s in block:
        top, poses = s.tree.top, world_poses(s.tree.top, s.q)
        r = loads(s)
        twists = motion(s.tree, s.q, s.v, turning=range(len(top))).v
        for loop in top.mechanism.loops:
            if not isinstance(loop, LoopJoint | Rod):
                drop("reactions: a loop function has no wrench")
                continue
            i, j = top.body_index[loop.predecessor], top.body_index[loop.successor]
            f = poses[j].force(r.loops[loop.name]) if j >= 0 else r.loops[loop.name]
            gap = [poses[k].motion_back(twists[k]) if k >= 0 else np.zeros(6) for k in (i, j)]
            speed = float(np.max(np.abs(s.tree.spanning_jacobian(s.q) @ s.v), initial=1.0))
            scale = float(np.linalg.norm(f)) * (np.linalg.norm(gap[0]) + np.linalg.norm(gap[1]) + speed)
            assert_agree(f @ (gap[1] - gap[0]), 0.0, s.cond, s.name, scale)
            compared += 1
    assert_enough(compared, len(block) // 2, "loops")


def dense_multipliers(s: State) -> dict[str, np.ndarray]:
    """The shortest multipliers, by singular values, of what the dense oracle says that loops have to give."""
    tree, top = s.tree, s.tree.top
    G, qd, g = tree.spanning_motion(s.q, s.v)
    H, c = spanning_dynamics(tree, s.q, qd, s.f_ext)
    missing = H @ (G @ dense_kkt(tree, s.q, s.v, s.tau, s.f_ext) + g) + c
    missing[tree.independent_dofs] -= s.tau
    out: dict[str, np.ndarray] = {}
    for cluster in (x for x in tree if x.parts):
        U, sizes, Vt = np.linalg.svd(tree.rows(cluster, s.q).K, full_matrices=False)
        r = len(cluster.chart.rows)
        multipliers = U[:, :r] @ ((Vt[:r] @ missing[list(cluster.dofs)]) / sizes[:r])
        ends = np.cumsum([len(p.rows(top, s.q).phi) for p in cluster.parts])
        out |= {p.name: x for p, x in zip(cluster.parts, np.split(multipliers, ends[:-1]), strict=True)}
    return out


def test_loops_and_transmissions_carry_what_the_dense_oracle_finds(block):
    compared = 0
    for s in block:
        top, poses = s.tree.top, world_poses(s.tree.top, s.q)
        r, multipliers = loads(s), dense_multipliers(s)
        scale = max(float(np.max(np.abs(f), initial=0.0)) for f in r.joints.values())
        for cluster in s.tree:
            for p in cluster.parts:
                what, compared = f"{s.name}, {p.name}", compared + 1
                if p.ends is None:
                    rows = p.rows(top, s.q)
                    expected = rows.K.T @ multipliers[p.name]
                    found = [r.transmissions[p.name][top.coordinates[d]] for d in rows.dofs]
                    assert_agree(np.array(found), expected, s.cond, what, scale)
                    continue
                i, j = (top.body_index[end] for end in p.ends)
                nca, _, _ = top.paths(i, j)
                W = p.wrench_basis(top, s.q) @ multipliers[p.name]
                W = poses[nca].force(W) if nca >= 0 else W
                assert_agree(r.loops[p.name], poses[j].force_back(W) if j >= 0 else W, s.cond, what, scale)
    assert_enough(compared, len(block) // 2, "loops")


def test_symbols_give_what_numbers_give(small_block):
    for s in small_block:
        sizes = {"q": len(s.q), "v": len(s.v), "tau": len(s.tau), "f_ext": s.f_ext.size}

        def traced(q, v, tau, f_ext, tree=s.tree, shape=s.f_ext.shape):
            return dict(zip(("joints", "loops", "rest"), reactions(tree, q, v, tau, f_ext.reshape(shape)), strict=True))

        expected = reactions(s.tree, s.q, s.v, s.tau, s.f_ext)
        found = sc.trace(traced, sizes)(s.q, s.v, s.tau, s.f_ext.ravel())
        scale = float(np.max(np.abs(expected[0]), initial=0.0))
        for x, y in zip(found, expected, strict=True):
            assert_agree(x, y, s.cond, s.name, scale)
