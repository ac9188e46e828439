"""The numbers of bodies and joints from measured motions: which of them can be known, and the most likely ones.

Inverse dynamics is tau = Y(q, v, a) pi (`robot.regressor`, docs/algorithms/regressor.md). Not all of pi moves anything:
`robot.base_parameters()` has the combinations that do. `fit` finds pi from measured forces such that every body can
exist. Ten numbers are a body's if some distribution of mass has them, that is, if the matrix of its second moments

    P = [Sigma  h; h^T  m],    Sigma = tr(I)/2 1 - I                                                              (1)

is positive definite. P = U U^T with U upper triangular, its diagonal written as exponentials, is such for every x that
U is made of [Rucker2022], so the search is free; armature, damping and friction are exponentials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinloop.errors import ModelError
from kinloop.scalar import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from kinloop.robot import Robot

LEAST = 1e-9
"""Moments, masses and resistances of a start are at least this part of the largest of their kind [kg, kg m^2, ...]."""
ENOUGH = 1e-6
"""The search ends where a round gains less than this, in squares of standard deviations."""
ROUNDS = 500


def second_moments(pi: ArrayLike) -> Array:
    """P (4, 4) of (1), from the numbers (10,) [kg, kg m, kg m^2] of a body."""
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = np.asarray(pi, dtype=float)
    half = 0.5 * (xx + yy + zz)
    return np.array([[half - xx, -xy, -xz, hx], [-xy, half - yy, -yz, hy], [-xz, -yz, half - zz, hz], [hx, hy, hz, m]])


def of_second_moments(P: Array) -> Array:
    """The numbers (10,) [kg, kg m, kg m^2] of a body from its second moments P (4, 4)."""
    S, h = P[:3, :3], P[:3, 3]
    I = np.trace(S) * np.eye(3) - S
    return np.array([P[3, 3], *h, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


def is_possible(pi: ArrayLike) -> bool:
    """Whether some distribution of mass has these numbers (10,) [kg, kg m, kg m^2]."""
    return bool(np.all(np.linalg.eigvalsh(second_moments(pi)) > 0.0))


_AT = [(i, j) for i in range(4) for j in range(i, 4)]
"""Places of U's ten entries."""


_UNITS = np.array([[[float((i, j) == at) for j in range(4)] for i in range(4)] for at in _AT])
_ON_DIAGONAL = np.array([i == j for i, j in _AT])
_NUMBERS = np.stack([of_second_moments(x.reshape(4, 4)) for x in np.eye(16)], axis=1)
"""Ten numbers of a body from the sixteen of P, as a matrix."""


def _possible(x: Array, scale: Array) -> tuple[Array, Array]:
    """The ten numbers of bodies (n, 10) for ten free ones of each, and their derivatives (n, 10, 10)."""
    entries = scale * np.where(_ON_DIAGONAL, np.exp(np.where(_ON_DIAGONAL, x, 0.0)), x)
    U = np.einsum("na,aij->nij", entries, _UNITS)
    changes = np.where(_ON_DIAGONAL, entries, scale)[:, :, None, None] * (_UNITS @ U[:, None].swapaxes(-1, -2))
    changes = changes + changes.swapaxes(-1, -2)
    slopes = changes.reshape(*x.shape, 16) @ _NUMBERS.T
    return (U @ U.swapaxes(-1, -2)).reshape(-1, 16) @ _NUMBERS.T, slopes.swapaxes(-1, -2)


def _factor(pi: Array) -> Array:
    """U of a body; one that cannot exist is replaced by one near it that can."""
    values, axes = np.linalg.eigh(second_moments(pi))
    P = (axes * np.maximum(values, LEAST * max(float(values[-1]), LEAST))) @ axes.T
    return np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]  # the lower factor of P turned over


class _Free:
    """All of pi from free numbers x, which are 0 or of order one at the start: logarithms, and U_ij / U_ii there."""

    def __init__(self, start: Array, bodies: int) -> None:
        self.ends = 10 * bodies
        U = np.array([_factor(x) for x in start[: self.ends].reshape(-1, 10)]).reshape(-1, 4, 4)
        self.scale = np.stack([U[:, i, i] for i, _ in _AT], axis=1)
        entries = np.stack([U[:, i, j] for i, j in _AT], axis=1) / self.scale
        joints = start[self.ends :]
        self.joints = np.maximum(joints, LEAST * np.max(joints, initial=1.0))
        self.begin = np.append(np.where(_ON_DIAGONAL, 0.0, entries).ravel(), np.zeros(len(joints)))

    def parameters(self, x: Array) -> tuple[Array, Array]:
        """pi and its derivatives."""
        pi, slopes = np.empty(len(x)), np.zeros((len(x), len(x)))
        numbers, blocks = _possible(x[: self.ends].reshape(-1, 10), self.scale)
        pi[: self.ends] = numbers.ravel()
        for k, block in enumerate(blocks):
            slopes[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = block
        pi[self.ends :] = self.joints * np.exp(x[self.ends :])
        slopes[range(self.ends, len(x)), range(self.ends, len(x))] = pi[self.ends :]
        return pi, slopes


def fit(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    tau: ArrayLike,
    *,
    noise: float = 1.0,
    start: ArrayLike | None = None,
    doubt: float = 1.0,
) -> Array:
    """pi of bodies that can exist, most likely for measured motions (rows, n) and forces tau (rows, nv).

    `noise` is the standard deviation of the forces [N m or N], `start` what is believed of pi (the robot's own), and
    `doubt` how far from it the logarithms of masses and moments may be; it decides what no motion shows.
    """
    believed = robot.inertial_parameters() if start is None else np.asarray(start, dtype=float)
    if not (noise > 0.0 and doubt > 0.0):
        raise ModelError(f"noise {noise!r} and doubt {doubt!r} must be positive")
    Y = robot.regressor(q, v, a).reshape(-1, len(believed)) / noise
    right = np.asarray(tau, dtype=float).reshape(-1) / noise
    free = _Free(believed, len(robot.body_names))
    begin = free.begin
    H, g = Y.T @ Y, Y.T @ right

    def cost(pi: Array, x: Array) -> float:
        return float(pi @ H @ pi - 2.0 * g @ pi + np.sum(((x - begin) / doubt) ** 2))

    x, damping = begin, 1e-3
    pi, D = free.parameters(x)
    now = cost(pi, x)
    for _ in range(ROUNDS):
        A = D.T @ H @ D + np.eye(len(x)) / doubt**2
        down = D.T @ (g - H @ pi) - (x - begin) / doubt**2
        step = np.linalg.solve(A + damping * np.diag(np.diag(A)), down)
        step *= min(1.0, 1.0 / float(np.max(np.abs(step), initial=1.0)))
        tried, slopes = free.parameters(x + step)
        after = cost(tried, x + step)
        if after < now:
            done = now - after <= ENOUGH
            x, pi, D, now, damping = x + step, tried, slopes, after, damping / 5.0
            if done:
                break
        elif damping > 1e12:
            break
        else:
            damping *= 5.0
    return pi
