"""Tables read by an index that is not known yet, and the numbers of the least of many values.

The node "table" stands for values side by side, "take" for the one at an index; "nearest" has the numbers of the values
below zero, and nodes "pick" take them one by one.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np

from kinloop.scalar.graph import Graph
from kinloop.scalar.symbol import Array, Symbol, lift


def take(table: Any, index: Any) -> Any:
    """The entry of a table (n,), or the row of one (n, k), at an index that is kept within 0 and n - 1.

    Entries are numbers or symbols. The index is a whole number, or a symbol for one.
    """
    table = np.asarray(table)
    if isinstance(index, Symbol) and table.dtype == float:
        columns = [_of_numbers(index.graph, x, index) for x in table.reshape(len(table), -1).T]
        return columns[0] if table.ndim == 1 else np.array(columns, dtype=object).reshape(table.shape[1:])
    if not isinstance(index, Symbol):
        return take_number(list(table), index) if isinstance(index, np.ndarray) else table[_place(len(table), index)]
    if table.ndim == 1:
        return _node(index.graph, list(table), index)
    out = np.empty(table.shape[1:], dtype=object)
    for k in np.ndindex(out.shape):
        out[k] = _node(index.graph, list(table[(slice(None), *k)]), index)
    return out


def _place(count: int, index: Any) -> int:
    """An index within a table of so many entries; 0 where it is nan."""
    index = float(index)
    return int(min(index, count - 1)) if index > 0 else 0


def take_number(entries: Any, index: Any) -> Any:
    """The entry at an index, both numbers or batches of numbers, or symbols at an index that is known."""
    if any(isinstance(x, Symbol) for x in (index, *entries)):
        return take(np.array(entries, dtype=object), index)
    if not isinstance(index, np.ndarray):
        return entries[_place(len(entries), index)]
    with np.errstate(all="ignore"):
        place = np.where(index > 0, np.minimum(index, len(entries) - 1), 0).astype(int)
    rows = np.stack(np.broadcast_arrays(*entries, index)[:-1])
    return np.take_along_axis(rows, place[None], axis=0)[0]


def _node(graph: Graph, entries: list[Any], index: Symbol) -> Any:
    """One entry of a table at an index that is a symbol."""
    first = entries[0]
    if all(x is first or (not isinstance(x, Symbol) and not isinstance(first, Symbol) and x == first) for x in entries):
        return first
    if not any(isinstance(x, Symbol) for x in entries):
        return _of_numbers(graph, np.array(entries, dtype=float), index)
    return graph.node("take", (graph.node("table", tuple(lift(graph, x) for x in entries)), index))


def _of_numbers(graph: Graph, entries: Array, index: Symbol) -> Any:
    """One entry of a table of numbers at an index that is a symbol."""
    if (entries == entries[0]).all():
        return float(entries[0])
    return graph.node("take", (graph.node("table", (), _numbers(np.ascontiguousarray(entries).tobytes())), index))


class Numbers:
    """The entries of a table of numbers, which is one node without arguments, however long it is."""

    __slots__ = ("_digest", "entries")

    def __init__(self, data: bytes) -> None:
        self.entries = tuple(np.frombuffer(data).tolist())
        self._digest = hashlib.sha256(data).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numbers) and other._digest == self._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return f"Numbers({self._digest})"


@lru_cache(maxsize=64)
def _numbers(data: bytes) -> Numbers:
    """The table of numbers side by side in memory: the same object for equal ones."""
    return Numbers(data)


class Nearest:
    """What a node "nearest" finds: the numbers of at most `slots` of its values that are below zero."""

    __slots__ = ("slots",)

    def __init__(self, slots: int) -> None:
        self.slots = slots

    def __call__(self, *keys: Any) -> Any:
        """On numbers: the numbers of the chosen, zero where there are no more, and how many are below zero."""
        if any(isinstance(x, Symbol) for x in keys):
            return nearest(list(keys), self.slots)
        rows = np.broadcast_arrays(*[np.asarray(x, dtype=float) for x in keys]) if keys else []
        shape = rows[0].shape if keys else ()
        out = np.zeros((self.slots + 1, *shape))
        for lane in np.ndindex(shape):
            chosen, count = _chosen([float(row[lane]) for row in rows], self.slots)
            for k, n in enumerate(chosen):
                out[(k, *lane)] = n
            out[(self.slots, *lane)] = count
        return [x if shape else float(x) for x in out]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nearest) and other.slots == self.slots

    def __hash__(self) -> int:
        return hash(self.slots)

    def __repr__(self) -> str:
        return f"Nearest({self.slots})"


def _chosen(keys: list[float], slots: int) -> tuple[list[int], int]:
    """In the order of the keys as long as there is room; then each that is less in place of the largest there is."""
    chosen: list[int] = []
    count = 0
    for n, key in enumerate(keys):
        if not key < 0.0:
            continue
        if count < slots:
            chosen.append(n)
        elif slots:
            worst = 0
            for k in range(1, slots):
                if keys[chosen[k]] > keys[chosen[worst]]:
                    worst = k
            if key < keys[chosen[worst]]:
                chosen[worst] = n
        count += 1
    return chosen, count


def nearest(keys: Any, slots: int) -> tuple[Array, Any]:
    """The numbers of at most `slots` keys that are below zero, the least of them, and how many there are.

    They come in order, and zero where there are no more, as long as there is room for all.
    """
    keys = list(keys)
    symbols = [x for x in keys if isinstance(x, Symbol)]
    if not symbols:
        found = Nearest(slots)(*keys)
        return np.array(found[:-1]), found[-1]
    graph = symbols[0].graph
    node = graph.node("nearest", tuple(lift(graph, x) for x in keys), Nearest(slots))
    out = np.empty(slots, dtype=object)
    for k in range(slots):
        out[k] = graph.node("pick", (node,), k)
    return out, graph.node("pick", (node,), slots)
