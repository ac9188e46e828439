"""Forces propagated through clusters, against the dense mass matrix and Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.algorithms.trees.articulated import articulate
from kinloop.algorithms.trees.kinematics import motion
from kinloop.sim.contact.propagation import Propagated, response

ROBOTS = ["four_bar", "slider_crank", "double_pendulum", "wishbone", "tello"]


def case(name):
    """A robot on numbers at a state, its kinematics, articulated inertias, inverse mass matrix, and G."""
    robot = kl.Robot(kl.robots.mechanism(name), backend="numpy")
    q, v = robot.random_state(1)
    kin = motion(robot.tree, q, v, turning=range(len(robot.tree.top)))
    return robot, q, kin, articulate(robot.tree, kin), np.linalg.inv(robot.mass_matrix(q)), robot.spanning_jacobian(q)


def spread(z, at, nv):
    """Rows over some coordinates as rows over all."""
    out = np.zeros((len(z), nv))
    out[:, at] = z
    return out


@pytest.mark.parametrize("name", ROBOTS)
def test_rows_make_the_delassus_matrix(name):
    """Z Z^T = J M^-1 J^T for wrenches on several bodies and forces on several joints at once."""
    robot, q, kin, art, M_inv, G = case(name)
    tree, nv = robot.tree, robot.nv
    bodies = sorted({0, len(tree.top) // 2, len(tree.top) - 1})
    dofs = sorted({0, tree.top.n_spanning // 2, tree.top.n_spanning - 1})
    J = np.concatenate([*(robot.frame_jacobian(q, robot.body_names[b]) for b in bodies), G[dofs]])
    rows = [Propagated.wrench(tree, kin, art, b, np.eye(6)).row() for b in bodies]
    rows += [Propagated.joint(tree, kin, art, d).row() for d in dofs]
    Z = np.concatenate([spread(z, at, nv) for z, at in rows])
    A = J @ M_inv @ J.T
    np.testing.assert_allclose(Z @ Z.T, A, atol=1e-8 * np.max(np.abs(A)))


@pytest.mark.parametrize("name", ROBOTS)
def test_the_response_to_impulses_is_the_inverse_mass_matrix(name):
    robot, q, kin, art, M_inv, G = case(name)
    tree, nv = robot.tree, robot.nv
    body, dof = len(tree.top) - 1, tree.top.n_spanning - 1
    J = np.concatenate([robot.frame_jacobian(q, robot.body_names[body]), G[[dof]]])
    rows = [Propagated.wrench(tree, kin, art, body, np.eye(6)).row(), Propagated.joint(tree, kin, art, dof).row()]
    Z = np.concatenate([spread(z, at, nv) for z, at in rows])
    impulse = np.random.default_rng(0).normal(size=7)
    expected = M_inv @ J.T @ impulse
    found = response(tree, kin, art, Z.T @ impulse)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.max(np.abs(expected)))


def test_rows_lie_on_the_joints_between_force_and_world_only():
    robot, _, kin, art, _, _ = case("tello")
    tree = robot.tree
    for body in (0, 3, len(tree.top) - 1):
        support = set()
        k = tree.cluster_of[body]
        while k >= 0:
            support |= set(range(tree.clusters[k].v.start, tree.clusters[k].v.stop))
            k = tree.clusters[k].parent
        z, at = Propagated.wrench(tree, kin, art, body, np.eye(6)).row()
        assert set(at) == support and z.shape == (6, len(at))


def test_no_impulse_no_response():
    robot, _, kin, art, _, _ = case("four_bar")
    assert not np.any(response(robot.tree, kin, art, np.zeros(robot.nv)))
