"""Packages of ROS, by their `package.xml`: the one that a model lies in, and those below a directory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

MARK = "package.xml"
LEVELS_UP = 6
"""How far above a model its package may begin."""
LEVELS_DOWN, FOLDERS = 4, 2_000
"""How far below a declared directory packages are looked for, and in how many folders."""
LARGEST_MARK = 100_000
"""Bytes of a `package.xml` in which its name is looked for."""
_NAME = re.compile(rb"<name>\s*([\w.-]+)\s*</name>")


def own_package(directory: Path) -> tuple[str, Path] | None:
    """Name and directory of the package that a resolved directory lies in, if any; the user's home is none."""
    for folder in (directory, *directory.parents)[: LEVELS_UP + 1]:
        if folder == folder.parent or folder == Path.home():
            return None
        if (folder / MARK).is_file():
            return package_name(folder), folder
    return None


def packages_below(roots: Iterable[Path]) -> dict[str, Path]:
    """Packages in directories and a few levels below, by name; links are not followed, and the nearest counts."""
    found: dict[str, Path] = {}
    level, left = list(roots), FOLDERS
    for _ in range(LEVELS_DOWN + 1):
        below: list[Path] = []
        for folder in level[:left]:
            if (folder / MARK).is_file():
                found.setdefault(package_name(folder), folder)
            below += _folders_in(folder)
        left -= len(level)
        level = below
        if left <= 0:
            break
    return found


def package_name(folder: Path) -> str:
    """The name that a `package.xml` gives, or that of its folder."""
    try:
        with open(folder / MARK, "rb") as file:
            name = _NAME.search(file.read(LARGEST_MARK))
    except OSError:
        name = None
    return folder.name if name is None else name[1].decode("ascii", errors="replace")


def _folders_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries if e.is_dir(follow_symlinks=False) and not e.name.startswith("."))
    except OSError:
        return []
    return [folder / name for name in names]
