"""Laws of mechanics on random mechanisms: trees, gears, belts, couplings, loops of every kind and mixtures.

By default 130 mechanisms x 3 states; 10^4 mechanisms with

    pytest tests/algorithms -m "slow or not slow" -n auto

Independent algorithms must agree to a relative difference of 1e3 eps cond (helpers.assert_agree).
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import State, assert_agree, assert_enough, drop

from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_efpa import cluster_efpa
from kinloop.algorithms.trees.cluster_rnea import bias_force, cluster_rnea
from kinloop.algorithms.trees.energy import center_of_mass, kinetic_energy, momentum, potential_energy
from kinloop.algorithms.trees.kinematics import frame_jacobian, motion
from kinloop.algorithms.witnesses.dense_kkt import (
    dense_inverse_dynamics,
    dense_jacobian,
    dense_kkt,
    dense_mass_matrix,
    dense_osim,
)
from kinloop.clusters import conditioning

STENCIL = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}


def speed(s: State, a: np.ndarray) -> float:
    """The inverse of the time in which something moves by a radian; rounding of f grows by it in `rate(f)`."""
    qd = s.tree.spanning_jacobian(s.q) @ s.v
    return max(1.0, float(np.max(np.abs(qd), initial=0.0)), float(np.max(np.abs(a), initial=0.0)) ** 0.5)


def rate(s: State, a: np.ndarray, f) -> np.ndarray:
    """d/dt f(q, v) in the motion with independent acceleration a, by five-point differences.

    The step is short against the way to the next singularity, which the condition of the charts tells.
    """
    top = s.tree.top
    qd = s.tree.spanning_jacobian(s.q) @ s.v
    h = 1e-3 / (speed(s, a) * conditioning(s.tree, s.q))
    return sum(w / h * np.asarray(f(top.integrate(s.q, n * h * qd), s.v + n * h * a)) for n, w in STENCIL.items())


def force_scale(s: State, a: np.ndarray) -> float:
    """The size of the forces that meet in an equation of motion, whose sum may be small."""
    tau = cluster_rnea(s.tree, s.q, s.v, a, s.f_ext)
    return float(np.max(np.abs(s.M @ a), initial=0.0)) + float(np.max(np.abs(tau), initial=0.0))


def dense_cond(s: State) -> float:
    """The condition of the dense oracle.

    It finds motions as unit vectors in the null space of all loop rows; there a link behind a gear of
    ratio N is a component of size 1 / N.
    """
    return s.cond * max(1.0, float(np.max(np.abs(s.tree.spanning_jacobian(s.q)), initial=0.0)))


def test_forward_dynamics_inverts_inverse_dynamics(block):
    for s in block:
        tau = cluster_rnea(s.tree, s.q, s.v, s.a, s.f_ext)
        scale = force_scale(s, s.a) / max(float(np.max(np.abs(s.M), initial=0.0)), 1e-300)
        assert_agree(cluster_aba(s.tree, s.q, s.v, tau, s.f_ext), s.a, s.cond, s.name, scale)
        a = cluster_aba(s.tree, s.q, s.v, s.tau, s.f_ext)
        assert_agree(cluster_rnea(s.tree, s.q, s.v, a, s.f_ext), s.tau, s.cond, s.name, scale=force_scale(s, a))


def test_forward_dynamics_is_the_dense_solution(block):
    for s in block:
        a = cluster_aba(s.tree, s.q, s.v, s.tau, s.f_ext)
        G, _, g = s.tree.spanning_motion(s.q, s.v)
        scale = float(np.max(np.abs(G @ a + g), initial=0.0))  # the oracle solves for these
        assert_agree(dense_kkt(s.tree, s.q, s.v, s.tau, s.f_ext), a, s.cond, s.name, scale)


def test_inverse_dynamics_is_the_dense_one(block):
    for s in block:
        tau = cluster_rnea(s.tree, s.q, s.v, s.a, s.f_ext)
        assert_agree(dense_inverse_dynamics(s.tree, s.q, s.v, s.a, s.f_ext), tau, dense_cond(s), s.name)


def test_inverse_dynamics_is_mass_times_acceleration_and_bias(block):
    for s in block:
        tau = cluster_rnea(s.tree, s.q, s.v, s.a, s.f_ext)
        assert_agree(s.M @ s.a + bias_force(s.tree, s.q, s.v, s.f_ext), tau, s.cond, s.name)


def test_the_mass_matrix_is_the_dense_one_symmetric_and_positive(block):
    for s in block:
        assert_agree(dense_mass_matrix(s.tree, s.q), s.M, dense_cond(s), s.name)
        assert_agree(s.M, s.M.T, what=s.name)
        assert np.all(np.linalg.eigvalsh(s.M) > 0), s.name


def test_inverse_operational_space_inertia_is_the_dense_one(block):
    for s in block:
        osim = cluster_efpa(s.tree, s.q, s.frames)
        J = np.concatenate([frame_jacobian(s.tree, s.q, *f) for f in s.frames])
        scale = float(np.max(np.abs(J), initial=0.0)) ** 2 * float(np.linalg.norm(s.M)) ** -1 if s.tree.nv else 1.0
        assert_agree(dense_osim(s.tree, s.q, s.frames), osim, dense_cond(s), s.name, scale)


def test_spanning_velocities_follow_the_null_space_of_the_loops(block):
    for s in block:
        assert_agree(dense_jacobian(s.tree, s.q), s.tree.spanning_jacobian(s.q), dense_cond(s), s.name)


def test_kinetic_energy_is_half_v_M_v(block):
    for s in block:
        assert_agree(kinetic_energy(s.tree, s.q, s.v), 0.5 * s.v @ s.M @ s.v, s.cond, s.name)


@pytest.mark.sample(5)
def test_power_of_all_forces_is_the_rate_of_energy(block):
    for s in block:
        a = cluster_aba(s.tree, s.q, s.v, s.tau, s.f_ext)
        energy = rate(s, a, lambda q, v, s=s: kinetic_energy(s.tree, q, v) + potential_energy(s.tree, q))
        twists = motion(s.tree, s.q, s.v, turning=range(len(s.tree.top))).v
        work = [float(f @ u) for f, u in zip(s.f_ext, twists, strict=True)]
        size = abs(kinetic_energy(s.tree, s.q, s.v)) + abs(potential_energy(s.tree, s.q))
        inertial = float(np.abs(s.v) @ np.abs(s.M) @ np.abs(a)) + size * speed(s, a)
        scale = float(np.abs(s.tau) @ np.abs(s.v)) + float(np.sum(np.abs(work))) + inertial
        assert_agree(energy, s.tau @ s.v + sum(work), 1e3 * s.cond, s.name, scale)


def test_in_free_fall_only_gravity_changes_momentum(block):
    compared = 0
    for s in block:
        top = s.tree.top
        if top.types[0].name != "free" or top.parent.count(-1) > 1:
            drop("free fall: the robot stands on the ground")
            continue
        tau = s.tau.copy()
        tau[s.tree.clusters[0].v] = 0.0  # joint forces are inner forces, except those of the free base
        a = cluster_aba(s.tree, s.q, s.v, tau)
        measured = rate(s, a, lambda q, v, s=s: momentum(s.tree, q, v))
        weight = sum(top.mass) * top.mechanism.gravity
        expected = np.concatenate([np.cross(center_of_mass(s.tree, s.q), weight), weight])
        scale = float(np.max(np.abs(momentum(s.tree, s.q, s.v)))) * speed(s, a)
        assert_agree(measured, expected, 1e3 * s.cond, s.name, scale)
        compared += 1
    assert_enough(compared, len(block) // 5, "falling robots")
