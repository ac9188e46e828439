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
Floating = Annotated[bool | None, typer.Option("--floating/--fixed", help="Whether the base floats.")]

Packages = Annotated[
    list[str] | None,
    typer.Option("--packages", help="Directory of a model file's meshes and packages, or name=directory; repeatable."),
]


def find(
    name: str, option: list[str] | None = None, floating: bool | None = None, packages: list[str] | None = None
) -> kl.Robot:
    """A robot from a model file, where there is one by that name, else from the zoo."""
    options = dict(map(_option, option or []))
    path = Path(name)
    if path.is_file():
        if options:
            raise MethodError(f"{name!r} is a file and takes no options; remove {', '.join(options)}")
        return io.load(path, floating, packages=_packages(packages or [])).build()
    if packages:
        raise MethodError(f"--packages is for model files, and there is no file {name!r}; remove it")
    if path.suffix:
        raise ModelError(f"there is no file {name!r}; give an existing model file or a name from `kinloop robots`")
    return kl.robots.load(name, floating, **options)


def _packages(given: list[str]) -> dict[str, str] | list[str]:
    """Directories, or packages by their names."""
    named = [text.partition("=")[::2] for text in given if "=" in text and not Path(text).is_dir()]
    if named and len(named) != len(given):
        raise MethodError(f"--packages {' '.join(given)} mixes directories and name=directory; give one kind of them")
    return dict(named) if named else given


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
