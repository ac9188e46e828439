"""The innovations factorisation of the mass matrix, and the response to a test force."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree, assert_enough, drop

from kinloop.algorithms.trees.articulated import articulate
from kinloop.algorithms.trees.cluster_efpa import force_response
from kinloop.algorithms.trees.factorization import (
    innovations,
    inverse_innovations,
    inverse_mass_matrix,
    log_determinant,
)
from kinloop.algorithms.trees.kinematics import frame_jacobian, still
from kinloop.clusters import ClusterTree


@pytest.mark.sample(3)
def test_the_mass_matrix_is_L_D_Lt(block):
    for s in block:
        L, D = innovations(s.tree, s.q)
        middle = np.zeros_like(s.M)
        for c, d in zip(s.tree, D, strict=True):
            middle[c.v, c.v] = d
        assert_agree(L @ middle @ L.T, s.M, s.cond, s.name)
        inverse, _ = inverse_innovations(s.tree, s.q)
        scale = float(np.max(np.abs(L), initial=1.0) * np.max(np.abs(inverse), initial=1.0))
        assert_agree(L @ inverse, np.eye(s.tree.nv), s.cond, s.name, scale)


def test_the_inverse_and_the_determinant_come_from_the_factors(block):
    for s in block:
        assert_agree(inverse_mass_matrix(s.tree, s.q), np.linalg.inv(s.M), s.cond, s.name)
        assert_agree(log_determinant(s.tree, s.q), np.linalg.slogdet(s.M)[1], s.cond, s.name, scale=1.0)


def test_a_test_force_moves_the_robot_by_the_inverse_mass(block):
    compared = 0
    for s in block:
        if not s.tree.nv:
            drop("test force: nothing moves")
            continue
        (body, placement), f = s.frames[0], s.f_ext[0]
        J = frame_jacobian(s.tree, s.q, body, placement)
        motion, gain = force_response(s.tree, s.q, body, placement, f)
        expected = np.linalg.solve(s.M, J.T @ f)
        reach = max(1.0, float(np.max(np.abs(J))))
        scale = reach * float(np.max(np.abs(f))) / float(np.linalg.norm(s.M))
        assert_agree(motion, expected, s.cond, s.name, scale)
        assert_agree(gain, f @ J @ expected, s.cond, s.name, scale * reach)
        compared += 1
    assert_enough(compared, 0.8 * len(block), "states")


def aggregate_operators(tree: ClusterTree, q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of cluster k, dense over its bodies: P, Omega = S D^-1 S^T and P+ = P - P Omega P.  [Jain2009, (14)-(16)]"""
    a = articulate(tree, still(tree, q))[k]
    place = {i: 6 * n for n, i in enumerate(a.cluster.bodies)}
    P = np.zeros((6 * len(place), 6 * len(place)))
    for i, I in a.I.items():
        P[place[i] : place[i] + 6, place[i] : place[i] + 6] = I.matrix()
    for (i, j), block in a.B.items():
        P[place[i] : place[i] + 6, place[j] : place[j] + 6] = block
        P[place[j] : place[j] + 6, place[i] : place[i] + 6] = block.T
    S = np.concatenate([a.S[i] for i in a.cluster.bodies])
    omega = S @ a.D.solve(S.T)
    return P, omega, P - P @ omega @ P


def test_what_a_cluster_hands_on_does_not_feel_its_own_freedom(small_block):
    """P+ = P - P S D^-1 S^T P, and P+ S = 0 where no armature stands at the cluster's joints. [Jain2009, (14)-(16)]"""
    compared = 0
    for s in small_block:
        for c in s.tree:
            P, omega, P_plus = aggregate_operators(s.tree, s.q, c.index)
            scale = float(np.max(np.abs(P), initial=1.0))
            assert_agree(P, P.T, what=s.name)
            assert_agree(P_plus, P - P @ omega @ P, what=s.name)
            if not np.any(s.tree.top.armature[list(c.dofs)]):
                rest = P_plus @ omega @ P
                assert_agree(rest, np.zeros_like(rest), s.cond, s.name, scale)
                compared += 1
    assert_enough(compared, len(small_block), "clusters")
