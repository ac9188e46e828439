"""Inertias in blocks against dense 6x6 arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_agree

from kinloop import scalar as sc
from kinloop.model.sketch import Sketch
from kinloop.spatial import Inertia, Transform, cross_force, quaternion_rotation, rigid_inertia, total_inertia
from kinloop.spatial.inertia import rigid_bias


@pytest.fixture(params=range(5))
def rng(request):
    return np.random.default_rng(request.param)


def pose(rng) -> Transform:
    q = rng.normal(size=4)
    return Transform(quaternion_rotation(q / np.linalg.norm(q)), rng.normal(size=3))


def rigid(rng) -> Inertia:
    return rigid_inertia(**Sketch(rng, "").mass())


def articulated(rng) -> Inertia:
    A = rng.normal(size=(6, 6))
    A = A @ A.T
    return Inertia(A[:3, :3], A[:3, 3:], A[3:, 3:])


def test_a_rigid_inertia_is_that_of_its_point_masses(rng):
    m, x = rng.uniform(0.1, 1, 5), rng.normal(size=(5, 3))
    com = m @ x / m.sum()
    about = sum(w * (np.eye(3) * (d @ d) - np.outer(d, d)) for w, d in zip(m, x - com, strict=True))
    I = rigid_inertia(m.sum(), com, about)
    v = rng.normal(size=6)
    energy = sum(0.5 * w * np.sum((v[3:] + np.cross(v[:3], p)) ** 2) for w, p in zip(m, x, strict=True))
    assert_agree(0.5 * v @ I.apply(v), energy)


def test_apply_is_the_dense_product(rng):
    I, m = articulated(rng), rng.normal(size=(6, 2))
    assert_agree(I.apply(m), I.matrix() @ m)
    assert_agree(I.matrix(), I.matrix().T)


def test_seen_from_is_the_congruence(rng):
    I, T = articulated(rng), pose(rng)
    assert_agree(I.seen_from(T).matrix(), T.matrix().T @ I.matrix() @ T.matrix())


def test_sums_and_downdates_are_dense_ones(rng):
    I, J, U = articulated(rng), rigid(rng), rng.normal(size=(6, 2))
    D = np.diag([2.0, 3.0])
    assert_agree(total_inertia([I, J]).matrix(), I.matrix() + J.matrix())
    assert_agree(I.minus_product(U @ D, U).matrix(), I.matrix() - U @ D @ U.T)
    assert_agree(total_inertia([I, J, I]).matrix(), 2.0 * I.matrix() + J.matrix())
    assert total_inertia([I]) is I


def test_rigid_bias_is_v_cross_star_I_v(rng):
    I, v = rigid(rng), rng.normal(size=6)
    assert_agree(rigid_bias(I, v), cross_force(v, I.apply(v)))


def test_the_bias_does_no_work(rng):
    I, v = rigid(rng), rng.normal(size=6)
    assert_agree(v @ rigid_bias(I, v), 0.0, scale=float(v @ I.apply(v)))


def test_one_triangle_is_enough_for_symbols(rng):
    I, T, v = rigid(rng), pose(rng), rng.normal(size=6)

    def f(R, p, v):
        seen = I.seen_from(Transform(R.reshape(3, 3), p))
        return np.concatenate([seen.matrix().ravel(), rigid_bias(seen, v)])

    assert_agree(sc.trace(f, {"R": 9, "p": 3, "v": 6})(T.R.ravel(), T.p, v), f(T.R.ravel(), T.p, v))
