"""Derivatives of inverse and forward dynamics, one call and per state of a batch, beside Pinocchio's; on one core.

    python benchmarks/derivatives.py [Go1 G1 Talos chain]

Trees of the example-robot-data wheel, both of `pip install kinloop[peers]`, and a chain of 20 four-bars. All
contenders of a line are timed in turn, ours with arrays ready, and what is asked of a line is written behind it.
Pinocchio is called from Python, one state at a time: it has no batches of derivatives. Loops are rigid points of its
constraintDynamics, which computeConstraintDynamicsDerivatives needs first and which is timed with it; they give
derivatives of all accelerations of the tree along all its coordinates, ours those along closed motions.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kinloop import robots
from kinloop.bench.contenders import CALL, ONE, batch_call, one_call, timed
from kinloop.bench.model_files import available_trees, tree_robot
from kinloop.bench.number_format import digits, ratio
from kinloop.bench.peers import Peer, Problem, batch_for, make_problem, seconds_of
from kinloop.bench.peers_pinocchio import loop_derivatives, pinocchio_robot
from kinloop.bench.report_elements import Section, Table
from kinloop.bench.timing import Effort, machine
from kinloop.cli.bench_command import WIDE, print_section
from kinloop.cli.terminal_output import console
from kinloop.robot import Robot

CHAIN = "chain"
ASKED = {"Go1": (4.0, 12.0), "G1": (3.0, 9.0), "Talos": (3.0, 9.0), CHAIN: (40.0, 120.0)}
"""How many times slower Pinocchio has to be: than one call, than a state of a batch."""

PEERS = {
    "inverse_dynamics_derivatives": "computeRNEADerivatives",
    "forward_dynamics_derivatives": "computeABADerivatives",
}


def robot_of(name: str) -> Robot:
    """A tree of the wheel, or the chain of four-bars."""
    return robots.load("four_bar_chain", links=20) if name == CHAIN else tree_robot(name)


def peers(x: Problem, quantity: str) -> list[Peer]:
    """Pinocchio's derivatives; their block along velocities beside ours is a check of both."""
    if x.robot.mechanism.closures:
        return loop_derivatives(x) if quantity == "forward_dynamics_derivatives" else []
    p = pinocchio_robot(x.robot)
    if p is None:
        return []
    compute: Callable[..., Any] = getattr(p.pin, PEERS[quantity])
    given = (p.model, p.data, x.q[p.q_from], x.v[p.v_from], x.tau[p.v_from])

    def along_velocity() -> Any:
        block = np.array(compute(*given)[1])
        out = np.empty_like(block)
        out[np.ix_(p.v_from, p.v_from)] = block
        return out

    return [Peer(f"pinocchio {PEERS[quantity]}", lambda: compute(*given), along_velocity)]


def line(name: str, x: Problem, quantity: str, effort: Effort) -> list[str]:
    """One robot and one quantity."""
    start = time.perf_counter()
    kernel, given = x.robot.compile(quantity, cache=False), [x.q, x.v, x.tau]
    exact = kernel(*given)[1]
    compiled = time.perf_counter() - start
    states = batch_for(seconds_of(lambda: kernel(*given)))
    one, *peer = timed(quantity, CALL, [one_call(kernel, given), *peers(x, quantity)], None, effort)
    (each,) = timed(quantity, ONE, [batch_call(kernel, given, states)], None, effort)
    operations = f"{kernel.operations['total']:,}"
    cells = [name, quantity, operations, f"{compiled:.2f}", digits(one["us"]), digits(each["us"])]
    if not peer:
        return [*cells, "-", "-", "-", "-", "-"]
    (other,) = peers(x, quantity)
    assert other.result is not None
    wrong = float(np.max(np.abs(other.result() - exact)) / np.max(np.abs(exact)))
    found = peer[0]["us"] / one["us"], peer[0]["us"] / each["us"]
    held = all(a >= b for a, b in zip(found, ASKED[name], strict=True))
    asked = " ".join(ratio(r) for r in ASKED[name])
    times = [ratio(found[0]), ratio(found[1]), f"{asked}: {'yes' if held else 'no'}"]
    return [*cells, digits(peer[0]["us"]), *times, f"{wrong:.0e}"]


def derivatives(names: tuple[str, ...] = tuple(ASKED), effort: Effort | None = None) -> Section:
    """All robots, both quantities; the first answer includes tracing and compiling, nothing cached."""
    effort = effort or Effort(rounds=400)
    rows = []
    for name in names:
        if name == CHAIN or name in available_trees():
            x = make_problem(robot_of(name))
            rows += [line(name, x, quantity, effort) for quantity in PEERS]
    columns = ["robot", "quantity", "operations", "first answer [s]", "one call [µs]", "batch [µs]", "pinocchio [µs]"]
    columns += ["times", "times, batch", "asked", "difference"]
    return Section("Derivatives", str(machine()), [Table("Per state, on one core", columns, rows)])


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"  # on one core, two threads of Eigen's products wait for each other
    print_section(derivatives(tuple(sys.argv[1:]) or tuple(ASKED)), console(WIDE))
