"""viser's server: started and stopped without announcements, or one sentence about what to install."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from kinloop.errors import MethodError


def start_server(port: int = 0, label: str | None = None) -> Any:
    """A viser server on this machine; port 0 takes any that is free."""
    try:
        import viser
    except ImportError:
        raise MethodError("the viewer needs viser; pip install viser") from None
    with _quiet():
        return viser.ViserServer(host="127.0.0.1", port=port, label=label, verbose=False)


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


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without viser's announcements, which belong to programs of its own."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
