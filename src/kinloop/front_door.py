"""What the methods of a robot call: for every quantity a door (`kinloop.doors`), with the careful way behind it.

A quantity by itself has a door of its own; so has each choice of frames, of a method and of external wrenches, and each
kind of constraints, whose numbers are inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop import scalar as sc
from kinloop.algorithms.constrained.motion_constraints import (
    Constraints,
    MotionConstraint,
    all_numbers,
    with_numbers,
)
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.requests import Request, ask, evaluate, input_sizes, make_plan
from kinloop.compiler import Kernel
from kinloop.constrained_motion import CONFLICT, constrained_motion
from kinloop.doors import Door, Guarded
from kinloop.errors import ShapeError
from kinloop.inputs import checked_derivative_inputs, checked_inputs, largest, wrenches_by_body
from kinloop.interpreted import Interpreted
from kinloop.kernels import KEPT, Kernels, is_own
from kinloop.scalar import Array
from kinloop.states import StateCheck

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from kinloop.inputs import Wrenches

Frames = str | tuple[str, ...]


def _has_symbols(x: Any) -> bool:
    """Whether something that is handed over is being traced."""
    return isinstance(x, np.ndarray) and x.dtype == object and any(isinstance(s, sc.Symbol) for s in x.flat)


HIDDEN = (CONFLICT, 0.5)
"""Limits of what motion under constraints gives besides accelerations and multipliers: the residual, which conflicts
at no accelerations below this, and how many rows were lost, which is a whole number."""


class FrontDoor:
    """Everything a robot is asked for, by the names of quantities: `answers["forward_dynamics"](q, v, tau)`."""

    def __init__(self, kernels: Kernels, states: StateCheck) -> None:
        self._kernels, self._states = kernels, states
        self._doors: dict[str, dict[Any, Door]] = {name: {} for name in QUANTITIES}
        self._placed: dict[Any, tuple[Door, tuple[Array, ...]]] = {}
        self.answers: dict[str, Callable[..., Array]] = {}
        for name, entry in QUANTITIES.items():
            if not entry.frames and not entry.constraints:
                self.answers[name] = self._plain(name, (), partial(self.answers.__setitem__, name)).call

    def of_frames(self, quantity: str, frames: Sequence[str], axes: str = "body") -> Callable[..., Array]:
        """What answers for a quantity of a frame, or of several."""
        names = frames if type(frames) is str else tuple(frames)
        key = names if axes == "body" else (names, None, None, axes)
        try:
            return self._doors[quantity][key].call
        except (KeyError, TypeError):
            ask(self._kernels.tree.top, quantity, frames=names, axes=axes)  # what nobody can answer has no door
            return self._kept(quantity, key, self._plain(quantity, names, axes=axes)).call

    def by(
        self,
        quantity: str,
        inputs: Sequence[ArrayLike],
        method: str | None,
        f_ext: Wrenches | None = None,
        frames: Sequence[str] = (),
    ) -> Any:
        """A quantity by a method, or with external wrenches."""
        names = frames if type(frames) is str else tuple(frames)
        key = (names, method, f_ext is None)
        door = self._doors[quantity].get(key) or self._kept(quantity, key, self._optional(quantity, *key))
        return door.call(*inputs) if f_ext is None else door.call(*inputs, self.wrenches(f_ext))

    def under(
        self,
        quantity: str,
        inputs: Sequence[ArrayLike],
        constraints: Constraints,
        method: str | None = None,
        f_ext: Wrenches | None = None,
        on_conflict: str | None = None,
        compliance: float | None = None,
    ) -> Any:
        """A quantity under constraints; with `on_conflict`, what of it means something, or an error."""
        given = tuple(constraints) if type(constraints) is list else constraints
        key = (quantity, given, method, f_ext is None, on_conflict, compliance)
        try:
            door, numbers = self._placed[key]
        except (KeyError, TypeError):  # not seen before, or never to be recognised
            door, numbers = self._place(*key)
        return door.call(*inputs, *numbers) if f_ext is None else door.call(*inputs, self.wrenches(f_ext), *numbers)

    def wrenches(self, f_ext: Wrenches) -> ArrayLike:
        """External wrenches as one array, also where they are given by the names of bodies."""
        if type(f_ext) is np.ndarray or not isinstance(f_ext, Mapping):
            return f_ext
        return wrenches_by_body(f_ext, [b.name for b in self._kernels.tree.top.mechanism.bodies])

    def answer(
        self,
        quantity: str,
        inputs: Sequence[ArrayLike],
        method: str | None,
        f_ext: Wrenches | None,
        frames: Sequence[str],
        constraints: Constraints,
        axes: str = "body",
    ) -> Any:
        """Any quantity by its name."""
        entry = QUANTITIES.get(quantity)
        if entry is not None and len(inputs) == len(entry.inputs):
            if entry.constraints and not frames and axes == "body":
                return self.under(quantity, inputs, constraints, method, f_ext)
            if not entry.constraints and not constraints and bool(frames) == bool(entry.frames):
                if method is None and f_ext is None:
                    if frames:
                        return self.of_frames(quantity, frames, axes)(*inputs)
                    if axes == "body":
                        return self.answers[quantity](*inputs)
                elif axes == "body":
                    return self.by(quantity, inputs, method, f_ext, frames)
        return self.compute(quantity, inputs, method, f_ext, frames, constraints, axes)

    def compute(
        self,
        quantity: str,
        inputs: Sequence[ArrayLike],
        method: str | None = None,
        f_ext: Wrenches | None = None,
        frames: Sequence[str] = (),
        constraints: Constraints = (),
        axes: str = "body",
    ) -> Any:
        """The careful way, for any request."""
        asked = ask(self._kernels.tree.top, quantity, method, frames, constraints, f_ext is not None, axes=axes)
        return self._compute(asked, inputs, None if f_ext is None else self.wrenches(f_ext))

    def _compute(
        self, asked: Request, inputs: Sequence[ArrayLike], f_ext: ArrayLike | None, on_conflict: str | None = None
    ) -> Any:
        def computed(x: Sequence[Array]) -> Any:
            if on_conflict is None:
                return self._kernels.answer(asked)(*x)
            return constrained_motion(self._kernels, asked, x, on_conflict)

        if any(map(_has_symbols, inputs)):
            return self._traced(asked, inputs, f_ext, 0 if on_conflict is None else len(HIDDEN))
        return self._states.answer(asked, checked_inputs(self._kernels.tree, asked, inputs, f_ext), computed)

    def _traced(self, asked: Request, inputs: Sequence[Any], f_ext: Any, hidden: int) -> Any:
        """The same on symbols of one state, in a function that is being traced: no state is judged.

        The last `hidden` outputs are not handed over.
        """
        tree = self._kernels.tree
        sizes = input_sizes(tree, asked)
        given = [
            *inputs,
            *([] if f_ext is None else [f_ext]),
            *([all_numbers(asked.constraints)] * ("numbers" in sizes)),
        ]
        flat = [np.asarray(x).reshape(-1) for x in given]
        for (name, n), x in zip(sizes.items(), flat, strict=True):
            if len(x) != n:
                raise ShapeError(f"{name} must have {n} entries where it is traced, received {len(x)}")
        values = evaluate(tree, asked, *flat, plan=make_plan(tree, asked)).values()
        found = tuple(x if x.ndim else x[()] for x in values)
        return found[: len(found) - hidden] if len(found) > 1 else found[0]

    def differentiate(
        self,
        derivative: str,
        quantity: str,
        inputs: Sequence[ArrayLike],
        method: str | None = None,
        f_ext: Wrenches | None = None,
        frames: Sequence[str] = (),
        constraints: Constraints = (),
        axes: str = "body",
    ) -> Any:
        """A derivative, the careful way: the quantity's own inputs are followed by weights, directions, or both."""
        top, forces = self._kernels.tree.top, f_ext is not None
        asked = ask(top, quantity, method, frames, constraints, forces, (), None, axes, derivative)
        computed = self._kernels.answer(asked)
        f_ext = None if f_ext is None else self.wrenches(f_ext)
        given = checked_derivative_inputs(self._kernels.tree, asked, computed.inputs, computed.outputs, inputs, f_ext)
        return self._states.answer(asked, given, lambda x: computed(*x))

    # --- doors

    def _plain(
        self,
        quantity: str,
        frames: Frames,
        announce: Callable[..., None] = lambda call: None,
        axes: str = "body",
    ) -> Door:
        """The door of a quantity by its usual method."""
        asked = partial(ask, self._kernels.tree.top, quantity, frames=frames, axes=axes)
        careful = partial(self._careful, quantity, frames, axes)
        count = len(QUANTITIES[quantity].inputs)
        return Door(careful, [1] * count, lambda: self._opening(asked()), announce)

    def _careful(self, quantity: str, frames: Frames, axes: str, *inputs: Any) -> Any:
        return self.compute(quantity, inputs, frames=frames, axes=axes)

    def _optional(self, quantity: str, frames: Frames, method: str | None, without: bool) -> Door:
        """The door of a quantity by a method, with or `without` external wrenches, which come behind its inputs."""
        count = len(QUANTITIES[quantity].inputs)
        asked = ask(self._kernels.tree.top, quantity, method, frames, forces=not without)
        return Door(
            lambda *given: self._compute(asked, given[:count], None if without else given[count]),
            [1] * count if without else [*([1] * count), 2],
            lambda: self._opening(asked),
        )

    def _place(
        self,
        quantity: str,
        constraints: Constraints,
        method: str | None,
        without: bool,
        on_conflict: str | None,
        compliance: float | None,
    ) -> tuple[Door, tuple[Array, ...]]:
        """The door of constraints and what their numbers are; for constraints given again, both are at hand.

        Constraints do not change and are recognised as themselves, if nobody but kinloop says what they are.
        """
        key = (quantity, constraints, method, without, on_conflict, compliance)
        asked = ask(self._kernels.tree.top, quantity, method, (), constraints, not without, (), compliance)
        numbers = all_numbers(asked.constraints)
        kind, known = (asked.key, on_conflict), self._doors[quantity]
        door = known.get(kind) or self._kept(quantity, kind, self._constrained(asked, on_conflict, len(numbers) > 0))
        placed = door, (numbers,) if len(numbers) else ()
        if isinstance(constraints, MotionConstraint | tuple) and all(is_own(p.constraint) for p in asked.constraints):
            if len(self._placed) >= KEPT:
                self._placed.clear()
            self._placed[key] = placed
        return placed

    def _constrained(self, asked: Request, on_conflict: str | None, numbered: bool) -> Door:
        """The door of constraints of one kind; behind inputs come external wrenches, if any, and their numbers."""
        count = len(QUANTITIES[asked.quantity].inputs)

        def careful(*given: Any) -> Any:
            now = asked._replace(constraints=tuple(with_numbers(asked.constraints, given[-1]))) if numbered else asked
            return self._compute(now, given[:count], given[count] if asked.forces else None, on_conflict)

        axes = [*([1] * count), *([2] * asked.forces), *([1] * numbered)]
        return Door(careful, axes, lambda: self._opening(asked, () if on_conflict is None else HIDDEN))

    def _kept(self, quantity: str, key: Any, door: Door) -> Door:
        """Remember a door, of as many as a robot remembers kernels."""
        if sum(map(len, self._doors.values())) >= KEPT:
            self._placed.clear()
            for doors in self._doors.values():
                doors.clear()
        self._doors[quantity][key] = door
        return door

    def _opening(self, asked: Request, hidden: Sequence[float] = ()) -> Guarded | None:
        """What makes builtins for a request, where it has a kernel."""
        kernel, judge, tree = self._kernels.answer(asked), self._states.guard(), self._kernels.tree
        if not isinstance(kernel, Kernel) or isinstance(judge, Interpreted):
            return None
        sizes = input_sizes(tree, asked)
        shapes = [(len(tree.top), 6) if name == "f_ext" else (n,) for name, n in sizes.items()]
        limits, judged = [*map(largest, sizes)], 1 if QUANTITIES[asked.quantity].pose else 2

        def guarded(other: Callable[..., Any], rows: bool) -> Callable[..., Any]:
            return kernel.guarded(other, limits, judge, judged, shapes=shapes, hidden=hidden, rows=rows)

        return guarded
