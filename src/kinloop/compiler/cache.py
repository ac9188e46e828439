"""Object code on disk, private to the user; a cache that is broken in any way is only a slower start.

One file per kernel variant: magic, SHA-256 of the rest, then the key, the metadata (JSON) and the object
code. Files are written under another name, synced and renamed, so that a reader sees all or nothing.
Nothing read from here is unpickled or evaluated.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import stat
import struct
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MAGIC = b"KINLOOP1"
SUFFIX = ".kernel"
DEFAULT_LIMIT_MB = 512
_MAX_FILE = 1 << 30
_STALE_SECONDS = 3600.0
_LONGEST_COMPILATION = 600.0


def enabled() -> bool:
    """Whether the cache is in use; KINLOOP_CACHE=off turns it off."""
    return os.environ.get("KINLOOP_CACHE", "on").strip().lower() not in ("off", "0", "no", "false")


def directory() -> Path:
    """Where kernels are kept: KINLOOP_CACHE_DIR, or the platform's cache directory of the user."""
    given = os.environ.get("KINLOOP_CACHE_DIR")
    if given:
        return Path(given) / "kernels"
    if sys.platform == "darwin":
        base = Path("~/Library/Caches").expanduser()
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local").expanduser()
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return base / "kinloop" / "kernels"


def limit() -> int:
    """Size limit in bytes: KINLOOP_CACHE_LIMIT in MB."""
    try:
        return int(float(os.environ["KINLOOP_CACHE_LIMIT"]) * 1e6)
    except (KeyError, ValueError, OverflowError):
        return DEFAULT_LIMIT_MB * 1_000_000


def _is_mine(status: os.stat_result) -> bool:
    """Ours, and nobody else may write to it."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _refusal(status: os.stat_result) -> str:
    """Why a folder is not used, in words; empty if it may be."""
    if not stat.S_ISDIR(status.st_mode):
        return "it is no folder"
    if not hasattr(os, "geteuid") or _is_mine(status):
        return ""
    return "others may write to it" if status.st_uid == os.geteuid() else "it belongs to another user"


def _usable_directory(create: bool) -> Path | None:
    """The folder; None, with a warning, where others could have put files and links into it."""
    folder = directory()
    if create:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = os.lstat(folder)
    if why := _refusal(status):
        advice = "remove it, or name another by KINLOOP_CACHE_DIR"
        warnings.warn(f"the kernel cache {str(folder)!r} is not used: {why}; {advice}", RuntimeWarning, stacklevel=1)
        return None
    if status.st_mode & 0o077 and hasattr(os, "geteuid"):
        os.chmod(folder, 0o700)  # others could read it, no more
    return folder


def load(key: str) -> tuple[dict[str, Any], bytes] | None:
    """Metadata and object code stored under `key`, or None; a file that is not intact is removed."""
    if not enabled():
        return None
    try:
        folder = _usable_directory(create=False)
        if folder is None:
            return None
        path = folder / f"{key}{SUFFIX}"
        data = _read_mine(path)
        if data is None:
            return None
        entry = _unpack(key, data)
        if entry is None:
            os.unlink(path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # for eviction: this one was used
        return entry
    except (OSError, RuntimeError, ValueError):
        return None


def _read_mine(path: Path) -> bytes | None:
    # without O_NONBLOCK, a FIFO of that name would keep us waiting for its writer
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not _is_mine(status) or status.st_size > _MAX_FILE:
            return None
        return file.read()


def _pack(key: str, metadata: dict[str, Any], code: bytes) -> bytes:
    text = json.dumps(metadata, sort_keys=True).encode()
    body = struct.pack("<II", len(key), len(text)) + key.encode() + text + code
    return MAGIC + hashlib.sha256(body).digest() + body


def _unpack(key: str, data: bytes) -> tuple[dict[str, Any], bytes] | None:
    head = len(MAGIC) + 32
    body = data[head:]
    if len(body) < 8 or data[: len(MAGIC)] != MAGIC or hashlib.sha256(body).digest() != data[len(MAGIC) : head]:
        return None
    n_key, n_text = struct.unpack("<II", body[:8])
    if body[8 : 8 + n_key] != key.encode():
        return None
    metadata = json.loads(body[8 + n_key : 8 + n_key + n_text])
    return metadata, body[8 + n_key + n_text :]


def store(key: str, metadata: dict[str, Any], code: bytes) -> bool:
    """Keep object code under `key`; False if that was not possible, which is never an error."""
    if not enabled():
        return False
    temporary = None
    try:
        folder = _usable_directory(create=True)
        if folder is None:
            return False
        data = _pack(key, metadata, code)
        temporary = folder / f".{key[:16]}-{os.getpid()}-{os.urandom(6).hex()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, folder / f"{key}{SUFFIX}")
        temporary = None
        # looking at every file takes a while: as often as a 64th of the limit has been written, on average
        if random.random() * limit() < 64 * len(data):
            _evict(folder, keep=f"{key}{SUFFIX}")
        return True
    except (OSError, RuntimeError, ValueError):
        return False
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


@contextlib.contextmanager
def alone(key: str) -> Iterator[None]:
    """Hold off other processes that would make the same kernel: they wait, and find it when they are let in.

    Whoever ends, in whatever way, lets the next one in. After a while, and wherever files cannot be locked, all go on
    side by side: the same kernel is then made twice.
    """
    lock, path = None, directory() / f".{key[:16]}-lock.tmp"
    try:
        with contextlib.suppress(OSError, RuntimeError):
            if enabled() and fcntl is not None and _usable_directory(create=True) is not None:
                lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
                _wait_for(lock)
        yield
    finally:
        if lock is not None:
            with contextlib.suppress(OSError):
                os.unlink(path)  # who waits for it gets it nevertheless, and then finds the kernel
            os.close(lock)


def _wait_for(lock: int) -> None:
    """Wait until a file is locked for this process, for as long as a large kernel takes."""
    until, pause = time.monotonic() + _LONGEST_COMPILATION, 0.002
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return
            time.sleep(pause)
            pause = min(1.5 * pause, 0.1)


def _entries(folder: Path) -> list[tuple[float, int, Path]]:
    """(time of last use, bytes, path) of every file."""
    out = []
    for item in os.scandir(folder):
        with contextlib.suppress(OSError):  # another process may have removed it
            status = item.stat(follow_symlinks=False)
            out.append((status.st_mtime, status.st_size, Path(item.path)))
    return out


def _evict(folder: Path, keep: str) -> None:
    """Remove the least recently used files beyond the limit, and what killed writers left behind."""
    entries = sorted(_entries(folder))
    total, allowed, now = sum(size for _, size, _ in entries), limit(), time.time()
    for used, size, path in entries:
        stale = path.suffix == ".tmp" and now - used > _STALE_SECONDS
        surplus = total > allowed and path.suffix == SUFFIX and path.name != keep
        if stale or surplus:
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size


def info() -> dict[str, Any]:
    """Where the cache is, whether it is in use, why it is refused (empty: it is not), and how full it is."""
    refused, files = "", []
    with contextlib.suppress(OSError):
        refused = _refusal(os.lstat(directory()))
        files = [e for e in _entries(directory()) if e[2].suffix == SUFFIX]
    return {
        "directory": str(directory()),
        "enabled": enabled(),
        "refused": refused,
        "kernels": len(files),
        "bytes": sum(size for _, size, _ in files),
        "limit": limit(),
    }


def clear() -> int:
    """Remove every kernel; how many there were."""
    removed = 0
    try:
        entries = _entries(directory())
    except OSError:
        return 0
    for _, _, path in entries:
        if path.suffix in (SUFFIX, ".tmp"):
            with contextlib.suppress(OSError):
                os.unlink(path)
                removed += path.suffix == SUFFIX
    return removed
