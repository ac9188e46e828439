"""Points that are done, on disk as they come: a sweep that ends early, for whatever reason, goes on from there.

Beside the table that a sweep will write there is a folder with a small file for every part that is done, written whole
or not at all. It belongs to one sweep: the same task, points and seed. A file that cannot be read counts as not done.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kinloop.errors import MethodError
from kinloop.sweeps.results import POINT, Values, from_columns
from kinloop.sweeps.tables import read_table, write_table


class Journal:
    """The parts of a sweep beside its table at `path`; without a path they are kept in memory alone."""

    def __init__(self, path: Path | None, identity: str) -> None:
        self.folder = path.with_name(f"{path.name}.parts") if path else None
        self._identity = identity
        self.parts: list[Values] = self._read() if self.folder and self.folder.is_dir() else []

    @property
    def done(self) -> set[int]:
        """The points that are done."""
        return {int(k) for part in self.parts for k in part.indices}

    def add(self, part: Values) -> None:
        """Keep what was found at some points."""
        if not len(part.indices):
            return
        self.parts.append(part)
        if self.folder:
            about = {"identity": self._identity, **part.about()}
            name = f"{int(part.indices[0]):08d}-{len(part.indices)}.parquet"
            write_table(self.folder / name, {POINT: part.indices, **part.columns()}, about)

    def remove(self) -> None:
        """Remove the parts, which are in the table now."""
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self) -> list[Values]:
        assert self.folder is not None, "read where there is one"
        found, seen = list[Values](), set[int]()
        for file in sorted(self.folder.glob("*.parquet")):
            read = read_table(file)
            if read is None:
                file.unlink()
                continue
            columns, about = read
            if about.get("identity") != self._identity:
                raise MethodError(
                    f"{self.folder.name!r} holds parts of another sweep: its task, points or seed differ; remove that "
                    "folder, or give another path"
                )
            part = from_columns(columns, about)
            if not seen & {int(k) for k in part.indices}:
                found.append(part)
                seen |= {int(k) for k in part.indices}
        return found
