"""`kinloop view`: a robot in the browser."""

from __future__ import annotations

import math
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from kinloop import viewer
from kinloop.cli.output_paths import writable
from kinloop.cli.robot_argument import Floating, Name, Options, Packages, find
from kinloop.cli.terminal_output import progress, say, waiting
from kinloop.errors import MethodError
from kinloop.viewer.html_page import checked_page_path
from kinloop.viewer.tour_motion import tour
from kinloop.viewer.viser_scene import PARTS, checked_parts
from kinloop.viewer.viser_server import free_port


def view(
    name: Name,
    option: Options = None,
    floating: Floating = None,
    packages: Packages = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the robot moving instead.")] = None,
    port: Annotated[int, typer.Option(help="Port of the live view.")] = 8080,
    show: Annotated[
        list[str] | None, typer.Option(help=f"Show this too; again for more: {', '.join(PARTS)}.", metavar="PART")
    ] = None,
    seconds: Annotated[float, typer.Option(help="Length of the page's motion; 0 for a still.")] = 4.0,
) -> None:
    """Show a robot live, with a slider for each independent coordinate; or write a page."""
    if not 0 <= seconds < math.inf:
        raise MethodError(f"--seconds must be a finite number not below zero, received {seconds:g}")
    parts = checked_parts(show or ())
    if html is not None:
        html = writable(checked_page_path(html))
    else:
        free_port(port)
    robot = find(name, option, floating, packages)
    if html is not None:
        times, Q = tour(robot, seconds)
        with progress("recording") as report:
            path = viewer.record(robot, times, Q, html, show=parts, progress=report)
        say(f"wrote {path}")
        return
    with waiting("starting the viewer"):
        live = viewer.show(robot, port=port, show=parts)
    say(f"{robot.name} is at {live.url} (Ctrl-C ends)")
    if sys.stdout.isatty():
        webbrowser.open(live.url)
    live.wait()
