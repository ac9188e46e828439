"""The command `kinloop` with all its subcommands, and how it ends."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from kinloop.cli import cache_command
from kinloop.cli.bench_command import bench
from kinloop.cli.demo_command import demo
from kinloop.cli.info_command import info, robots
from kinloop.cli.sim_command import sim
from kinloop.cli.view_command import view
from kinloop.errors import KinloopError

app = typer.Typer(
    help="Exact, fast dynamics for robots with kinematic loops.", no_args_is_help=True, pretty_exceptions_enable=False
)
for command in (demo, sim, view, info, robots, bench):
    app.command()(command)
app.add_typer(cache_command.app, name="cache")


def main() -> None:
    """Run the command; warnings, and refusals of kinloop or the system, are one line each; these end with status 1."""
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
