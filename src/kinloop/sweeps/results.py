"""What a sweep found: values of all points in the order of the points, as columns and as what the task returned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.errors import MethodError, NotARollout, unknown
from kinloop.scalar import Array
from kinloop.sweeps.designs import Design
from kinloop.sweeps.tables import read_table, write_table

POINT, VALUE = "point", "value"
"""The column of the number of a point, and the name of what a task returns that returns no names."""

KINDS = {"b": bool, "i": np.int64, "u": np.int64, "f": float, "U": str}
"""What tasks may return, by NumPy's letters, and as what it is kept."""


@dataclass(frozen=True)
class Values:
    """What a task gave at some points: by name an array with a line per point; `single` if it gives no names."""

    indices: Array
    arrays: dict[str, Array]
    single: bool

    def columns(self) -> dict[str, Array]:
        """One column per number: `height`, `q[2]`, `pose[0,3]`."""
        out: dict[str, Array] = {}
        for name, x in self.arrays.items():
            for place in np.ndindex(x.shape[1:]):
                out[name if not place else f"{name}[{','.join(map(str, place))}]"] = x[(slice(None), *place)]
        return out

    def about(self) -> dict[str, Any]:
        """What columns do not say: the shapes of arrays, and whether the task gives names."""
        return {"shapes": {name: list(x.shape[1:]) for name, x in self.arrays.items()}, "single": self.single}


def values_of(indices: Sequence[int], given: Sequence[Any]) -> Values:
    """What a task returned at some points: numbers, words, arrays of numbers, or mappings of these."""
    rows = [_row(k, value) for k, value in zip(indices, given, strict=True)]
    first = _kinds(rows[0]) if rows else {}
    for k, row in zip(indices, rows, strict=True):
        if _kinds(row) != first:
            _refuse((indices[0], rows[0]), (k, row))
    arrays = {name: np.stack([row[name] for row in rows]) for name in first}
    return Values(np.array(indices, dtype=int), arrays, bool(given) and not isinstance(given[0], Mapping))


def _row(index: int, value: Any) -> dict[str, Array]:
    if value is None:
        return {}
    named = value if isinstance(value, Mapping) else {VALUE: value}
    out: dict[str, Array] = {}
    for name, given in named.items():
        try:
            x = np.asarray(given)
        except ValueError:
            x = np.asarray(None)
        if not isinstance(name, str) or x.dtype.kind not in KINDS or (x.dtype.kind == "U" and x.ndim):
            raise MethodError(
                f"at point {index} the task returned {name!r} of type {type(given).__name__}; return numbers, arrays "
                "of them, words, or a mapping of names to these"
            )
        out[name] = x.astype(KINDS[x.dtype.kind])
    return out


def from_columns(columns: Mapping[str, Array], about: Mapping[str, Any]) -> Values:
    """The values whose `columns` and `about` these are."""
    lines, arrays = len(columns[POINT]), dict[str, Array]()
    for name, shape in about["shapes"].items():
        places = list(np.ndindex(*shape))
        parts = [columns[name if not p else f"{name}[{','.join(map(str, p))}]"] for p in places]
        arrays[name] = np.stack(parts, axis=-1).reshape(lines, *shape) if parts else np.zeros((lines, *shape))
    return Values(columns[POINT], arrays, bool(about["single"]))


def joined(parts: Sequence[Values]) -> Values:
    """All points together in their order; an error where a task did not return the same everywhere."""
    parts = sorted(parts, key=lambda part: int(part.indices[0]))
    first = parts[0]
    ends = [(int(p.indices[0]), {name: x[0] for name, x in p.arrays.items()}) for p in parts]
    for point, row in ends:
        if _kinds(row) != _kinds(ends[0][1]):
            _refuse(ends[0], (point, row))
    indices = np.concatenate([p.indices for p in parts])
    order = np.argsort(indices, kind="stable")
    arrays = {name: np.concatenate([p.arrays[name] for p in parts])[order] for name in first.arrays}
    return Values(indices[order], arrays, first.single)


def _kinds(row: Mapping[str, Array]) -> dict[str, tuple[tuple[int, ...], bool]]:
    """What must be the same at all points: names, shapes, and whether these are words."""
    return {name: (np.shape(x), np.asarray(x).dtype.kind == "U") for name, x in row.items()}


def _refuse(first: tuple[int, Mapping[str, Array]], other: tuple[int, Mapping[str, Array]]) -> None:
    """The error for a task that returned one thing here and another there."""
    (a, mine), (b, theirs) = first, other
    shapes = [{name: np.shape(x) for name, x in row.items()} for row in (theirs, mine)]
    if shapes[0] == shapes[1]:
        name = next(n for n, kind in _kinds(theirs).items() if kind != _kinds(mine)[n])
        raise MethodError(f"the task returned {name!r} as words and as numbers; return one of them everywhere")
    raise MethodError(
        f"the task returned {_told(shapes[0])} at point {b}, and {_told(shapes[1])} at point {a}; return the same "
        "names and shapes everywhere"
    )


def _told(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {shape}" if shape else name for name, shape in shapes.items()) or "nothing"


@dataclass(frozen=True, repr=False)
class SweepResult:
    """Points of a sweep and what the task returned there, in the order of the points.

    `result["height"]` is a column of parameters or of results, an array with a line per point; `result[3]`, and every
    item in a loop, is what the task returned at a point. `design` has the points, `seed` what random numbers grew from.
    """

    design: Design
    values: Values
    seed: int = 0
    identity: str = field(default="", compare=False)

    def __repr__(self) -> str:
        told = _told({name: x.shape[1:] for name, x in self.values.arrays.items()})
        return f"<SweepResult: {len(self)} points of {', '.join(self.design.names)}; {told}>"

    def __len__(self) -> int:
        return len(self.design)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: str | int) -> Any:
        if isinstance(key, str):
            if key in self.values.arrays:
                return self.values.arrays[key]
            if key in self.design.columns:
                return np.asarray(self.design.columns[key])
            raise unknown("column", key, [*self.design.columns, *self.values.arrays])
        if not -len(self) <= key < len(self):
            raise IndexError(f"point {key} is not there; there are {len(self)}")
        found = {n: x[key].item() if x.ndim == 1 else x[key] for n, x in self.values.arrays.items()}
        return found.get(VALUE) if self.values.single else found

    def table(self) -> dict[str, Array]:
        """All columns (points, ...) by name: the number of the point, its parameters, its results; a line per point."""
        own = {name: _column(name, x) for name, x in self.design.columns.items()}
        found = self.values.columns()
        if clash := ({POINT, *own} & set(found)) or ({POINT} & set(own)):
            raise MethodError(f"the task returns {min(clash)!r}, which is a parameter too or taken; name it otherwise")
        return {POINT: self.values.indices, **own, **found}

    def save(self, path: str | Path) -> Path:
        """Write the table as Parquet; `kinloop.sweeps.load` gives the result again, to the bit."""
        path = table_path(path)
        about = {"names": self.design.names, "seed": self.seed, "identity": self.identity, **self.values.about()}
        write_table(path, self.table(), about)
        return path


def _column(name: str, x: Sequence[Any] | Array) -> Array:
    """Values of a parameter as a column of numbers or words."""
    found = np.asarray(x)
    if found.ndim != 1 or found.dtype.kind not in KINDS:
        raise MethodError(f"parameter {name!r} has values that are no numbers or words; tables cannot hold them")
    mixed = found.dtype.kind == "U" and not all(isinstance(value, str) for value in x)
    return np.array([str(value) for value in x]) if mixed else found.astype(KINDS[found.dtype.kind])


def table_path(path: str | Path) -> Path:
    """The path of a table, or an error where it has another ending."""
    path = Path(path)
    if path.suffix != ".parquet":
        raise MethodError(f"cannot save a sweep to {path.name!r}; give a name that ends in .parquet")
    return path


def load(path: str | Path) -> SweepResult:
    """A saved sweep as it was."""
    path = table_path(path)
    found = read_table(path) if path.is_file() else None
    try:
        assert found is not None
        columns, about = found
        design = Design({name: columns[name] for name in about["names"]})
        return SweepResult(design, from_columns(columns, about), int(about["seed"]), str(about["identity"]))
    except (AssertionError, KeyError, TypeError, ValueError):
        raise NotARollout(f"{path.name!r} holds no sweep, or is damaged; run the sweep again") from None
