"""The inertia felt at a joint: what gains of a servo must be chosen for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.kinematics import frame_jacobian
from kinloop.errors import MethodError, SingularConfiguration
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.contact.candidates import find_candidates

RANK = 1e-10
"""Singular values below this part of the largest count as zero: motions that `names` and a fixed body leave no room."""


def felt_inertias(robot: Robot, q: Array, names: Sequence[str], frequency: float) -> Array:
    """The inertia felt at each coordinate of `names` at q while the others of them stay [kg m^2, kg].

    A coordinate that moves at unit rate moves the robot with the least energy, springs included as the inertia that
    has their force at `frequency` [rad/s], while one body is fixed: the base, or a foot that stands on the ground, so
    that the leg moves the robot and not itself. Of all bodies that may touch the ground the one counts with which the
    inertia is the largest.
    """
    top = robot.tree.top
    M, G = cluster_crba(robot.tree, q), robot.tree.spanning_jacobian(q)
    if not (np.all(np.isfinite(M)) and np.all(np.isfinite(G))):
        raise SingularConfiguration(
            f"at q the coordinates {', '.join(robot.independent_names)} do not determine the motion; "
            "choose another configuration"
        )
    driven = G[[top.coordinates.index(name) for name in names]]
    springs = np.array([j.stiffness for j in top.joints for _ in range(j.type.nv)]) / frequency**2
    mobility = np.linalg.inv(M + G.T @ (springs[:, None] * G))
    out = np.zeros(len(names))
    for body in bodies_that_may_rest(robot):
        K = driven if body is None else np.concatenate([driven, frame_jacobian(robot.tree, q, *robot.frame(body))])
        X = mobility @ K.T @ np.linalg.pinv(K @ mobility @ K.T, rcond=RANK)[:, : len(names)]
        out = np.maximum(out, np.einsum("ik,ij,jk->k", X, M, X))
    return out


def bodies_that_may_rest(robot: Robot) -> list[str | None]:
    """Bodies of a robot with one free base that may be at rest: the base, and what may touch; else None, the world."""
    top = robot.tree.top
    base = list(top.floating_bases)
    if len(base) != 1:
        return [None]
    try:
        touching = [robot.body_names[c.body] for c in find_candidates(robot, None)]
    except MethodError:
        touching = []
    return list(dict.fromkeys([robot.body_names[base[0]], *touching]))
