"""The state of a batch: positions and velocities of all joints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from kinloop.errors import MethodError, ShapeError
from kinloop.inputs import checked
from kinloop.scalar import Array
from kinloop.sim.status import Status

Made = TypeVar("Made")

RUNNING = int(Status.RUNNING)  # as an integer: NumPy compares ten times as fast with it


def all_are(value: int, column: Array) -> bool:
    """Whether every entry of a column (B,) is this one; one entry is looked at without NumPy."""
    return bool(column[0] == value if len(column) == 1 else (column == value).all())


class Maker(NamedTuple):
    """The simulator that a state belongs to: what its memory means depends on all of this."""

    robot: str
    """The robot's name."""
    model: str
    """Digest of all that its dynamics depend on."""
    integrator: str
    motors: str
    """Digest of the motors and all other forces at joints."""
    independent: tuple[int, ...]
    """Places in qd of the robot's independent velocities."""


@dataclass(frozen=True, repr=False)
class State:
    """A batch of states: q (B, nq) [rad, m] and qd (B, n_spanning) [rad/s, m/s] of all joints, time t (B,) [s].

    `v` (B, nv) are the independent ones of the velocities. They are those that the integrator carries on: they fit the
    loops as well as a step is exact. `Rollout.qd` and `Rollout.v` are the nearest that fit the loops at q.

    `status` (B,) holds integers of `Status`: 1 where a batch row is on its way, others where it has stopped for good.
    `memory` (B, n) is what the integrator remembers of the last steps (accelerations, impulses), `pace` (B, 2) in how
    many parts a row takes its steps, and for how many more at least. `h` is the length of the last step, if all rows
    took it whole, else 0. `made_by` says whose memory this is.
    """

    q: Array
    qd: Array
    t: Array
    status: Array
    memory: Array
    pace: Array = field(default_factory=lambda: np.zeros((0, 2), dtype=int))
    h: float = 0.0
    made_by: Maker | None = None

    def __post_init__(self) -> None:
        if len(self.pace) != len(self.q):
            pace = np.empty((len(self.q), 2), dtype=int)
            pace[:] = 1, 0
            object.__setattr__(self, "pace", pace)

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        rows, name = len(self), f" of {self.made_by.robot!r}" if self.made_by else ""
        times = sorted({f"{t:g}" for t in self.t[[0, -1]]}, key=float) if rows else ["no time"]
        stopped = rows - int(np.count_nonzero(self.ok))
        said = f"{stopped} stopped" if stopped else "running"
        sizes = f"q {self.q.shape}, qd {self.qd.shape}"
        return f"<State{name}: {rows} row{'' if rows == 1 else 's'}, t = {' ... '.join(times)} s, {sizes}, {said}>"

    @property
    def v(self) -> Array:
        """Velocities of the robot's independent coordinates (B, nv) [rad/s, m/s]."""
        if self.made_by is None:
            raise MethodError("this state is of no simulator's making; robot.independent(state.qd) gives its v")
        return self.qd[:, list(self.made_by.independent)]

    @property
    def ok(self) -> Array:
        """Which batch rows are on their way (B,)."""
        return np.asarray(self.status == RUNNING)

    def arrays(self) -> tuple[Array, ...]:
        """What is said per batch row, (B, n) each, in SI units [m, rad, s]: q, qd, t, status, memory, pace."""
        return self.q, self.qd, self.t, self.status, self.memory, self.pace

    def repeated(self, rows: int) -> State:
        """The first batch row, so many times."""
        q, qd, t, status, memory, pace = (np.repeat(x[:1], rows, axis=0) for x in self.arrays())
        return State(q, qd, t, status, memory, pace, self.h if len(self) == 1 else 0.0, self.made_by)


def fresh(q: Array, qd: Array, t: Array | float, memory: int, maker: Maker) -> State:
    """A state that begins at q and qd, which become its own, at time t, with a memory of so many zeros."""
    rows = len(q)
    time, status, pace = np.empty(rows), np.empty(rows, dtype=int), np.empty((rows, 2), dtype=int)
    time[:], status[:], pace[:] = t, RUNNING, (1, 0)
    fields = {"q": q, "qd": qd, "t": time, "status": status, "memory": np.zeros((rows, memory)), "pace": pace}
    return unchecked(State, fields | {"h": 0.0, "made_by": maker})


def following(before: State, q: Array, qd: Array, t: Array, memory: Array) -> State:
    """A state that goes on like the one before."""
    fields = before.__dict__.copy()
    fields["q"], fields["qd"], fields["t"], fields["memory"] = q, qd, t, memory
    return unchecked(State, fields)


def unchecked(kind: type[Made], fields: dict[str, Any]) -> Made:
    """An instance of a frozen dataclass with all of its fields, in a third of the time that its own way takes."""
    made = _NEW(kind)
    _SET(made, "__dict__", fields)
    return made


_NEW, _SET = object.__new__, object.__setattr__


def equal_rows(*given: Array) -> tuple[Array, ...]:
    """Arrays (n,) or (B, n) as arrays of their own with as many rows each."""
    if all(x.ndim == 1 for x in given):
        return tuple(x[None].copy() for x in given)
    counts = {len(x) for x in given if x.ndim > 1} - {1} or {1}
    rows = counts.pop()
    if counts or not rows or any(x.ndim > 2 for x in given):
        shapes = " and ".join(str(x.shape) for x in given)
        raise ShapeError(f"states are one row or more, as many of positions as of velocities, received {shapes}")
    out = tuple(np.empty((rows, x.shape[-1])) for x in given)
    for mine, x in zip(out, given, strict=True):
        mine[:] = x
    return out


def times_of_rows(t: ArrayLike, rows: int) -> Array:
    """Times of batch rows: one for all, or one each."""
    found = checked("t", np.atleast_1d(t), np.size(t))
    if found.shape not in ((1,), (rows,)):
        raise ShapeError(f"t must be a number or have shape ({rows},), a time for every row, received {found.shape}")
    return found
