"""Tangent frames: bases of allowed motion, smallest solutions, and pivots that vanish where rank is lost."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree, mechanisms

import kinloop as kl
from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import still
from kinloop.clusters import conditioning, random_closed, tangent_frame
from kinloop.clusters.framing import framed, make_frame
from kinloop.clusters.tangent_frame import LoopTurn, TangentFrame
from kinloop.sim import Simulator, on_loops
from kinloop.sim.singularity import nearness
from kinloop.sim.smooth_motion import closed_rate
from tests.sim.mechanisms import parallelograms, turned

ZOO = ["four_bar", "slider_crank", "rssr", "tello", "wishbone"]


def clusters(n, seed):
    """Loop clusters of random mechanisms with K and k at well conditioned closed states."""
    found = 0
    for r in mechanisms(n, seed):
        q = random_closed(r.tree, r.rng)
        if conditioning(r.tree, q) > 1e3:
            continue
        for c in r.tree:
            if c.bends:
                found += 1
                yield r, c, r.tree.rows(c, q).K
    assert found >= n / 4, f"only {found} clusters in {n} mechanisms"


def test_frames_span_what_the_loops_allow():
    for r, c, K in clusters(44, seed=900):
        frame = make_frame(c)
        G = frame.reduce(K).G
        assert G.shape == (len(c.dofs), c.m), r.name
        N = G / frame.scale[:, None]
        np.testing.assert_allclose(N.T @ N, np.eye(c.m), atol=1e-12, err_msg=r.name)
        assert np.all(np.abs(K @ G) <= 1e-11 * np.linalg.norm(K) * np.max(frame.scale)), r.name


def test_solutions_are_the_smallest():
    for r, c, K in clusters(44, seed=950):
        frame = make_frame(c)
        b = K @ r.rng.normal(size=K.shape[1])
        x = frame.reduce(K, b).x
        smallest = frame.scale * (np.linalg.pinv(K * frame.scale, rcond=1e-9) @ b)
        assert_agree(x, smallest, cond=1e5, what=r.name)
        assert_agree(frame.correction(K, b), -smallest, cond=1e5, what=r.name)


def test_both_ways_through_a_flat_loop_agree(monkeypatch):
    rng = np.random.default_rng(0)
    frame = TangentFrame.of(np.array([1.0, 0.7, 1.3]), [LoopTurn(2, (0, 1), (0, 1, 2))])
    for _ in range(20):
        K, b = rng.normal(size=(2, 3)), rng.normal(size=2)
        fast = frame.reduce(K, b)
        with monkeypatch.context() as m:
            m.setattr(tangent_frame, "_cross_product", tangent_frame._reflections)
            slow = frame.reduce(K, b)
        np.testing.assert_allclose(fast.x, slow.x, rtol=1e-10, atol=1e-12)
        sign = np.sign(fast.G[:, 0] @ slow.G[:, 0])
        np.testing.assert_allclose(fast.G, sign * slow.G, rtol=1e-10, atol=1e-12)
        assert fast.pivots[0] == pytest.approx(np.prod(slow.pivots), rel=1e-12), "areas"


def test_spare_rows_are_chosen_where_they_count():
    """The largest rows come first: a row that vanishes does no harm while another one holds."""
    frame = TangentFrame.of(np.ones(4), [LoopTurn(2, (0, 1, 2), (0, 1, 2, 3))])
    rng = np.random.default_rng(1)
    for vanishing in range(3):
        a, b = rng.normal(size=(2, 4))
        K = np.array([a, b, a + b])
        K[vanishing] *= 0.0
        found = frame.reduce(K, K @ np.array([1.0, 2.0, 3.0, 4.0]))
        assert np.max(np.abs(K @ found.G)) < 1e-13 and min(found.pivots) > 1e-2
        np.testing.assert_allclose(K @ found.x, K @ np.array([1.0, 2.0, 3.0, 4.0]), rtol=1e-11, atol=1e-13)


def test_pivots_vanish_where_rank_is_lost_and_nowhere_else():
    robot = parallelograms(2)
    tree = framed(robot.tree)
    for angle in np.linspace(-np.pi, np.pi, 41):
        q, _ = turned(robot, angle, 0.0)
        near = float(nearness(tree, q))
        # the loops lie in line where the rockers do: |cos| of the angle from the vertical
        assert near == pytest.approx(min(1.0, abs(np.cos(angle)) * near_at_best(tree, robot)), rel=1e-6, abs=1e-9)
    q, qd = turned(robot, np.pi / 2, 1.0)
    assert float(nearness(tree, q)) < 1e-12
    assert np.all(np.isfinite(on_loops.projected(tree, q, qd)))


def near_at_best(tree, robot):
    """The nearness of upright rockers, were it not cut at 1."""
    q, _ = turned(robot, 1.3, 0.0)
    return float(nearness(tree, q)) / np.cos(1.3)


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "rssr"])
def test_symbols_give_what_numbers_give(name):
    robot = kl.robots.load(name)
    tree = framed(robot.tree)
    (c,) = [c for c in tree if c.bends]

    def reduced(q, b):
        found = c.chart.reduce(tree.rows(c, q).K, b)
        return {"G": found.G.ravel(), "x": found.x, "pivots": np.array(found.pivots)}

    rows = len(tree.rows(c, tree.top.neutral()).phi)
    traced = sc.trace(reduced, {"q": tree.top.nq, "b": rows})
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, b = random_closed(robot.tree, rng), rng.normal(size=rows)
        for x, y in zip(traced(q, b), reduced(q, b).values(), strict=True):
            np.testing.assert_allclose(np.asarray(x, dtype=float), y.astype(float), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ZOO)
def test_accelerations_in_frames_are_those_of_the_dense_equations(name):
    robot = kl.Robot(kl.robots.mechanism(name), backend="numpy")
    tree = framed(robot.tree)
    drive = Simulator(robot).drive
    for seed in range(3):
        q, v = robot.random_state(seed)
        tau = np.random.default_rng(seed).normal(size=robot.nv)
        a = robot.forward_dynamics(q, v, tau, method="dense_kkt")
        qdd = robot.spanning_jacobian(q) @ a + robot.spanning_bias(q, v)
        _, found = closed_rate(tree, drive, (q, robot.spanning_velocity(q, v)), tau)
        assert_agree(found, qdd, cond=1e5 * conditioning(robot.tree, q), what=f"{name} {seed}")


def test_the_velocity_of_independent_coordinates_is_what_the_frame_has():
    robot = kl.robots.load("tello")
    tree = framed(robot.tree)
    q, v = robot.random_state(2)
    qd = robot.spanning_velocity(q, v)
    G = still(tree, q).embedding
    assert_agree(on_loops.spanning(tree, G, on_loops.coordinates(tree, G, qd)), qd, cond=1e4)
    assert_agree(on_loops.projected(tree, q, qd), qd, cond=1e4)


@pytest.mark.parametrize(("name", "speed"), [("bennett", 3.0), ("bricard", 2.0)])
def test_overconstrained_loops_meet_no_false_singularity(name, speed):
    """Which rows of K hold the loop changes on the way; the frame never seems to lose rank where it does not."""
    robot = kl.robots.load(name)
    sim = Simulator(robot, 1e-3)
    (c,) = [c for c in sim.engine.tree if c.bends]
    run = sim.rollout(None, np.array([speed]), steps=4000, record=("q", "qd", "energy", "kinetic_energy", "loop_error"))
    assert run.status.tolist() == [1] and not run.singular[0]
    assert np.max(np.ptp(run.q, axis=0)) > 1.0, "it went through much of its motion"
    rank = len(c.dofs) - 1
    smallest = [
        np.linalg.svd(sim.engine.tree.rows(c, q).K * c.chart.scale, compute_uv=False)[rank - 1] for q in run.q[::50]
    ]
    assert run.nearest[0] > 0.3 * np.min(smallest) / np.median(smallest)
    for q, qd in zip(run.q[::100], run.qd[::100], strict=True):
        K = sim.engine.tree.rows(c, q).K
        assert np.max(np.abs(K @ c.chart.reduce(K).G)) < 1e-8 and np.max(np.abs(K @ qd)) < 1e-8
    assert np.max(run.loop_error) < 1e-11
    assert np.ptp(run.energy[10:]) < 1e-5 * np.max(run.kinetic_energy)
