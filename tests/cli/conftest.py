"""Running the command as a user does."""

import re
import sys

import pytest

from kinloop import cli


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `kinloop ARGS`; returns exit status, output, errors."""

    def call(*args):
        monkeypatch.setattr(sys, "argv", ["kinloop", *map(str, args)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err

    return call


@pytest.fixture
def figures(run):
    """Run `kinloop sim ARGS` and return its figures by name, as [value, unit]."""

    def call(*args):
        status, out, err = run("sim", *args)
        assert (status, err) == (0, "")
        lines = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines() if line.strip()]
        return {line[0]: line[1:] for line in lines}

    return call
