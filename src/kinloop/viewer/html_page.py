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

LEGEND = 24
"""Clusters that the caption names, at most."""

LETTERS = 48
"""Letters of a line of the legend, at most."""

SEPARATORS = "-_. /"
"""What ends the first part of a name."""


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


STYLE = (
    "#kinloop-caption{position:fixed;inset:0 auto 0 0;width:220px;box-sizing:border-box;padding:16px 14px;"
    "overflow:auto;overflow-wrap:anywhere;background:#fff;border-right:1px solid #dde2ea;color:#222b38;"
    "font:13px/1.45 system-ui,sans-serif}"
    "#kinloop-caption b{font-size:17px}#kinloop-caption section{margin-top:10px;font-size:11px;color:#48566a}"
    "#kinloop-caption i{display:inline-block;width:10px;height:10px;border-radius:5px;margin-right:7px}"
    # viser's own page beside it; the transform holds what it fixes to the window
    "#root{position:fixed;inset:0 0 0 220px;width:auto!important;height:auto!important;transform:translateZ(0)}"
    "@media(max-width:700px){#kinloop-caption{inset:0 0 auto 0;width:auto;height:76px;padding:8px 14px}"
    "#root{inset:76px 0 0 0}}"
)
"""The caption stands in a column of its own; on narrow screens, in a strip above the picture."""


def caption(robot: Robot, look: Look, title: str | None, notes: str | None = None) -> str:
    """A few lines of text and the colours of the clusters, to stand beside the picture."""
    legend = []
    for c, color in zip(robot.tree, look.colors, strict=True):
        if c.parts:
            dot = f'<i style="background:rgb{color}"></i>'
            legend.append(f"<div>{dot}{html.escape(short_names([robot.body_names[i] for i in c.bodies]))}</div>")
    more = "" if len(legend) <= LEGEND else f"<div>and {len(legend) - LEGEND} clusters more</div>"
    lines = [f"<b>{html.escape(title or robot.name)}</b>", f"<div>{sizes(robot)}</div>"]
    lines += [f"<div>{html.escape(notes)}</div>"] if notes else []
    inside = "".join(lines) + f"<section>{''.join(legend[:LEGEND])}{more}</section>"
    return f'<style>{STYLE}</style><div id="kinloop-caption">{inside}</div>'


def short_names(names: list[str]) -> str:
    """Names of bodies in few letters: what they begin with in common only once, at most `LETTERS` in all."""
    start = names[0] if len(names) > 1 else ""
    while start and (start in names or start[-1] not in SEPARATORS or not all(x.startswith(start) for x in names)):
        start = start[:-1]
    text = start.rstrip(SEPARATORS) + ": " if start else ""
    text += ", ".join(name[len(start) :] for name in names)
    return text if len(text) <= LETTERS else text[: LETTERS - 3] + "..."


def write_page(page: str, beside: str, title: str, path: Path) -> Path:
    """The page with a caption beside it, written to a file."""
    start = page.index("<title>") + len("<title>") if "<title>" in page else -1
    if start >= 0:
        page = page[:start] + html.escape(title) + page[page.index("</title>", start) :]
    end = page.rindex("</body>")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page[:end] + beside + page[end:], encoding="utf-8")
    return path
