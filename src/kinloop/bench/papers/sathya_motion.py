"""Table II and Figure 4 of [Sathya2023]: constrained motion by PV, PV-early, PV-soft and the LTL baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kinloop import robots
from kinloop.algorithms.constrained.motion_constraints import MotionConstraint, Point, Weld
from kinloop.bench import peers_pinocchio
from kinloop.bench.model_files import available_trees, tree_robot
from kinloop.bench.number_format import digits, magnitude, percent
from kinloop.bench.papers.method_timing import Case, time_methods
from kinloop.bench.papers.printed_numbers import SATHYA_METHODS, SATHYA_TABLE_II
from kinloop.bench.peers import Problem, make_problem
from kinloop.bench.report_elements import Plot, Section, Table
from kinloop.bench.timing import Effort
from kinloop.robot import Robot

HARD, SOFT = ("pv", "pv_early", "ltl"), ("pv_soft", "ltl_soft")
NAMES = {"pv": "PV", "pv_early": "PV-early", "ltl": "LTL", "pv_soft": "PV-soft", "ltl_soft": "LTL-soft"}
FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
LIMBS = ("leg_left_6_link", "leg_right_6_link", "arm_left_7_link", "arm_right_7_link")
G1 = ("left_ankle_roll_link", "right_ankle_roll_link", "left_wrist_yaw_link", "right_wrist_yaw_link")
HELD = ("F", "2F", "2F+H", "2F+2H")
CASES: dict[str, tuple[str, tuple[MotionConstraint, ...]]] = {
    "Iiwa (H3)": ("xArm7", (Point("link7"),)),
    "Iiwa (H)": ("xArm7", (Weld("link7"),)),
    **{f"Go1 ({n if n > 1 else ''}F3)": ("Go1", tuple(map(Point, FEET[:n]))) for n in (1, 2, 3, 4)},
    **{f"Atlas ({what})": ("G1", tuple(map(Weld, G1[:n]))) for n, what in enumerate(HELD, 1)},
    **{f"Talos ({what})": ("Talos", tuple(map(Weld, LIMBS[:n]))) for n, what in enumerate(HELD, 1)},
}
"""Lines of the paper's table: the robot that stands for the paper's, and what is held."""

QUICK_CASES = ("Iiwa (H)", "Go1 (F3)", "Go1 (4F3)", "Talos (2F+2H)")


def stand_in(label: str) -> str:
    """A line's name with the robot that stands for the paper's: neither Iiwa nor Atlas is in the wheel."""
    return label.replace("Iiwa", "xArm7").replace("Atlas", "G1")


Held = Sequence[MotionConstraint] | Callable[[Robot], Sequence[MotionConstraint]]
"""What is held, or how to find it on a robot."""


def solver_cases(x: Problem, held: Sequence[MotionConstraint]) -> dict[str, Case]:
    """The motion of a robot that is held, by all methods."""
    exact, _ = x.robot.constrained_dynamics(x.q, x.v, x.tau, held, method="dense_kkt")
    return {
        method: Case(x.robot.compile("constrained_dynamics", method, constraints=held), [x.q, x.v, x.tau], exact)
        for method in (*HARD, *SOFT)
    }


def measure(make: Callable[[], Robot], held: Held, effort: Effort, batches: bool = True) -> dict[str, Any]:
    """Per method: operations, microseconds for one state and per state of a batch, relative error."""
    robot = make()
    constraints = held(robot) if callable(held) else held
    x = make_problem(robot)
    peers = peers_pinocchio.held_peers(x, constraints)
    return time_methods("constrained", solver_cases(x, constraints), effort, batches, peers)


def tips(robot: Robot) -> list[MotionConstraint]:
    """Welds of all end effectors of a robot to the world."""
    return [Weld(name) for name in robot.mechanism.end_effectors]


def tasks(effort: Effort) -> dict[str, Callable[[], Any]]:
    """Lines of Table II whose robots are installed, then chains and ladders of several sizes."""
    out: dict[str, Callable[[], Any]] = {}
    installed = available_trees()
    for label, (name, held) in CASES.items():
        if name in installed and (not effort.quick or label in QUICK_CASES):
            out[label] = partial(measure, partial(tree_robot, name), held, effort)
    for n in (6, 12, 24) if effort.quick else (6, 12, 18, 24, 36, 48):
        make = partial(robots.load, "serial_chain", links=n)
        out[f"chain {n}"] = partial(measure, make, tips, effort, batches=False)
    for n in (1, 2) if effort.quick else (1, 2, 3, 4, 6):
        make = partial(robots.load, "ladder", rungs=n)
        out[f"ladder {n}"] = partial(measure, make, tips, effort, batches=False)
    return out


def show(data: dict[str, Any]) -> Section:
    """Both tables, and times over the sizes of chains and ladders."""
    plots = []
    for kind, title, x in (
        ("chain", "Chains held at the tip (Figure 4a)", "links"),
        ("ladder", "Ladders held at every rung (Figure 4c)", "rungs"),
    ):
        series = {NAMES.get(m, m): curve(data, kind, m) for m in (*HARD, *SOFT, "pinocchio constraintDynamics")}
        plots.append(Plot(f"sathya_{kind}", title, {k: s for k, s in series.items() if s[0]}, x=x, y="one call [µs]"))
    return Section(
        "Constrained motion (Table II and Figure 4 of Sathya2023)",
        "Points (3 rows) and welds (6) hold feet and hands. One call from Python, or a state of a batch, on one core; "
        "the paper's microseconds are of generated C on its own machine. xArm7 stands for its Iiwa, G1 for its Atlas.",
        [table(data), percents(data)], plots, notes(data),
    )  # fmt: skip


def curve(data: dict[str, Any], kind: str, method: str) -> tuple[list[int], list[float]]:
    """Microseconds of one call over the size of a kind of robot."""
    labels = [k for k in data if k.startswith(f"{kind} ") and method in data[k]]
    return [int(k.split()[1]) for k in labels], [data[k][method]["call_us"] for k in labels]


def table(data: dict[str, Any]) -> Table:
    """Times, operations and errors of every method, with the printed times."""
    rows = []
    for label in (k for k in CASES if k in data):
        printed = dict(zip(SATHYA_METHODS, SATHYA_TABLE_II[label], strict=True))
        name = stand_in(label)
        for method, e in data[label].items():
            paper = printed.get(method, printed["pinocchio"] if method.startswith("pinocchio") else None)
            rows.append(
                [
                    name, NAMES.get(method, method), digits(e["call_us"]), digits(e.get("batch_us")),
                    str(e.get("operations", "-")), magnitude(e["error"]), digits(paper),
                ]
            )  # fmt: skip
    columns = [
        "robot",
        "method",
        "call [µs]",
        "batch [µs/state]",
        "operations",
        "error against dense_kkt",
        "paper [µs]",
    ]
    return Table("Table II", columns, rows)


def percents(data: dict[str, Any]) -> Table:
    """Time of each method compared with PV, ours and the paper's."""
    rows = []
    for label in (k for k in CASES if k in data):
        printed = dict(zip(SATHYA_METHODS, SATHYA_TABLE_II[label], strict=True))
        for method in ("pv_early", "ltl", "pv_soft", "ltl_soft"):
            ours = [100 * (data[label][method][k] / data[label]["pv"][k] - 1) for k in ("call_us", "operations")]
            paper = 100 * (printed[method] / printed["pv"] - 1)
            rows.append([stand_in(label), NAMES[method], *map(percent, ours), percent(paper)])
    return Table("Compared with PV", ["robot", "method", "call", "operations", "paper"], rows)


def notes(data: dict[str, Any]) -> list[str]:
    """Where the order of the methods differs from the paper."""
    out = ["The soft methods let every row yield by a compliance: their error is that softness, not rounding."]
    late = [k for k in CASES if k in data and data[k]["pv_early"]["call_us"] > data[k]["pv"]["call_us"]]
    if late:
        out.append(
            f"PV-early is slower than PV on {', '.join(stand_in(k) for k in late)}; in the paper on the "
            "Iiwa with six rows only."
        )
    shown = [k for k in CASES if k in data]
    if shown:
        ours = max(data[k]["ltl"]["call_us"] / data[k]["pv"]["call_us"] for k in shown)
        paper = max(SATHYA_TABLE_II[k][2] / SATHYA_TABLE_II[k][0] for k in shown)
        out.append(
            f"LTL takes up to {ours:.2f} times as long as PV, printed up to {paper:.2f} for the same rows; the "
            "constraints here are points and welds, whose K folds away, not random matrices."
        )
    return out
