"""Names of a model on a terminal: they command nothing, hide nothing, and begin no line of their own."""

import sys
import unicodedata

import pytest

import kinloop as kl
from kinloop import cli, io
from kinloop.cli.terminal_output import say
from kinloop.progress import printable
from kinloop.viewer import Viewer

SHOW_TITLE, CSI, HIDDEN = "\x1b]0;owned\x07", "\x9b2J", "\x1b[8m"
COMMANDS = f"{SHOW_TITLE}{CSI}{HIDDEN}\r\n\u202e\u2028[bold red][link=http://x.invalid]y[/link][/nope] $\\frac$"
"""What titles a terminal, clears and hides, begins lines, turns the direction of writing, marks up and typesets."""

ESCAPED = r"\x1b]0;owned\x07\x9b2J\x1b[8m\r\n\u202e\u2028[bold red][link=http://x.invalid]y[/link][/nope] $\frac$"


def commanding(k):
    return f"n{k}{COMMANDS}"


@pytest.fixture
def model(tmp_path):
    """A pendulum on a geared rotor in a file; all its names are hostile."""
    b = kl.Builder(commanding(0))
    ball = {"mass": 1.0, "inertia": (1, 1, 1), "com": (0.1, 0, 0)}
    rotor = b.body(commanding(1), axis="y", joint_name=commanding(2), **ball)
    link = b.body(commanding(3), axis="y", joint_name=commanding(4), **ball)
    b.gear(rotor, link, 6.0, name=commanding(5))
    path = tmp_path / "model.json"
    io.save(b.mechanism(), path)
    return path


def unsafe(text):
    """Characters that are not for reading."""
    return {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}


@pytest.mark.parametrize("command", [["info"], ["sim", "--time", "0.02", "--dt", "0.01"], ["view", "--port", "0"]])
def test_commands_print_names_as_text(run, monkeypatch, model, command):
    monkeypatch.setenv("COLUMNS", "2000")
    monkeypatch.setattr(Viewer, "wait", Viewer.stop)
    status, out, err = run(command[0], model, *command[1:])
    assert (status, err) == (0, "")
    assert f"n0{ESCAPED}" in " ".join(out.split()), "titles of tables may be wrapped"
    assert not unsafe(out)


def test_names_are_text_on_a_terminal_too(monkeypatch, capsys, model, tmp_path):
    """With colours, bars and signs of life: what rich itself sends is there, what the model sends is not."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "2000")
    for args in (["info", model], ["sim", model, "--time", "0.02", "--dt", "0.01", "--out", tmp_path / "out"]):
        monkeypatch.setattr(sys, "argv", ["kinloop", *map(str, args)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert not stop.value.code
        for text in capsys.readouterr():
            assert SHOW_TITLE not in text and CSI not in text and HIDDEN not in text and "\u202e" not in text
            assert "\x1b]8" not in text, "a link"
    assert (tmp_path / "out" / "sim.png").stat().st_size > 10_000


def test_refusals_and_warnings_are_one_line_of_text(run, model):
    status, out, err = run("sim", model, "--keyframe", "home")
    assert (status, out) == (1, "")
    assert err.count("\n") == 1 and not unsafe(err)
    status, _, err = run("sim", model, "--height", "0.5")
    assert status == 1
    assert err.count("\n") == 1 and not unsafe(err)


def test_what_can_be_read_is_printed_as_it_is(capsys):
    assert printable("a [b] ü 足 \U0001f9be") == "a [b] ü 足 \U0001f9be"
    assert printable("\x00\x7f\ud800\t") == r"\x00\x7f\ud800\t"
    say("[red]x[/red] " + 300 * "y")
    assert capsys.readouterr().out == "[red]x[/red] " + 300 * "y" + "\n"
