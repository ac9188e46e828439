"""The program that reads mesh files for others, in a process of its own, within limits of memory and time.

Mesh files go through a large library that takes what they ask for: a small file can ask for gigabytes. A JSON list
comes in: how many bytes of triangles there may be, and paths. For each path, in order, a line of JSON goes out: either
the numbers of vertices and faces, followed by these as bytes; or a string, why there are none, empty where the file is
no mesh.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import sys
from typing import Any, BinaryIO

import numpy as np

MEMORY = 350_000_000
"""Bytes that reading may take beyond what the program itself has."""

SECONDS = 20
"""Time for one file; the program ends when it is over, and its parent goes on with the next."""

LARGEST = 100_000_000
"""Bytes of a file; larger ones are not opened."""

TOTAL = 150_000_000
"""Bytes of all triangles together."""


def limit_memory() -> None:
    """Refuse, from now on, more than `MEMORY`; where the system cannot, files are bounded by their size alone."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            data = int(file.read().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (data + MEMORY, data + MEMORY))


def read(path: str, room: int) -> tuple[Any, Any] | str:
    """Vertices (V, 3) and faces (F, 3) of a file, or why there are none; `room` bytes are left for them."""
    import trimesh

    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return "it is no file"
        if status.st_size > LARGEST:
            return f"it has {status.st_size / 1e6:.0f} MB, and at most {LARGEST / 1e6:.0f} are read"
        found: Any = trimesh.load(path, force="mesh")
        vertices, faces = np.asarray(found.vertices, dtype="<f8"), np.asarray(found.faces, dtype="<i8")
    except MemoryError:
        return f"reading it takes more than {MEMORY / 1e6:.0f} MB"
    except Exception:  # trimesh raises anything at all on files it does not know
        return ""
    if vertices.ndim != 2 or not len(vertices) or not len(faces):
        return ""
    if vertices.nbytes + faces.nbytes > room:
        return f"all meshes together may have {TOTAL / 1e6:.0f} MB of triangles"
    return vertices, faces


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """Read every file that is asked for."""
    import trimesh  # noqa: F401  # what it takes is not counted

    limit_memory()
    room, paths = json.load(source)
    for path in paths:
        if hasattr(signal, "alarm"):
            signal.alarm(SECONDS)
        found = read(path, room)
        if isinstance(found, str):
            sink.write(json.dumps(found).encode() + b"\n")
        else:
            room -= found[0].nbytes + found[1].nbytes
            sink.write(json.dumps([len(found[0]), len(found[1])]).encode() + b"\n")
            for array in found:
                sink.write(np.ascontiguousarray(array).data)
        sink.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
