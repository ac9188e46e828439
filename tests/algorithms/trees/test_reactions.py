"""Bearing loads: Newton's law for every body, with the wrenches of all its joints and loops."""

from __future__ import annotations

import numpy as np
from helpers import State, assert_agree, assert_enough, drop

from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.kinematics import motion, world_poses
from kinloop.algorithms.trees.reactions import reactions
from kinloop.model import LoopJoint, Rod
from kinloop.spatial import cross_force, cross_motion


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
        r = reactions(s.tree, s.q, s.v, a, s.tau, s.f_ext)
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
        r = reactions(s.tree, s.q, s.v, a, s.tau, s.f_ext)
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
        a = cluster_aba(s.tree, s.q, s.v, s.tau, s.f_ext)
        r = reactions(s.tree, s.q, s.v, a, s.tau, s.f_ext)
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
