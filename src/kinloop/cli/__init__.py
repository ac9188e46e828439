"""The command `kinloop`: look at robots, simulate them, see them move."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from kinloop.cli import cache_command as cache
from kinloop.cli import demo_command as demo
from kinloop.cli import info_command as info
from kinloop.cli import sim_command as sim
from kinloop.cli import view_command as view
from kinloop.cli.bench_command import bench
from kinloop.errors import KinloopError

app = typer.Typer(
    help="Exact, fast dynamics for robots with kinematic loops.", no_args_is_help=True, pretty_exceptions_enable=False
)
for command in (demo.demo, sim.sim, view.view, info.info, info.robots, bench):
    app.command()(command)
app.add_typer(cache.app, name="cache")


def main() -> None:
    """The entry point: warnings, and refusals of kinloop or the system, are one line each; these end with status 1."""
    errors = Console(stderr=True, soft_wrap=True, highlight=False)

    def say(message: Warning | str, *where: Any, **more: Any) -> None:
        errors.print(f"[yellow]warning:[/] {escape(str(message))}")

    with warnings.catch_warnings():
        warnings.showwarning = say
        try:
            app()
        except KinloopError as error:
            errors.print(f"[bold red]error:[/] {escape(str(error))}")
            sys.exit(1)
        except OSError as error:
            told = f"cannot read or write {error.filename}: {error.strerror}" if error.filename else str(error)
            errors.print(f"[bold red]error:[/] {escape(told)}")
            sys.exit(1)
