"""The report: which parts, measured one after the other, kept as plain data, shown as sections."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from kinloop.bench import peer_scaling, peer_tables
from kinloop.bench.papers import chignoli_chains, chignoli_robots, chignoli_torques, sathya_motion, sathya_osim
from kinloop.bench.report_elements import Section
from kinloop.bench.timing import QUICK, Effort, machine, no_collector
from kinloop.errors import KinloopError, MethodError

Tasks = dict[str, Callable[[], Any]]


class Part(NamedTuple):
    """A part of the report: `tasks` to measure, each giving plain data, and how to show what they gave."""

    tasks: Callable[[Effort], Tasks]
    show: Callable[[dict[str, Any]], Section]


PARTS = {
    "clusters": Part(chignoli_robots.tasks, chignoli_robots.show),
    "chains": Part(chignoli_chains.tasks, chignoli_chains.show),
    "accuracy": Part(chignoli_torques.tasks, chignoli_torques.show),
    "motion": Part(sathya_motion.tasks, sathya_motion.show),
    "osim": Part(sathya_osim.tasks, sathya_osim.show),
    "peers": Part(peer_tables.tasks, peer_tables.show),
    "growth": Part(peer_scaling.tasks, peer_scaling.show),
}
GROUPS: dict[str, tuple[str, ...]] = {
    "papers": ("clusters", "chains", "accuracy", "motion", "osim"),
    "peers": ("peers",),
    "scaling": ("growth",),
    "all": tuple(PARTS),
}
"""Reports that can be asked for, and their parts."""

VISITS = 2
"""How often everything is measured, minutes apart: what disturbs a machine for a second does not decide."""

TIMES = ("us", "call_us", "batch_us")
"""Keys of the plain data that hold times."""

Progress = Callable[[int, int, str], None]
"""Called with tasks done, tasks in all, and what comes next."""


def run(
    which: str = "all", quick: bool = False, progress: Progress | None = None, menagerie: Path | None = None
) -> dict[str, Any]:
    """Measure a group of parts; everything that was found, ready for JSON.

    With `menagerie`, the folder of the MuJoCo Menagerie, its robots with loops stand beside the peers too.
    """
    effort, visits = (QUICK, 1) if quick else (Effort(), VISITS)
    todo = _todo(which, effort, menagerie)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # Pinocchio and MuJoCo are faster so, on matrices of this size
    report: dict[str, Any] = {
        "machine": machine(), "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "settings": {"quick": quick, "rounds": effort.rounds, "turn_seconds": effort.budget, "batch": effort.batch,
            "visits": visits,
        },
        "parts": {part: {} for part in GROUPS[which]}, "failed": {},
    }  # fmt: skip
    begin = time.perf_counter()
    with no_collector():
        for k, (part, label, task) in enumerate(visits * todo):
            if progress:
                progress(k, visits * len(todo), f"{part}: {label}")
            found = report["parts"][part]
            try:
                found[label] = better(found[label], task()) if label in found else task()
            except KinloopError as failure:
                report["failed"][f"{part}: {label}"] = str(failure)
    report["seconds"] = round(time.perf_counter() - begin, 1)
    return report


def _todo(which: str, effort: Effort, menagerie: Path | None) -> list[tuple[str, str, Callable[[], Any]]]:
    """What to measure: (part, label, task)."""
    if which not in GROUPS:
        raise MethodError(f"report {which!r} is not one of {', '.join(map(repr, GROUPS))}")
    tasks = {part: PARTS[part].tasks(effort) for part in GROUPS[which]}
    if menagerie is not None:
        if "peers" not in tasks:
            raise MethodError(f"report {which!r} has no robots of the Menagerie; leave its folder out, or take 'peers'")
        tasks["peers"] |= peer_tables.menagerie_tasks(effort, menagerie)
    return [(part, label, task) for part, found in tasks.items() for label, task in found.items()]


def better(old: Any, new: Any, key: str = "") -> Any:
    """The same findings with the shorter of two times everywhere."""
    if isinstance(old, dict):
        return {k: better(x, new[k], k) for k, x in old.items()}
    if isinstance(old, list | tuple):
        return [better(x, y, key) for x, y in zip(old, new, strict=True)]
    return min(old, new) if key in TIMES and old is not None else old


def sections(report: dict[str, Any]) -> list[Section]:
    """The report's parts in words, tables and plots."""
    return [PARTS[name].show(data) for name, data in report["parts"].items() if name in PARTS and data]


def conditions(report: dict[str, Any]) -> str:
    """One line: when, where, with what."""
    m = report["machine"]
    versions = ", ".join(f"{k} {v}" for k, v in m.items() if k not in ("cpu", "cores", "system", "load"))
    return (
        f"{report['date']}, {m['cpu']}, {m['cores']} cores, load {m['load']} at the start; {versions}; best of up to "
        f"{report['settings']['rounds']} interleaved turns, {_visits(report)}.{_caveat(report)}"
    )


def _visits(report: dict[str, Any]) -> str:
    n = report["settings"]["visits"]
    return "in one visit" if n == 1 else f"in {n} visits minutes apart"


def _caveat(report: dict[str, Any]) -> str:
    """What to distrust: batches on all cores while others were at work."""
    load = report["machine"]["load"]
    if load.replace(".", "").isdigit() and float(load) > 1.0:
        return " Other work shared the machine: rows of batches on all cores show no scaling and say nothing about it."
    return ""


def save(report: dict[str, Any], path: Path) -> Path:
    """Write the report as JSON, numbers to six digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_rounded(report), indent=1) + "\n", encoding="utf-8")
    return path


def read(path: Path) -> dict[str, Any]:
    """A report that was saved."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _rounded(x: Any) -> Any:
    if isinstance(x, dict):
        return {k: _rounded(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return [_rounded(v) for v in x]
    return float(f"{x:.6g}") if isinstance(x, float) else x
