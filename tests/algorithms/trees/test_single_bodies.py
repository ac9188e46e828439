"""With every cluster of one body, the cluster algorithms are the classic ones, and agree with Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree, relative

from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.cluster_rnea import bias_force, cluster_rnea
from kinloop.algorithms.trees.energy import center_of_mass, kinetic_energy, momentum, potential_energy
from kinloop.algorithms.trees.kinematics import frame_jacobian, world_poses
from kinloop.clusters import ClusterTree, grow
from kinloop.model import WORLD
from kinloop.model.sketch import Sketch
from kinloop.spatial import Transform, cross_force, cross_motion

PARENTS = [WORLD, "body1", "body2", "body3", "body4", "body2", "body6", "body1", "body8"]
"""Depth first: Pinocchio's mass matrix is right only for that order of joints."""


def tree_robot(floating: bool, kinds: tuple[str, ...], seed: int = 0) -> ClusterTree:
    s = Sketch(np.random.default_rng(seed), "tree")
    for k, parent in enumerate(PARENTS):
        s.body(parent, "free" if k == 0 and floating else kinds[k % len(kinds)])
    return grow(s.b.mechanism())


ROBOTS = {
    "fixed, hinges and slides": (False, ("revolute", "prismatic")),
    "floating, hinges": (True, ("revolute",)),
    "floating, all of one or three freedoms": (True, ("revolute", "spherical", "prismatic")),
}


def classic_rnea(tree: ClusterTree, q, v, a) -> np.ndarray:
    """The recursive Newton-Euler algorithm, body by body. [Featherstone2008, Table 5.1]"""
    top = tree.top
    vel, acc, f = [], [], []
    X = [top.placement[i].then(top.types[i].pose(q[top.q_of[i]])).matrix() for i in range(len(top))]
    S = [t.subspace(q[s]) for t, s in zip(top.types, top.q_of, strict=True)]
    for i, parent in enumerate(top.parent):
        own = S[i] @ v[top.v_of[i]]
        before = np.zeros(6) if parent < 0 else vel[parent]
        ground = np.array([0, 0, 0, *-top.mechanism.gravity]) if parent < 0 else acc[parent]
        vel.append(X[i] @ before + own)
        bias = top.types[i].subspace_bias(q[top.q_of[i]], v[top.v_of[i]])
        acc.append(X[i] @ ground + S[i] @ a[top.v_of[i]] + bias + cross_motion(vel[i], own))
        I = top.inertia[i].matrix()
        f.append(I @ acc[i] + cross_force(vel[i], I @ vel[i]))
    tau = np.zeros(top.n_spanning)
    for i in reversed(range(len(top))):
        tau[top.v_of[i]] = S[i].T @ f[i]
        if top.parent[i] >= 0:
            f[top.parent[i]] = f[top.parent[i]] + X[i].T @ f[i]
    return tau + top.armature * a


def classic_aba(tree: ClusterTree, q, v, tau) -> np.ndarray:
    """The articulated-body algorithm, body by body. [Featherstone2008, Table 7.1]"""
    top = tree.top
    n = len(top)
    X = [top.placement[i].then(top.types[i].pose(q[top.q_of[i]])).matrix() for i in range(n)]
    S = [t.subspace(q[s]) for t, s in zip(top.types, top.q_of, strict=True)]
    I_A = [I.matrix() for I in top.inertia]
    vel, c, p_A = [], [], []
    for i, parent in enumerate(top.parent):
        own = S[i] @ v[top.v_of[i]]
        vel.append(X[i] @ (np.zeros(6) if parent < 0 else vel[parent]) + own)
        c.append(cross_motion(vel[i], own) + top.types[i].subspace_bias(q[top.q_of[i]], v[top.v_of[i]]))
        p_A.append(cross_force(vel[i], I_A[i] @ vel[i]))
    U, D, u = [None] * n, [None] * n, [None] * n
    for i in reversed(range(n)):
        U[i] = I_A[i] @ S[i]
        D[i] = S[i].T @ U[i] + np.diag(top.armature[top.v_of[i]])
        u[i] = tau[top.v_of[i]] - S[i].T @ p_A[i]
        if top.parent[i] >= 0:
            I_a = I_A[i] - U[i] @ np.linalg.solve(D[i], U[i].T)
            p_a = p_A[i] + I_a @ c[i] + U[i] @ np.linalg.solve(D[i], u[i])
            I_A[top.parent[i]] = I_A[top.parent[i]] + X[i].T @ I_a @ X[i]
            p_A[top.parent[i]] = p_A[top.parent[i]] + X[i].T @ p_a
    a, out = [], np.zeros(top.n_spanning)
    for i, parent in enumerate(top.parent):
        a_i = X[i] @ (np.array([0, 0, 0, *-top.mechanism.gravity]) if parent < 0 else a[parent]) + c[i]
        out[top.v_of[i]] = np.linalg.solve(D[i], u[i] - U[i].T @ a_i)
        a.append(a_i + S[i] @ out[top.v_of[i]])
    return out


def state(tree: ClusterTree, seed: int = 1):
    rng = np.random.default_rng(seed)
    return tree.top.random(rng), *(rng.normal(size=tree.nv) for _ in range(3))


@pytest.mark.parametrize("robot", ROBOTS)
def test_cluster_algorithms_on_single_bodies_are_the_classic_ones(robot):
    tree = tree_robot(*ROBOTS[robot])
    assert all(len(c.bodies) == 1 for c in tree)
    q, v, a, tau = state(tree)
    cond = float(np.linalg.cond(cluster_crba(tree, q)))
    assert_agree(cluster_rnea(tree, q, v, a), classic_rnea(tree, q, v, a))
    assert_agree(cluster_aba(tree, q, v, tau), classic_aba(tree, q, v, tau), cond)
    columns = [classic_rnea(tree, q, 0 * v, e) - classic_rnea(tree, q, 0 * v, 0 * v) for e in np.eye(tree.nv)]
    assert_agree(cluster_crba(tree, q), np.stack(columns, axis=1), 10.0)


class Peer:
    """The same tree in Pinocchio: linear velocities first, quaternions x y z w, joints in its own order."""

    def __init__(self, tree: ClusterTree) -> None:
        self.pin = pin = pytest.importorskip("pinocchio")
        top = self.top = tree.top
        self.model = pin.Model()
        self.model.gravity.linear = np.array(top.mechanism.gravity)
        ids = {-1: 0}
        for i, joint in enumerate(top.joints):
            axis = np.array(getattr(joint.type, "axis", (0, 0, 1)))
            kind = {
                "free": pin.JointModelFreeFlyer,
                "spherical": pin.JointModelSpherical,
                "revolute": lambda axis=axis: pin.JointModelRevoluteUnaligned(axis),
                "prismatic": lambda axis=axis: pin.JointModelPrismaticUnaligned(axis),
            }[joint.type.name]()
            at = pin.SE3(np.array(joint.placement.R), np.array(joint.placement.p))
            ids[i] = self.model.addJoint(ids[top.parent[i]], kind, at, joint.name)
            body = top.bodies[i]
            inertia = pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia))
            self.model.appendBodyToJoint(ids[i], inertia, pin.SE3.Identity())
        self.ids = ids
        self.model.armature = self._velocity(top.armature)
        self.data = self.model.createData()

    def _columns(self) -> list[int]:
        """For every velocity of Pinocchio, its place in ours."""
        out = [0] * self.model.nv
        for i in range(len(self.top)):
            first, mine = self.model.idx_vs[self.ids[i]], self.top.v_of[i]
            places = list(range(mine.start, mine.stop))
            places = places[3:] + places[:3] if len(places) == 6 else places
            out[first : first + len(places)] = places
        return out

    def _velocity(self, v):
        return np.asarray(v)[self._columns()]

    def _position(self, q):
        out = np.zeros(self.model.nq)
        for i in range(len(self.top)):
            first, mine = self.model.idx_qs[self.ids[i]], q[self.top.q_of[i]]
            if len(mine) >= 4:  # a quaternion at the end
                mine = np.concatenate([mine[:-4], mine[-3:], mine[-4:-3]])
            out[first : first + len(mine)] = mine
        return out


@pytest.mark.parametrize("robot", ROBOTS)
def test_trees_agree_with_pinocchio(robot):
    tree = tree_robot(*ROBOTS[robot])
    peer = Peer(tree)
    pin, model, data = peer.pin, peer.model, peer.data
    for seed in range(5):
        q, v, a, tau = state(tree, seed)
        Q, (V, A, T) = peer._position(q), (peer._velocity(x) for x in (v, a, tau))
        order = peer._columns()
        assert relative(cluster_aba(tree, q, v, tau)[order], pin.aba(model, data, Q, V, T)) < 1e-12
        assert relative(cluster_rnea(tree, q, v, a)[order], pin.rnea(model, data, Q, V, A)) < 1e-12
        assert relative(bias_force(tree, q, v)[order], pin.nonLinearEffects(model, data, Q, V)) < 1e-12
        M = pin.crba(model, data, Q)
        M = np.triu(M) + np.triu(M, 1).T
        assert relative(cluster_crba(tree, q)[np.ix_(order, order)], M) < 1e-12


@pytest.mark.parametrize("robot", ROBOTS)
def test_kinematics_and_energies_of_trees_agree_with_pinocchio(robot):
    tree = tree_robot(*ROBOTS[robot])
    top = tree.top
    peer = Peer(tree)
    pin, model, data = peer.pin, peer.model, peer.data
    model.armature = np.zeros(model.nv)
    q, v, _, _ = state(tree)
    Q, V = peer._position(q), peer._velocity(v)
    pin.computeAllTerms(model, data, Q, V)
    for i, pose in enumerate(world_poses(top, q)):
        assert relative(pose.homogeneous(), data.oMi[peer.ids[i]].homogeneous) < 1e-12
        J = pin.getJointJacobian(model, data, peer.ids[i], pin.LOCAL)
        ours = frame_jacobian(tree, q, i, Transform.identity())[:, peer._columns()]
        assert relative(ours[[3, 4, 5, 0, 1, 2]], J, scale=1.0) < 1e-12
    assert relative(center_of_mass(tree, q), pin.centerOfMass(model, data, Q)) < 1e-12
    assert relative(potential_energy(tree, q), pin.computePotentialEnergy(model, data, Q)) < 1e-12
    still = 0.5 * (top.armature * v) @ v
    assert relative(kinetic_energy(tree, q, v) - still, pin.computeKineticEnergy(model, data, Q, V)) < 1e-12
    about_com = pin.computeCentroidalMomentum(model, data, Q, V).vector
    h = momentum(tree, q, v)
    assert relative(h[3:], about_com[:3]) < 1e-12
    assert relative(h[:3] - np.cross(center_of_mass(tree, q), h[3:]), about_com[3:]) < 1e-11
