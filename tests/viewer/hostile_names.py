"""A robot whose every name tries to run code, to send a request, or to have a file read; and who notices."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import kinloop as kl
from kinloop.model import Geometry

PAYLOADS = (
    "<script>top.canary=1</script>",
    '<iframe srcdoc="<script>parent.canary=2</script>"></iframe>',
    "<img src=x onerror=top.canary=3>",
    "</title></b><svg onload=top.canary=4>",
    '"><img src=x onerror="top.canary=5">',
    "{top.canary=6}",
    "<img src=http://127.0.0.1:{port}/html>",
    "![x](http://127.0.0.1:{port}/markdown)",
    "<http://127.0.0.1:{port}/link>",
)


def hostile_text(k: int, port: int = 9) -> str:
    """A name that no other is equal to, with all payloads in it, each of which calls the given port."""
    return f"bad{k} " + " ".join(PAYLOADS).replace("{port}", str(port))


def hostile_robot(port: int = 9, more: str = "") -> kl.Robot:
    """Two bodies tied by a gear; every text that a model can give carries payloads."""
    text = [hostile_text(k, port) for k in range(8)]
    b = kl.Builder(text[0] + more)
    ball = {"mass": 1.0, "inertia": (1, 1, 1)}
    box = (Geometry("box", (0.1, 0.1, 0.1), name=text[1]),)
    rotor = b.body(text[2], axis="z", joint_name=text[3], geometry=box, **ball)
    link = b.body(text[4], axis="z", joint_name=text[5], **ball)
    b.gear(rotor, link, 6.0, name=text[6])
    return b.build()


@contextlib.contextmanager
def canary_server() -> Iterator[tuple[int, list[str]]]:
    """The port of a server on this machine, and the paths that were asked of it."""
    asked: list[str] = []

    class Note(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *text: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Note)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port, asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
