"""Write docs/benchmarks.md, its plots and the README's benchmark lines from the committed report.

    python benchmarks/write_docs.py

A test compares what is committed with the report, docs/benchmarks/report.json.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kinloop.bench import report_svg
from kinloop.bench.contenders import CALL, ONE
from kinloop.bench.number_format import digits, magnitude, ratio
from kinloop.bench.peer_tables import front, pick
from kinloop.bench.report import conditions, read, sections
from kinloop.bench.report_elements import Plot, Section, Table

ROOT = Path(__file__).resolve().parents[1]
REPORT, PAGE, FOLDER = "docs/benchmarks/report.json", "docs/benchmarks.md", "docs/benchmarks"
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
README_PLOT = "growth_four_bar_chain"
RERUN = """## Run it yourself

```sh
python -m pip install '.[peers]'
kinloop bench all --json report.json --html report.html    # tens of minutes
kinloop bench --quick                                      # minutes: fewer turns and sizes
kinloop bench papers                                       # or peers, or scaling
kinloop bench peers --menagerie FOLDER                     # with Cassie and Robotiq 2F-85 of the MuJoCo Menagerie
```

Times are the best of many short turns, all contenders in turn on one core, warmed up, so that noise hits all alike.
Ratios travel between machines better than microseconds. This page is written from
[benchmarks/report.json](benchmarks/report.json) by `python benchmarks/write_docs.py`.
"""


def table_markdown(t: Table) -> str:
    """A table with its title."""
    lines = [f"**{t.title}**", "", "| " + " | ".join(t.columns) + " |", "|" + "---|" * len(t.columns)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in t.rows]
    return "\n".join(lines)


def section_markdown(s: Section, drawn: set[str]) -> str:
    """A section with its notes, the plots of it that are drawn, and its tables."""
    parts = [f"## {s.title}", s.text]
    parts += ["\n".join(f"- {note}" for note in s.notes)] if s.notes else []
    parts += [f"![{p.title}](benchmarks/{p.name}.svg)" for p in s.plots if p.name in drawn]
    parts += [table_markdown(t) for t in s.tables]
    return "\n\n".join(parts)


def page_markdown(report: dict[str, Any], drawn: set[str]) -> str:
    """The whole page."""
    failed = [f"- Could not be measured: {what}: {why}" for what, why in report["failed"].items()]
    parts = ["# Benchmarks", conditions(report), *failed, RERUN.strip()]
    parts += [section_markdown(s, drawn) for s in sections(report)]
    return "\n\n".join(parts) + "\n"


def against(entry: dict[str, Any], who: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Our record and a peer's, one call of forward dynamics."""
    records = pick(entry, "forward dynamics", CALL)
    return records[0], next(r for r in records if r["who"] == who)


def readme_lines(report: dict[str, Any]) -> str:
    """The three most telling lines and one plot."""
    rows = []
    for part, label, title, peers in (
        ("growth", "four_bar_chain 20", "20 four-bars in a chain", ("pinocchio lcaba", "mujoco mj_forward")),
        ("peers", "mini_cheetah", "Mini Cheetah with rotors", ("pinocchio crba + nle + solve", "mujoco mj_forward")),
        ("peers", "Talos", "Talos, a tree", ("pinocchio aba", "mujoco mj_forward")),
    ):
        entry = report["parts"][part][label]
        ours, batch = pick(entry, "forward dynamics", CALL)[0], pick(entry, "forward dynamics", ONE)[0]
        method, calls = front(entry, "forward dynamics"), f"{digits(ours['us'])} ({digits(batch['us'])} in a batch)"
        cells = [title, f"robot {digits(method)}, kernel {calls}" if method else calls, magnitude(ours["error"])]
        for who in peers:
            own, peer = against(entry, who)
            cells.append(
                f"{who}: {digits(peer['us'])}, {ratio(peer['us'] / own['us'])}, error {magnitude(peer['error'])}"
            )
        rows.append(cells)
    columns = ["forward dynamics [µs]", "kinloop, a call from Python", "error", "Pinocchio", "MuJoCo"]
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    text = f"On one core of {report['machine']['cpu']}; all tables: [docs/benchmarks.md](docs/benchmarks.md)."
    shown = f"![Forward dynamics of a chain of four-bars](docs/benchmarks/{README_PLOT}.svg)"
    return "\n".join(["## How fast", *lines, "", f"{shown} {text} Yours: `kinloop bench --quick`."])


def with_block(readme: str, block: str) -> str:
    """The README with its benchmark block replaced, or added before the layout."""
    marked = f"{BEGIN}\n{block} {END}"  # few lines: the README is short
    if BEGIN in readme:
        return readme[: readme.index(BEGIN)] + marked + readme[readme.index(END) + len(END) :]
    at = readme.index("## Layout")
    return f"{readme[:at]}{marked}\n\n{readme[at:]}"


def all_plots(report: dict[str, Any]) -> list[Plot]:
    """The plots of all sections."""
    return [p for s in sections(report) for p in s.plots]


def write(root: Path) -> list[Path]:
    """Write the page, its plots and the README's block of a checkout; the files written."""
    report = read(root / REPORT)
    written = []
    for p in all_plots(report):
        small_one = p.name == README_PLOT
        path = root / FOLDER / f"{p.name}.svg"
        path.write_text(report_svg.svg(p, *((6.0, 2.8) if small_one else (7.2, 3.6))), encoding="utf-8")
        written.append(path)
    (root / PAGE).write_text(page_markdown(report, {p.name for p in all_plots(report)}), encoding="utf-8")
    readme = root / "README.md"
    readme.write_text(with_block(readme.read_text(encoding="utf-8"), readme_lines(report)), encoding="utf-8")
    return [*written, root / PAGE, readme]


if __name__ == "__main__":
    for path in write(ROOT):
        print(path)
