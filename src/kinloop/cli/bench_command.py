"""`kinloop bench`: the papers' tables and figures with our kernels, and the peers beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from kinloop.bench import report_svg
from kinloop.bench.peers import missing
from kinloop.bench.report import GROUPS, conditions, run, save, sections
from kinloop.bench.report_elements import Section
from kinloop.bench.report_html import write_report
from kinloop.cli.output_paths import writable
from kinloop.cli.terminal_output import add, console, plain_text, progress, table

WIDE = 170
"""Columns of the report where the output is not a terminal."""


def bench(
    which: Annotated[str, typer.Argument(help=f"{', '.join(GROUPS)}.", metavar="REPORT")] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="Fewer turns and sizes: minutes instead of tens.")] = False,
    menagerie: Annotated[
        Path | None, typer.Option(help="Folder of the MuJoCo Menagerie: measure Cassie and Robotiq 2F-85 too.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write everything that was measured.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with tables and plots.")] = None,
) -> None:
    """Reproduce the papers' tables and figures, and compare with Pinocchio and MuJoCo."""
    for path in (json, html):
        if path is not None:
            writable(path)
    with progress("starting") as bar:
        report = run(which, quick, bar, menagerie)
    out = console(WIDE)
    out.print(plain_text(conditions(report)))
    for section in sections(report):
        print_section(section, out)
    for what, why in report["failed"].items():
        out.print(plain_text(f"could not be measured: {what}: {why}"))
    for text in [*missing().values(), *([] if report_svg.available() else [report_svg.INSTALL])]:
        out.print(plain_text(text))
    if json is not None:
        out.print(plain_text(f"wrote {save(report, json)}"))
    if html is not None:
        out.print(plain_text(f"wrote {write_report(report, html)}"))


def print_section(section: Section, out: Console) -> None:
    """A section as text; its plots go to the page."""
    out.rule(plain_text(section.title), align="left")
    out.print(plain_text(section.text))
    for t in section.tables:
        shown = table(t.title, *t.columns)
        for row in t.rows:
            add(shown, *row)
        out.print(shown)
    for note in section.notes:
        out.print(plain_text(f"- {note}"))
