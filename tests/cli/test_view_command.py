"""`kinloop view`: a page or a live view."""

import re

import pytest


def test_view_writes_a_page(run, tmp_path):
    status, out, _ = run("view", "bennett", "--html", str(tmp_path / "b.html"), "--seconds", "0.2")
    assert status == 0
    assert out.strip().endswith("b.html")
    assert "__VISER_EMBED_DATA__" in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_view_serves_until_interrupted(run, monkeypatch):
    from kinloop.viewer import Viewer

    monkeypatch.setattr(Viewer, "wait", Viewer.stop)
    status, out, _ = run("view", "four_bar", "--port", "0")
    assert status == 0
    assert re.match(r"four_bar is at http://127.0.0.1:\d+", out)


@pytest.mark.parametrize(
    "args, message",
    [
        (["--port", "99999"], "port must be a whole number from 0 (any free one) to 65535, received 99999"),
        (["--port", "-1"], "port must be a whole number from 0 (any free one) to 65535, received -1"),
        (["--html", "x.html", "--seconds", "nan"], "--seconds must be a finite number not below zero, received nan"),
        (["--html", "x.html", "--seconds", "inf"], "--seconds must be a finite number not below zero, received inf"),
        (["--html", "x.html", "--seconds", "-1"], "--seconds must be a finite number not below zero, received -1"),
    ],
)
def test_mistakes_are_one_line(run, args, message):
    assert run("view", "four_bar", *args) == (1, "", f"error: {message}\n")
