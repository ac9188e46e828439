"""Methods that compute the same quantity, timed beside each other: all are kernels from the same compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop.bench.contenders import CALL, ONE, batch_call, one_call, relative_error, timed
from kinloop.bench.peers import Peer
from kinloop.bench.timing import Effort
from kinloop.compiler import Kernel
from kinloop.robot import Robot
from kinloop.scalar import Array


class Case(NamedTuple):
    """A kernel, what it is called with, and its first output by dense_kkt."""

    kernel: Kernel
    inputs: Sequence[Array]
    exact: Array


def dynamics_case(robot: Robot, quantity: str, method: str) -> Case:
    """A method of forward or inverse dynamics, or of the inverse OSIM of the end effectors, at a random state."""
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng)
    x = rng.normal(size=robot.nv)
    if quantity == "inverse_osim":
        frames = robot.mechanism.end_effectors
        kernel = robot.compile(quantity, method, frames=frames)
        return Case(kernel, [q], robot.inverse_osim(q, list(frames), method="dense_kkt"))
    compute = robot.forward_dynamics if quantity == "forward_dynamics" else robot.inverse_dynamics
    return Case(robot.compile(quantity, method), [q, v, x], compute(q, v, x, method="dense_kkt"))


def time_methods(
    quantity: str, cases: Mapping[str, Case], effort: Effort, batches: bool = True, peers: Sequence[Peer] = ()
) -> dict[str, dict[str, Any]]:
    """Per method: operations of its kernel, relative error, microseconds of one call and per state of a batch.

    Peers that compute the quantity at the same state take their turns too; of them one call is timed.
    """
    first = next(iter(cases.values()))
    calls = [*(one_call(c.kernel, c.inputs, method) for method, c in cases.items()), *peers]
    out: dict[str, dict[str, Any]] = {}
    for call, record in zip(calls, timed(quantity, CALL, calls, None, effort), strict=True):
        found = {"call_us": record["us"], "error": None}
        if call.result is not None:
            found["error"] = relative_error(call.result(), cases.get(call.name, first).exact)
        out[call.name] = found
    for method, c in cases.items():
        out[method]["operations"] = c.kernel.operations["total"]
    if batches:
        many = [batch_call(c.kernel, c.inputs, effort.batch, name=method) for method, c in cases.items()]
        for record in timed(quantity, ONE, many, None, effort):
            out[record["who"]]["batch_us"] = record["us"]
    return out
