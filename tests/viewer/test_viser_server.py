"""viser's server: silent, ended with its block, for its own page on its own machine."""

import contextlib
import socket
import sys

import pytest

from kinloop.errors import MethodError
from kinloop.viewer import viser_server
from kinloop.viewer.viser_server import free_port, running_server, start_server


def test_without_viser_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MethodError, match="the viewer needs viser; pip install viser"):
        start_server()


def test_a_server_says_nothing(capsys):
    with running_server() as server:
        assert server.get_port() > 0
    assert capsys.readouterr().out == ""


def answer(port, address="127.0.0.1", **headers):
    """Status of a request for a socket (or for a page, where `Upgrade` is None) with the given headers."""
    import viser

    shown = {
        "Host": f"127.0.0.1:{port}", "Origin": f"http://127.0.0.1:{port}", "Connection": "Upgrade",
        "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "a" * 22 + "==",
        "Sec-WebSocket-Protocol": f"viser-v{viser.__version__}",
    } | headers  # fmt: skip
    lines = [f"{name}: {value}" for name, value in shown.items() if value is not None]
    with socket.create_connection((address, port), timeout=10) as end:
        end.sendall("\r\n".join(["GET / HTTP/1.1", *lines, "", ""]).encode())
        return int(end.recv(4096).split()[1])


def test_only_the_viewers_own_page_may_open_a_socket():
    with running_server() as server:
        port = server.get_port()
        assert answer(port) == 101
        for name in ("localhost", "localhost:9000", f"localhost:{port}", "[::1]:7000"):  # also through a tunnel
            assert answer(port, Host=name, Origin=f"http://{name}") == 101
        for origin in (
            "http://evil.invalid", f"http://evil.invalid:{port}", "null", None, "", f"https://127.0.0.1:{port}",
            f"http://127.0.0.1:{port + 1}", f"http://localhost:{port}", f"http://127.0.0.1:{port}.evil.invalid",
        ):  # fmt: skip
            assert answer(port, Origin=origin) == 403, origin
            assert answer(port, Origin=origin, Upgrade="WebSocket") == 403, origin


def test_a_foreign_name_that_leads_here_is_refused():
    """Whoever owns a name can let it lead to this machine; then his page and the socket have the same origin."""
    with running_server() as server:
        port = server.get_port()
        assert answer(port, Upgrade=None, Origin=None) == 200
        for host in (
            f"evil.invalid:{port}",
            "evil.invalid",
            "",
            f"127.0.0.1@evil.invalid:{port}",
            "[::1",
            "localhost/",
        ):
            assert answer(port, Host=host, Origin=f"http://{host}") == 403, host
            assert answer(port, Host=host, Origin=None, Upgrade=None) == 403, host


def test_the_viewer_is_reached_from_this_machine_only():
    with socket.create_server(("", 0)) as everywhere:
        try:
            socket.create_connection(("127.0.0.2", everywhere.getsockname()[1]), timeout=5).close()
        except OSError:
            pytest.skip("this machine has no second address of its own to try")
    with running_server() as server:
        assert server.get_host() == "127.0.0.1"
        assert answer(server.get_port()) == 101
        with pytest.raises(OSError):
            answer(server.get_port(), "127.0.0.2")


def test_a_viser_that_cannot_be_guarded_is_not_used(monkeypatch):
    import websockets.asyncio.server as sockets

    class Unknown:
        __version__ = "9.9"

        class ViserServer:
            def __init__(self, **options):
                self.stop = lambda: stopped.append(options["host"])

    stopped, serve = [], sockets.serve
    monkeypatch.setitem(sys.modules, "viser", Unknown)
    with pytest.raises(MethodError, match=r"viser 9.9 cannot be kept from other pages; install viser 1.1"):
        start_server()
    assert stopped == ["127.0.0.1"] and sockets.serve is serve


@pytest.mark.parametrize("port", [-1, 65536, 99999, 8080.0, float("nan"), "8080", None])
def test_what_is_no_port_is_refused(port):
    with pytest.raises(MethodError, match=r"port must be a whole number from 0 \(any free one\) to 65535, received"):
        start_server(port)


def test_a_port_in_use_leads_to_the_next_and_the_last_to_an_error(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert port < free_port(port) < port + 1000
        monkeypatch.setattr(viser_server, "ATTEMPTS", 1)
        with pytest.raises(MethodError, match=rf"none of the ports {port} to {port} can be used"):
            free_port(port)
    with contextlib.ExitStack() as stack:
        try:
            assert free_port(65535) == 65535
            stack.enter_context(socket.create_server(("127.0.0.1", 65535)))
        except (OSError, MethodError):
            pytest.skip("the last port is in use on this machine")
        with pytest.raises(MethodError, match=r"none of the ports 65535 to 65535 can be used; give another, or 0"):
            start_server(65535)
