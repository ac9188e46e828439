"""Figures 2 and 3 of [Sathya2023]: operations for the inverse OSIM, and what softness costs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kinloop import robots
from kinloop.algorithms.constrained.motion_constraints import Weld
from kinloop.bench.model_files import available_trees, tree_robot
from kinloop.bench.number_format import magnitude
from kinloop.bench.papers.sathya_motion import CASES, LIMBS, stand_in, tips
from kinloop.bench.report_elements import Plot, Section, Table
from kinloop.bench.timing import Effort

METHODS = {
    "pv_osim_fast": "PV-OSIM-fast",
    "pv_osim": "PV-OSIM",
    "pv_osimr": "PV-OSIMr",
    "efpa": "EFPA",
    "ltl_osim": "LTL-OSIM",
}
STALK = ("pv_osim", "efpa", "pv_osimr")
LENGTHS = (2, 10)
"""Lengths of the stalk that are counted; all three counts are linear in it."""
WEIGHTS = (1e2, 1e4, 1e6, 1e8, 1e10)


def counts(name: str, label: str) -> dict[str, int]:
    """Operations to solve with the OSIM of a line of Table II: propagation, inverse OSIM, factorisation."""
    robot, held = tree_robot(name), CASES[label][1]
    return {m: robot.compile("delassus_solve", m, constraints=held).operations["total"] for m in METHODS}


def stalk(branches: int) -> dict[str, list[int]]:
    """Operations for the inverse OSIM of a stalk with branches at both ends, at two lengths."""
    made = [robots.load("stalk", length=n, branches=branches) for n in LENGTHS]
    return {m: [r.compile("delassus", m, constraints=tips(r)).operations["total"] for r in made] for m in STALK}


Difference = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""How far accelerations (states, nv) are from exact ones: a number per state."""


def relative_length(a: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """The length of the difference over the length of the exact acceleration."""
    return np.asarray(np.linalg.norm(a - exact, axis=1) / np.linalg.norm(exact, axis=1))


def softness(effort: Effort, difference: Difference = relative_length) -> dict[str, Any]:
    """Talos, feet and hands held: difference of accelerations from dense_kkt over random states, quartiles."""
    robot, held = tree_robot("Talos"), [Weld(name) for name in LIMBS]
    rng = np.random.default_rng(0)
    drawn = [robot.random_state(rng) for _ in range(40 if effort.quick else 200)]
    Q, V = (np.array([d[k] for d in drawn]) for k in range(2))
    T = rng.normal(size=V.shape)
    exact, _ = robot.constrained_dynamics(Q, V, T, held, method="dense_kkt")
    out: dict[str, Any] = {}
    cases: list[tuple[str, float | None]] = [(m, None) for m in ("pv", "pv_early", "ltl")]
    cases += [(m, 1 / w) for w in (WEIGHTS[::2] if effort.quick else WEIGHTS) for m in ("pv_soft", "ltl_soft")]
    for method, compliance in cases:
        a, _ = robot.constrained_dynamics(Q, V, T, held, method=method, compliance=compliance)
        weight = "hard" if compliance is None else f"{1 / compliance:.0e}"
        out.setdefault(method, {})[weight] = np.quantile(difference(a, exact), (0.25, 0.5, 0.75)).tolist()
    return out


def softness_table(found: dict[str, Any]) -> Table:
    """Quartiles of the differences by method and weight."""
    rows = [[m, w, *(magnitude(x) for x in q)] for m, weights in found.items() for w, q in weights.items()]
    return Table("Figure 3: Talos (2F+2H)", ["method", "weight", "lower quartile", "median", "upper"], rows)


def tasks(effort: Effort) -> dict[str, Callable[[], Any]]:
    """Lines of Table II whose robots are installed, stalks, and soft constraints on Talos."""
    out: dict[str, Callable[[], Any]] = {}
    installed = available_trees()
    for label, (name, _) in CASES.items():
        if name in installed and (not effort.quick or label in ("Go1 (4F3)", "Talos (2F+2H)")):
            out[label] = partial(counts, name, label)
    for n in (2, 6) if effort.quick else (2, 4, 6, 8, 10):
        out[f"stalk {n}"] = partial(stalk, n)
    if "Talos" in installed:
        out["softness"] = partial(softness, effort)
    return out


def crossing(entry: dict[str, list[int]]) -> float:
    """The length of the stalk beyond which EFPA needs fewer operations than PV-OSIM; infinite if there is none."""
    slope = {m: (c[1] - c[0]) / (LENGTHS[1] - LENGTHS[0]) for m, c in entry.items()}
    gain = slope["pv_osim"] - slope["efpa"]
    return LENGTHS[0] + (entry["efpa"][0] - entry["pv_osim"][0]) / gain if gain > 0 else np.inf


def ratio_curve(entry: dict[str, list[int]]) -> tuple[list[int], list[float]]:
    """Operations of EFPA over those of PV-OSIM, over the length of the stalk."""
    x = list(range(2, 101, 2))

    def line(m: str) -> np.ndarray:
        first, last = entry[m]
        return first + (last - first) / (LENGTHS[1] - LENGTHS[0]) * (np.array(x) - LENGTHS[0])

    return x, (line("efpa") / line("pv_osim")).tolist()


def show(data: dict[str, Any]) -> Section:
    """Operations for the inverse OSIM, where the curves cross, and what softness costs."""
    rows = [[stand_in(k), *(str(data[k][m]) for m in METHODS)] for k in CASES if k in data]
    tables = [Table("Figure 2a-d: operations to solve with the OSIM", ["robot", *METHODS.values()], rows)]
    stalks = {k: v for k, v in data.items() if k.startswith("stalk")}
    meets = []
    for k, v in stalks.items():
        at = crossing(v)
        where = "nowhere" if np.isinf(at) else "every length" if at <= 1 else f"beyond {at:.0f} links"
        meets.append(
            [k.split()[1], f"{v['efpa'][0] / v['pv_osim'][0]:.2f}", f"{v['efpa'][1] / v['pv_osim'][1]:.2f}", where]
        )
    columns = ["branches at each end", "EFPA / PV-OSIM, 2 links", "10 links", "EFPA needs fewer"]
    tables.append(Table("Figure 2f: the stalk", columns, meets))
    curves = {f"{k.split()[1]} branches": ratio_curve(v) for k, v in stalks.items()}
    plots = [Plot("sathya_stalk", "EFPA beside PV-OSIM on a stalk (Figure 2f)", curves, x="links of the stalk",
                  y="operations, EFPA / PV-OSIM")]  # fmt: skip
    if "softness" in data:
        soft = data["softness"]
        tables.append(softness_table(soft))
        lines = {m: ([float(w) for w in soft[m]], [q[1] for q in soft[m].values()]) for m in ("pv_soft", "ltl_soft")}
        plots.append(Plot("sathya_soft", "Difference from hard constraints (Figure 3b)", lines, x="weight",
                          y="median relative error", log=True, log_x=True))  # fmt: skip
    return Section(
        "The inverse OSIM, and softness (Figures 2 and 3 of Sathya2023)",
        "Counts are operations of traced kernels. In Figure 3 relative differences of accelerations are taken against "
        "dense_kkt over random states.",
        tables, plots, notes(stalks),
    )  # fmt: skip


def notes(stalks: dict[str, Any]) -> list[str]:
    """From how many branches on EFPA needs fewer operations."""
    found = {int(k.split()[1]): crossing(v) for k, v in stalks.items()}
    finite = [n for n, at in found.items() if np.isfinite(at)]
    if not finite:
        return []
    n = min(finite)
    return [
        f"EFPA overtakes PV-OSIM from {n} branches on, beyond {found[n]:.0f} links (printed: from 9 branches on, and "
        "beyond 54 links with 10). The order is the paper's; where the curves cross depends on what folds (welds here, "
        "random matrices there)."
    ]
