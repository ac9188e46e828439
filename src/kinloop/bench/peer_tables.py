"""Beside the peers: trees, linkages, geared robots, and files as people have them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from kinloop import robots
from kinloop.bench.contenders import ALL, CALL, KERNEL, ONE, ROBOT
from kinloop.bench.model_files import TREES, available_trees, menagerie_robots, tree_robot
from kinloop.bench.number_format import digits, magnitude, ratio
from kinloop.bench.peer_comparison import compare
from kinloop.bench.peers import missing
from kinloop.bench.report_elements import Plot, Section, Table
from kinloop.bench.timing import Effort

OPTIONS: dict[str, dict[str, Any]] = {"four_bar_chain": {"links": 20}}
SKIPPED = ("mit_humanoid_no_rotors", "jvrc1_urdf", "planar_leg_linkage_urdf", "serial_chain", "ladder", "stalk")
"""Robots of the zoo that say nothing new here: trees, and other versions of robots that are measured."""
STEPPED = ("Go1", "mini_cheetah", "mit_humanoid", "four_bar")


def tasks(effort: Effort) -> dict[str, Callable[[], Any]]:
    """What to measure: the trees that are installed, then the zoo."""
    out: dict[str, Callable[[], Any]] = {}
    for title in available_trees():
        points = 4 if TREES[title][1] else 1
        make = partial(tree_robot, title)
        out[title] = partial(compare, make, effort, points=points, trees=True, steps=title in STEPPED)
    for name in robots.names():
        if name not in SKIPPED:
            make = partial(robots.load, name, **OPTIONS.get(name, {}))
            geared = not robots.mechanism(name).loops
            out[name] = partial(compare, make, effort, steps=name in STEPPED, trees=geared)
    return out


def menagerie_tasks(effort: Effort, folder: Path) -> dict[str, Callable[[], Any]]:
    """What to measure of the MuJoCo Menagerie in a folder."""
    return {title: partial(compare, make, effort) for title, make in menagerie_robots(folder).items()}


def pick(entry: dict[str, Any], quantity: str, mode: str) -> list[dict[str, Any]]:
    """Records of a question: our kernel's, then those of the peers."""
    records = [r for r in entry["records"] if r["quantity"] == quantity and r["mode"] == mode]
    return [r for r in records if r["who"] != ROBOT]


def front(entry: dict[str, Any], quantity: str, mode: str = CALL) -> float | None:
    """Microseconds of a call of the robot's method, None where it was not measured."""
    found = (r["us"] for r in entry["records"] if (r["quantity"], r["mode"], r["who"]) == (quantity, mode, ROBOT))
    return next(found, None)


def show(data: dict[str, Any]) -> Section:
    """All tables, a plot of forward dynamics, and what to know about the peers."""
    tables = [forward_table(data)]
    tables += [t for t in (other_table(data), batch_table(data), step_table(data)) if t.rows]
    return Section(
        "Beside Pinocchio and MuJoCo",
        "The same mechanism at the same state. Ratios say how many times longer the peer takes than kinloop's kernel; "
        "below 1 the peer is faster. One call is from Python with ready arrays, on one core: of a method of the robot, "
        "as users write it first, and of the kernel that `robot.compile` gives, with an array for its result. Errors "
        "are against dense_kkt.",
        tables, [bars(data)], notes(data),
    )  # fmt: skip


def forward_table(data: dict[str, Any]) -> Table:
    """One call of forward dynamics, ours and everybody else's."""
    rows = []
    for name, entry in data.items():
        ours, *others = pick(entry, "forward dynamics", CALL)
        batch = pick(entry, "forward dynamics", ONE)[0]
        method = front(entry, "forward dynamics")
        head = [name, str(entry["nv"]), digits(method), digits(ours["us"]), digits(batch["us"])]
        head.append(magnitude(ours["error"]))
        if not others:
            rows.append([*head, "-", "-", "-", "-", "none can say it, or none is installed"])
        for p in others:
            balanced = p["who"].startswith("mujoco") and entry["balanced"]
            remark = f"{entry['balanced']} inertias balanced" if balanced else ""
            rows.append(
                [*head, ratio(p["us"] / ours["us"]), p["who"], digits(p["us"]), magnitude(p["error"]), remark]
            )  # fmt: skip
            head = [""] * 6
    columns = ["robot", "nv", "robot call [µs]", "kernel call [µs]", "kernel batch [µs]", "error", "ratio of calls",
               "peer", "[µs]", "its error", "remark"]  # fmt: skip
    return Table("Forward dynamics, one call", columns, rows)


def _rows(data: dict[str, Any], wanted: Callable[[dict[str, Any]], bool]) -> list[list[str]]:
    rows = []
    for name, entry in data.items():
        ours = {(r["quantity"], r["mode"]): r for r in entry["records"] if r["who"] == KERNEL}
        for r in entry["records"]:
            if wanted(r) and r["who"] not in (KERNEL, ROBOT):
                own, method = ours[r["quantity"], r["mode"]], front(entry, r["quantity"], r["mode"])
                rows.append(
                    [
                        name, r["quantity"], r["mode"], ratio(r["us"] / own["us"]), digits(method), digits(own["us"]),
                        r["who"], digits(r["us"]), magnitude(own["error"]), magnitude(r["error"]),
                    ]
                )  # fmt: skip
    return rows


COLUMNS = ["robot", "question", "mode", "ratio", "robot [µs]", "kernel [µs]", "peer", "[µs]", "error", "its error"]


def other_table(data: dict[str, Any]) -> Table:
    """One call of whatever else was asked."""
    rows = _rows(data, lambda r: r["mode"] == CALL and r["quantity"] not in ("forward dynamics", "step"))
    return Table("Inverse dynamics, mass matrix, Jacobian, Delassus matrix, one call", COLUMNS, rows)


def batch_table(data: dict[str, Any]) -> Table:
    """Forward dynamics of batches."""
    rows = _rows(data, lambda r: r["mode"] in (ONE, ALL) and r["quantity"] == "forward dynamics")
    return Table("Forward dynamics of batches, per state", COLUMNS, rows)


def step_table(data: dict[str, Any]) -> Table:
    """Simulated steps."""
    k = COLUMNS.index("robot [µs]")  # no methods of robots are measured here
    rows = [[*r[:k], *r[k + 1 : 8]] for r in _rows(data, lambda r: r["quantity"] == "step")]
    return Table("Simulated steps of 1 ms without contact, per step", [*COLUMNS[:k], *COLUMNS[k + 1 : 8]], rows)


def bars(data: dict[str, Any]) -> Plot:
    """One call of forward dynamics, ours and the fastest of each peer."""
    series: dict[str, tuple[list[str], list[float]]] = {"kinloop": ([], []), "pinocchio": ([], []), "mujoco": ([], [])}
    for name, entry in data.items():
        records = pick(entry, "forward dynamics", CALL)
        if len(records) < 2:
            continue
        for who, (x, y) in series.items():
            found = [r["us"] for r in records if r["who"].startswith(who)]
            x.append(name)
            y.append(min(found) if found else float("nan"))
    return Plot("peers", "Forward dynamics, one call from Python", series, y="[µs]", bars=True, log=True)


def notes(data: dict[str, Any]) -> list[str]:
    """Which peers are missing, where one is faster, what they can and cannot express."""
    out = [f"{text}; its columns are empty." for text in missing().values()]
    faster = [
        f"{name}, {r['quantity']}, {r['mode']}: {r['who']} takes {digits(r['us'])} µs, "
        f"{own['who']} {digits(own['us'])} µs"
        for name, entry in data.items()
        for own in entry["records"]
        for r in entry["records"]
        if own["who"] in (KERNEL, ROBOT) and r["who"] not in (KERNEL, ROBOT)
        and (r["quantity"], r["mode"]) == (own["quantity"], own["mode"]) and r["us"] < own["us"]
    ]  # fmt: skip
    if not any(r["who"] not in (KERNEL, ROBOT) for entry in data.values() for r in entry["records"]):
        out.append("No peer was measured: nothing here compares with one.")
    else:
        out.append(f"Where a peer is faster: {'; '.join(faster)}." if faster else "No peer is faster in any row.")
    out += [
        "Pinocchio's constraintDynamics agrees with dense_kkt to rounding on every linkage here, lcaba to its proximal "
        "tolerance. Both need care. Joints must be added depth first (issue 1897 of stack-of-tasks/pinocchio), and "
        "constraint data must not be shared between lcaba and constraintDynamics: either mistake is accepted and gives "
        "accelerations wrong by up to ten percent, at rest too, while the loops themselves stay closed to 1e-16.",
        "Pinocchio's aba refuses mimic joints; geared robots are therefore solved by crba, nonLinearEffects and a "
        "Cholesky solve. Its crba misses an entry where a mimic joint carries several joints (rocker).",
        "Neither says loop functions and rods as given (Tello's differentials, rssr); Pinocchio has no belts over "
        "several joints (MIT Humanoid, belt_chain). Universal joints (stewart) are not translated here.",
        "MuJoCo's loops and gears are soft by design; equalities are as stiff as a step of 1 ms allows (solref 0.002, "
        "solimp 0.9999). Where inertias are impossible (balanced in the remark) it computes with others, and its error "
        "includes that. It refuses massless bodies.",
        "MuJoCo's batches are mujoco.rollout, steps and not mj_forward: it stands in the table of steps. "
        "kinloop's steps keep loops closed to 1e-12; MuJoCo's are Euler steps with soft loops.",
    ]
    return out
