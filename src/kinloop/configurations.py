"""Configurations of a robot: kernels that step, close and compare them, and the search on numbers behind these.

A kernel that cannot vouch for what it found says so by a first number that is not finite. Only such rows of a batch are
searched for in Python (`kinloop.clusters.closing`), which also explains what is wrong with a row. Each has a door
(`kinloop.doors`), as everything that a robot is asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.algorithms.trees import positions
from kinloop.clusters import ClusterTree
from kinloop.clusters.assembly import close
from kinloop.clusters.closing import CONVERGED, TOLERANCE, close_step
from kinloop.clusters.following import LONG, PARTS, follows, in_parts, is_redundant, longest
from kinloop.clusters.framing import shortest
from kinloop.compiler import Kernel, guarded_check
from kinloop.doors import Door, Guarded
from kinloop.errors import LoopNotClosed, unknown
from kinloop.inputs import checked, checked_number, largest
from kinloop.interpreted import Interpreted, rowwise
from kinloop.kernels import KEPT, Computed, Kernels
from kinloop.model import LoopRows
from kinloop.scalar import Array
from kinloop.states import StateCheck

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _dofs(tree: ClusterTree) -> dict[str, list[int]]:
    """The coordinates that the rows of each loop and coupling are about."""
    top = tree.top
    return {p.name: p.rows(top, top.neutral()).dofs for p in top.mechanism.closures}


class Durations(dict[float, Array]):
    """Times [s] as arrays (1,) that kernels take, kept since most calls share them."""

    def __missing__(self, dt: float) -> Array:
        made = np.array([checked_number("dt", dt, "be a finite number of seconds")])
        if len(self) >= KEPT:
            self.clear()
        self[float(made[0])] = made
        return made


class Configurations:
    """What a robot is asked about its configurations, one or a batch; `answers` has the quickest way to each."""

    def __init__(self, kernels: Kernels, states: StateCheck) -> None:
        self._kernels, self._states, self._tree = kernels, states, kernels.tree
        self.durations = Durations()
        self.answers: dict[str, Callable[..., Array]] = {}
        inputs = {"integrate": 3, "close": 1, "difference": 2, "loop_error": 1, "loop_jacobian": 2, "check_closed": 1}
        for name, count in inputs.items():
            announce = partial(self.answers.__setitem__, name)
            door = Door(getattr(self, name), [1] * count, partial(self._opening, name), announce)
            self.answers[name] = door.call

        self._rows_of = {p.name: self._loop_door(k) for k, p in enumerate(self._tree.top.mechanism.closures)}

    def loop_rows(self, name: str, q: ArrayLike) -> LoopRows:
        """(dofs, phi, K, k at rest) of one loop or coupling."""
        door = self._rows_of.get(name)
        if door is None:
            raise unknown("loop", name, self._rows_of)
        return LoopRows(list(self._tree.once(_dofs)[name]), *door.call(q))

    def _loop_door(self, number: int) -> Door:
        """The door of the rows of one loop or coupling, by its place among the closures."""
        n = self._tree.top.nq

        @functools.cache
        def kernel() -> Computed:
            call = partial(positions.loop_rows, self._tree, number)
            return self._kernels.make("loop_rows", call, {"q": n}, key=number, charts=False)

        def opening() -> Guarded | None:
            made = kernel()
            if not isinstance(made, Kernel):
                return None
            return lambda other, rows: made.guarded(other, [largest("q")], rows=rows)

        return Door(lambda q: kernel()(checked("q", q, n)), [1], opening)

    def _opening(self, name: str) -> Guarded | None:
        """What makes builtins for a kernel, and such that look at q and compute nothing."""
        if name == "check_closed":
            n, faults = self._tree.top.nq, self._states.faults
            if not self._kernels.compiles or isinstance(faults, Interpreted):
                return None
            return lambda other, rows: guarded_check(other, n, largest("q"), faults, judged=1, rows=rows)
        kernel, judge = getattr(self, f"_{name}"), self._states.guard() if name == "loop_jacobian" else None
        if not isinstance(kernel, Kernel) or isinstance(judge, Interpreted):
            return None
        limits = [*map(largest, kernel.inputs)]
        return lambda other, rows: kernel.guarded(other, limits, judge, judged=2, rows=rows)

    def check_closed(self, q: ArrayLike, tolerance: float = TOLERANCE) -> None:
        """An error if a loop stands open by more than `tolerance`, or a quaternion is not of unit length."""
        self._states.closed(checked("q", q, self._tree.top.nq), tolerance)

    def integrate(self, q: ArrayLike, v: ArrayLike, dt: Array) -> Array:
        """The closed configuration reached from q by the velocity v in time dt (1,), in parts if it must be.

        An error where the loops cannot follow.
        """
        q, v = checked("q", q, self._tree.top.nq), checked("v", v, self._tree.nv)
        if self._integrate is None:
            self._states.expect(q)
        step = self._integrate or partial(rowwise, self._careful_step)
        found: Array = step(q, v, dt)
        lost = np.any(~np.isfinite(found[..., :1]), axis=-1)
        if lost.any():
            self._states.expect(q)
            given = [np.broadcast_to(x, (*lost.shape, x.shape[-1]))[lost] for x in (q, v, dt)]
            found[lost] = self._in_parts(step, *given)
        return found

    def _in_parts(self, step: Callable[..., Array], q: Array, v: Array, dt: Array) -> Array:
        """Rows that are not followed in one step: in parts by the kernel, then by the search on numbers."""
        found = in_parts(step, q, v, dt)
        left = ~np.isfinite(found[:, 0])
        if left.any():
            # rows of loops that a chart does not keep may disagree with it: a kernel does not vouch for any step then
            redundant = any(is_redundant(c) for c in self._tree if c.bends)
            blind = left if redundant else left & ~np.isfinite(step(q, 0.0 * v, dt)[:, 0])
            careful = partial(rowwise, self._careful_step)
            found[blind] = in_parts(careful, q[blind], v[blind], dt[blind], begin=1)
            left = ~np.isfinite(found[:, 0])
        if left.any():
            size, name = np.max(np.abs(v * dt)[left]), self._tree.top.mechanism.name
            raise LoopNotClosed(
                f"the loops of {name!r} cannot follow a step of {size:.3g} rad (or m) of independent coordinates: a "
                f"dead centre is in its way, or one turns by over {LONG * PARTS[-1]:.0f} rad; take a shorter step, "
                "or choose others with robot.with_independent([...])"
            )
        return found

    def _careful_step(self, q: Array, v: Array, dt: Array) -> Array:
        """What the kernel of `integrate` does for one q, by the search on numbers."""
        tree, dy = self._tree, v * dt
        nothing = np.full(len(q), np.nan)
        if longest(tree, tree.spanning_jacobian(q) @ dy) > LONG:
            return nothing
        end = close_step(tree, q, dy)
        return end if follows(tree, q, end, dy) else nothing

    def close(self, q: ArrayLike, tolerance: float = TOLERANCE) -> Array:
        """The nearest closed q, loops open by `tolerance` [m, rad] at most."""
        q = checked("q", q, self._tree.top.nq)
        kernel = self._close if tolerance >= CONVERGED else None
        return self._searched(kernel, lambda x: close(self._tree, x, tolerance), q)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The independent step from q0 to q1."""
        n = self._tree.top.nq
        found: Array = self._difference(checked("q0", q0, n), checked("q1", q1, n))
        return found

    def loop_error(self, q: ArrayLike) -> Array:
        """max |phi| of every loop and coupling [m, rad]."""
        return self._states.loop_error(checked("q", q, self._tree.top.nq))

    def loop_jacobian(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """K and k of the rows that charts keep."""
        q, v = checked("q", q, self._tree.top.nq), checked("v", v, self._tree.nv)
        self._states.expect(q)
        K, k = self._loop_jacobian(q, v)
        return K, k

    def _searched(self, kernel: Computed | None, search: Callable[[Array], Array], q: Array) -> Array:
        """What a kernel finds, and a search in those rows that it gives up or, without a kernel, in all of them."""
        if kernel is None:
            return rowwise(search, q)
        found: Array = kernel(q)
        lost = ~np.isfinite(found[..., 0])
        if lost.any():
            found[lost] = rowwise(search, q[lost])
        return found

    @cached_property
    def _integrate(self) -> Computed | None:
        """The kernel of `integrate`; None where there is no compiler, so that all is searched for."""
        call = partial(positions.integrate, self._tree, judged=self._states.check == "on", long=LONG)
        return self._make("integrate", call, {"q": self._tree.top.nq, "v": self._tree.nv, "dt": 1}, self._states.check)

    @cached_property
    def _close(self) -> Computed | None:
        """The kernel of `close`; None where only the search finds the nearest configuration."""
        tree = None if self._tree.top.mechanism.constrained else shortest(self._tree)
        return self._make("close", partial(positions.close, tree), {"q": tree.top.nq}) if tree else None

    def _make(self, name: str, call: Callable[..., Array], inputs: Mapping[str, int], key: Any = ()) -> Computed | None:
        if not self._kernels.compiles or not self._tree.top.nq:
            return None
        return self._kernels.make(name, call, inputs, key=key)

    @cached_property
    def _difference(self) -> Computed:
        n = self._tree.top.nq
        return self._kernels.make("difference", partial(positions.difference, self._tree), {"q0": n, "q1": n})

    @property
    def _loop_error(self) -> Computed | None:
        return self._states.loop_errors

    @cached_property
    def _loop_jacobian(self) -> Computed:
        sizes = {"q": self._tree.top.nq, "v": self._tree.nv}
        return self._kernels.make("loop_jacobian", partial(positions.loop_jacobian, self._tree), sizes)
