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
    """Motions, their costs (b,), the sums of the sizes of these (b,), and the parameters of the costs (b, np)."""

    motions: Motions
    cost: Array
    size: Array
    parameters: Array

    def at(self, rows: Array) -> Priced:
        """Some of the rows."""
        return Priced(Motions(*(x[rows] for x in self.motions)), *(x[rows] for x in self[1:]))


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

    def follow(self, about: Motions, k: Array, K: Array, limits: Limits, parameters: Array) -> Priced:
        """Motions from the starts of others under feedback, and what they cost."""
        found = self.steps.follow(about, k, K, limits, self.threads)
        running, end = self._nodes(found, parameters)
        costs = self.cost.value(*running, threads=self.threads), self.last.value(*end, threads=self.threads)
        each = np.concatenate(costs, axis=1)
        return Priced(found, np.sum(each, axis=1), np.sum(np.abs(each), axis=1), parameters)

    def model(self, motions: Motions, parameters: Array) -> Model:
        """Derivatives of all steps and costs along motions."""
        q, v, u = motions
        rows, steps, _ = u.shape
        flat = Motions(*(np.ascontiguousarray(x.reshape(rows * steps, x.shape[-1])) for x in (q[:, :-1], v[:, :-1], u)))
        running, end = self._nodes(motions, parameters)
        A, B = self.steps.slopes(flat.q, flat.v, flat.u, running[3].ravel(), self.threads)
        cost, last = self.cost.expand(*running, threads=self.threads), self.last.expand(*end, threads=self.threads)
        A, B = (x.reshape(rows, steps, *x.shape[1:]) for x in (A, B))
        last = Expansion(*(x[:, 0] for x in last))
        return Model(A, B, cost, last, self._bent(flat, A, cost, last))

    def _nodes(self, motions: Motions, parameters: Array) -> tuple[list[Array], list[Array]]:
        """What the costs of the steps (b, T, ...) and of the end (b, 1, ...) are asked with."""
        (q, v, u), dt = motions, self.steps.dt
        rows, steps, _ = u.shape
        running = [q[:, :-1], v[:, :-1], u, np.tile(dt * np.arange(steps), (rows, 1))]
        end = [q[:, -1:], v[:, -1:], u[:, :1, :0], np.full((rows, 1), dt * steps)]
        if parameters.shape[1]:
            running.append(np.broadcast_to(parameters[:, None], (rows, steps, parameters.shape[1])))
            end.append(parameters[:, None])
        return running, end

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


def joined(parts: Sequence[Array]) -> Array:
    """Whether all numbers behind the first two axes are finite, for all arrays (b, T)."""
    return np.asarray(np.logical_and.reduce([np.isfinite(x).all(axis=tuple(range(2, x.ndim))) for x in parts]))
