"""A diagram of a mechanism: bodies as dots, joints as lines, loops dashed, clusters as coloured fields."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise

import kinloop as kl
from kinloop.viewer.robot_look import PLAIN, cluster_colors

STEP, ROW, DOT, EDGE = 58, 30, 7, 26
FEW, WIDER = 17, 1.6
"""With so many bodies or fewer their names are written below them, and everything is drawn so much wider."""


def places(robot: kl.Robot, wide: float) -> list[tuple[float, float]]:
    """Where each body is drawn: the world at the left, children right of their parents, leaves below each other."""
    parent = robot.tree.top.parent
    children: dict[int, list[int]] = {}
    for i, above in enumerate(parent):
        children.setdefault(above, []).append(i)
    at: dict[int, tuple[float, float]] = {}
    rows = iter(range(len(parent) + 1))

    def put(i: int, depth: int) -> float:
        below = [put(k, depth + 1) for k in children.get(i, [])]
        row = sum(below) / len(below) if below else float(next(rows))
        at[i] = (EDGE + wide * depth * STEP, EDGE + wide * row * ROW)
        return row

    put(-1, 0)
    return [at[i] for i in range(-1, len(parent))]


def ends(robot: kl.Robot) -> Iterator[tuple[str, list[int]]]:
    """Name of every loop and coupling, and the bodies it ties."""
    top = robot.tree.top
    for closure in robot.mechanism.closures:
        tied = sorted(set(closure.bodies(top)))
        yield closure.name, tied if len(tied) > 1 else [-1, *tied]


def svg(robot: kl.Robot) -> str:
    """The diagram as SVG."""
    top, names = robot.tree.top, robot.body_names
    few = len(names) <= FEW
    at = places(robot, WIDER if few else 1.0)
    width = max(x for x, _ in at) + EDGE + (20 if few else 0)
    height = max(y for _, y in at) + EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{min(width, 760):.0f}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    colors = ["#{:02x}{:02x}{:02x}".format(*c) for c in cluster_colors(robot)]
    plain = "#{:02x}{:02x}{:02x}".format(*PLAIN)
    for i, above in enumerate(top.parent):
        (x0, y0), (x1, y1) = at[above + 1], at[i + 1]
        kind = type(top.types[i]).__name__.lower()
        line = f'<path d="M{x0:.0f} {y0:.0f} L{x1:.0f} {y1:.0f}" stroke="#555" stroke-width="1.5" fill="none">'
        parts.append(f"{line}<title>{escape(robot.joint_names[i])} ({kind})</title></path>")
    for name, tied in ends(robot):
        for a, b in pairwise(tied):
            (x0, y0), (x1, y1) = at[a + 1], at[b + 1]
            bend = 0.5 * (x0 + x1) + 22, 0.5 * (y0 + y1) - 16
            curve = f"M{x0:.0f} {y0:.0f} Q{bend[0]:.0f} {bend[1]:.0f} {x1:.0f} {y1:.0f}"
            style = 'stroke="#d62830" stroke-width="1.6" stroke-dasharray="4 3" fill="none"'
            parts.append(f'<path d="{curve}" {style}><title>{escape(name)}</title></path>')
    for i, (x, y) in enumerate(at[1:]):
        color = colors[robot.tree.cluster_of[i]]
        edge = "#333" if color != plain else "#888"
        dot = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{DOT}" fill="{color}" stroke="{edge}">'
        parts.append(f"{dot}<title>{escape(names[i])}</title></circle>")
        if few:
            parts.append(
                f'<text x="{x:.0f}" y="{y + 19:.0f}" fill="#222" text-anchor="middle">{escape(names[i])}</text>'
            )
    x, y = at[0]
    parts.append(
        f'<rect x="{x - 7:.0f}" y="{y - 7:.0f}" width="14" height="14" fill="#444"><title>world</title></rect>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"
