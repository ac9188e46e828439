"""Signs of life: a bar on the error stream for work that takes more than a second, if that stream is a terminal.

Nothing is shown, and nothing is imported, for shorter work or where nobody looks at a terminal. One bar is shown at a
time: work inside other work, or beside it in another thread, stays silent.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

AFTER = 1.0
"""Seconds after which work is long enough to be shown."""

_terminal = threading.Lock()


def printable(text: str) -> str:
    """The text with everything that is no visible character written as an escape: names command no terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@contextlib.contextmanager
def claimed() -> Iterator[bool]:
    """Keep the terminal to oneself; whether it was free."""
    free = _terminal.acquire(blocking=False)
    try:
        yield free
    finally:
        if free:
            _terminal.release()


@contextlib.contextmanager
def working(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar while the body runs, gone when it is done; the body may say how much is done of a `total`."""
    with claimed() as free:
        if not free or sys.stderr is None or not sys.stderr.isatty():
            yield lambda done: None
            return
        bar = _Bar(what, total)
        timer = threading.Timer(AFTER, bar.show)
        timer.daemon = True
        timer.start()
        try:
            yield bar.report
        finally:
            timer.cancel()
            timer.join()
            bar.hide()


class _Bar:
    """A bar that may be shown later, or never."""

    def __init__(self, what: str, total: int | None) -> None:
        self._what, self._total, self._done = what, total, 0
        self._shown: Any = None

    def report(self, done: int) -> None:
        self._done = done
        if self._shown is not None:
            self._shown.update(self._shown.task_ids[0], completed=done)

    def show(self) -> None:
        from rich.console import Console  # here, since most work is done before
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        shown = Progress(*columns, console=Console(stderr=True), transient=True)
        shown.add_task(printable(self._what), total=self._total, completed=self._done)
        shown.start()
        self._shown = shown

    def hide(self) -> None:
        if self._shown is not None:
            self._shown.stop()
