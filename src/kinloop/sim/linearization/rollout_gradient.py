"""The gradient of a cost of a whole rollout: one sweep forward, one backward, whatever the number of controls.

With x = (q, v), x_k+1 = f(x_k, u_k) the map of `step_map`, and the cost

    L = sum_k l(q_k, v_k, u_k, t_k) + l_T(q_T, v_T),                                                              (1)

the adjoint y, how L changes with a state, follows backwards from

    y_T = dl_T/dx,    y_k = dl/dx + A_k^T y_k+1,    dL/du_k = dl/du + B_k^T y_k+1,    dL/dp = sum_k P_k^T y_k+1     (2)

with A, B of `Simulator.linearize` and P the slopes along parameters. States are kept on the way forward; A and B are
not: they are made on the way back, for many steps and rows at a time (`AT_ONCE`), and used up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.compiler.keys import function_digest
from kinloop.errors import MethodError, ShapeError
from kinloop.model.parameters import parameter_size
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.linearization.step_map import position_change
from kinloop.sim.linearization.traced import Traced
from kinloop.sim.state import State

if TYPE_CHECKING:
    from kinloop.sim.simulator_derivatives import SimulatorDerivatives

AT_ONCE = 256
"""States whose A and B are in memory at the same time, about."""

Cost = Callable[[Array, Array, Array, Any], Any]
Terminal = Callable[[Array, Array], Any]


class CostSlopes(NamedTuple):
    """A cost by its gradients [cost / SI]: along q and v (T + 1, nv) and along u (T, nu), or for batch rows (B, ...).

    Those along q are along independent coordinates; the last of q and v belong to the end of the rollout.
    """

    q: Array
    v: Array
    u: Array


@dataclass(frozen=True)
class RolloutGradient:
    """A cost, and its gradients: with respect to controls (T, nu), to where the rollout begins, and to parameters.

    `q0` (nv,) is along the independent coordinates, q0 + dq = robot.integrate(q0, dq). `q` (T + 1, nq) and `v`
    (T + 1, nv) are the states that the rollout went through. All with an axis of batch rows in front where there are
    several. `cost` is nan where only its gradients were given; gradients are nan where a row did not take all its steps
    whole.
    """

    cost: Array
    controls: Array
    q0: Array
    v0: Array
    parameters: dict[str, Array]
    q: Array
    v: Array


class Priced(NamedTuple):
    """Values (B, T) of a cost, and its slopes along q, v (B, T, nv) and u (B, T, nu)."""

    value: Array
    q: Array
    v: Array
    u: Array


class CostKernel:
    """A cost function l(q, v, u, t) and its gradient, as a kernel: traced once, so that the gradient is exact."""

    def __init__(self, robot: Robot, nu: int, cost: Cost) -> None:
        tree, inputs = robot.tree, {"q": robot.nq, "v": robot.nv, "u": nu, "t": 1}

        def call(q: Array, v: Array, u: Array, t: Array) -> dict[str, Any]:
            value = cost(q, v, u, t[0])
            if np.shape(value) != ():
                raise ShapeError(f"a cost must be one number, received an array of shape {np.shape(value)}")
            slopes = sc.vjp([value], [*q, *v, *u], [1.0])
            along_q, along_v, along_u = np.split(slopes, [len(q), len(q) + len(v)])
            dq = np.array([position_change(tree, q, e) @ along_q for e in np.eye(tree.nv)])
            return {"value": np.array([value]), "dq": dq, "dv": along_v, "du": along_u}

        traced = Traced(call, inputs)
        digest = function_digest(traced.function)
        self._kernel = robot.kernels.make("rollout_cost", traced, inputs, key=digest, sources=("sim",))

    def __call__(self, q: Array, v: Array, u: Array, t: Array, threads: int | None) -> Priced:
        """Of states (B, T, n) at the times t (B, T)."""
        rows, steps = t.shape
        flat = [x.reshape(rows * steps, x.shape[-1]) for x in (q, v, u, t[..., None])]
        found = (np.asarray(x) for x in self._kernel(*flat, threads=threads))
        value, *slopes = (x.reshape(rows, steps, x.shape[-1]) for x in found)
        return Priced(value[..., 0], *slopes)


class Sweep:
    """A rollout of the map that `Simulator.linearize` is of, and the way back."""

    def __init__(
        self, sim: SimulatorDerivatives, start: State, u: Array, threads: int | None, method: str | None
    ) -> None:
        self.sim, self.u, self.threads, self.method = sim, u, threads, method
        q, v = [start.q], [sim.velocities(start)]
        self.t = start.t[:, None] + sim.dt * np.arange(u.shape[1] + 1)
        for k in range(u.shape[1]):
            after = sim.careful_step(sim.state(q[-1], v[-1], self.t[:, k]), u[:, k], threads)
            q.append(after.q)
            v.append(sim.velocities(after))
        self.q, self.v = np.stack(q, axis=1), np.stack(v, axis=1)

    def back(self, along: Priced, names: tuple[str, ...]) -> tuple[Array, Array, Array]:
        """(2): the adjoint (B, 2 nv) at the beginning, gradients along u (B, T, nu) and parameters (B, numbers)."""
        rows, steps, _ = self.u.shape
        top = self.sim.robot.tree.top
        y = np.concatenate([along.q[:, -1], along.v[:, -1]], axis=1)
        du, dp = np.array(along.u), np.zeros((rows, sum(parameter_size(top, n) for n in names)))
        length = max(1, AT_ONCE // rows)
        for end in range(steps, 0, -length):
            here = slice(max(0, end - length), end)
            q, v, u = (x[:, here].reshape(-1, x.shape[-1]) for x in (self.q, self.v, self.u))
            t = self.t[:, here].ravel()
            found = self.sim.linearize(self.sim.state(q, v, t), u, threads=self.threads, method=self.method)
            A, B = (x.reshape(rows, -1, *x.shape[1:]) for x in found)
            P = self._along_parameters(names, q, v, u, t, found.next).reshape(rows, A.shape[1], y.shape[1], -1)
            for k in reversed(range(A.shape[1])):
                at = here.start + k
                du[:, at] += np.einsum("bij,bi->bj", B[:, k], y)
                dp += np.einsum("bij,bi->bj", P[:, k], y)
                y = np.concatenate([along.q[:, at], along.v[:, at]], axis=1) + np.einsum("bij,bi->bj", A[:, k], y)
        return y, du, dp

    def _along_parameters(self, names: tuple[str, ...], q: Array, v: Array, u: Array, t: Array, after: State) -> Array:
        """How the ends of steps change with parameters (B, 2 nv, numbers)."""
        if not names:
            return np.zeros((len(q), 2 * self.sim.robot.nv, 0))
        return self.sim.linearizer.of_parameters(names, q, v, u, t, after, self.sim.dt, self.threads)


def price(sweep: Sweep, cost: Cost | CostSlopes, terminal: Terminal | None) -> tuple[Array, Priced]:
    """The cost (B,) of a rollout, and its slopes along all states and controls."""
    rows, steps, nu = sweep.u.shape
    robot, nv = sweep.sim.robot, sweep.sim.robot.nv
    if isinstance(cost, CostSlopes):
        if terminal is not None:
            raise MethodError("a cost that is given by its slopes has those of its end among them; leave terminal out")
        sizes = ((rows, steps + 1, nv), (rows, steps + 1, nv), (rows, steps, nu))
        try:
            q, v, u = (np.broadcast_to(np.asarray(x, dtype=float), n) for x, n in zip(cost, sizes, strict=True))
        except ValueError as e:
            shapes, wanted = ", ".join(str(np.shape(x)) for x in cost), ", ".join(map(str, sizes))
            raise ShapeError(f"slopes of a cost must have shapes {wanted}, received {shapes}") from e
        return np.full(rows, np.nan), Priced(np.zeros((rows, steps)), q, v, u)
    running = CostKernel(robot, nu, cost)(sweep.q[:, :-1], sweep.v[:, :-1], sweep.u, sweep.t[:, :-1], sweep.threads)
    total, last = running.value.sum(axis=1), [np.zeros((rows, 1, nv))] * 2
    if terminal is not None:
        final = CostKernel(robot, 0, lambda q, v, u, t: terminal(q, v))
        end = final(sweep.q[:, -1:], sweep.v[:, -1:], np.zeros((rows, 1, 0)), sweep.t[:, -1:], sweep.threads)
        total, last = total + end.value[:, 0], [end.q, end.v]
    q, v = (np.concatenate([x, y], axis=1) for x, y in zip((running.q, running.v), last, strict=True))
    return total, Priced(running.value, q, v, running.u)


def gradient(
    sim: SimulatorDerivatives, cost: Cost | CostSlopes, terminal: Terminal | None, start: State, u: Array,
    names: tuple[str, ...], single: bool, threads: int | None, method: str | None,
) -> RolloutGradient:  # fmt: skip
    """The cost of a rollout from `start` under u (B, T, nu) and its gradients; `single` leaves out the axis of rows."""
    sweep = Sweep(sim, start, u, threads, method)
    total, along = price(sweep, cost, terminal)
    y, du, dp = sweep.back(along, names)
    nv, sizes = sim.robot.nv, [parameter_size(sim.robot.tree.top, n) for n in names]
    found = [total, du, y[:, :nv], y[:, nv:], sweep.q, sweep.v, *np.split(dp, np.cumsum(sizes)[:-1], axis=1)]
    total, du, dq, dv, q, v, *slopes = [x[0] for x in found] if single else found
    return RolloutGradient(total, du, dq, dv, dict(zip(names, slopes, strict=False)), q, v)
