"""What a rollout leaves behind: recorded quantities, the last states, and what became of every batch row."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.scalar import Array
from kinloop.sim.rollout_files import checked_path, not_a_rollout, read_rollout, write_rollout
from kinloop.sim.rollout_plot import plot_rollout
from kinloop.sim.state import Maker, State
from kinloop.sim.status import Status

FINAL = ("q", "qd", "t", "memory", "pace")
"""What is kept of the last state besides its status."""

FLAGS = ("status", "stopped", "substeps", "singular", "nearest")
"""What a rollout says of every batch row in numbers."""


@dataclass(frozen=True, repr=False)
class Rollout:
    """Recorded quantities as attributes and items, each (B, N, ...), and what became of the batch rows.

    `t` (N,) are the recorded times, of the first row where rows began at different ones. `status` (B,) holds integers
    of `Status`: 1 where a row went all the way, 6 where it did but its energy does not balance, others where it
    stopped. A row that stops stays at its last good state, from the time `stopped` (B,) on, and nothing pushes it in
    the records. `reasons` (B) has a sentence about each row that is not well, '' for the others. `substeps` (B,) counts
    the steps that rows took where dt was too long for them. `singular` (B,) is True where a row passed a configuration
    at which a loop loses rank, `nearest` (B,) how near it came to one: 0 is there, 1 or more far away
    (`kinloop.sim.singularity`). `peaks` has the largest values over all steps, recorded or not, each (B,): turning, the
    rate at which a joint turned [rad/s]; with contact contact_force, of all contacts together [N], penetration [m],
    residual [m/s], iterations; with `monitor` loop_error [m, rad] and imbalance, the energy that no force explains [J].
    `entries` has the names of the entries of recorded vectors.
    """

    t: Array
    records: dict[str, Array]
    final: State
    status: Array
    stopped: Array
    substeps: Array
    singular: Array
    nearest: Array
    peaks: dict[str, Array]
    reasons: tuple[str, ...]
    single: bool = False
    info: dict[str, Any] = field(default_factory=dict)
    entries: dict[str, list[str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        rows, lost = len(self.status), int(np.count_nonzero(self.diverged))
        when = f"{len(self.t)} times from {self.t[0]:g} to {self.t[-1]:g} s" if len(self.t) else "no times"
        said = f"{lost} not well, see reasons" if lost else "all well"
        held = ", ".join(f"{name} {x.shape}" for name, x in self.records.items())
        return f"<Rollout: {rows} row{'' if rows == 1 else 's'}, {when}; {held or 'nothing recorded'}; {said}>"

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
        """Which batch rows (B,) did not go all the way."""
        return np.asarray(self.status != int(Status.RUNNING))

    def plot(self, *names: str, row: int = 0, path: str | Path | None = None) -> Any:
        """Draw recorded quantities of a row over time, all or those named; gives the figure, written to `path` if any.

        Without a path `matplotlib.pyplot.show()` shows it, as notebooks do by themselves.
        """
        return plot_rollout(self, names, row, path)

    def arrays(self) -> dict[str, Array]:
        """Everything as plain arrays (B, T, n) in SI units [m, rad, s]; what is said in words is left out."""
        flags = {name: getattr(self, name) for name in FLAGS}
        last = {f"final_{name}": getattr(self.final, name) for name in FINAL}
        return {"t": self.t, **self.records, **last, **flags, **{f"peak_{k}": x for k, x in self.peaks.items()}}

    def save(self, path: str | Path) -> Path:
        """Write everything to `.npz`, or to `.parquet` as a table with a line per batch row and time; see `load`."""
        about = {
            "records": list(self.records), "peaks": list(self.peaks), "reasons": list(self.reasons),
            "single": self.single, "info": self.info, "entries": self.entries, "h": self.final.h,
            "made_by": list(self.final.made_by or ()),
        }  # fmt: skip
        return write_rollout(checked_path(path), self.arrays(), about)


def load(path: str | Path) -> Rollout:
    """A saved rollout as it was. Its `final` state goes on in the simulator that made it as if never saved."""
    path = checked_path(path, "load")
    arrays, about = read_rollout(path)
    try:
        rollout = _restored(arrays, about)
        _check_shapes(rollout)
    except (KeyError, TypeError, ValueError) as error:
        raise not_a_rollout(path, f"what it holds does not fit together ({error})") from None
    return rollout


def _restored(arrays: dict[str, Array], about: dict[str, Any]) -> Rollout:
    """The rollout of arrays by name and of what is said about them."""
    made_by = None
    if about["made_by"]:
        robot, model, integrator, motors, independent = about["made_by"]
        made_by = Maker(robot, model, integrator, motors, tuple(map(int, independent)))
    q, qd, t, memory, pace = (arrays[f"final_{name}"] for name in FINAL)
    status, stopped, substeps, singular, nearest = (arrays[name] for name in FLAGS)
    final = State(q, qd, t, status.copy(), memory, pace, float(about["h"]), made_by)
    records = {name: arrays[name] for name in about["records"]}
    peaks = {name: arrays[f"peak_{name}"] for name in about["peaks"]}
    return Rollout(
        arrays["t"], records, final, status, stopped, substeps, singular, nearest, peaks, tuple(about["reasons"]),
        about["single"], about["info"], {name: list(map(str, x)) for name, x in dict(about["entries"]).items()},
    )  # fmt: skip


def _check_shapes(r: Rollout) -> None:
    """An error where arrays that were read are not those of one rollout."""
    rows, times = len(r.status), len(r.t)
    for name, x in r.arrays().items():
        record = name in r.records
        lead = (times,) if name == "t" or (record and r.single) else (rows, times) if record else (rows,)
        axes = x.ndim if record else 2 if name in ("final_q", "final_qd", "final_memory", "final_pace") else 1
        if x.shape[: len(lead)] != lead or x.ndim != axes or x.dtype.kind not in "bif":
            raise ValueError(f"{name!r} of {rows} rows and {times} times has the shape {x.shape} and type {x.dtype}")
    words = (*r.reasons, *(r.final.made_by or ())[:-1])
    if len(r.reasons) != rows or not all(isinstance(word, str) for word in words):
        raise ValueError(f"there are not {rows} reasons in words")
    if not all(0 <= d < r.final.qd.shape[1] for d in (r.final.made_by.independent if r.final.made_by else ())):
        raise ValueError("its last state has other velocities than are independent")
    if any(name not in r.records or r.records[name].shape[-1:] != (len(x),) for name, x in r.entries.items()):
        raise ValueError("other entries are named than were recorded")
    if not isinstance(r.single, bool) or not isinstance(r.info, dict) or (r.single and rows != 1):
        raise ValueError("it is not said whether this is one row or a batch")
