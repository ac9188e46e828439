"""Steps and rollouts of a simulator as functions of arrays, with derivatives by its linearisation.

The map is that of `Simulator.linearize`: every step begins from (q, v) without memory. Its derivatives A and B are
along independent coordinates; here positions count by all of their numbers (`kinloop.algorithms.differentiated`, (2)):

    dq' = D(q') A_q (L(q) dq, dv) + ...     D = E G,  L the independent velocities of dq/dt                (1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kinloop.errors import MethodError, ShapeError
from kinloop.inputs import checked_count
from kinloop.learn.array_functions import ArrayFunction, Shape
from kinloop.learn.step_kernels import StepKernels, motions, rates
from kinloop.scalar import Array
from kinloop.sim.linearization.rollout_gradient import Priced, Sweep
from kinloop.sim.simulator import Simulator
from kinloop.sim.state import RUNNING
from kinloop.sim.stepper import StepMethod


class Simulated:
    """A simulator's map from (q, v, u) to (q', v') and its derivatives, on rows of arrays."""

    def __init__(self, sim: Simulator) -> None:
        if not isinstance(sim.method, StepMethod):
            raise MethodError(f"the {sim.integrator} integrator has no single step; use semi_implicit or rk4")
        if sim.engine.system.clock:
            raise MethodError("forces of this simulator depend on time, and a step is told none; leave them out")
        if sim.engine.system.open.inputs:
            raise MethodError("this simulator has open numbers, and a step is told none; leave open=[...] out")
        self.sim, self.robot, self.kernels = sim, sim.robot, StepKernels(sim)

    @cached_property
    def tangents(self) -> Any:
        """The kernel of D (nq, nv) and L (nv, nq) at q."""
        tree = self.robot.tree

        def call(q: Array) -> dict[str, Array]:
            return {"D": motions(tree, q), "L": rates(tree, q)}

        return self.robot.kernels.make("tangents", call, {"q": self.robot.nq}, sources=("learn",))

    def step(self, q: Array, v: Array, u: Array) -> tuple[Array, Array]:
        """(q', v'); nan in rows that cannot take the step whole."""
        sim = self.sim
        after = sim.careful_step(sim.state(q, v), u)
        whole = ((after.status == RUNNING) & (after.pace[:, 0] <= 1))[:, None]
        return np.where(whole, after.q, np.nan), np.where(whole, sim.velocities(after), np.nan)

    def step_along(self, q: Array, v: Array, u: Array, dq: Array, dv: Array, du: Array) -> tuple[Array, Array]:
        """The change of (q', v')."""
        dy = _times(self._jacobian(q, v, u), np.concatenate([dq, dv, du], axis=1))
        return dy[:, : self.robot.nq], dy[:, self.robot.nq :]

    def step_back(self, q: Array, v: Array, u: Array, bar_q: Array, bar_v: Array) -> tuple[Array, Array, Array]:
        """The gradient of bar_q . q' + bar_v . v'."""
        back = _back(self._jacobian(q, v, u), np.concatenate([bar_q, bar_v], axis=1))
        nq, nv = self.robot.nq, self.robot.nv
        return back[:, :nq], back[:, nq : nq + nv], back[:, nq + nv :]

    def _jacobian(self, q: Array, v: Array, u: Array) -> Array:
        """(1) as one matrix for every row, along the numbers of q, v and u."""
        if self.kernels.has_slopes:
            return np.asarray(self.jacobian(q, v, u))
        nv, found = self.robot.nv, self.sim.linearize(self.sim.state(q, v), u)
        L, D = self._tangents(q)[1], self._tangents(found.next.q)[0]
        along = np.concatenate([found.A[..., :nv] @ L, found.A[..., nv:], found.B], axis=2)
        return np.concatenate([D @ along[:, :nv], along[:, nv:]], axis=1)

    @cached_property
    def jacobian(self) -> Any:
        """The kernel of these matrices, where there is one."""
        return self.kernels.jacobian()

    def _tangents(self, q: Array) -> tuple[Array, Array]:
        D, L = self.tangents(np.ascontiguousarray(q))
        return np.asarray(D), np.asarray(L)

    def rollout(self, q0: Array, v0: Array, u: Array) -> tuple[Array, Array]:
        """q (B, T, nq) and v (B, T, nv) after every step."""
        sweep = self._sweep(q0, v0, u)
        return sweep.q[:, 1:], sweep.v[:, 1:]

    def rollout_along(
        self, q0: Array, v0: Array, u: Array, dq: Array, dv: Array, du: Array
    ) -> tuple[Array, Array]:  # fmt: skip
        """The change of all states."""
        sweep, nv = self._sweep(q0, v0, u), self.robot.nv
        du = du.reshape(sweep.u.shape)
        dx, found = np.concatenate([_times(self._tangents(q0)[1], dq), dv], axis=1), []
        for k in range(sweep.u.shape[1]):
            A, B = self.sim.linearize(self.sim.state(sweep.q[:, k], sweep.v[:, k]), sweep.u[:, k])
            dx = _times(A, dx) + _times(B, du[:, k])
            found.append((_times(self._tangents(sweep.q[:, k + 1])[0], dx[:, :nv]), dx[:, nv:]))
        along_q, along_v = (np.stack(x, axis=1) for x in zip(*found, strict=True))
        return along_q, along_v

    def rollout_back(
        self, q0: Array, v0: Array, u: Array, bar_q: Array, bar_v: Array
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        """The gradient of weighted states, by one sweep back."""
        sweep, nv = self._sweep(q0, v0, u), self.robot.nv
        rows, steps, nu = sweep.u.shape
        along_q, along_v = np.zeros((2, rows, steps + 1, nv))
        for k in range(1, steps + 1):
            D = self._tangents(sweep.q[:, k])[0]
            along_q[:, k] = _back(D, bar_q.reshape(rows, steps, -1)[:, k - 1])
        along_v[:, 1:] = bar_v.reshape(rows, steps, nv)
        y, du, _ = sweep.back(Priced(np.zeros((rows, steps)), along_q, along_v, np.zeros((rows, steps, nu))), ())
        return _back(self._tangents(q0)[1], y[:, :nv]), y[:, nv:], du.reshape(rows, -1)

    def _sweep(self, q0: Array, v0: Array, u: Array) -> Sweep:
        return Sweep(self.sim, self.sim.state(q0, v0), u.reshape(len(q0), -1, self.sim.nu), None, None)


def _times(A: Array, x: Array) -> Array:
    return np.asarray(np.einsum("bij,bj->bi", A, x))


def _back(A: Array, x: Array) -> Array:
    return np.asarray(np.einsum("bij,bi->bj", A, x))


class OnRows:
    """A function of rows (B, n) as one of arrays with any leading axes; rows that mean nothing are nan.

    It stands where an array function has a kernel.
    """

    def __init__(
        self, call: Callable[..., tuple[Array, ...]], sizes: Sequence[int], bad: Callable[[Array], Array]
    ) -> None:
        self._call, self._sizes, self._bad = call, sizes, bad

    def __call__(self, *arrays: Array) -> tuple[Array, ...]:
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        rows = [np.broadcast_to(x, (*lead, x.shape[-1])).reshape(-1, x.shape[-1]) for x in arrays]
        good = ~self._bad(rows[0])
        for x in rows:
            good = good & np.isfinite(x).all(axis=1)
        results = [np.full((len(rows[0]), n), np.nan) for n in self._sizes]
        if good.any():
            found = self._call(*(np.ascontiguousarray(x[good]) for x in rows))
            for mine, x in zip(results, found, strict=True):
                mine[good] = x.reshape(len(x), -1)
        return tuple(x.reshape(*lead, n) for x, n in zip(results, self._sizes, strict=True))


def step_function(sim: Simulator) -> ArrayFunction:
    """(q, v, u) -> (q', v') of one step."""
    simulated, robot = Simulated(sim), sim.robot
    shapes: dict[str, Shape] = {"q": (robot.nq,), "v": (robot.nv,), "u": (sim.nu,)}
    outputs: dict[str, Shape] = {"q": (robot.nq,), "v": (robot.nv,)}
    calls = (simulated.step, simulated.step_along, simulated.step_back)
    return _array_function(simulated, "step", shapes, outputs, calls, simulated.kernels)


def step_count(sim: Simulator, shape: Shape) -> int:
    """How many steps controls of a shape (..., T, nu) are for."""
    if len(shape) < 2 or shape[-1] != sim.nu:
        raise ShapeError(f"controls must have shape (..., T, {sim.nu}), received {shape}")
    return shape[-2]


def rollout_function(sim: Simulator, steps: int) -> ArrayFunction:
    """(q0, v0, controls (T, nu)) -> (q (T, nq), v (T, nv)) after every step."""
    simulated, robot, steps = Simulated(sim), sim.robot, checked_count("steps", steps)
    shapes: dict[str, Shape] = {"q": (robot.nq,), "v": (robot.nv,), "controls": (steps, sim.nu)}
    outputs: dict[str, Shape] = {"q": (steps, robot.nq), "v": (steps, robot.nv)}
    calls = (simulated.rollout, simulated.rollout_along, simulated.rollout_back)
    return _array_function(simulated, "rollout", shapes, outputs, calls)


def _array_function(
    simulated: Simulated,
    name: str,
    inputs: dict[str, Shape],
    outputs: dict[str, Shape],
    calls: Sequence[Callable[..., tuple[Array, ...]]],
    kernels: StepKernels | None = None,
) -> ArrayFunction:
    """By the kernels of a step where there are any, else by calls on rows of numbers: the value, push and pull."""
    robot, sim = simulated.robot, simulated.sim
    wide_in, wide_out = ([int(np.prod(x)) for x in y.values()] for y in (inputs, outputs))

    def bad(q: Array) -> Array:
        return made.evaluate.faults(q)

    evaluate, push, pull = calls
    makers: dict[str, Callable[[], Any]] = {
        "evaluate": lambda: (kernels and kernels.evaluate()) or OnRows(evaluate, wide_out, bad),
        "push": lambda: OnRows(push, wide_out, bad),
        "pull": lambda: OnRows(pull, wide_in, bad),
    }
    if kernels and kernels.has_slopes:
        makers["jacobian"] = lambda: simulated.jacobian
    made = ArrayFunction(name, inputs, outputs, makers, robot.state_faults, 2, lambda q, v, *u: _explain(sim, q, v))
    return made


def _explain(sim: Simulator, q: Array, v: Array) -> None:
    """Raise what the simulator says of a state that is none."""
    sim.state(q.reshape(-1, q.shape[-1]), v.reshape(-1, v.shape[-1]))
