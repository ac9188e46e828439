"""What the commands print with: tables of plain text, progress bars on whatever takes more than a second."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

WIDE = 140
"""Columns where the output is not a terminal: names are then not cut."""


def console() -> Console:
    out = Console()
    return out if out.is_terminal else Console(width=max(out.width, WIDE))


def table(title: str, *columns: str, numbers: tuple[str, ...] = ()) -> Table:
    t = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        right = name in numbers
        t.add_column(Text(name), justify="right" if right else "left", no_wrap=right, overflow="fold")
    return t


def add(t: Table, *cells: Any) -> None:
    """A row of plain text: brackets in names are no markup."""
    t.add_row(*(Text(str(c)) for c in cells))


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the error stream, if a terminal: call what this gives with (done, all); gone when the work is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    errors = Console(stderr=True)
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """A sign of life for work whose length nobody knows, if on a terminal."""
    errors = Console(stderr=True)
    with errors.status(what) if errors.is_terminal else contextlib.nullcontext():
        yield
