"""Doors: the quickest way to something that is asked for again and again, and the careful way behind it.

The careful way checks the arrays, judges the state and looks at the results, in Python. After it has answered a
request, a guarded builtin (`kinloop.compiler.Kernel.guarded`) stands before it, for one state or for rows as was asked:
that sees to the same things inside one native call, and sends to the careful way whatever it cannot vouch for, which
then explains what is wrong, or takes lists, other dtypes and more axes as they come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Guarded = Callable[[Callable[..., Any], bool], Callable[..., Any]]
"""Makes a guarded builtin before a callable: for one state, or for rows."""


class Door:
    """What answers requests of one kind: `call` is the quickest way, the careful one to begin with.

    `axes` are those of every input for one state. `opening` makes what makes builtins, when one is needed; None says
    that there is no quicker way. `announce` is told of every new `call`.
    """

    __slots__ = ("_announce", "_axes", "_careful", "_guarded", "_opening", "_ready", "call")

    def __init__(
        self,
        careful: Callable[..., Any],
        axes: Sequence[int],
        opening: Callable[[], Guarded | None],
        announce: Callable[[Callable[..., Any]], None] = lambda call: None,
    ) -> None:
        self._careful, self._axes, self._opening, self._announce = careful, axes, opening, announce
        self._guarded: Guarded | None = None
        self._ready: frozenset[bool] = frozenset()
        self.call: Callable[..., Any] = self._first

    def _first(self, *given: Any) -> Any:
        """The careful way, which has builtins stand before it once it answered."""
        result = self._careful(*given)
        rows = _in_rows(self._axes, given)
        if rows is not None and rows not in self._ready:
            self._open(rows)
        return result

    def _open(self, rows: bool) -> None:
        self._guarded = self._guarded or self._opening()
        if self._guarded is None:
            self._stand(self._careful)
            return
        self._ready |= {rows}
        call: Callable[..., Any] = self._first if len(self._ready) < 2 else self._careful
        for kind in sorted(self._ready, reverse=True):  # one state comes first, since it waits least
            call = self._guarded(call, kind)
        self._stand(call)

    def _stand(self, call: Callable[..., Any]) -> None:
        self.call = call
        self._announce(call)


def _in_rows(axes: Sequence[int], given: Sequence[Any]) -> bool | None:
    """Whether arguments are for several rows, or for one state; None for anything else."""
    leads = {np.shape(x)[: np.ndim(x) - n] for x, n in zip(given, axes, strict=True)}
    if leads == {()}:
        return False
    rows = leads - {()}
    return True if len(rows) == 1 and len(lead := rows.pop()) == 1 and lead[0] > 1 else None
