"""Rollouts as Parquet tables: one line per batch row and recorded time, one column per number."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.errors import MethodError, NotARollout
from kinloop.scalar import Array

KEY = b"kinloop"
"""Where the table keeps the description, the shapes of its arrays, and what is no column."""

NO_COLUMNS = ("final_memory", "final_pace")
"""What nobody looks for in a table: it is kept beside it."""


def arrow() -> tuple[Any, Any]:
    """The modules pyarrow and pyarrow.parquet, or one sentence about what to install."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MethodError(".parquet files need pyarrow; pip install 'kinloop[parquet]', or use .npz") from None
    return pyarrow, pyarrow.parquet


def write_parquet(path: Path, arrays: dict[str, Array], about: dict[str, Any]) -> None:
    """Write a rollout: columns `row` (the batch row) and `t`, its records, and on every line what is said per row.

    `about` names the records among the arrays (`records`), and says whether they have no axis of rows (`single`).
    """
    pa, pq = arrow()
    rows, times = len(arrays["status"]), len(arrays["t"])
    if not times:
        raise MethodError("nothing was recorded, so there is no table to write; lower every=, or save to .npz")
    columns: dict[str, Array] = {"row": np.repeat(np.arange(rows), times), "t": np.tile(arrays["t"], rows)}
    shapes: dict[str, list[int]] = {}
    beside: dict[str, list[Any]] = {}
    for name, x in arrays.items():
        if name == "t":
            continue
        if name in NO_COLUMNS:
            beside[name] = [x.dtype.str, x.shape, b64encode(x.tobytes()).decode()]
            continue
        if name in about["records"]:
            x = x[None] if about["single"] else x
        else:
            x = np.repeat(x[:, None], times, axis=1)
        shapes[name] = list(x.shape[2:])
        for column, place in zip(_columns(name, x.shape[2:]), np.ndindex(x.shape[2:]), strict=True):
            columns[column] = x[(..., *place)].ravel()
    told = {"about": about, "rows": rows, "times": times, "shapes": shapes, "beside": beside}
    table = pa.table(columns)
    pq.write_table(table.replace_schema_metadata({KEY: json.dumps(told)}), path, write_page_checksum=True)


def read_parquet(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays of a table that `write_parquet` wrote, in the shapes they had, and what is said about them."""
    pa, pq = arrow()
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except pa.ArrowInvalid:
        raise NotARollout(f"{path.name!r} is not a Parquet file, or is damaged; save it again") from None
    found = (table.schema.metadata or {}).get(KEY)
    if found is None:
        raise NotARollout(f"{path.name!r} was not written by Rollout.save; read it with pyarrow or pandas")
    told = json.loads(found)
    about, rows, times = told["about"], told["rows"], told["times"]
    out = {"t": table.column("t").to_numpy()[:times]}
    for name, shape in told["shapes"].items():
        parts = [table.column(column).to_numpy() for column in _columns(name, shape)]
        x = np.stack(parts, axis=-1) if parts else np.zeros((rows * times, 0))
        x = x.reshape(rows, times, *shape)
        once = name not in about["records"]
        out[name] = x[:, 0] if once else x[0] if about["single"] else x
    for name, (dtype, shape, data) in told["beside"].items():
        out[name] = np.frombuffer(b64decode(data), np.dtype(dtype)).reshape(shape).copy()
    return out, about


def _columns(name: str, shape: Sequence[int]) -> list[str]:
    """Names of the columns of a quantity: `name`, `name[2]`, `name[2,0]`."""
    return [name if not place else f"{name}[{','.join(map(str, place))}]" for place in np.ndindex(*shape)]
