"""`kinloop view`: a robot in the browser."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import kinloop as kl
from kinloop.cli.robot_argument import Floating, Name, Options, find
from kinloop.cli.terminal_output import console, progress, waiting

REACH = 0.3
"""How far the coordinates of a page's motion go [rad, m]."""


def view(
    name: Name,
    option: Options = None,
    floating: Floating = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the robot moving instead.")] = None,
    port: Annotated[int, typer.Option(help="Port of the live view.")] = 8080,
    frames: Annotated[bool, typer.Option("--frames", help="Show the bodies' frames.")] = False,
    seconds: Annotated[float, typer.Option(help="Length of the page's motion; 0 for a still.")] = 4.0,
) -> None:
    """Show a robot live, with a slider for each independent coordinate; or write a page."""
    robot = find(name, option, floating)
    if html is not None:
        times, Q = tour(robot, seconds)
        with progress("recording") as report:
            from kinloop import viewer

            path = viewer.record(robot, times, Q, html, axes=frames, progress=report)
        console().print(f"wrote {path}", soft_wrap=True)
        return
    with waiting("starting the viewer"):
        from kinloop import viewer

        live = viewer.show(robot, port=port, axes=frames)
    console().print(f"{robot.name} is at {live.url} (Ctrl-C ends)", soft_wrap=True)
    if sys.stdout.isatty():
        webbrowser.open(live.url)
    live.wait()


def tour(robot: kl.Robot, seconds: float, fps: float = 40.0) -> tuple[np.ndarray, np.ndarray]:
    """A motion that shows what moves: every independent coordinate to and fro, loops closed, the base at rest."""
    count = max(1, round(seconds * fps))
    times = np.arange(count) / fps
    moving = np.array([0.0 if "[" in name else 1.0 for name in robot.independent_names])
    moving = moving if moving.any() else np.ones(robot.nv)
    phase = 2 * np.pi * np.arange(robot.nv) / max(robot.nv, 1)
    pace = 2 * np.pi / max(seconds, 1.0 / fps)
    q, Q = robot.neutral(), []
    for t in times:
        Q.append(q)
        q = _ahead(robot, q, REACH * pace / fps * np.cos(pace * t + phase) * moving)
    return times, np.array(Q)


def _ahead(robot: kl.Robot, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """q after a step of its independent coordinates; q itself where the loops do not let it through."""
    try:
        ahead = robot.integrate(q, step)
        robot.check_closed(ahead, 1e-8)
    except kl.KinloopError:
        return q
    # a loop that jumps to another branch goes much farther than its rates say
    expected = float(np.max(np.abs(robot.spanning_velocity(q, step)), initial=0.0))
    return ahead if np.max(np.abs(ahead - q)) < 2 * expected + 0.05 else q
