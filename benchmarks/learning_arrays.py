"""kinloop under JAX and PyTorch beside its own kernels: what was measured, and the limit that must hold.

python -m benchmarks.learning_arrays [jax torch]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import kinloop as kl
from benchmarks.control import Line
from kinloop.bench.timing import no_collector, seconds_per_call

ROBOTS = ("mini_cheetah", "tello")
ROWS = 4096
STEPS = 1000


def states(robot: kl.Robot) -> list[np.ndarray]:
    """Rows of q, v, tau."""
    q, v = robot.random_state(0, size=ROWS)
    return [q, v, np.random.default_rng(1).normal(size=v.shape)]


def of_jax(name: str) -> Iterable[Line]:
    """One call, a call in a scan, a batch under vmap. The time of the same call of the robot's own is taken off."""
    import jax

    import kinloop.jax as kj

    jax.config.update("jax_enable_x64", True)
    robot = kl.robots.load(name)
    rows = states(robot)
    ready = [x[0].copy() for x in rows]
    one, many = ([jax.numpy.asarray(x) for x in given] for given in (ready, rows))
    fd, kernel, out = kj.function(robot, "forward_dynamics"), robot.compile("forward_dynamics"), np.empty_like(rows[1])
    trivial, batched = jax.jit(lambda q, v, tau: tau * 2.0), jax.jit(jax.vmap(fd))

    def scanned(f: Callable[..., Any]) -> Any:
        def run(q: Any, v: Any, tau: Any) -> Any:
            return jax.lax.scan(lambda tau, _: (1e-3 * f(q, v, tau), None), tau, None, length=STEPS)[0]

        return jax.jit(run)

    with_call, without = scanned(fd), scanned(trivial)
    times = seconds_per_call(
        {
            "trivial": lambda: trivial(*one).block_until_ready(),
            "jit": lambda: fd(*one).block_until_ready(),
            "method": lambda: robot.forward_dynamics(*ready),
            "scan": lambda: with_call(*one).block_until_ready(),
            "empty scan": lambda: without(*one).block_until_ready(),
            "vmap": lambda: batched(*many).block_until_ready(),
            "kernel": lambda: kernel(*rows, out=out),
            "batch": lambda: robot.forward_dynamics(*rows),
        }
    )
    us = {key: 1e6 * x for key, x in times.items()}
    yield Line(f"{name}: the robot's own call", us["method"], "us")
    yield Line(f"{name}: under jit, above a trivial call and that", us["jit"] - us["trivial"] - us["method"], "us", 0.5)
    in_scan = (us["scan"] - us["empty scan"]) / STEPS
    yield Line(f"{name}: inside lax.scan, above the robot's own call", in_scan - us["method"], "us", 0.4)
    yield Line(f"{name}: inside lax.scan, all of it", in_scan, "us")
    yield Line(f"{name}: vmap of {ROWS}, time beside the robot's own batch", us["vmap"] / us["batch"], "", 1 / 0.9)
    yield Line(f"{name}: vmap of {ROWS}, time beside the bare kernel", us["vmap"] / us["kernel"], "", 1 / 0.9)
    yield Line(f"{name}: vmap of {ROWS}, a row", us["vmap"] / ROWS, "us")


def of_torch(name: str) -> Iterable[Line]:
    """Forward and backward of a batch beside the two kernels."""
    import torch

    import kinloop.torch as kt

    robot = kl.robots.load(name)
    rows = states(robot)
    tensors = [torch.tensor(x, requires_grad=True) for x in rows]
    fd, weights = kt.function(robot, "forward_dynamics"), np.ones_like(rows[1])
    value, gradient = robot.compile("forward_dynamics"), robot.compile("forward_dynamics", derivative="vjp")
    forward, outs = np.empty_like(rows[1]), [np.empty((ROWS, *shape)) for shape in gradient.outputs.values()]

    def both() -> None:
        for x in tensors:
            x.grad = None
        fd(*tensors).backward(torch.from_numpy(weights))

    def native() -> None:
        value(*rows, out=forward)
        gradient(*rows, weights, out=outs)

    times = seconds_per_call({"torch": both, "kernels": native})
    ratio = times["torch"] / times["kernels"]
    yield Line(f"{name}: forward and backward of {ROWS}, time beside both kernels", ratio, "", 1 / 0.8)
    yield Line(f"{name}: forward and backward of {ROWS}, a row", 1e6 * times["torch"] / ROWS, "us")


PARTS = {"jax": of_jax, "torch": of_torch}


def main(names: list[str]) -> int:
    """Print all lines; how many limits are missed."""
    missed = 0
    with no_collector():
        for name in names or PARTS:
            for line in (line for robot in ROBOTS for line in PARTS[name](robot)):
                print(line, flush=True)
                missed += line.limit is not None and line.value > line.limit
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
