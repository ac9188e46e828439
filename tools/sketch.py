"""Small line drawings as SVG: bodies as bars, hinges, arrows, matrices, and labels with formulas in them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape

INK, GREY, PALE = "#333333", "#8a929e", "#dfe3ea"
BLUE, ORANGE, GREEN, VIOLET, RED = "#2f6fbb", "#e8871e", "#2c9662", "#8e5bb2", "#d62830"
TINT = {BLUE: "#d5e2f1", ORANGE: "#fae7d2", GREEN: "#d5eadf", VIOLET: "#e8def0", RED: "#f7d4d6", GREY: "#eceef1"}
"""A light field of each colour."""

SIZE, SMALL = 12.0, 0.72
"""Height of letters [px], and of sub- and superscripts relative to it."""

Point = tuple[float, float]
Box = tuple[float, float, float, float]


def along(a: Point, b: Point, t: float, aside: float = 0.0) -> Point:
    """The point at the part t of the way from a to b, so far to the left of it as seen on the page."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = math.hypot(dx, dy) or 1.0
    return a[0] + t * dx + aside * dy / length, a[1] + t * dy - aside * dx / length


def polar(a: Point, length: float, degrees: float) -> Point:
    """The point at a distance and direction from a, counted as in school: 90 is up."""
    return a[0] + length * math.cos(math.radians(degrees)), a[1] - length * math.sin(math.radians(degrees))


def pieces(text: str) -> list[tuple[str, bool, int]]:
    """(letters, italic?, level) of a label: formulas stand between dollars, `_` and `^` take a letter or braces."""
    found: list[tuple[str, bool, int]] = []
    for k, part in enumerate(text.split("$")):
        if k % 2 == 0:
            found += [(part, False, 0)] if part else []
            continue
        for mark, group, letter, plain in re.findall(r"([_^])(?:\{([^}]*)\}|(.))|([^_^]+)", part):
            found.append((plain, True, 0) if plain else (group or letter, True, -1 if mark == "_" else 1))
    return found


def width_of(text: str) -> float:
    """About how wide a label is [px]."""
    return sum(len(letters) * SIZE * (SMALL if level else 1.0) * 0.56 for letters, _, level in pieces(text))


class Sketch:
    """A drawing of a given size [px]; `labels` are the boxes of its texts, so that a test sees them not overlap."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.labels: list[tuple[str, Box]] = []
        self._parts: list[str] = []

    def _add(self, tag: str, **attributes: object) -> None:
        written = " ".join(f'{k.rstrip("_").replace("_", "-")}="{v}"' for k, v in attributes.items() if v is not None)
        self._parts.append(f"<{tag} {written}/>")

    def path(self, points: Sequence[Point], color: str = INK, wide: float = 1.5, dash: str | None = None,
             fill: str = "none", smooth: bool = False, closed: bool = False) -> None:  # fmt: skip
        """A line through points, straight or smooth."""
        d = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
        if smooth:
            for k in range(1, len(points)):
                before, a, b, after = (points[min(max(j, 0), len(points) - 1)] for j in range(k - 2, k + 2))
                c1 = a[0] + (b[0] - before[0]) / 6, a[1] + (b[1] - before[1]) / 6
                c2 = b[0] - (after[0] - a[0]) / 6, b[1] - (after[1] - a[1]) / 6
                d += "C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in (c1, c2, b))
        else:
            d += "".join(f"L{x:.1f} {y:.1f}" for x, y in points[1:])
        d += "Z" if closed else ""
        style = {"stroke_width": wide, "stroke_dasharray": dash, "stroke_linecap": "round", "stroke_linejoin": "round"}
        self._add("path", d=d, fill=fill, stroke=color, **style)

    def arrow(self, *points: Point, color: str = INK, wide: float = 1.6, dash: str | None = None) -> None:
        """An arrow through points to the last one."""
        end, before = points[-1], points[-2]
        turn = math.atan2(end[1] - before[1], end[0] - before[0])
        head = [(end[0] - 8 * math.cos(turn + s), end[1] - 8 * math.sin(turn + s)) for s in (0.42, -0.42)]
        inside = end[0] - 6 * math.cos(turn), end[1] - 6 * math.sin(turn)
        self.path([*points[:-1], inside], color, wide, dash, smooth=len(points) > 2)
        self.path([head[0], end, head[1]], color, 1.0, fill=color, closed=True)

    def turn(self, center: Point, radius: float, start: float, end: float, color: str = INK) -> None:
        """An arrow around a point, from one direction to another [degrees]."""
        steps = max(3, int(abs(end - start) / 20))
        self.arrow(
            *(polar(center, radius, start + k * (end - start) / steps) for k in range(steps + 1)), color=color, wide=1.4
        )

    def bar(self, *points: Point, color: str = BLUE, wide: float = 9.0, ghost: bool = False) -> None:
        """A rigid body: a rounded bar along points."""
        self.path(points, GREY if ghost else color, wide + 1.6)
        self.path(points, "#ffffff" if ghost else TINT[color], wide - 1.2)

    def hinge(self, at: Point, color: str = INK, radius: float = 4.2) -> None:
        """A hinge seen along its axis."""
        self._add(
            "circle", cx=f"{at[0]:.1f}", cy=f"{at[1]:.1f}", r=radius, fill="white", stroke=color, stroke_width=1.6
        )

    def dot(self, at: Point, color: str = INK, radius: float = 3.0) -> None:
        self._add("circle", cx=f"{at[0]:.1f}", cy=f"{at[1]:.1f}", r=radius, fill=color)

    def mass(self, at: Point, radius: float = 5.0) -> None:
        """A centre of mass: a disc in quarters."""
        x, y = at
        self.hinge(at, INK, radius)
        quarters = f"M{x} {y}h{radius}a{radius} {radius} 0 0 0 {-radius} {-radius}zM{x} {y}h{-radius}"
        self._add("path", d=f"{quarters}a{radius} {radius} 0 0 0 {radius} {radius}z", fill=INK)

    def ground(self, at: Point, width: float = 34.0, below: float = 0.0) -> None:
        """A piece of ground below a point."""
        x, y = at[0] - width / 2, at[1] + below
        self.path([(x, y), (x + width, y)], INK, 1.8)
        for k in range(int(width // 6)):
            self.path([(x + 6 * k + 5, y + 1), (x + 6 * k, y + 6)], GREY, 1.0)

    def node(self, at: Point, color: str = BLUE, inside: str = "", radius: float = 11.0) -> None:
        """A body of a tree, with a short name in it."""
        style = {"fill": TINT[color], "stroke": color, "stroke_width": 1.6}
        self._add("circle", cx=f"{at[0]:.1f}", cy=f"{at[1]:.1f}", r=radius, **style)
        if inside:
            self.text(at, inside, "middle")

    def world(self, at: Point) -> None:
        """The world in a tree: a dark square."""
        self._add("rect", x=at[0] - 7, y=at[1] - 7, width=14, height=14, fill="#444")

    def field(self, corner: Point, width: float, height: float, color: str, dash: str | None = None) -> None:
        """A light field with round corners."""
        style = {"fill": TINT[color], "stroke": color, "stroke_width": 1.0, "stroke_dasharray": dash}
        self._add("rect", x=corner[0], y=corner[1], width=width, height=height, rx=8, **style)

    def matrix(self, corner: Point, rows: Iterable[str], colors: dict[str, str], cell: float = 15.0) -> None:
        """A matrix of small squares: a letter is a colour of `colors`, a dot a zero."""
        lines = list(rows)
        wide, high = cell * len(lines[0]), cell * len(lines)
        for letter, color in colors.items():
            filled = [(i, j) for i, line in enumerate(lines) for j, other in enumerate(line) if other == letter]
            squares = (
                f"M{corner[0] + j * cell:g} {corner[1] + i * cell:g}h{cell:g}v{cell:g}h-{cell:g}z" for i, j in filled
            )
            if filled:
                self._add("path", d="".join(squares), fill=TINT[color], stroke=color, stroke_width=0.8)
        for x, out in ((corner[0] - 3, 4), (corner[0] + wide + 3, -4)):
            top, low = corner[1] - 2, corner[1] + high + 2
            self.path([(x + out, top), (x, top), (x, low), (x + out, low)], INK, 1.2)

    def text(self, at: Point, text: str, anchor: str = "start", color: str = INK) -> None:
        """A label whose middle line is at a point; formulas stand between dollars."""
        x, y = at[0], at[1] + 0.35 * SIZE
        wide = width_of(text)
        left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * wide
        self.labels.append((text, (left, y - 0.75 * SIZE, left + wide, y + 0.25 * SIZE)))
        spans, level = [], 0
        for letters, italic, now in pieces(text):
            shift = (level - now) * 0.3 * SIZE
            style = f' dy="{shift:.1f}"' if shift else ""
            style += f' font-size="{SMALL * SIZE:.1f}"' if now else ""
            style += ' font-style="italic" font-family="serif"' if italic else ""
            spans.append(f"<tspan{style}>{escape(letters)}</tspan>")
            level = now
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}" xml:space="preserve"'
        self._parts.append(f"<text {place}>{''.join(spans)}</text>")

    def svg(self) -> str:
        """The drawing as a file."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
        head += f'font-family="sans-serif" font-size="{SIZE:.0f}">'
        return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *self._parts, "</svg>"]) + "\n"
