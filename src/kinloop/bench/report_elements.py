"""What a report is made of: sections of text, tables and plots; shown on a terminal, in Markdown or as a page."""

from __future__ import annotations

from collections.abc import Iterable
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
    """A part of the report; `notes` say where figures differ from what was expected, and why."""

    title: str
    text: str
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def figure(x: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, without an exponent."""
    if x is None:
        return "-"
    text = f"{x:.{digits}g}"
    return f"{x:.0f}" if "e" in text and abs(x) >= 1 else text


def percent(x: float | None) -> str:
    return "-" if x is None else f"{x:+.1f} %"


def times(x: float | None) -> str:
    """A ratio."""
    return "-" if x is None else f"{figure(x, 3 if x < 100 else 2)}x"


def small(x: float | None) -> str:
    """A relative error."""
    return "-" if x is None else "0" if x == 0 else f"{x:.0e}".replace("e-0", "e-").replace("e+00", "")


def span(values: Iterable[float]) -> str:
    """The range of some percentages, as the papers print them."""
    v = list(values)
    return f"{min(v):+.0f} to {max(v):+.0f} %" if v else "-"
