"""Digests of everything a kernel depends on."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.compiler.run import builtin
from kinloop.compiler.target import Target
from kinloop.scalar import Function

PACKAGE = Path(__file__).resolve().parent.parent

_BEGAN, _OWN = time.time(), os.urandom(16)


@functools.cache
def source_digest(sources: tuple[str, ...], package: Path = PACKAGE) -> str:
    """Digest of files and folders of the package: their Python sources, with everything below the folders.

    A process whose sources were changed since it began, by an upgrade or an editor, does not run what the files say:
    its digests, and so its kernels, are its own.
    """
    digest, changed = hashlib.sha256(), False
    for source in sources:
        place = package / source
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            data = path.read_bytes()
            digest.update(f"{path.relative_to(package).as_posix()} {len(data)}\n".encode())
            digest.update(data)
            changed = changed or _BEGAN < path.stat().st_mtime <= time.time()
    if changed:
        warnings.warn("kinloop's files were changed while it runs; restart Python to use them", stacklevel=2)
        digest.update(_OWN)
    return digest.hexdigest()


def compiler_digest() -> str:
    """Digest of the sources that turn a graph into code."""
    return source_digest(("compiler", "scalar"))


def function_digest(function: Function) -> str:
    """Digest of a graph: equal graphs have equal digests, in any process."""
    names = [list(function.inputs.items()), [(k, v.shape) for k, v in function.outputs.items()]]
    digest = hashlib.sha256(json.dumps(names).encode())
    lines = []
    for s in function.nodes:
        payload = s.payload
        if s.op == "loop":
            sizes = () if payload.plain else payload.sizes
            payload = (function_digest(payload.body), payload.rounds, payload.carried, payload.gate, *sizes)
        elif s.op == "const":
            payload = (str(payload[0]) if isinstance(payload[0], str) else float(payload[0]).hex(), payload[1])
        lines.append(f"{s.index} {s.op} {[a.index for a in s.args]} {payload!r}")
    for out in function.outputs.values():
        lines += [f"@{x.index}" if hasattr(x, "index") else float(x).hex() for x in out.flat]
    digest.update("\n".join(lines).encode())
    return digest.hexdigest()


def parts_digest(parts: Any) -> str:
    """Digest of nested tuples, lists, dicts, arrays, numbers, strings, bytes, None."""
    digest = hashlib.sha256()
    _feed(digest, parts)
    return digest.hexdigest()


def _feed(digest: Any, x: Any) -> None:
    """Every piece is preceded by its kind and length, so that no two different recipes read the same."""
    if type(x) is float:  # most pieces are
        text = x.hex()
        digest.update(f"float {len(text)};{text}".encode())
        return
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, dict):
        items = sorted(x.items(), key=lambda item: repr(item[0]))
        digest.update(f"dict {len(items)};".encode())
        for pair in items:
            _feed(digest, pair)
    elif isinstance(x, tuple | list):
        digest.update(f"{type(x).__name__} {len(x)};".encode())
        for item in x:
            _feed(digest, item)
    elif isinstance(x, np.ndarray) and x.dtype != object:
        data = np.ascontiguousarray(x)
        digest.update(f"array {data.dtype.str} {data.shape};".encode())
        digest.update(data.tobytes())
    elif isinstance(x, bytes):
        digest.update(f"bytes {len(x)};".encode() + x)
    elif x is None or isinstance(x, bool | int | float | complex | str):
        text = x.hex() if isinstance(x, float) else str(x)
        digest.update(f"{type(x).__name__} {len(text)};{text}".encode())
    else:
        raise TypeError(
            f"a {type(x).__name__} cannot be part of a kernel's recipe; "
            "use numbers, strings, bytes, None, arrays, and tuples, lists or dicts of them"
        )


def variant_key(base: str, target: Target, dtype: str, lanes: int) -> str:
    """The file name of one variant of a kernel on this machine."""
    machine = (target.triple, target.cpu, target.features, target.fma, target.bits, target.llvm, target.straight)
    abi = (builtin.usable(), builtin.abi())
    return parts_digest((base, compiler_digest(), machine, abi, dtype, lanes))
