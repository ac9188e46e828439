"""Triangles of mesh files, and of capsules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np

from kinloop.meshes import mesh_worker
from kinloop.scalar import Array

Mesh = tuple[Array, Array]
"""Vertices (V, 3) and faces (F, 3)."""


def read_mesh(path: str | None) -> Mesh | None:
    """The triangles of a file; None where there is none or nobody can read it."""
    return None if path is None else read_meshes([path]).get(path)


def read_meshes(paths: Iterable[str]) -> dict[str, Mesh]:
    """The triangles of files by their paths, each as far as `mesh_worker` reads it within its limits.

    A file that is no mesh is left out; one that is refused is left out with a warning.
    """
    found: dict[str, Mesh] = {}
    for path, answer in meshes_or_reasons(paths).items():
        if not isinstance(answer, str):
            found[path] = answer
        elif answer:
            warnings.warn(f"the mesh {path!r} is not drawn: {answer}", RuntimeWarning, stacklevel=2)
    return found


def meshes_or_reasons(paths: Iterable[str]) -> dict[str, Mesh | str]:
    """The triangles of files by their paths, or why there are none (empty: it is no mesh); files must be there."""
    todo = [path for path in dict.fromkeys(paths) if os.path.exists(path)]
    found: dict[str, Mesh | str] = {}
    while todo:
        room = mesh_worker.TOTAL - sum(x.nbytes for mesh in found.values() if not isinstance(mesh, str) for x in mesh)
        answers = list(_answers(todo, room))
        if len(answers) < len(todo):
            answers.append(f"reading it takes more than {mesh_worker.SECONDS} s, or ends the reader")
        found.update(zip(todo, answers, strict=False))
        todo = todo[len(answers) :]
    return found


def _answers(paths: list[str], room: int) -> Iterator[Mesh | str]:
    """What the worker says of the files, in order; fewer than there are if one of them ends it."""
    command = [sys.executable, "-P", mesh_worker.__file__]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **threads},  # each thread has memory of its own, which would count
    ) as worker:
        assert worker.stdin is not None and worker.stdout is not None, "both are pipes"
        try:
            worker.stdin.write(json.dumps([room, paths]).encode())
            worker.stdin.close()
            for _ in paths:
                line = worker.stdout.readline()
                if not line.endswith(b"\n"):
                    return
                answer = json.loads(line)
                if isinstance(answer, str):
                    yield answer
                    continue
                vertices, faces = (
                    _numbers(worker.stdout, n, kind) for n, kind in zip(answer, ("<f8", "<i8"), strict=True)
                )
                if vertices is None or faces is None:
                    return
                yield vertices, faces
        finally:
            worker.kill()


def _numbers(source: IO[bytes], rows: int, kind: str) -> Array | None:
    """An array (rows, 3); None where the source ends before."""
    data = source.read(24 * rows)
    return np.frombuffer(data, kind).reshape(rows, 3) if len(data) == 24 * rows else None


def capsule(radius: float, length: float) -> Mesh:
    """Triangles of a capsule along z about its centre."""
    import trimesh

    made = trimesh.creation.capsule(height=length, radius=radius, count=[16, 16])
    middle = made.bounds.mean(axis=0)
    return np.asarray(made.vertices) - middle, np.asarray(made.faces)
