"""Files that a command will write: what cannot be written is an error before the work, not after it."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def writable(path: Path) -> Path:
    """The path, if a file can be written there as far as one can tell without doing so; else the system's refusal."""
    if path.is_dir():
        raise _refused(errno.EISDIR, path)
    place = path
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    if place != path and not place.is_dir():
        raise _refused(errno.ENOTDIR, place)
    if not os.access(place, os.W_OK if place == path else os.W_OK | os.X_OK):
        raise _refused(errno.EACCES, place)
    return path


def _refused(code: int, path: Path) -> OSError:
    return OSError(code, os.strerror(code), str(path))
