"""What a rollout leaves behind: recorded quantities, the last state, and what happened to every row."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.spatial.transform import Array

NAMES = {1: "ok", 2: "chart", 3: "open", 4: "diverged"}


@dataclass(frozen=True)
class State:
    """A batch of states: positions q (B, nq) and velocities qd (B, n_spanning) of all joints, time t (B,).

    This is what survives a change of chart. `ok` is False for a row that has stopped for good. `memory`
    (B, n) holds first guesses for the next step (smooth acceleration, impulses); zeros serve too.
    """

    q: Array
    qd: Array
    t: Array
    ok: Array
    memory: Array

    def __len__(self) -> int:
        return len(self.q)


@dataclass(frozen=True)
class Rollout:
    """Recorded quantities as attributes and items, each (B, N, ...), and what became of the rows.

    `t` (N,) are the recorded times. `status` (B,) is 1 where a row went all the way; 3 its loops could not
    be closed at this step length, 4 it diverged: such a row stays at its last good state, from the time
    `stopped` (B,) on. `chart_changes` (B,) counts changes of independent coordinates, `singular` (B,) is
    True where a row came near (volume below 1e-2) or passed a configuration where loops lose rank.
    """

    t: Array
    records: dict[str, Array]
    final: State
    status: Array
    stopped: Array
    chart_changes: Array
    singular: Array
    lowest_volume: Array
    single: bool = False
    info: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        if name not in self.records:
            known = ", ".join(self.records) or "nothing"
            raise MethodError(f"{name!r} was not recorded; record=[{name!r}] asks for it (recorded: {known})")
        return self.records[name]

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_") or name not in self.__dict__.get("records", {}):
            raise AttributeError(f"{name!r} was not recorded; ask for it with record=[{name!r}, ...]")
        return self.records[name]

    @property
    def diverged(self) -> Array:
        """Rows that did not go all the way."""
        return self.status != 1

    def arrays(self) -> dict[str, Array]:
        """Everything as plain arrays."""
        flags = {k: getattr(self, k) for k in ("status", "stopped", "chart_changes", "singular", "lowest_volume")}
        last = {"final_q": self.final.q, "final_qd": self.final.qd, "final_t": self.final.t}
        return {"t": self.t, **self.records, **last, **flags}

    def save(self, path: str | Path) -> Path:
        """Write all arrays to `.npz`, or the records as a table (one line per row and time) to `.parquet`."""
        path = Path(path)
        if path.suffix == ".npz":
            with path.open("wb") as file:
                np.savez_compressed(file, **self.arrays())  # type: ignore[arg-type]
        elif path.suffix == ".parquet":
            _write_parquet(self, path)
        else:
            raise MethodError(f"cannot save to {path.name!r}; give a name that ends in .npz or .parquet")
        return path


def _write_parquet(r: Rollout, path: Path) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MethodError("saving to .parquet needs pyarrow; pip install pyarrow, or save to .npz") from None
    n = len(r.t)
    rows = len(r.status)
    table: dict[str, Array] = {"row": np.repeat(np.arange(rows), n), "t": np.tile(r.t, rows)}
    for name, x in r.records.items():
        flat = (x[None] if r.single else x).reshape(rows * n, -1)
        for k in range(flat.shape[1]):
            table[name if flat.shape[1] == 1 else f"{name}[{k}]"] = flat[:, k]
    pq.write_table(pa.table(table), path)


def load(path: str | Path) -> dict[str, Array]:
    """Arrays of a saved `.npz` rollout."""
    with np.load(Path(path), allow_pickle=False) as data:
        return {k: data[k] for k in data.files}
