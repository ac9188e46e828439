"""`kinloop bench`: the papers' tables and figures with our kernels, and the peers beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from kinloop.bench import report_svg as plots
from kinloop.bench.peers import missing
from kinloop.bench.report import GROUPS, conditions, run, save, sections
from kinloop.bench.report_elements import Section
from kinloop.bench.report_html import write_page

WIDE = 170


def bench(
    which: Annotated[str, typer.Argument(help=f"{', '.join(GROUPS)}.", metavar="REPORT")] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="Fewer turns and sizes: minutes instead of tens.")] = False,
    json: Annotated[Path | None, typer.Option(help="Write everything that was measured.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with tables and plots.")] = None,
) -> None:
    """Reproduce the papers' tables and figures, and compare with Pinocchio and MuJoCo."""
    report = measured(which, quick)
    say = Console()
    if not say.is_terminal:
        say = Console(width=max(say.width, WIDE))
    say.print(Text(conditions(report)))
    for section in sections(report):
        show(section, say)
    for what, why in report["failed"].items():
        say.print(Text(f"could not be measured: {what}: {why}"))
    for text in [*missing().values(), *([] if plots.available() else [plots.INSTALL])]:
        say.print(Text(text))
    if json is not None:
        say.print(Text(f"wrote {save(report, json)}"))
    if html is not None:
        say.print(Text(f"wrote {write_page(report, html)}"))


def measured(which: str, quick: bool) -> dict[str, Any]:
    """Run a report under a progress bar on the error stream."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def progress(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=what)

        return run(which, quick, progress)


def show(section: Section, say: Console) -> None:
    """A section as text; its plots go to the page."""
    say.rule(Text(section.title), align="left")
    say.print(Text(section.text))
    for t in section.tables:
        out = Table(title=Text(t.title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for name in t.columns:
            out.add_column(Text(name), overflow="fold")
        for row in t.rows:
            out.add_row(*(Text(cell) for cell in row))
        say.print(out)
    for note in section.notes:
        say.print(Text(f"- {note}"))
