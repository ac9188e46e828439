"""What a report is made of: sections of text, tables and plots; shown on a terminal, in Markdown or as a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Table:
    """Cells of text under column names."""

    title: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Plot:
    """Named series of (x, y). Lines over numbers, or bars over names, side by side."""

    name: str
    title: str
    series: dict[str, tuple[list[Any], list[float]]]
    x: str = ""
    y: str = "time per state [µs]"
    bars: bool = False
    log: bool = False
    log_x: bool = False


@dataclass(frozen=True)
class Section:
    """A part of the report; `notes` say where the results differ from what was expected, and why."""

    title: str
    text: str
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
