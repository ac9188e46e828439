"""Around the robot: ground, light, camera; and the self-contained page with its caption."""

from __future__ import annotations

import contextlib
import html
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.robot import Robot
from kinloop.sim.contact.ground import Ground
from kinloop.spatial.transform import Array
from kinloop.viewer.appearance import half_extent
from kinloop.viewer.looks import Look
from kinloop.viewer.terrain import clearance, draw_ground


def viser() -> Any:
    """The module viser, or one sentence about what to install."""
    try:
        import viser
    except ImportError:
        raise MethodError("the viewer needs viser; pip install viser") from None
    return viser


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without viser's announcements, which belong to programs of its own."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def bounds(look: Look, R: Array, p: Array) -> tuple[Array, Array]:
    """Lowest and highest corner of a box that holds all shapes, over all poses (..., bodies, 3, 3)."""
    low, high = [p.reshape(-1, 3).min(axis=0)], [p.reshape(-1, 3).max(axis=0)]
    for i, shapes in enumerate(look.shapes):
        for s in shapes:
            centre, half = half_extent(s)
            at = p[..., i, :] + R[..., i, :, :] @ (s.placement.p + s.placement.R @ centre)
            reach = np.abs(R[..., i, :, :] @ s.placement.R) @ half
            low.append((at - reach).reshape(-1, 3).min(axis=0))
            high.append((at + reach).reshape(-1, 3).max(axis=0))
    a, b = np.min(low, axis=0), np.max(high, axis=0)
    return (a, b) if np.linalg.norm(b - a) > 1e-6 else (a - 0.1, b + 0.1)


def dress(server: Any, low: Array, high: Array, ground: Ground, size: float) -> None:
    """Ground, light and camera for a robot `size` metres large that moves between two corners."""
    scene = server.scene
    scene.set_up_direction("+z")
    scene.world_axes.visible = False
    draw_ground(scene, ground, low, high, size)
    span = float(np.linalg.norm(high - low))
    # lamps instead of an environment map: that one takes software renderers half a minute
    scene.configure_default_lights(True, cast_shadow=True)
    scene.configure_environment_map(None)
    scene.add_light_hemisphere("/light/sky", sky_color=(255, 255, 255), ground_color=(170, 168, 165), intensity=1.6)
    middle = 0.5 * (low + high)
    fill = tuple(float(x) for x in middle + span * np.array([0.2, -2.0, 1.0]))
    scene.add_light_directional("/light/fill", intensity=1.1, cast_shadow=False, position=fill)
    camera = server.initial_camera
    camera.up = (0.0, 0.0, 1.0)
    camera.look_at = tuple(middle)
    camera.position = tuple(eye(middle, span, ground))
    camera.near, camera.far = 1e-3 * span, 100.0 * span
    camera.fov = 0.75


def eye(middle: Array, span: float, ground: Ground) -> Array:
    """Where to look from: from the front right, else from the first side where no ground is in the way."""
    views = []
    for rise in (0.42, 1.0):
        for turn in np.pi / 4 * np.array([0, 1, -1, 2, -2, 3, -3, 4]):
            c, s = np.cos(turn), np.sin(turn)
            way = np.array([0.78 * c + 0.92 * s, 0.78 * s - 0.92 * c, rise])
            views.append(1.3 * span * way / np.linalg.norm(way))
    sight = np.linspace(0.3, 1.0, 30)[:, None]
    # a tenth of the span is clear enough; rounded, so that on level ground all sides are equal
    room = [round(min(clearance(ground, middle + sight * v) / span, 0.1), 3) for v in views]
    return middle + views[int(np.argmax(room))]


def caption(robot: Robot, look: Look, title: str | None, notes: str | None = None) -> str:
    """A line of text and the colours of the clusters, to lie over the picture."""
    legend = []
    for c, color in zip(robot.tree, look.colors, strict=True):
        if c.parts:
            names = ", ".join(robot.body_names[i] for i in c.bodies)
            dot = f'<i style="background:rgb{color}"></i>'
            legend.append(f"<div>{dot}{html.escape(names if len(names) < 60 else names[:57] + '...')}</div>")
    more = "" if len(legend) <= 12 else f"<div>and {len(legend) - 12} clusters more</div>"
    m = robot.mechanism
    degrees = "degree" if robot.nv == 1 else "degrees"
    sizes = (
        f"{robot.nv} {degrees} of freedom; bodies {len(m.bodies)}, loops {len(m.loops)}, couplings {len(m.couplings)}"
    )
    lines = [f"<b>{html.escape(title or robot.name)}</b>", f"<div>{sizes}</div>"]
    lines += [f"<div>{html.escape(notes)}</div>"] if notes else []
    style = (
        "#kinloop-caption{position:fixed;left:16px;bottom:64px;z-index:50;pointer-events:none;color:#222b38;max-width:34vw;"
        "font:13px/1.45 system-ui,sans-serif}#kinloop-caption b{font-size:17px}"
        "#kinloop-caption i{display:inline-block;width:10px;height:10px;border-radius:5px;margin-right:7px}"
        "#kinloop-caption section{margin-top:8px;font-size:11px;opacity:.85;white-space:nowrap}"
    )
    inside = "".join(lines) + f"<section>{''.join(legend[:12])}{more}</section>"
    return f'<style>{style}</style><div id="kinloop-caption">{inside}</div>'


def checked_path(path: str | Path) -> Path:
    """The path of a page; anything that does not end in .html is an error, before the work and not after it."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise MethodError(f"cannot write a recording to {path.name!r}; give a name that ends in .html")
    return path


def write(page: str, over: str, title: str, path: Path) -> Path:
    """The page with a caption over it, written to a file."""
    start = page.index("<title>") + len("<title>") if "<title>" in page else -1
    if start >= 0:
        page = page[:start] + html.escape(title) + page[page.index("</title>", start) :]
    end = page.rindex("</body>")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page[:end] + over + page[end:], encoding="utf-8")
    return path
