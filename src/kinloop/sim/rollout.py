"""What a rollout leaves behind: recorded quantities, the last states, and what became of every batch row."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.scalar import Array
from kinloop.sim.parquet import arrow, read_parquet, write_parquet
from kinloop.sim.state import State
from kinloop.sim.status import Status


@dataclass(frozen=True)
class Rollout:
    """Recorded quantities as attributes and items, each (B, N, ...), and what became of the batch rows.

    `t` (N,) are the recorded times. `status` (B,) holds integers of `Status`: 1 where a row went all the way, 3 where
    its loops could not be closed at this step length, 4 where it diverged; such a row stays at its last good state,
    from the time `stopped` (B,) on, and nothing pushes it in the records. `substeps` (B,) counts the steps that rows
    took where dt was too long for them. `singular` (B,) is True where a row passed a configuration at which a loop
    loses rank, `nearest` (B,) how near it came to one: 0 is there, 1 or more far away (`kinloop.sim.singularity`).
    """

    t: Array
    records: dict[str, Array]
    final: State
    status: Array
    stopped: Array
    substeps: Array
    singular: Array
    nearest: Array
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
        """Batch rows that did not go all the way."""
        return np.asarray(self.status != int(Status.RUNNING))

    def arrays(self) -> dict[str, Array]:
        """Everything as plain arrays."""
        flags = {k: getattr(self, k) for k in ("status", "stopped", "substeps", "singular", "nearest")}
        last = {"final_q": self.final.q, "final_qd": self.final.qd, "final_t": self.final.t}
        return {"t": self.t, **self.records, **last, **flags}

    def save(self, path: str | Path) -> Path:
        """Write everything to `.npz`, or to `.parquet` as a table with a line per batch row and time; see `load`."""
        path = checked_path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".parquet":
            write_parquet(self, path)
            return path
        with path.open("wb") as file:
            np.savez_compressed(file, **self.arrays())  # type: ignore[arg-type]
        return path


def checked_path(path: str | Path, aim: str = "save to") -> Path:
    """The path of a saved rollout; an error where it has another ending, or where what writes it is not installed."""
    path = Path(path)
    if path.suffix not in (".npz", ".parquet"):
        raise MethodError(f"cannot {aim} {path.name!r}; give a name that ends in .npz or .parquet")
    if path.suffix == ".parquet":
        arrow()
    return path


def load(path: str | Path) -> dict[str, Array]:
    """The arrays of a saved rollout by name, in the shapes they had."""
    path = checked_path(path, "load")
    if path.suffix == ".parquet":
        return read_parquet(path)
    with np.load(path, allow_pickle=False) as data:
        return {k: data[k] for k in data.files}
