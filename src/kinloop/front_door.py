"""What the methods of a robot call: for each quantity a builtin that answers at once, and the careful way behind it.

The careful way checks the arrays, asks for the kernel, judges the state and looks at the results, in Python. After it
has answered a request for one state, the kernel's guarded builtin (`kinloop.compiler.Kernel.guarded`) stands before
it: that sees to the same things inside one native call, and sends to the careful way whatever it cannot vouch for,
which then explains what is wrong, or takes lists, batches, other dtypes, methods and external wrenches as they come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kinloop.algorithms.constrained.motion_constraints import Constraints
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.requests import ask
from kinloop.compiler import Kernel
from kinloop.constrained_motion import constrained_dynamics
from kinloop.inputs import checked_inputs, largest
from kinloop.kernels import KEPT, Interpreted, Kernels
from kinloop.scalar import Array
from kinloop.states import StateCheck

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Frames = str | tuple[str, ...]


class FrontDoor:
    """Everything a robot is asked for, by the names of quantities: `answers["forward_dynamics"](q, v, tau)`.

    Behind the inputs of a quantity may stand a method and external wrenches, None for none.
    """

    def __init__(self, kernels: Kernels, states: StateCheck) -> None:
        self._kernels, self._states = kernels, states
        self.answers = {
            name: self._first(name, ())
            for name, entry in QUANTITIES.items()
            if not entry.frames and not entry.constraints
        }
        self._of_frames: dict[str, dict[Frames, Callable[..., Array]]] = {
            name: {} for name, entry in QUANTITIES.items() if entry.frames
        }

    def of_frames(self, quantity: str, frames: Sequence[str]) -> Callable[..., Array]:
        """What answers for a quantity of a frame, or of several."""
        names = frames if type(frames) is str else tuple(frames)
        try:
            return self._of_frames[quantity][names]
        except KeyError:
            return self._first(quantity, names)

    def answer(
        self,
        quantity: str,
        inputs: Sequence[ArrayLike],
        method: str | None,
        f_ext: ArrayLike | None,
        frames: Sequence[str],
        constraints: Constraints,
    ) -> Any:
        """Any quantity by its name."""
        known = quantity in self._of_frames if frames else quantity in self.answers
        if not known or constraints or len(inputs) != len(QUANTITIES[quantity].inputs):
            return self.compute(quantity, inputs, method, f_ext, frames, constraints)
        call = self.of_frames(quantity, frames) if frames else self.answers[quantity]
        return call(*inputs, method, f_ext)

    def compute(
        self,
        quantity: str,
        inputs: Sequence[ArrayLike],
        method: str | None = None,
        f_ext: ArrayLike | None = None,
        frames: Sequence[str] = (),
        constraints: Constraints = (),
    ) -> Any:
        """The careful way, for any request."""
        asked = ask(self._kernels.tree.top, quantity, method, frames, constraints, f_ext is not None)
        given = checked_inputs(self._kernels.tree, asked, inputs, f_ext)
        return self._states.answer(asked, given, lambda x: self._kernels.answer(asked)(*x))

    def constrained(
        self,
        inputs: Sequence[ArrayLike],
        constraints: Constraints,
        method: str | None,
        f_ext: ArrayLike | None,
        on_conflict: str,
        compliance: float | None,
    ) -> tuple[Array, Array]:
        """Motion under constraints, the careful way."""
        tree, forces = self._kernels.tree, f_ext is not None
        asked = ask(tree.top, "constrained_dynamics", method, (), constraints, forces, (), compliance)
        given = checked_inputs(tree, asked, inputs, f_ext)
        return self._states.answer(asked, given, lambda x: constrained_dynamics(self._kernels, asked, x, on_conflict))

    def _careful(self, quantity: str, frames: Frames, *given: Any) -> Any:
        """The careful way for the arguments of a builtin."""
        count = len(QUANTITIES[quantity].inputs)
        method, f_ext = (*given[count:], None, None)[:2]
        return self.compute(quantity, given[:count], method, f_ext, frames)

    def _first(self, quantity: str, frames: Frames) -> Callable[..., Array]:
        """The careful way, which has a builtin stand before it once it answered for one state without options."""

        def answer(*given: Any) -> Any:
            result = self._careful(quantity, frames, *given)
            if all(x is None or np.ndim(x) == 1 for x in given):
                self._open(quantity, frames)
            return result

        return answer

    def _open(self, quantity: str, frames: Frames) -> None:
        entry, judge = QUANTITIES[quantity], self._states.guard()
        answer: Callable[..., Array] = partial(self._careful, quantity, frames)
        kernel = self._kernels.answer(ask(self._kernels.tree.top, quantity, frames=frames))
        if isinstance(kernel, Kernel) and not isinstance(judge, Interpreted):
            limits = [largest(name) for name in entry.inputs]
            answer = kernel.guarded(answer, limits, judge, judged=1 if entry.pose else 2)
        if not entry.frames:
            self.answers[quantity] = answer
            return
        if sum(map(len, self._of_frames.values())) >= KEPT:  # as many as a robot remembers kernels
            for answers in self._of_frames.values():
                answers.clear()
        self._of_frames[quantity][frames] = answer
