"""The command `kinloop` with all its subcommands, and how it ends."""

from __future__ import annotations

import importlib.util
import platform
import sys
import warnings
from importlib import metadata
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

import kinloop as kl
from kinloop.cli import cache_command
from kinloop.cli.bench_command import bench
from kinloop.cli.demo_command import demo
from kinloop.cli.info_command import info, robots
from kinloop.cli.sim_command import sim
from kinloop.cli.sweep_command import sweep
from kinloop.cli.view_command import view
from kinloop.errors import KinloopError
from kinloop.progress import printable

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


def _version(asked: bool) -> None:
    """Print versions, and end."""
    if asked:
        print(f"kinloop {kl.__version__}", *(f"{name} {found}" for name, found in _others().items()), sep="\n")
        raise typer.Exit


def _others() -> dict[str, str]:
    """Versions of what numbers depend on."""
    names = ("numpy", "llvmlite", "viser")
    others = {name: metadata.version(name) for name in names if importlib.util.find_spec(name)}
    return {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}", **others}


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show versions and exit.")
    ] = False,
) -> None:
    """Exact, fast dynamics for robots with kinematic loops."""


for command in (demo, sim, view, sweep, info, robots, bench):
    app.command()(command)
app.add_typer(cache_command.app, name="cache")


def main() -> None:
    """Run the command; warnings, and refusals of kinloop or the system, are one line each; these end with status 1."""
    errors = Console(stderr=True, soft_wrap=True, highlight=False)

    def tell(kind: str, style: str, message: object) -> None:
        errors.print(Text.assemble((f"{kind}:", style), " ", printable(str(message))))

    def warn(message: Warning | str, *where: Any, **more: Any) -> None:
        tell("warning", "yellow", message)

    with warnings.catch_warnings():
        warnings.showwarning = warn
        try:
            app()
        except KinloopError as error:
            tell("error", "bold red", error)
            sys.exit(1)
        except MemoryError:
            tell("error", "bold red", "this needs more memory than there is; take a shorter time or fewer rows")
            sys.exit(1)
        except OSError as error:
            told = f"cannot read or write {error.filename}: {error.strerror}" if error.filename else str(error)
            tell("error", "bold red", told)
            sys.exit(1)
