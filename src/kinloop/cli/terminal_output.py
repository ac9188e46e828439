"""What the commands print with: tables of plain text; progress bars on whatever takes more than a second."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Protocol

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from kinloop.progress import claimed, printable

WIDE = 140
"""Columns where the output is not a terminal: names are then not cut."""


def console(width: int = WIDE) -> Console:
    """Where commands print to; at least `width` columns where that is not a terminal."""
    out = Console()
    return out if out.is_terminal else Console(width=max(out.width, width))


def plain_text(text: Any) -> Text:
    """The text as it stands: brackets in names are no markup, and nothing in them commands the terminal."""
    return Text(printable(str(text)))


def say(text: str) -> None:
    """Print a sentence that may hold names and paths."""
    console().print(plain_text(text), soft_wrap=True)


def table(title: str, *columns: str, numbers: tuple[str, ...] = ()) -> Table:
    """An empty table; columns named in `numbers` are aligned to the right and not broken."""
    t = Table(title=plain_text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        right = name in numbers
        t.add_column(plain_text(name), justify="right" if right else "left", no_wrap=right, overflow="fold")
    return t


def add(t: Table, *cells: Any) -> None:
    """A row of plain text."""
    t.add_row(*map(plain_text, cells))


class Report(Protocol):
    """Tells a progress bar how much is done of how much, and what comes next."""

    def __call__(self, done: int, total: int, what: str | None = None) -> None: ...


@contextlib.contextmanager
def progress(what: str) -> Iterator[Report]:
    """A bar on the error stream, if that is a terminal; gone when the work is done."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    errors = Console(stderr=True)
    with claimed(), Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task(printable(what), total=None)

        def report(done: int, total: int, what: str | None = None) -> None:
            bar.update(task, completed=done, total=total, description=None if what is None else printable(what))

        yield report


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """A sign of life for work whose length nobody knows, if on a terminal."""
    errors = Console(stderr=True)
    with claimed(), errors.status(plain_text(what)) if errors.is_terminal else contextlib.nullcontext():
        yield
