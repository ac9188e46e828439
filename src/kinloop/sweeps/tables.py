"""Columns by name as Parquet files, and what is said about them beside; written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.scalar import Array
from kinloop.sim.parquet import arrow

KEY = b"kinloop sweep"
"""Where a table keeps what is said about it."""

MOST_COLUMNS = 20_000
"""Tables of more columns are of no use to anybody."""


def write_table(path: Path, columns: dict[str, Array], about: dict[str, Any]) -> None:
    """Write columns of equal length; a reader sees all of the file or nothing."""
    pa, pq = arrow()
    if len(columns) > MOST_COLUMNS:
        raise MethodError(
            f"the task returns {len(columns):,} numbers per point, and tables hold {MOST_COLUMNS:,} columns; return "
            "what sums a point up, and save the rest to files of their own"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({name: pa.array(x.tolist() if x.dtype.kind == "U" else x) for name, x in columns.items()})
    table = table.replace_schema_metadata({KEY: json.dumps(about)})
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        pq.write_table(table, temporary, write_page_checksum=True)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_table(path: Path) -> tuple[dict[str, Array], dict[str, Any]] | None:
    """The columns of a file that `write_table` wrote, and what is said about them; None where it holds none."""
    _, pq = arrow()
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        about = json.loads((table.schema.metadata or {})[KEY])
        return {name: np.array(table.column(name).to_pylist()) for name in table.column_names}, about
    except Exception:  # of Arrow, JSON, NumPy: a dozen kinds, all about what the file holds
        return None
