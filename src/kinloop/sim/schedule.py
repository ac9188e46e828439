"""When a rollout ends, and at which times it is recorded.

Steps are dt long and begin with the rollout, whatever is recorded. Where the end does not lie on this grid, the last
step is shorter. A time of output between two steps is reached by a shorter step of its own, taken aside from the last
whole one: what is recorded moves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinloop.errors import MethodError
from kinloop.inputs import checked, checked_count, checked_number
from kinloop.scalar import Array
from kinloop.sim.state import State

ON_GRID = 1e-9
"""Times that are nearer to the end of a step than this part of it are there, ..."""

ROUNDINGS = 8.0
"""... and so are those that are nearer than so many roundings of them."""


class Span(NamedTuple):
    """How far a rollout goes: so many steps of length dt, and a shorter one [s] where `rest` is not zero."""

    steps: int
    rest: float = 0.0

    @property
    def total(self) -> int:
        """All steps, the shorter one included."""
        return self.steps + (1 if self.rest else 0)


@dataclass(frozen=True, eq=False)
class Schedule:
    """The span of a rollout, and what is recorded of it.

    Record k is made `beyond[k]` seconds after `due[k]` steps. `every` is how many steps are between records where that
    is always the same, else 0. `since` are the times of the records since the beginning [s].
    """

    span: Span
    every: int
    due: Array
    beyond: Array
    since: Array

    @cached_property
    def begins(self) -> bool:
        """Whether the beginning is recorded."""
        return bool(len(self.due)) and self.due[0] == 0 and not self.beyond[0]

    @cached_property
    def is_even(self) -> bool:
        """Whether all steps are whole and records lie between equal numbers of them, the first after as many."""
        return bool(self.every) and not self.span.rest and not self.begins

    def chunks(self, most: int) -> Iterator[tuple[int, int]]:
        """Stretches of at most so many steps, about: where each begins, and how many steps it has.

        Records lie evenly within a stretch or at its end. What is looked at aside begins one, the shorter step is one.
        """
        count, length = self.span.total, max(self.every, most // self.every * self.every) if self.every else most
        borders: Iterable[int] = range(0, count, length)
        if not (self.every and not self.span.rest):
            aside = self.due.tolist() if not self.every else []
            borders = sorted({*borders, self.span.steps, *aside} - {count})
        return ((a, b - a) for a, b in pairwise([*borders, count]))


def even(steps: int, every: int, dt: float, rest: float = 0.0, begins: bool = False) -> Schedule:
    """Records after every so many of all steps, and of the beginning where that is asked for."""
    every, span = checked_count("every", every), Span(steps, rest)
    due = every * np.arange(0 if begins else 1, span.total // every + 1)
    since = dt * due
    if rest and len(due) and due[-1] > steps:
        since = np.append(since[:-1], steps * dt + rest)
    return Schedule(span, every, due, np.zeros(len(due)), since)


def span_of(start: State, dt: float, steps: int | None, until: float | None, times: ArrayLike | None) -> Span | None:
    """How far a rollout goes that ends at a time: `until`, or the last of `times`; None where its steps are counted."""
    if until is not None:
        if steps is not None:
            raise MethodError(f"a rollout takes steps= or until=, not both, received steps={steps} and until={until}")
        return _span(start, dt, checked_number("until", until, "be a time [s]"), "until")
    if times is not None and steps is None:
        return _span(start, dt, float(_checked_times(start, times)[-1]), "the last of times")
    return None if steps is None or times is None else Span(checked_count("steps", steps))


def _span(start: State, dt: float, end: float, what: str) -> Span:
    began = _began(start, what)
    steps, rest = _split(np.array([end - began]), dt)
    if end < began or not (steps[0] or rest[0]):
        raise MethodError(f"{what} must lie after {began:g} s, when the rollout begins, received {end:g} s")
    return Span(int(steps[0]), float(rest[0]))


def scheduled(start: State, dt: float, span: Span, times: ArrayLike | None, every: int, begins: bool) -> Schedule:
    """What is recorded over a span: at `times`, or after every so many steps; and at the beginning."""
    if times is None:
        return even(span.steps, every, dt, span.rest, begins)
    if every != 1:
        raise MethodError(f"a rollout is recorded at times= or every so many steps, not both, received every={every}")
    given, began = _checked_times(start, times), _began(start, "times")
    due, beyond = _split(given - began, dt)
    if due[-1] + beyond[-1] / dt > span.steps + span.rest / dt + ON_GRID:
        raise MethodError(f"times go on to {given[-1]:g} s, beyond the end of the rollout; leave out steps= and until=")
    last = (due == span.steps) & (np.abs(beyond - span.rest) <= ON_GRID * dt) & (span.rest > 0.0)
    due, beyond = np.where(last, span.total, due), np.where(last, 0.0, beyond)
    if begins and (due[0] or beyond[0]):
        due, beyond, given = np.append(0, due), np.append(0.0, beyond), np.append(began, given)
    if len(set(zip(due.tolist(), beyond.tolist(), strict=True))) < len(due):
        raise MethodError(f"times must lie further apart than rounding, received {times!r}")
    return Schedule(span, 0, due, beyond, given - began)


def _checked_times(start: State, times: ArrayLike) -> Array:
    """Times [s] that increase and do not lie before the beginning."""
    given, began = checked("times", np.atleast_1d(times), np.size(times)), _began(start, "times")
    if given.ndim != 1 or not given.size or np.any(np.diff(given) <= 0.0) or given[0] < began:
        raise MethodError(
            f"times must be a list of increasing times, none before the beginning at {began:g} s, received {times!r}"
        )
    return given


def _began(start: State, what: str) -> float:
    """When all rows begin."""
    if np.ptp(start.t) > 0.0:
        raise MethodError(f"{what} needs rows that begin at the same time, these begin at different ones; use steps=")
    return float(start.t[0])


def _split(since: Array, dt: float) -> tuple[Array, Array]:
    """Times since the beginning as whole steps and what lies beyond these [s]."""
    steps = since / dt
    near = np.round(steps)
    on = np.abs(steps - near) <= np.maximum(ON_GRID, ROUNDINGS * np.finfo(float).eps * near)
    whole = np.where(on, near, np.floor(steps)).astype(int)
    return whole, np.where(on, 0.0, since - whole * dt)
