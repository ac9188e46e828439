"""`kinloop cache`: the kernels kept on disk."""

from __future__ import annotations

import typer

from kinloop.cli.terminal_output import add, console, say, table
from kinloop.compiler import cache

app = typer.Typer(help="Show or clear the cache of compiled kernels.", invoke_without_command=True)


@app.callback()
def show(context: typer.Context) -> None:
    """Show where compiled kernels are kept and how much room they take."""
    if context.invoked_subcommand is not None:
        return
    found = cache.info()
    t = table("Kernel cache", "quantity", "value")
    add(t, "directory", found["directory"])
    why = "KINLOOP_CACHE=off" if not found["enabled"] else found["refused"]
    add(t, "in use", f"no ({why})" if why else "yes")
    add(t, "kernels", found["kernels"])
    add(t, "size", f"{found['bytes'] / 1e6:.1f} MB of {found['limit'] / 1e6:.0f} MB")
    console().print(t)


@app.command()
def clear() -> None:
    """Remove every compiled kernel."""
    say(f"removed {cache.clear()} kernels")
