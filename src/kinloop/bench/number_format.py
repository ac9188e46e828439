"""Numbers as text for the tables of a report; a dash for what was not measured."""

from __future__ import annotations

from collections.abc import Iterable


def digits(x: float | None, count: int = 3) -> str:
    """A number with `count` significant digits, without an exponent."""
    if x is None:
        return "-"
    text = f"{x:.{count}g}"
    return f"{x:.0f}" if "e" in text and abs(x) >= 1 else text


def percent(x: float | None) -> str:
    """A percentage with its sign."""
    return "-" if x is None else f"{x:+.1f} %"


def percent_range(values: Iterable[float]) -> str:
    """The smallest and the largest of some percentages, as the papers print them."""
    v = list(values)
    return f"{min(v):+.0f} to {max(v):+.0f} %" if v else "-"


def ratio(x: float | None) -> str:
    """How many times as long something takes."""
    return "-" if x is None else f"{digits(x, 3 if x < 100 else 2)}x"


def magnitude(x: float | None) -> str:
    """A relative error with one digit and a short exponent."""
    return "-" if x is None else "0" if x == 0 else f"{x:.0e}".replace("e-0", "e-").replace("e+00", "")
