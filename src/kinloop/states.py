"""States that users hand over, judged: loops closed, quaternions of unit length, coordinates that determine the motion.

A kernel of a microsecond or so says whether anything is wrong; what it is, is found out on numbers, for the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.requests import Request
from kinloop.algorithms.trees.positions import loop_error
from kinloop.clusters.assembly import loop_errors, open_by, worst_loop
from kinloop.clusters.closing import TOLERANCE
from kinloop.clusters.state_faults import UNIT, chart_gain, faults, has_faults
from kinloop.errors import KinloopError, LoopNotClosed, MethodError, NotAState, SingularConfiguration
from kinloop.kernels import Computed, Kernels
from kinloop.scalar import Array

CHECKS = ("on", "off")
"""What `check` of a robot can be."""

Result = TypeVar("Result")


class StateCheck:
    """Judges positions of a robot, one state or a batch, and what was computed at them; not with `check="off"`."""

    def __init__(self, kernels: Kernels, check: str) -> None:
        if check not in CHECKS:
            raise MethodError(f"check {check!r} is not one of {', '.join(map(repr, CHECKS))}")
        self._kernels, self.check = kernels, check

    def answer(self, asked: Request, given: Sequence[Array], compute: Callable[[Sequence[Array]], Result]) -> Result:
        """`compute(given)` for a request whose first input is q; an error where that means nothing."""
        self.expect(given[0], charts=not QUANTITIES[asked.quantity].pose)
        result = compute(given)
        if self.check == "off":
            return result
        parts: tuple[Any, ...] = result if isinstance(result, tuple) else (result,)
        if not all(np.isfinite(x).all() for x in parts):
            raise SingularConfiguration(
                f"{asked.quantity} of {self._kernels.tree.top.mechanism.name!r} is not finite at this state: forces do "
                "not determine its accelerations, or numbers overflow; give a regular state of moderate size"
            )
        return result

    def expect(self, q: Array, charts: bool = True) -> None:
        """`judge`, unless checks are off."""
        if self.check == "on":
            self.judge(q, charts)

    def judge(self, q: Array, charts: bool = True) -> None:
        """Raise an error if some q is no closed configuration, or, where `charts` matter, makes them singular."""
        if self.faults is None:
            return
        found = self.faults(q)
        good = found <= 1.0 if charts else found[..., :1] <= 1.0
        if not good.all():
            where = tuple(int(k) for k in np.argwhere(~good.all(axis=-1))[0])
            row = _row(where)
            raise self._open(q[where], row, TOLERANCE) or self._singular(q[where], row)

    def guard(self) -> Computed | None:
        """`faults`, unless checks are off."""
        return self.faults if self.check == "on" else None

    def closed(self, q: Array, tolerance: float) -> None:
        """Raise an error if loops are open by more than `tolerance` at some q, or quaternions not of unit length."""
        if tolerance == TOLERANCE:
            self.judge(q, charts=False)
            return
        doubtful = ~(self.loop_error(q) <= tolerance).all(axis=-1)
        if self.faults is not None:  # of which open loops may be a part that is allowed here
            doubtful = doubtful | ~(self.faults(q)[..., 0] <= 1.0)
        for where in map(tuple, np.argwhere(doubtful)):
            wrong = self._open(q[where], _row(where), tolerance)
            if wrong is not None:
                raise wrong

    def loop_error(self, q: Array) -> Array:
        """max |phi| of every loop and coupling at one q or a batch, (..., loops)."""
        errors: Array = self.loop_errors(q) if self.loop_errors else np.zeros((*q.shape[:-1], 0))
        return errors

    @cached_property
    def loop_errors(self) -> Computed | None:
        """The kernel of `loop_error`, if there are loops."""
        tree = self._kernels.tree
        if not tree.top.mechanism.closures:
            return None
        return self._kernels.make("loop_error", partial(loop_error, tree), {"q": tree.top.nq}, charts=False)

    @cached_property
    def faults(self) -> Computed | None:
        """The kernel of `faults`, if there is anything to look for: the first number is about q, the second charts."""
        tree = self._kernels.tree
        return self._kernels.make("faults", partial(faults, tree), {"q": tree.top.nq}) if has_faults(tree) else None

    def _open(self, q: Array, row: str, tolerance: float) -> KinloopError | None:
        """What is wrong with q, charts apart."""
        tree, top = self._kernels.tree, self._kernels.tree.top
        for kind, at, joint in zip(top.types, top.q_of, top.joints, strict=True):
            with np.errstate(all="ignore"):
                off = np.max(np.abs(kind.normalized(q[at]) - q[at]), initial=0.0) if kind.nq != kind.nv else 0.0
            if not off <= UNIT:
                norm = float(np.linalg.norm(q[at][-4:]))
                return NotAState(
                    f"the quaternion of joint {joint.name!r} in q{row} has norm {norm:.6g}; divide it by its norm"
                )
        errors = loop_errors(tree, q)
        if errors and not errors[name := worst_loop(errors)] <= tolerance:
            return LoopNotClosed(
                f"{open_by(tree, name, q)} at q{row} (tolerance {tolerance:.0e}); call robot.close(q) first"
            )
        return None

    def _singular(self, q: Array, row: str) -> KinloopError:
        """Which coordinates do not determine the motion at q."""
        tree = self._kernels.tree
        with np.errstate(all="ignore"):
            gains = {c.index: float(chart_gain(tree, c, q)) for c in tree.loop_clusters}
        worst = tree.clusters[max(gains, key=lambda k: np.inf if np.isnan(gains[k]) else gains[k])]
        names = [tree.top.coordinates[worst.dofs[k]] for k in worst.chart.independent]
        return SingularConfiguration(
            f"at q{row} the coordinates {names} do not determine the motion of {[p.name for p in worst.parts]}, a dead "
            "centre; move off it, choose others with robot.with_independent([...]), or, to simulate, give the "
            "velocities of all joints as qd="
        )


def _row(where: tuple[int, ...]) -> str:
    """How messages name a row of a batch."""
    return f" of row {where[0] if len(where) == 1 else list(where)}" if where else ""
