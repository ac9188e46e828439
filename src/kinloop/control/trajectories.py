"""Batches of motions under controls and feedback, and their costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from kinloop.control.box_qp import times
from kinloop.control.motions import Limits, Motions
from kinloop.control.traced_cost import Expansion, TracedCost
from kinloop.robot import Robot
from kinloop.scalar import Array


class Steps(Protocol):
    """A map of steps from (q, v) under u at time t, and its derivatives, for rows; nan where there is no step."""

    @property
    def robot(self) -> Robot:
        """The robot that moves."""

    @property
    def dt(self) -> float:
        """The length of a step [s]."""

    @property
    def nu(self) -> int:
        """Number of controls."""

    def follow(self, about: Motions, k: Array, K: Array, limits: Limits, threads: int | None = None) -> Motions:
        """Motions from the starts of others under u = clip(u + k + K dx), dx = (difference(q_k, q), v - v_k)."""

    def slopes(self, q: Array, v: Array, u: Array, t: Array, threads: int | None = None) -> tuple[Array, Array]:
        """A and B."""

    def curvature(self, q: Array, v: Array, u: Array, p: Array, threads: int | None = None) -> Array | None:
        """Second derivatives of the steps weighted by p, or None where there are none."""


class Priced(NamedTuple):
    """Motions, their costs (b,) and the sums of the sizes of these (b,)."""

    motions: Motions
    cost: Array
    size: Array

    def at(self, rows: Array) -> Priced:
        """Some of the rows."""
        return Priced(Motions(*(x[rows] for x in self.motions)), self.cost[rows], self.size[rows])


class Model(NamedTuple):
    """Steps and costs along motions: A (b, T, n, n), B (b, T, n, nu), costs of the steps and of the end.

    `bend` are the costs of the steps with the second derivatives of the motion, None where these are not known.
    """

    A: Array
    B: Array
    cost: Expansion
    last: Expansion
    bend: Expansion | None

    def at(self, rows: Any) -> Model:
        """Some of the rows."""
        bend = None if self.bend is None else self.bend.at(rows)
        return Model(self.A[rows], self.B[rows], self.cost.at(rows), self.last.at(rows), bend)


class Planner:
    """A map of steps with a cost: motions under feedback, and models along them."""

    def __init__(self, steps: Steps, cost: TracedCost, last: TracedCost, threads: int | None) -> None:
        self.steps, self.cost, self.last, self.threads = steps, cost, last, threads

    def follow(self, about: Motions, k: Array, K: Array, limits: Limits) -> Priced:
        """Motions from the starts of others under feedback, and what they cost."""
        q, v, u = found = self.steps.follow(about, k, K, limits, self.threads)
        running = self.cost.value(q[:, :-1], v[:, :-1], u, self._times(u), self.threads)
        end = self.last.value(q[:, -1:], v[:, -1:], u[:, :1, :0], self._end(u), self.threads)
        each = np.concatenate([running, end], axis=1)
        return Priced(found, np.sum(each, axis=1), np.sum(np.abs(each), axis=1))

    def model(self, motions: Motions) -> Model:
        """Derivatives of all steps and costs along motions."""
        q, v, u = motions
        rows, steps, _ = u.shape
        flat = Motions(*(np.ascontiguousarray(x.reshape(rows * steps, x.shape[-1])) for x in (q[:, :-1], v[:, :-1], u)))
        A, B = self.steps.slopes(flat.q, flat.v, flat.u, self._times(u).ravel(), self.threads)
        cost = self.cost.expand(q[:, :-1], v[:, :-1], u, self._times(u), self.threads)
        last = self.last.expand(q[:, -1:], v[:, -1:], u[:, :1, :0], self._end(u), self.threads)
        A, B = (x.reshape(rows, steps, *x.shape[1:]) for x in (A, B))
        last = Expansion(*(x[:, 0] for x in last))
        return Model(A, B, cost, last, self._bent(flat, A, cost, last))

    def _bent(self, flat: Motions, A: Array, cost: Expansion, last: Expansion) -> Expansion | None:
        """The costs of steps with the second derivatives of the motion, weighted by the adjoint p of the next state.

        p_T = dl_T/dx, p_k = dl/dx + A_k^T p_k+1: with them the model is that of Newton's method. [Dunn1989]
        """
        rows, steps, n, _ = A.shape
        p = np.empty((rows, steps, n))
        p[:, -1] = last.x
        with np.errstate(invalid="ignore", over="ignore"):
            for k in reversed(range(1, steps)):
                p[:, k - 1] = cost.x[:, k] + times(np.swapaxes(A[:, k], 1, 2), p[:, k])
        found = self.steps.curvature(flat.q, flat.v, flat.u, p.reshape(rows * steps, n), self.threads)
        if found is None:
            return None
        H = found.reshape(rows, steps, *found.shape[1:])
        xx, ux, uu = H[..., :n, :n], H[..., n:, :n], H[..., n:, n:]
        return cost._replace(xx=cost.xx + xx, ux=cost.ux + ux, uu=cost.uu + uu)

    def _times(self, u: Array) -> Array:
        return np.tile(self.steps.dt * np.arange(u.shape[1]), (len(u), 1))

    def _end(self, u: Array) -> Array:
        return np.full((len(u), 1), self.steps.dt * u.shape[1])


def joined(parts: Sequence[Array]) -> Array:
    """Whether all numbers behind the first two axes are finite, for all arrays (b, T)."""
    return np.asarray(np.logical_and.reduce([np.isfinite(x).all(axis=tuple(range(2, x.ndim))) for x in parts]))
