"""Motion under constraints, from arrays to arrays: states that a kernel cannot decide, constraints that conflict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinloop.algorithms.constrained.motion_constraints import Placed
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.requests import Request
from kinloop.errors import ConflictingConstraints, MethodError, SingularConfiguration
from kinloop.interpreted import Interpreted
from kinloop.kernels import Kernels
from kinloop.scalar import Array

ON_CONFLICT = ("error", "least_squares")

CONFLICT = 1e-6
"""Targets that miss each other by more than this part of the accelerations conflict."""


def constrained_motion(kernels: Kernels, asked: Request, given: Sequence[Array], on_conflict: str) -> tuple[Array, ...]:
    """What a quantity of motion under constraints has that means something, or an error, at one state or a batch."""
    if asked.quantity == "constrained_dynamics_derivatives":
        return constrained_dynamics_derivatives(kernels, asked, given)
    return constrained_dynamics(kernels, asked, given, on_conflict)


def constrained_dynamics_derivatives(kernels: Kernels, asked: Request, given: Sequence[Array]) -> tuple[Array, ...]:
    """Six blocks of derivatives, where there are any."""
    *slopes, residual, lost = (np.asarray(x) for x in kernels.answer(asked)(*given))
    if np.any(lost):
        names = ", ".join(p.constraint.name for p in asked.constraints)
        raise SingularConfiguration(
            f"the rows of {names} depend on each other at {'a' if lost.ndim else 'this'} state that is special: "
            "multipliers jump there and have no derivatives; move off it"
        )
    if not np.max(np.abs(residual), initial=0.0) <= CONFLICT:  # which may be little beside the accelerations
        motion = QUANTITIES["constrained_dynamics"]
        asked = asked._replace(quantity="constrained_dynamics", method=next(iter(motion.methods)))
        constrained_dynamics(kernels, asked, given, "error")
    return tuple(slopes)


def constrained_dynamics(
    kernels: Kernels, asked: Request, given: Sequence[Array], on_conflict: str
) -> tuple[Array, Array]:
    """Accelerations and multipliers at one state or a batch of them."""
    if on_conflict not in ON_CONFLICT:
        raise MethodError(f"on_conflict {on_conflict!r} is not one of {', '.join(map(repr, ON_CONFLICT))}")
    a, multipliers, residual = solve(kernels, asked, given)
    bad = conflicts(a, residual)
    if np.any(bad):
        if on_conflict == "error":
            raise _conflict(asked.constraints, np.atleast_2d(residual.reshape(-1, residual.shape[-1]))[bad.ravel()][0])
        a, multipliers, _ = solve(kernels, asked._replace(method="least_squares", compliance=None), given)
    return a, multipliers


def solve(kernels: Kernels, asked: Request, given: Sequence[Array]) -> tuple[Array, Array, Array]:
    """(a, multipliers, residual); states at which a kernel lost rows are computed again, more carefully."""
    computed = kernels.answer(asked)
    with np.errstate(all="ignore"):
        *out, lost = (np.asarray(x) for x in computed(*given))
        if isinstance(computed, Interpreted) or not np.any(lost):
            return out[0], out[1], out[2]
        spread = [np.broadcast_to(x, (*lost.shape, x.shape[-1]))[lost > 0] for x in given]
        surer = QUANTITIES[asked.quantity].methods[asked.method].surer
        if surer is not None:
            again = solve(kernels, asked._replace(method=surer), spread)
        else:
            again = kernels.interpret(asked)(*spread)[:3]
        out = [np.array(x) for x in out]
        for x, y in zip(out, again, strict=True):
            x[lost > 0] = y
        return out[0], out[1], out[2]


def conflicts(a: Array, residual: Array) -> Array:
    """Which states have constraints that no acceleration satisfies together."""
    worst = np.max(np.abs(residual), axis=-1, initial=0.0)
    return np.asarray(~(worst <= CONFLICT * (1.0 + np.max(np.abs(a), axis=-1, initial=0.0))))


def _conflict(placed: Sequence[Placed], residual: Array) -> ConflictingConstraints:
    rows = np.repeat(np.arange(len(placed)), [p.constraint.size for p in placed])
    worst = int(np.argmax(np.abs(residual)))
    others = [p.constraint.name for k, p in enumerate(placed) if k != rows[worst]]
    against = f"against {', '.join(others)}" if others else "alone"
    return ConflictingConstraints(
        f"{placed[rows[worst]].constraint.name} asks for an acceleration that misses by {abs(residual[worst]):.3g} "
        f"(row {worst - int(np.argmax(rows == rows[worst]))}) {against}; remove or relax one of them, or pass "
        "on_conflict='least_squares'"
    )
