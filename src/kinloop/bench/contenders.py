"""What is timed: calls of our robots and of our kernels with ready arrays, beside those of the peers; each a record.

A record is {quantity, mode, who, us, error}: microseconds per state (per step for the quantity "step"), and the
relative error against dense_kkt where the answer can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinloop.bench.peers import Peer
from kinloop.bench.timing import Effort, one_core, seconds_per_call
from kinloop.scalar import Array

KERNEL, ROBOT = "kinloop", "kinloop robot"
"""Who we are in a record: a kernel with inputs and outputs ready, or a method of a robot."""

CALL, ONE, ALL = "one call", "batch, one core", "batch, all cores"
"""Modes of a record."""


def one_call(kernel: Callable[..., Any], inputs: Sequence[Array], name: str = KERNEL) -> Peer:
    """A kernel called for one state, with inputs and outputs ready."""
    arguments = (*inputs, *(np.array(x) for x in _as_tuple(kernel(*inputs))))
    return Peer(name, lambda: kernel(*arguments), lambda: np.array(_as_tuple(kernel(*inputs))[0]))


def robot_call(call: Callable[[], Array]) -> Peer:
    """A method of a robot called for one state: what users write first."""
    return Peer(ROBOT, call, call)


def robot_batch(method: Callable[..., Array], inputs: Sequence[Array], batch: int) -> Peer:
    """A method of a robot called for a batch of equal states."""
    many = [np.repeat(x[None], batch, axis=0) for x in inputs]
    return Peer(ROBOT, lambda: method(*many), lambda: method(*many)[-1], batch)


def batch_call(
    kernel: Callable[..., Any], inputs: Sequence[Array], batch: int, threads: int | None = 1, name: str = KERNEL
) -> Peer:
    """A kernel called for a batch of equal states, with inputs and outputs ready."""
    many = [np.repeat(x[None], batch, axis=0) for x in inputs]
    outputs = kernel(*many, threads=threads)
    return Peer(
        name, lambda: kernel(*many, out=outputs, threads=threads), lambda: np.array(_as_tuple(outputs)[0][-1]), batch
    )


def _as_tuple(outputs: Any) -> tuple[Array, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)


def timed(
    quantity: str, mode: str, contenders: Sequence[Peer], exact: Array | None, effort: Effort
) -> list[dict[str, Any]]:
    """Records of contenders measured in turn; pinned to one core unless all may be used."""
    cases = {p.name: p.call for p in contenders}
    if len(cases) < len(contenders):
        raise ValueError(f"contenders need names of their own, received {[p.name for p in contenders]}")
    if mode == ALL:
        times = seconds_per_call(cases, effort.rounds, effort.budget)
    else:
        with one_core():
            times = seconds_per_call(cases, effort.rounds, effort.budget)
    out = []
    for p in contenders:
        p.close()
        wrong = relative_error(p.result(), exact) if p.result and exact is not None else None
        us = 1e6 * times[p.name] / p.states
        out.append({"quantity": quantity, "mode": mode, "who": p.name, "us": us, "error": wrong})
    return out


def relative_error(found: Array, exact: Array) -> float:
    """The largest difference over the largest entry."""
    return float(np.max(np.abs(found - exact)) / max(float(np.max(np.abs(exact))), 1e-300))
