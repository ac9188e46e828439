"""Which points a sweep visits: a grid, points at random, or a Latin hypercube."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinloop.errors import MethodError
from kinloop.inputs import checked_count, checked_number
from kinloop.scalar import Array


@dataclass(frozen=True)
class Range:
    """Values of a parameter between two numbers, evenly spread, or with `log` evenly spread in their logarithm."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        checked_number("low", self.low, "be a finite number")
        checked_number("high", self.high, f"be a number not below {self.low:g}", self.low)
        if self.log and self.low <= 0.0:
            raise MethodError(f"a range with log=True begins above zero, received {self.low:g}")

    def at(self, part: Array) -> Array:
        """The values (n) at parts (n) [1] of the way from `low` to `high`."""
        if not self.log:
            return np.minimum(self.low + part * (self.high - self.low), self.high)
        return np.clip(np.exp(math.log(self.low) + part * math.log(self.high / self.low)), self.low, self.high)


@dataclass(frozen=True)
class Design:
    """Points of parameters: a column of values (points) for every name, all of the same length."""

    columns: Mapping[str, Sequence[Any] | Array]

    def __post_init__(self) -> None:
        lengths = {name: len(x) for name, x in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise MethodError(f"every parameter must have as many values, received {lengths}")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        return list(self.columns)

    def point(self, index: int) -> dict[str, Any]:
        """The values of all parameters at a point, as Python's own numbers and words."""
        values = {name: x[index] for name, x in self.columns.items()}
        return {name: x.item() if isinstance(x, np.generic) else x for name, x in values.items()}


def grid(parameters: Mapping[str, Iterable[Any]]) -> Design:
    """Every value of every parameter with every value of all others; the last one changes fastest."""
    values = {name: _values(name, x) for name, x in parameters.items()}
    counts = [len(x) for x in values.values()]
    places = np.indices(counts).reshape(len(counts), -1) if counts else np.zeros((0, 0), dtype=int)
    return Design({name: [x[k] for k in place] for (name, x), place in zip(values.items(), places, strict=True)})


def random(parameters: Mapping[str, Any], points: int, seed: int = 0) -> Design:
    """So many points, each parameter drawn by itself: from a `Range` or (low, high), or from a list of values."""
    rng, count = np.random.default_rng(_seed(seed)), checked_count("points", points)
    return Design({name: _drawn(name, x, rng.random(count)) for name, x in parameters.items()})


def latin_hypercube(parameters: Mapping[str, Any], points: int, seed: int = 0) -> Design:
    """So many points, of which each parameter has one in every of as many equal parts of its range."""
    rng, count = np.random.default_rng(_seed(seed)), checked_count("points", points)
    parts = {name: (rng.permutation(count) + rng.random(count)) / count for name in parameters}
    return Design({name: _drawn(name, x, parts[name]) for name, x in parameters.items()})


def _values(name: str, given: Iterable[Any]) -> list[Any]:
    if isinstance(given, str | Range) or not isinstance(given, Iterable):
        raise MethodError(f"a grid needs a list of values for {name!r}, received {given!r}")
    found = list(given)
    if not found:
        raise MethodError(f"parameter {name!r} has no values; give at least one")
    return found


def _drawn(name: str, given: Any, part: Array) -> Any:
    """Values at parts of the way through a range, or through a list."""
    if isinstance(given, tuple) and len(given) == 2:
        given = Range(*given)
    if isinstance(given, Range):
        return given.at(part)
    values = _values(name, given)
    return [values[min(int(x * len(values)), len(values) - 1)] for x in part]


def _seed(seed: int) -> int:
    return checked_count("seed", seed, least=0)


def as_design(parameters: Any, argument: str) -> Design:
    """Points as users give them: a design, lists of values by name (a grid), or a sequence of points.

    A point of a sequence is a mapping of names to values, or one value of the task's only `argument`.
    """
    if isinstance(parameters, Design):
        return parameters
    if isinstance(parameters, Mapping):
        return grid(parameters)
    if isinstance(parameters, str) or not isinstance(parameters, Iterable):
        raise MethodError(
            f"parameters must be a design, lists by name, or a sequence of points, received {parameters!r}"
        )
    points = [p if isinstance(p, Mapping) else {argument: p} for p in parameters]
    names = list(points[0]) if points else []
    for k, p in enumerate(points):
        if set(p) != set(names):
            raise MethodError(f"point {k} has the parameters {list(p)}, the first has {names}; give all the same")
    return Design({name: [p[name] for p in points] for name in names})
