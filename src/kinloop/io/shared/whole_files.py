"""Files read whole up to a limit, and written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from kinloop.errors import ModelError
from kinloop.io.shared.file_errors import Where


def read_bytes(path: Path, limit: int, where: Where | None = None) -> bytes:
    """The bytes of a regular file no larger than `limit`, or a `ModelFileError`."""
    where = where or Where(str(path))
    try:
        with open(path, "rb", opener=lambda p, flags: os.open(p, flags | getattr(os, "O_NONBLOCK", 0))) as f:
            status = os.fstat(f.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise where.error(f"{path.name!r} is not a regular file; give a model file")
            data = f.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise where.error(f"{path.name!r} cannot be read ({reason}); give a readable model file") from error
    if len(data) > limit:
        raise where.error(f"{path.name!r} has more than {limit} bytes; raise the cap with limits=Limits(...)")
    return data


def write_text(path: str | Path, text: str) -> None:
    """Write a file whole or not at all."""
    path = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise ModelError(f"{str(path)!r} cannot be written ({error.strerror}); give a writable place") from error
