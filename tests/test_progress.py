"""Long work shows a bar on a terminal, and nowhere else; short work shows none."""

from __future__ import annotations

import io
import sys
import threading
import time
from contextlib import redirect_stderr

import pytest

from kinloop import progress
from kinloop.cli.terminal_output import waiting
from kinloop.progress import working
from kinloop.robots import zoo


class Terminal(io.StringIO):
    """What a program that writes to a terminal has written."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(progress, "AFTER", 0.02)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def test_long_work_is_shown_and_gone_when_done(terminal):
    with redirect_stderr(terminal), working("laying tiles", 4) as report:
        report(1)
        time.sleep(0.3)
        report(3)
    assert "laying tiles" in terminal.getvalue()
    assert terminal.getvalue().endswith(("\x1b[2K", "\x1b[1A\x1b[2K"))
    assert not any(isinstance(thread, threading.Timer) for thread in threading.enumerate())


def test_short_work_is_not(terminal, monkeypatch):
    monkeypatch.setattr(progress, "AFTER", 30.0)
    start = time.perf_counter()
    with redirect_stderr(terminal), working("laying tiles"):
        pass
    assert terminal.getvalue() == "" and time.perf_counter() - start < 5.0


def test_work_is_not_shown_where_nobody_looks(monkeypatch):
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(progress, "AFTER", 0.0)
        before = threading.active_count()
        with working("laying tiles") as report:
            assert threading.active_count() == before
            report(1)
        assert stream is None or stream.getvalue() == ""


def test_work_inside_other_work_is_silent(terminal):
    with redirect_stderr(terminal), working("outer"), working("inner"):
        time.sleep(0.2)
    assert "outer" in terminal.getvalue() and "inner" not in terminal.getvalue()


def test_commands_keep_the_terminal_to_themselves(terminal):
    with redirect_stderr(terminal), waiting("a command"), working("inner"):
        time.sleep(0.2)
    assert "inner" not in terminal.getvalue()


def test_errors_pass_and_leave_no_bar(terminal):
    with redirect_stderr(terminal), pytest.raises(ZeroDivisionError), working("laying tiles"):
        time.sleep(0.2)
        raise ZeroDivisionError
    seen = len(terminal.getvalue())
    time.sleep(0.2)
    assert len(terminal.getvalue()) == seen
    with progress.claimed() as free:
        assert free


def test_names_command_no_terminal(terminal):
    with redirect_stderr(terminal), working("tiles \x1b[31m of \x07 a file"):
        time.sleep(0.2)
    assert "\\x1b[31m of \\x07" in terminal.getvalue() and "\x07" not in terminal.getvalue()


def test_robots_and_kernels_show_what_takes_long(terminal, monkeypatch, tmp_path):
    monkeypatch.setenv("KINLOOP_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(progress, "AFTER", 0.0)
    with redirect_stderr(terminal):
        zoo.load("four_bar_chain", links=40).compile("forward_dynamics").compile()
    for words in ("building four_bar_chain", "tracing forward_dynamics", "compiling forward_dynamics"):
        assert words in terminal.getvalue()
