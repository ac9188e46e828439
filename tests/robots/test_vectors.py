"""Every robot agrees with the outputs of an independent C++ library, through the front door."""

from functools import cache

import numpy as np
import pytest

import kinloop as kl

from . import published

TOLERANCE = 1e-9
NAMES = published.names("vectors", "_vectors")
CASES = [(name, k) for name in NAMES for k in range(len(published.vectors(name)["states"]))]
CASES = CASES or [pytest.param(("none", 0), marks=pytest.mark.skip("no shared/figures beside the repository"))]


@cache
def robot_of(name: str) -> kl.Robot:
    """The NumPy path: kernels are the same algorithms, compared with it elsewhere."""
    return kl.Robot(kl.robots.mechanism(name), backend="numpy")


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def case(request):
    name, k = request.param
    state = published.vectors(name)["states"][k]
    return robot_of(name), state, np.array(state["q_spanning"], dtype=float), np.array(state["yd"], dtype=float)


def assert_near(ours, theirs, scale=None):
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape
    scale = max(1e-3, float(np.max(np.abs(theirs), initial=0.0))) if scale is None else scale
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE * scale)


def body_wrenches(robot, state, q):
    """World wrenches [moment about the world's origin; force] as wrenches in each body's frame at its origin."""
    out = []
    for name, wrench in zip(robot.body_names, np.array(state["external_forces_world"], dtype=float), strict=True):
        T = robot.frame_pose(q, name)
        R, p, moment, force = T[:3, :3], T[:3, 3], wrench[:3], wrench[3:]
        out.append(np.concatenate([R.T @ (moment - np.cross(p, force)), R.T @ force]))
    return np.array(out)


def test_forward_dynamics(case):
    robot, s, q, v = case
    assert_near(robot.forward_dynamics(q, v, s["tau"]), s["ydd_caba"])


def test_inverse_dynamics(case):
    robot, s, q, v = case
    assert_near(robot.inverse_dynamics(q, v, s["ydd"]), s["tau_crnea"])


def test_external_forces(case):
    robot, s, q, v = case
    f = body_wrenches(robot, s, q)
    assert_near(robot.forward_dynamics(q, v, s["tau"], f), s["ydd_caba_with_external"])
    assert_near(robot.inverse_dynamics(q, v, s["ydd"], f), s["tau_crnea_with_external"])


def test_mass_matrix_and_bias(case):
    robot, s, q, v = case
    assert_near(robot.mass_matrix(q), s["mass_matrix"])
    assert_near(robot.bias_force(q, v), s["bias"])


def test_spanning_motion(case):
    """G and g per cluster, spanning velocity and acceleration."""
    robot, s, q, v = case
    G, g = robot.spanning_jacobian(q), robot.spanning_bias(q, v)
    assert_near(robot.spanning_velocity(q, v), s["qd_spanning"])
    row = column = 0
    for c in s["clusters"]:
        theirs = np.atleast_2d(np.array(c["G"], dtype=float))
        n, m = theirs.shape
        assert_near(G[row : row + n, column : column + m], theirs)
        assert_near(g[row : row + n], c["g"], scale=max(1.0, float(np.max(np.abs(c["g"])))))
        row, column = row + n, column + m
    assert (row, column) == G.shape
    assert_near(G @ np.array(s["ydd_caba"]) + g, s["qdd_spanning_projection"])


def test_loop_equations(case):
    """K is theirs up to a combination of rows, and k fits: K qdd = k for their accelerations."""
    robot, s, q, v = case
    K, k = robot.loop_jacobian(q, v)
    theirs, row = np.zeros((0, robot.n_spanning)), 0
    for c in s["clusters"]:
        n = len(c["spanning_velocity"])
        if c["K"]:
            block = np.zeros((len(c["K"]), robot.n_spanning))
            block[:, row : row + n] = c["K"]
            theirs = np.concatenate([theirs, block])
        row += n
    assert len(K) == len(theirs) == robot.n_spanning - robot.nv
    if len(K):
        unit = theirs / np.linalg.norm(theirs, axis=1, keepdims=True)
        rank = np.linalg.matrix_rank(unit, tol=1e-7)
        assert np.linalg.matrix_rank(K / np.linalg.norm(K, axis=1, keepdims=True), tol=1e-7) == rank
        assert np.linalg.matrix_rank(np.concatenate([unit, K]), tol=1e-7) == rank
    assert_near(K @ np.array(s["qdd_spanning_projection"]), k, scale=max(1.0, float(np.max(np.abs(k), initial=0.0))))


def test_inverse_osim(case):
    robot, s, q, _ = case
    frames = robot.mechanism.end_effectors
    if frames:
        assert_near(robot.inverse_osim(q, frames), s["inverse_osim"])
        for frame, J in s["end_effector_jacobian_body"].items():
            assert_near(robot.frame_jacobian(q, frame), J)


def test_poses_and_velocities(case):
    robot, s, q, v = case
    for name, body in s["bodies"].items():
        T = robot.frame_pose(q, name)
        assert_near(T[:3, 3], body["p"], scale=1.0)
        assert_near(T[:3, :3], body["R"])
        twist = robot.frame_velocity(q, v, name)
        assert_near(T[:3, :3] @ twist[:3], body["w"], scale=max(1.0, float(np.max(np.abs(body["w"])))))
        assert_near(T[:3, :3] @ twist[3:], body["v"], scale=max(1.0, float(np.max(np.abs(body["v"])))))


def test_contacts(case):
    """Contact points: where they are, how they move, and how the robot answers a test force on them."""
    robot, s, q, v = case
    for name, contact in (s["contacts"] or {}).items():
        T = robot.frame_pose(q, name)
        R = T[:3, :3]
        assert_near(T[:3, 3], contact["position_world"], scale=1.0)
        assert_near(R @ robot.frame_velocity(q, v, name)[3:], contact["velocity_world"], scale=1.0)
        f = np.concatenate([np.zeros(3), R.T @ np.array(contact["test_force_world"])])
        a, compliance = robot.force_response(q, name, f)
        assert_near(a, contact["dstate"])
        assert_near(compliance, contact["lambda_inv"])


def test_kernels_agree_too():
    """One robot through machine code, all states at once."""
    if "planar_leg_linkage" not in NAMES:
        pytest.skip("no shared/figures beside the repository")
    states = published.vectors("planar_leg_linkage")["states"]
    q, v, tau, a, ydd, M = (
        np.array([s[key] for s in states], dtype=float)
        for key in ("q_spanning", "yd", "tau", "ydd_caba", "ydd", "mass_matrix")
    )
    robot = kl.robots.load("planar_leg_linkage")
    assert_near(robot.forward_dynamics(q, v, tau), a)
    assert_near(robot.inverse_dynamics(q, v, ydd), [s["tau_crnea"] for s in states])
    assert_near(robot.mass_matrix(q), M)
