"""The command as a whole: subcommands, and how mistakes end it."""

import warnings

import pytest

import kinloop as kl
from kinloop.cli import entry_point
from kinloop.errors import MethodError


def test_every_command_has_a_page_of_help(run):
    status, out, _ = run("--help")
    assert status == 0
    for name in ("demo", "sim", "view", "info", "robots", "bench", "cache", "sweep"):
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


def test_the_version_is_told_with_those_of_what_numbers_depend_on(run):
    status, out, _ = run("--version")
    assert status == 0 and out.splitlines()[0] == f"kinloop {kl.__version__}"
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["python", "machine", "numpy", "llvmlite", "viser"]
