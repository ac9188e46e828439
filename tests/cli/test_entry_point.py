"""The command as a whole: subcommands, and how mistakes end it."""

import warnings

import pytest

from kinloop.cli import entry_point
from kinloop.errors import MethodError


def test_every_command_has_a_page_of_help(run):
    status, out, _ = run("--help")
    assert status == 0
    for name in ("demo", "sim", "view", "info", "robots", "bench", "cache"):
        assert name in out
        assert run(name, "--help")[0] == 0


@pytest.mark.parametrize(
    "error, told",
    [
        (MethodError("no [such] thing"), "error: no [such] thing"),
        (FileNotFoundError(2, "No such file", "a.urdf"), "error: cannot read or write a.urdf: No such file"),
        (OSError("disk full"), "error: disk full"),
        (MemoryError(), "error: this needs more memory than there is; take a shorter time or fewer rows"),
    ],
)
def test_refusals_are_one_line_and_status_1(monkeypatch, capsys, error, told):
    def app():
        warnings.warn("look [out]", stacklevel=1)
        raise error

    monkeypatch.setattr(entry_point, "app", app)
    with pytest.raises(SystemExit) as stop:
        entry_point.main()
    assert stop.value.code == 1
    assert capsys.readouterr().err.splitlines() == ["warning: look [out]", told]
