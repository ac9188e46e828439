"""Rollouts as Parquet tables: one line per batch row and recorded time, one column per number."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.scalar import Array

if TYPE_CHECKING:
    from kinloop.sim.rollout import Rollout

KEY = b"kinloop"
"""Where the table keeps the shapes of its arrays."""


def arrow() -> tuple[Any, Any]:
    """The modules pyarrow and pyarrow.parquet, or one sentence about what to install."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MethodError(".parquet files need pyarrow; pip install 'kinloop[parquet]', or use .npz") from None
    return pyarrow, pyarrow.parquet


def write_parquet(r: Rollout, path: Path) -> None:
    """Write a rollout: columns `row` (the batch row) and `t`, its records, and on every line what is said per row."""
    pa, pq = arrow()
    rows, times = len(r.status), len(r.t)
    if not times:
        raise MethodError("nothing was recorded, so there is no table to write; lower every=, or save to .npz")
    columns: dict[str, Array] = {"row": np.repeat(np.arange(rows), times), "t": np.tile(r.t, rows)}
    shapes: dict[str, list[int]] = {}
    once = []
    for name, x in r.arrays().items():
        if name == "t":
            continue
        if name in r.records:
            x = x[None] if r.single else x
        else:
            once.append(name)
            x = np.repeat(x[:, None], times, axis=1)
        shapes[name] = list(x.shape[2:])
        for column, place in zip(_columns(name, x.shape[2:]), np.ndindex(x.shape[2:]), strict=True):
            columns[column] = x[(..., *place)].ravel()
    about = {"rows": rows, "times": times, "single": r.single, "shapes": shapes, "once": once}
    table = pa.table(columns)
    pq.write_table(table.replace_schema_metadata({KEY: json.dumps(about)}), path)


def read_parquet(path: Path) -> dict[str, Array]:
    """The arrays of a table that `write_parquet` wrote, in the shapes they had."""
    pa, pq = arrow()
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid:
        raise MethodError(f"{path.name!r} is not a Parquet file") from None
    found = (table.schema.metadata or {}).get(KEY)
    if found is None:
        raise MethodError(f"{path.name!r} was not written by Rollout.save; read it with pyarrow or pandas")
    about = json.loads(found)
    rows, times = about["rows"], about["times"]
    out = {"t": table.column("t").to_numpy()[:times]}
    for name, shape in about["shapes"].items():
        parts = [table.column(column).to_numpy() for column in _columns(name, shape)]
        x = np.stack(parts, axis=-1) if parts else np.zeros((rows * times, 0))
        x = x.reshape(rows, times, *shape)
        once = name in about["once"]
        out[name] = x[:, 0] if once else x[0] if about["single"] else x
    return out


def _columns(name: str, shape: Sequence[int]) -> list[str]:
    """Names of the columns of a quantity: `name`, `name[2]`, `name[2,0]`."""
    return [name if not place else f"{name}[{','.join(map(str, place))}]" for place in np.ndindex(*shape)]
