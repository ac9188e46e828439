"""Beside the peers: trees, linkages, geared robots, and files as people have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from kinloop import robots
from kinloop.bench.peer_comparison import ALL, CALL, ONE, contest
from kinloop.bench.peers import missing, wheel_file
from kinloop.bench.report_elements import Plot, Section, Table, figure, small, times
from kinloop.bench.timing import Effort
from kinloop.io import load
from kinloop.robot import Robot

TREES = {"Go1": ("go1.urdf", True), "Talos": ("talos_full_v2.urdf", True), "Panda": ("panda.urdf", False)}
TREES |= {"xArm7": ("/xarm7.urdf", False), "G1": ("g1_29dof_rev_1_0.urdf", True)}
"""Files of the example-robot-data wheel, and whether their base is free."""
FILES = {
    "Cassie": "models/menagerie/agility_cassie/cassie.xml",
    "Robotiq 2F-85": "models/menagerie/robotiq_2f85/2f85.xml",
}
"""MJCF files of the MuJoCo Menagerie, where a folder `shared` lies beside the repository."""
OPTIONS: dict[str, dict[str, Any]] = {"four_bar_chain": {"links": 20}}
SKIPPED = ("mit_humanoid_no_rotors", "jvrc1_urdf", "planar_leg_linkage_urdf", "serial_chain", "ladder", "stalk")
"""Robots of the zoo that say nothing new here: trees, and other versions of robots that are measured."""
STEPPED = ("Go1", "mini_cheetah", "mit_humanoid", "four_bar")


def tree_robot(ending: str, free: bool) -> Robot:
    """A tree from a file: mimic joints move on their own, as in aba."""
    path = wheel_file(ending)
    assert path is not None
    return Robot(replace(load(path, floating_base=free), couplings=(), independent=()))


def file_robot(path: Path) -> Robot:
    return Robot(load(path))


def shared_file(path: str) -> Path | None:
    here = Path(__file__).resolve().parents[4] / "shared" / path
    return here if here.exists() else None


def tasks(effort: Effort) -> dict[str, Callable[[], Any]]:
    out: dict[str, Callable[[], Any]] = {}
    for title, (ending, free) in TREES.items():
        if wheel_file(ending):
            make, points = partial(tree_robot, ending, free), 4 if free else 1
            out[title] = partial(contest, make, effort, points=points, trees=True, steps=title in STEPPED)
    for name in robots.names():
        if name not in SKIPPED:
            make = partial(robots.load, name, **OPTIONS.get(name, {}))
            geared = not robots.mechanism(name).loops
            out[name] = partial(contest, make, effort, steps=name in STEPPED, trees=geared)
    for title, path in FILES.items():
        file = shared_file(path)
        if file is not None and "mujoco" not in missing():
            out[title] = partial(contest, partial(file_robot, file), effort, steps=title in STEPPED)
    return out


def pick(entry: dict[str, Any], quantity: str, mode: str) -> list[dict[str, Any]]:
    """Records of a question, ours first."""
    return [r for r in entry["records"] if r["quantity"] == quantity and r["mode"] == mode]


def show(data: dict[str, Any]) -> Section:
    tables = [forward_table(data)]
    tables += [t for t in (other_table(data), batch_table(data), step_table(data)) if t.rows]
    return Section(
        "Beside Pinocchio and MuJoCo",
        "The same mechanism at the same state. Ratios say how many times longer the peer takes than kinloop; below 1 "
        "the peer is faster. One call is from Python with ready arrays, on one core. Errors are against dense_kkt.",
        tables, [bars(data)], notes(data),
    )  # fmt: skip


def forward_table(data: dict[str, Any]) -> Table:
    rows = []
    for name, entry in data.items():
        ours, *others = pick(entry, "forward dynamics", CALL)
        batch = pick(entry, "forward dynamics", ONE)[0]
        head = [name, str(entry["nv"]), figure(ours["us"]), figure(batch["us"]), small(ours["error"])]
        if not others:
            rows.append([*head, "-", "-", "-", "-", "none can say it, or none is installed"])
        for p in others:
            balanced = p["who"].startswith("mujoco") and entry["balanced"]
            remark = f"{entry['balanced']} inertias balanced" if balanced else ""
            rows.append(
                [*head, times(p["us"] / ours["us"]), p["who"], figure(p["us"]), small(p["error"]), remark]
            )  # fmt: skip
            head = ["", "", "", "", ""]
    columns = ["robot", "nv", "kinloop call [µs]", "kinloop batch [µs]", "error", "ratio of calls", "peer", "[µs]",
               "its error", "remark"]  # fmt: skip
    return Table("Forward dynamics, one call", columns, rows)


def _rows(data: dict[str, Any], wanted: Callable[[dict[str, Any]], bool]) -> list[list[str]]:
    rows = []
    for name, entry in data.items():
        ours = {(r["quantity"], r["mode"]): r for r in entry["records"] if r["who"] == "kinloop"}
        for r in entry["records"]:
            if wanted(r) and r["who"] != "kinloop":
                own = ours[r["quantity"], r["mode"]]
                rows.append(
                    [
                        name, r["quantity"], r["mode"], times(r["us"] / own["us"]), figure(own["us"]), r["who"],
                        figure(r["us"]), small(own["error"]), small(r["error"]),
                    ]
                )  # fmt: skip
    return rows


COLUMNS = ["robot", "question", "mode", "ratio", "kinloop [µs]", "peer", "[µs]", "error", "its error"]


def other_table(data: dict[str, Any]) -> Table:
    rows = _rows(data, lambda r: r["mode"] == CALL and r["quantity"] not in ("forward dynamics", "step"))
    return Table("Inverse dynamics, mass matrix, Delassus matrix, one call", COLUMNS, rows)


def batch_table(data: dict[str, Any]) -> Table:
    rows = _rows(data, lambda r: r["mode"] in (ONE, ALL) and r["quantity"] == "forward dynamics")
    return Table("Forward dynamics of batches, per state", COLUMNS, rows)


def step_table(data: dict[str, Any]) -> Table:
    rows = [r[:7] for r in _rows(data, lambda r: r["quantity"] == "step")]
    return Table("Simulated steps of 1 ms without contact, per step", COLUMNS[:7], rows)


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
    out = [f"{text}; its columns are empty." for text in missing().values()]
    faster = [
        f"{name}, {r['quantity']}, {r['mode']}: {r['who']} takes {figure(r['us'])} µs, kinloop {figure(own['us'])} µs"
        for name, entry in data.items()
        for own in entry["records"]
        for r in entry["records"]
        if own["who"] == "kinloop" and r["who"] != "kinloop"
        and (r["quantity"], r["mode"]) == (own["quantity"], own["mode"]) and r["us"] < own["us"]
    ]  # fmt: skip
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
