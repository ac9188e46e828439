"""Loop and coupling rows against geometry: K and k are derivatives of phi, measured by differences.

phi itself is checked against the poses of the bodies in test_facing and below.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from helpers import Random, assert_agree, mechanisms

from kinloop import scalar as sc
from kinloop.algorithms.trees.kinematics import world_poses
from kinloop.algorithms.witnesses.dense_kkt import world_jacobians
from kinloop.clusters import random_closed
from kinloop.model import WORLD, Rod, stacked_rows
from kinloop.model.random import KINDS
from kinloop.spatial import Transform

LOOPS = [k for k in KINDS if k not in ("tree", "mixed")]
H = 1e-3
STENCIL = {-2: (1 / 12, -1 / 12), -1: (-2 / 3, 4 / 3), 0: (0.0, -5 / 2), 1: (2 / 3, 4 / 3), 2: (-1 / 12, -1 / 12)}
"""Five-point weights of the first and second difference: error H^4, about 1e-11."""


def closed(kind: str) -> Iterator[tuple[Random, np.ndarray, np.ndarray]]:
    """Closed positions with closed velocities."""
    for r in mechanisms(4, seed=300, kind=kind):
        q = random_closed(r.tree, r.rng)
        yield r, q, r.tree.spanning_jacobian(q) @ r.rng.normal(size=r.tree.nv)


def parts(r: Random) -> tuple:
    return (*r.mechanism.loops, *r.mechanism.couplings)


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.sample(6)
def test_K_is_the_derivative_of_phi(kind):
    for r, q, _ in closed(kind):
        top = r.tree.top
        for part in parts(r):
            rows = part.rows(top, q)
            for column, d in enumerate(rows.dofs):
                step = np.zeros(top.n_spanning)
                step[d] = H
                slope = sum(w / H * part.rows(top, top.integrate(q, n * step)).phi for n, (w, _) in STENCIL.items())
                assert_agree(rows.K[:, column], slope, cond=1e3, what=f"{r.name}, {part.name}", scale=1.0)


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.sample(6)
def test_k_is_what_the_velocity_asks_of_the_acceleration(kind):
    """At constant joint velocities phi'' = (dK/dt) qd, which is -k."""
    for r, q, qd in closed(kind):
        top = r.tree.top
        for part in parts(r):
            h = H / max(1.0, float(np.max(np.abs(qd))))
            at = [(w, part.rows(top, top.integrate(q, n * h * qd)).phi) for n, (_, w) in STENCIL.items()]
            measured = sum(w * phi for w, phi in at) / h**2
            scale = max(1.0, float(qd @ qd))
            assert_agree(part.rows(top, q, qd).k, -measured, cond=1e6, what=f"{r.name}, {part.name}", scale=scale)


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.sample(6)
def test_symbols_give_the_rows_that_numbers_give(kind):
    for r, q, qd in closed(kind):
        top = r.tree.top
        for part in parts(r):

            def f(q, qd, top=top, part=part):
                rows = part.rows(top, q, qd)
                return np.concatenate([rows.phi, rows.K.ravel(), rows.k])

            traced = sc.trace(f, {"q": top.nq, "qd": top.n_spanning})
            assert_agree(traced(q, qd), f(q, qd), cond=10.0, what=f"{r.name}, {part.name}")


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", [k for k in LOOPS if "loop_" in k or k in ("rods", "planar", "ancestor")])
def test_a_multiplier_is_a_wrench_between_the_two_bodies(kind):
    """K^T is the work of the wrench on the successor, and of its opposite on the predecessor."""
    for r, q, _ in closed(kind):
        top = r.tree.top
        J = dict(zip(top.body_index, world_jacobians(top, q), strict=False)) | {WORLD: np.zeros((6, top.n_spanning))}
        poses = world_poses(top, q)
        for loop in r.mechanism.loops:
            predecessor, successor = loop.ends
            common, _, _ = top.paths(top.body_index[predecessor], top.body_index[successor])
            at = poses[common] if common >= 0 else Transform.identity()
            wrench = at.force(loop.wrench_basis(top, q))
            K = stacked_rows(top, [loop], range(top.n_spanning), q).K
            assert_agree(K.T, (J[successor] - J[predecessor]).T @ wrench, cond=10.0, what=r.name)


def test_rods_keep_the_distance_of_their_ends():
    for r in mechanisms(8, seed=40, kind="rods"):
        for _ in range(2):
            q = random_closed(r.tree, r.rng)
            poses = dict(zip(r.tree.top.body_index, world_poses(r.tree.top, q), strict=False))
            poses[WORLD] = Transform.identity()
            for rod in r.mechanism.loops:
                if isinstance(rod, Rod):
                    a, b = poses[rod.predecessor], poses[rod.successor]
                    gap = a.p + a.R @ rod.predecessor_point - b.p - b.R @ rod.successor_point
                    assert abs(np.linalg.norm(gap) - rod.length) < 1e-12


def test_every_row_of_a_flat_loop_but_two_is_redundant():
    seen = set()
    for r in mechanisms(12, seed=60, kind="planar", branches=False):
        loop = r.mechanism.loops[0]
        q = random_closed(r.tree, r.rng)
        K = stacked_rows(r.tree.top, [loop], range(r.tree.top.n_spanning), q).K
        s = np.linalg.svd(K, compute_uv=False)
        assert np.sum(s > 1e-6) == 2 and np.all(s[2:] < 1e-12), r.name
        seen.add((loop.type.name, len(K)))
    assert seen >= {("revolute", 5), ("spherical", 3)}
