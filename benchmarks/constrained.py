"""Constrained motion beyond the tables of `kinloop bench papers`: MuJoCo too, stricter errors, operations per joint.

    python benchmarks/constrained.py [speed] [softness] [operations]

Without names all parts run, a few minutes on one core, most of it compiling. Talos comes with
`pip install kinloop[peers]`; so do Pinocchio and MuJoCo, and what is missing is left out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from xml.sax.saxutils import quoteattr

import numpy as np

from kinloop import Weld, robots
from kinloop.algorithms.constrained.motion_constraints import MotionConstraint
from kinloop.bench import peers_pinocchio
from kinloop.bench.model_files import tree_robot
from kinloop.bench.number_format import digits, magnitude, ratio
from kinloop.bench.papers.method_timing import time_methods
from kinloop.bench.papers.sathya_motion import LIMBS, solver_cases, tips
from kinloop.bench.papers.sathya_osim import softness, softness_table
from kinloop.bench.peers import Peer, Problem, make_problem
from kinloop.bench.peers_mujoco import mujoco_robot
from kinloop.bench.report_elements import Section, Table
from kinloop.bench.timing import QUICK, Effort, machine
from kinloop.cli.bench_command import WIDE, print_section
from kinloop.cli.terminal_output import console

COUNTED = ("pv_early", "pv_soft", "pv_joint", "ltl", "ltl_soft")
SIZES = {"serial_chain": ("links", (6, 12, 24, 36)), "ladder": ("rungs", (1, 2, 4, 6))}


def mujoco_held(x: Problem, held: Sequence[MotionConstraint]) -> list[Peer]:
    """mj_forward with welds and connects to the world; soft, and not read back."""
    equalities = ""
    for c in held:
        index, at = x.robot.frame(c.frame)
        body, anchor = quoteattr(x.robot.body_names[index]), " ".join(map(str, at.p))
        weld = f"<weld body1={body}/>"
        equalities += weld if isinstance(c, Weld) else f'<connect body1={body} anchor="{anchor}"/>'
    m = mujoco_robot(x, equalities)
    return [] if m is None else [Peer("mujoco mj_forward", lambda: m.mujoco.mj_forward(m.model, m.data), None)]


def speed(effort: Effort) -> Section:
    """Talos with both feet and both hands held, one call and per state of a batch, beside the peers."""
    x, held = make_problem(tree_robot("Talos")), [Weld(name) for name in LIMBS]
    peers = [*peers_pinocchio.held_peers(x, held), *mujoco_held(x, held)]
    found = time_methods("constrained", solver_cases(x, held), effort, peers=peers)
    rows = []
    for who, e in found.items():
        times = [e["call_us"], e.get("batch_us")]
        against = [ratio(found[p.name]["call_us"] / t) if t else "-" for p in peers for t in times]
        rows.append([who, *map(digits, times), *against, str(e.get("operations", "-")), magnitude(e["error"])])
    names = [f"{p.name} / {mode}" for p in peers for mode in ("call", "batch")]
    columns = ["who", "call [µs]", "batch [µs/state]", *names, "operations", "error against dense_kkt"]
    return Section("Talos (50 DoF), four welds", str(machine()), [Table("Constrained dynamics", columns, rows)])


def worst_coordinate(a: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Largest relative difference of every state, each coordinate beside itself or the median one.

    Light fingers accelerate a thousand times more than legs; beside their largest, errors of legs would not show.
    """
    size = np.maximum(np.abs(exact), np.median(np.abs(exact), axis=1, keepdims=True))
    return np.asarray(np.max(np.abs(a - exact) / size, axis=1))


def soft_constraints(effort: Effort) -> Section:
    """Soft against hard constraints on Talos, by the worst coordinate: the table of docs/algorithms/pv_soft.md."""
    text = "Largest relative difference of a coordinate's acceleration from dense_kkt, over random states."
    return Section("Soft constraints", text, [softness_table(softness(effort, worst_coordinate))])


def operations(effort: Effort) -> Section:
    """Operations of kernels on chains and ladders whose tips are welded: what is linear in the joints."""
    tables = []
    for name, (option, sizes) in SIZES.items():
        rows = []
        for n in sizes[:2] if effort.quick else sizes:
            robot = robots.load(name, **{option: n})
            kernels = [robot.compile("constrained_dynamics", m, constraints=tips(robot)) for m in COUNTED]
            counts = [k.operations["total"] for k in kernels]
            rows.append([str(n), *map(str, counts), *(f"{c / robot.nv:.0f}" for c in counts)])
        tables.append(Table(name, [option, *COUNTED, *(f"{m} / nv" for m in COUNTED)], rows))
    return Section("Operations", "Operations of a kernel, and per degree of freedom.", tables)


PARTS: dict[str, Callable[[Effort], Section]] = {
    "speed": speed,
    "softness": soft_constraints,
    "operations": operations,
}


def main(names: Sequence[str], effort: Effort) -> None:
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        sys.exit(f"no part named {unknown[0]!r}; known: {', '.join(PARTS)}")
    for name in names or PARTS:
        print_section(PARTS[name](effort), console(WIDE))


if __name__ == "__main__":
    main(sys.argv[1:], Effort(rounds=QUICK.rounds))
