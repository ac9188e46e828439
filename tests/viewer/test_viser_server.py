"""viser's server: silent, and ended with its block."""

import sys

import pytest

from kinloop.errors import MethodError
from kinloop.viewer.viser_server import running_server, start_server


def test_without_viser_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MethodError, match="the viewer needs viser; pip install viser"):
        start_server()


def test_a_server_says_nothing(capsys):
    with running_server() as server:
        assert server.get_port() > 0
    assert capsys.readouterr().out == ""
