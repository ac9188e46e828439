"""viser's server: on this machine only, for its own page only; or one sentence about what to install or change."""

from __future__ import annotations

import contextlib
import functools
import http
import io
import operator
import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from kinloop.errors import MethodError

HOST = "127.0.0.1"
LOCAL = (HOST, "localhost", "::1")
"""Names of this machine under which a page may be asked for."""

ATTEMPTS = 1000
"""Ports that are tried, from the one that is asked for on."""

LAST_PORT = 65535

_starting = threading.Lock()


def start_server(port: int = 0, label: str | None = None) -> Any:
    """A viser server on this machine; on the first free port from `port` on, 0 takes any that is free."""
    port, viser = free_port(port), import_viser()
    with _quiet(), _guarding() as guarded:
        server = viser.ViserServer(host=HOST, port=port, label=label, verbose=False)
    if not guarded:
        stop_server(server)
        raise MethodError(f"viser {viser.__version__} cannot be kept from other pages; install viser 1.1")
    return server


def import_viser() -> Any:
    """The module viser, or one sentence about what to install."""
    try:
        import viser
    except ImportError:
        raise MethodError("the viewer needs viser; pip install viser") from None
    return viser


def free_port(port: int) -> int:
    """The first free port from `port` on; viser itself waits for ever where it finds none."""
    try:
        first = operator.index(port)
    except TypeError:
        first = -1
    if not 0 <= first <= LAST_PORT:
        raise MethodError(f"port must be a whole number from 0 (any free one) to {LAST_PORT}, received {port!r}")
    last = min(first + ATTEMPTS - 1, LAST_PORT)
    for tried in range(first, last + 1):
        with contextlib.suppress(OSError), socket.socket() as probe:
            if os.name == "posix":  # as asyncio does: a port whose last connection just ended is free
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, tried))
            return tried
    raise MethodError(f"none of the ports {first} to {last} can be used; give another, or 0 for any that is free")


def stop_server(server: Any) -> None:
    """End a server."""
    with _quiet():
        server.stop()


@contextlib.contextmanager
def running_server() -> Iterator[Any]:
    """A server for as long as the block runs."""
    server = start_server()
    try:
        yield server
    finally:
        stop_server(server)


def is_own_page(host: str | None, origin: str | None, is_socket: bool) -> bool:
    """Whether a request comes from the viewer's own page, by its headers Host and Origin.

    Any page can open a socket to this machine, but the browser tells which one it was. The origin of a socket must be
    the host it is opened to, and that must be a name of this machine: a page's own name may have been led here.
    """
    try:
        own = urlsplit(f"http://{host}")
    except ValueError:
        return False
    return own.netloc == host and own.hostname in LOCAL and (not is_socket or origin == f"http://{host}")


@contextlib.contextmanager
def _guarding() -> Iterator[list[str]]:
    """A viser server that starts in the block answers its own page only; the list then says that it is guarded.

    viser has no option for it, but hands every request to a function, which it hands to `websockets`: there we step in.
    """
    import websockets.asyncio.server as sockets

    serve, guarded = sockets.serve, []

    @functools.wraps(serve)
    def serve_guarded(*args: Any, process_request: Any = None, **options: Any) -> Any:
        if getattr(process_request, "__module__", "").startswith("viser."):
            guarded.append(process_request.__module__)
            process_request = _own_page_only(process_request)
        return serve(*args, process_request=process_request, **options)

    with _starting:
        sockets.serve = serve_guarded  # type: ignore[misc, assignment]
        try:
            yield guarded
        finally:
            sockets.serve = serve  # type: ignore[misc]


def _own_page_only(answer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A function of `websockets` that answers a request, for those of the viewer's own page; others are refused."""

    def answer_own_page(connection: Any, request: Any) -> Any:
        host, origin = (_only(request.headers.get_all(name)) for name in ("Host", "Origin"))
        if is_own_page(host, origin, is_socket="Upgrade" in request.headers):
            return answer(connection, request)
        return connection.respond(http.HTTPStatus.FORBIDDEN, "This server is for its own page on its own machine.\n")

    return answer_own_page


def _only(values: list[str]) -> str | None:
    return values[0] if len(values) == 1 else None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without viser's announcements, which belong to programs of its own."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
