"""How a contact can move: the inverse of its Delassus block, where there is one in some directions only.

The tip of a hinge moves along one direction, that of a planar finger along two. With the normal velocity held, tangents
move by S = A_tt - A_tn A_nt / A_nn per unit of friction. Where an eigenvalue of S is nothing, the normal velocity
dictates the slip and friction has no say in it; the laws of contact hold in the other directions. Sticking then needs

    B = ( 1 / A_nn + a S+ a^T   -a S+ )      a = A_nt / A_nn,   S+ the inverse of S where it moves                (1)
        (      -S+ a^T            S+  )

in place of the inverse of A. It meets the normal velocity exactly, whatever the rank, and as B - B A B >= 0 sticking
creates no energy. A point that cannot move along its normal takes no impulse. docs/decisions/contact.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array

STILL = 1e-12
"""A point moves along its normal where a unit impulse moves it by more than this part of what others do ..."""

DICTATED = 1e-6
"""... and friction moves it where it does by more than this part of what tangential impulses do."""

HEAVY = 1e4
"""A contact that is so many times as hard to lift as to move at all is lifted more slowly: no more energy goes in."""

TINY = 1e-300
"""Added to what is divided by: rows that cannot move at all get finite numbers."""


class Mobility(NamedTuple):
    """How a contact can move: its Delassus block A (3, 3), and what is inverted of it.

    `inverse` is B of (1), `gain` 1 / A_nn; both are zero where the normal cannot move. `free` (2, 2) projects onto the
    tangents that friction moves, `steep` is the largest eigenvalue of the tangents' block of A, and `regular` says
    whether the contact can move in all directions.
    """

    A: Array
    gain: Any
    inverse: Array
    free: Array
    steep: Any
    regular: Any

    @staticmethod
    def of(z: Array, regular: bool = False) -> Mobility:
        """The mobility of a contact with the rows z (3, n), which is known to be `regular` or may be."""
        return Mobility.by_block(z @ z.T, regular)

    @staticmethod
    def by_block(A: Array, regular: bool = False) -> Mobility:
        """`of` a contact whose Delassus block is known."""
        tangents = A[1, 1] + A[2, 2]
        moves = True if regular else A[0, 0] > STILL * (A[0, 0] + tangents)
        gain = sc.where(moves, 1.0 / (A[0, 0] + TINY), 0.0)
        a1, a2, floor = gain * A[1, 0], gain * A[2, 0], DICTATED * tangents
        S11, S12, S22 = A[1, 1] - a1 * A[1, 0], A[1, 2] - a1 * A[2, 0], A[2, 2] - a2 * A[2, 0]
        (T11, T12, T22), both = inverse_of_two(S11, S12, S22, floor, moves, regular)
        F11, F12, F22 = (sc.where(both, x, (S11 + S22) * y) for x, y in ((1.0, T11), (0.0, T12), (1.0, T22)))
        b1, b2 = T11 * a1 + T12 * a2, T12 * a1 + T22 * a2
        B = np.array([[gain + a1 * b1 + a2 * b2, -b1, -b2], [-b1, T11, T12], [-b2, T12, T22]])
        return Mobility(A, gain, B, np.array([[F11, F12], [F12, F22]]), steepest(A[1:, 1:]), both)

    def lift(self, b: Any) -> Any:
        """The bound b on the normal velocity, or less where lifting would take far more energy than moving."""
        if self.regular is True:
            return b
        size = (self.A[0, 0] + self.A[1, 1] + self.A[2, 2]) * self.inverse[0, 0]
        return sc.minimum(b, sc.maximum(b, 0.0) * (HEAVY / sc.maximum(size, HEAVY)))

    def shared(self, x: Array, friction: Any) -> Array:
        """The impulse x as the smallest one in its cone that has the same effect.

        Where the normal velocity dictates a slip, a frictional impulse along it does what the normal one does.
        """
        return smallest(x, friction, self.gain * self.A[1:, 0], self.free)


def smallest(x: Array, friction: Any, a: Array, free: Array) -> Array:
    """`Mobility.shared` with a of (1) and what projects onto tangents that friction moves."""
    a = a - free @ a
    steep = a @ a
    left = sc.maximum(friction * x[0] - sc.sqrt(x[1] * x[1] + x[2] * x[2]), 0.0)
    k = sc.minimum(x[0] / (1.0 + steep), left / (sc.sqrt(steep) + friction * steep + TINY))
    return np.array([x[0] - k * steep, x[1] + k * a[0], x[2] + k * a[1]])


def inverse_of_two(
    S11: Any, S12: Any, S22: Any, floor: Any, moves: Any = True, regular: bool = False
) -> tuple[tuple[Any, Any, Any], Any]:
    """The inverse of a symmetric (2, 2) where its eigenvalues are above a floor, as 11, 12, 22; whether both are.

    Nothing where not `moves`. A `regular` one is known to have both.
    """
    trace = S11 + S22
    one = True if regular else sc.logical_and(moves, trace > floor)
    both = sc.logical_and(one, sc.logical_and(trace > 2.0 * floor, (S11 - floor) * (S22 - floor) > S12 * S12))
    both = True if regular else both
    # where one direction d moves, S = trace d d^T and S+ = S / trace^2, but for parts of the floor
    r = sc.where(one, 1.0 / (sc.where(both, S11 * S22 - S12 * S12, trace * trace) + TINY), 0.0)
    T11, T12, T22 = (r * sc.where(both, x, y) for x, y in ((S22, S11), (-S12, S12), (S11, S22)))
    return (T11, T12, T22), both


def steepest(A: Array) -> Any:
    """The largest eigenvalue of a symmetric (2, 2)."""
    t, d = A[0, 0] - A[1, 1], A[0, 1]
    return 0.5 * (A[0, 0] + A[1, 1] + sc.sqrt(t * t + 4.0 * d * d))
