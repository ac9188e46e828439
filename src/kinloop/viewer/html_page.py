"""The self-contained page of a recording: its path, its caption, its file.

Names come from model files and are hostile: they enter a page only through `html.escape`.
"""

from __future__ import annotations

import html
from pathlib import Path

from kinloop.errors import MethodError
from kinloop.robot import Robot
from kinloop.viewer.robot_look import Look
from kinloop.viewer.viser_server import import_viser

LEGEND = 12
"""Clusters that the caption names, at most."""


def checked_page_path(path: str | Path) -> Path:
    """The path of a page; an error, before the work and not after it, where it is none or none can be made."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise MethodError(f"cannot write a recording to {path.name!r}; give a name that ends in .html")
    import_viser()
    return path


def sizes(robot: Robot) -> str:
    """How many degrees of freedom, bodies, loops and couplings a robot has."""
    m = robot.mechanism
    degrees = "degree" if robot.nv == 1 else "degrees"
    return (
        f"{robot.nv} {degrees} of freedom; bodies {len(m.bodies)}, loops {len(m.loops)}, couplings {len(m.couplings)}"
    )


def headline(robot: Robot) -> str:
    """The robot's name and sizes, as HTML for a panel."""
    style = "padding:0 0.75em;overflow-wrap:anywhere"
    return f'<div style="{style}"><b>{html.escape(robot.name)}</b>: {sizes(robot)}</div>'


def caption(robot: Robot, look: Look, title: str | None, notes: str | None = None) -> str:
    """A line of text and the colours of the clusters, to lie over the picture."""
    legend = []
    for c, color in zip(robot.tree, look.colors, strict=True):
        if c.parts:
            names = ", ".join(robot.body_names[i] for i in c.bodies)
            dot = f'<i style="background:rgb{color}"></i>'
            legend.append(f"<div>{dot}{html.escape(names if len(names) < 60 else names[:57] + '...')}</div>")
    more = "" if len(legend) <= LEGEND else f"<div>and {len(legend) - LEGEND} clusters more</div>"
    lines = [f"<b>{html.escape(title or robot.name)}</b>", f"<div>{sizes(robot)}</div>"]
    lines += [f"<div>{html.escape(notes)}</div>"] if notes else []
    style = (
        "#kinloop-caption{position:fixed;left:16px;bottom:64px;z-index:50;pointer-events:none;color:#222b38;max-width:34vw;"
        "font:13px/1.45 system-ui,sans-serif}#kinloop-caption b{font-size:17px}"
        "#kinloop-caption i{display:inline-block;width:10px;height:10px;border-radius:5px;margin-right:7px}"
        "#kinloop-caption section{margin-top:8px;font-size:11px;opacity:.85;white-space:nowrap}"
    )
    inside = "".join(lines) + f"<section>{''.join(legend[:LEGEND])}{more}</section>"
    return f'<style>{style}</style><div id="kinloop-caption">{inside}</div>'


def write_page(page: str, over: str, title: str, path: Path) -> Path:
    """The page with a caption over it, written to a file."""
    start = page.index("<title>") + len("<title>") if "<title>" in page else -1
    if start >= 0:
        page = page[:start] + html.escape(title) + page[page.index("</title>", start) :]
    end = page.rindex("</body>")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page[:end] + over + page[end:], encoding="utf-8")
    return path
