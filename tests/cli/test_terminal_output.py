"""Tables of plain text, progress that does not disturb the output."""

from rich.console import Console

from kinloop.cli.terminal_output import WIDE, add, console, progress, table, waiting


def test_brackets_are_no_markup():
    t = table("a [b]", "name", "value", numbers=("value",))
    add(t, "[red]x", 3)
    out = Console(width=80)
    with out.capture() as text:
        out.print(t)
    assert "a [b]" in text.get() and "[red]x" in text.get()


def test_output_that_is_no_terminal_is_wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert console().width == WIDE
    assert console(200).width == 200


def test_progress_is_silent_where_there_is_no_terminal(capsys):
    with progress("working") as report, waiting("for it"):
        report(1, 2)
        report(2, 2, "the rest")
    assert capsys.readouterr() == ("", "")
