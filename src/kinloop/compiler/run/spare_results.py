"""Large arrays of results that nobody has any more: they serve again.

The system hands out memory page by page, when each is first written: of a batch of derivatives that takes as long as
computing them. So the last such arrays are kept, up to a limit for the whole process. One to which nobody else has a
reference, of which there is no view and no weak reference, and which is as it was made, cannot be told from a new one.
"""

from __future__ import annotations

import math
import sys
import threading
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np

LEAST = 1 << 17
"""Bytes of an array to be kept: smaller ones come from memory that the process has already."""

LIMIT = 1 << 26
"""Bytes of all arrays that are kept."""


_Kind = tuple[tuple[int, ...], np.dtype[Any]]


class SpareResults:
    """Makes arrays for results, and remembers the last of them. Safe to use from many threads."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._kept: OrderedDict[_Kind, list[np.ndarray]] = OrderedDict()
        self._size = self._alone = 0
        if getattr(sys, "_is_gil_enabled", lambda: True)():  # else others may take references at any moment
            self._alone = _references([np.empty(0)], 0)

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """An array of this shape with any numbers in it."""
        size = _bytes((shape, dtype))
        wanted = self._alone and LEAST <= size <= self._limit // 2
        if not wanted or not self._lock.acquire(blocking=False):
            return np.empty(shape, dtype)
        try:
            return self._kept_array(shape, dtype, size)
        finally:
            self._lock.release()

    def _kept_array(self, shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> np.ndarray:
        """One that nobody has any more, or a new one, as the newest of those that are kept."""
        kind = shape, dtype
        same = self._kept.setdefault(kind, [])
        self._kept.move_to_end(kind)
        for k in range(len(same)):
            if _references(same, k) == self._alone and _as_made(same[k], kind):
                return same[k]
        made = np.empty(shape, dtype)
        same.append(made)
        self._size += size
        while self._size > self._limit:
            self._drop_oldest()
        return made

    def _drop_oldest(self) -> None:
        """Forget an array of the kind that was asked for longest ago."""
        kind, arrays = next(iter(self._kept.items()))
        arrays.pop(0)
        self._size -= _bytes(kind)
        if not arrays:
            del self._kept[kind]


def _bytes(kind: _Kind) -> int:
    """The size of an array of a kind, as it was made."""
    shape, dtype = kind
    return math.prod(shape) * dtype.itemsize


def _references(arrays: list[np.ndarray], k: int) -> int:
    """How many references there are to an array of a list, with those of this look itself."""
    return sys.getrefcount(arrays[k])


def _as_made(x: np.ndarray, kind: _Kind) -> bool:
    """Whether an array is as one of its kind is made."""
    same = (x.shape, x.dtype) == kind and x.flags.c_contiguous and x.flags.writeable
    return same and weakref.getweakrefcount(x) == 0


RESULTS = SpareResults()
"""Those of this process."""
