"""Options in groups: a command sees dataclasses, its user sees options."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from kinloop.cli.option_groups import grouped


@dataclass(frozen=True)
class Size:
    wide: Annotated[float, typer.Option(help="How wide.", rich_help_panel="Size")] = 1.0
    high: Annotated[float | None, typer.Option("--high", "--tall", rich_help_panel="Size")] = None


@dataclass(frozen=True)
class Paint:
    red: Annotated[bool, typer.Option("--red", rich_help_panel="Paint")] = False


def call(*args):
    seen = {}

    @grouped
    def door(name: Annotated[str, typer.Argument()], *, size: Size, paint: Paint) -> None:
        """A door."""
        seen.update(name=name, size=size, paint=paint)

    app = typer.Typer()
    app.command()(door)
    return CliRunner().invoke(app, args), seen


def test_fields_are_options():
    result, seen = call("front", "--tall", "2", "--red")
    assert result.exit_code == 0, result.output
    assert seen == {"name": "front", "size": Size(1.0, 2.0), "paint": Paint(True)}
    assert call("back")[1] == {"name": "back", "size": Size(), "paint": Paint()}


def test_help_has_the_groups_and_the_command_its_name():
    text = call("--help")[0].output
    assert "A door." in text and "How wide." in text
    assert text.index("Size") < text.index("Paint")


def test_unknown_options_are_refused():
    assert call("front", "--size", "3")[0].exit_code == 2
