"""The robot a command is about: a name of the zoo or a model file, and options for either."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import kinloop as kl
from kinloop import io
from kinloop.errors import MethodError, ModelError

Name = Annotated[str, typer.Argument(help="A robot of the zoo (see `kinloop robots`) or a model file.")]
Options = Annotated[list[str] | None, typer.Option("--option", "-o", help="Option of a zoo robot: links=24.")]
Floating = Annotated[bool | None, typer.Option("--floating/--fixed", help="Base of a model file.")]


def find(name: str, option: list[str] | None = None, floating: bool | None = None) -> kl.Robot:
    """A robot from a model file, where there is one by that name, else from the zoo."""
    options = dict(map(_option, option or []))
    path = Path(name)
    if path.is_file():
        if options:
            raise MethodError(f"{name!r} is a file and takes no options; remove {', '.join(options)}")
        return io.load(path, floating).build()
    if floating is not None:
        raise MethodError(f"--floating and --fixed are for model files, and there is no file {name!r}; remove them")
    if path.suffix:
        raise ModelError(f"there is no file {name!r}; give an existing model file or a name from `kinloop robots`")
    return kl.robots.load(name, **options)


def _option(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise MethodError(f"option {text!r} is not of the form name=value, e.g. links=24")
    for number in (int, float):
        try:
            return key, number(value)
        except ValueError:
            continue
    return key, value
