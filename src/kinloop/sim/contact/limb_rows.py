"""Rows of a contact, limb by limb: whether a limb moves either of its bodies, and what it adds to rows and velocities.

A kernel leaves out limbs that no contact of its states moves (`sparse_rows.unless`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop import scalar as sc
from kinloop.scalar import Array
from kinloop.sim.contact.moving_columns import Columns, Limb
from kinloop.sim.contact.sparse_rows import unless
from kinloop.spatial.transform import cross


class LimbRows:
    """So many rows of a contact over n coordinates; `at` says where the row of N of a coordinate lies."""

    def __init__(self, columns: Columns, at: dict[int, list[int]], count: int, n: int) -> None:
        self.columns, self.at, self.count, self.n = columns, at, count, n

    def absent(self, sides: list[Any]) -> dict[int, Any]:
        """For limbs that move some bodies only, whether rows z are zero there: neither of the two bodies is moved."""
        limbs, on = self.columns.limbs, dict[int, Any]()
        for k, limb in enumerate(limbs):
            either = sc.logical_or(*(self.columns.carried(side, limb) for side in sides))
            on[k] = either if k in self.columns.sparse else True
        reached = {k: {j for c in limb.coordinates for j in self.at[c]} for k, limb in enumerate(limbs)}
        out = {}
        for k in self.columns.sparse:
            present = on[k]
            for other, limb in enumerate(limbs):
                tied = other != k and not reached[other].isdisjoint(limbs[k].coordinates)
                if tied and not set(limb.bodies) <= set(limbs[k].bodies):
                    present = sc.logical_or(present, on[other])
            out[k] = sc.logical_not(present)
        return out

    def measured(
        self, given: dict[str, Array], axes: Array, at: list[Array], sides: list[Any], absent: dict[int, Any]
    ) -> tuple[Array, Array, Array, Any]:
        """z, velocities along the rows at both ends of the step, and by how much the middle is aside: limb by limb."""
        m = self.count
        z, sums = np.full((m, self.n), 0.0, dtype=object), np.full(2 * m + 1, 0.0, dtype=object)
        wrenches = [self._wrench(axes, x) for x in (at[:1] if at[0] is at[1] else at)]
        for k, limb in enumerate(self.columns.limbs):
            J = self._jacobian(given["twists"], wrenches, sides, limb)
            part, on = self._propagated(J, given["N"], limb)
            v, v_free, drift = (given[name][limb.coordinates] for name in ("v", "v_free", "drift"))
            before, more = [*z[:, on].flat, *sums], [*part.flat, *(J @ v), *(J @ v_free), J[0] @ drift]
            found = unless(absent.get(k, False), before, [a + b for a, b in zip(before, more, strict=True)])
            z[:, on], sums = np.array(found[: part.size]).reshape(part.shape), np.array(found[part.size :])
        return z, sums[:m], sums[m : 2 * m], sums[-1]

    def _wrench(self, axes: Array, at: Array) -> Array:
        """Unit forces along the axes at a point, then unit torques about them, as columns."""
        wrench = np.concatenate([np.stack([cross(at, axes[:, k]) for k in range(3)], axis=1), axes])
        about = axes[:, : self.count - 3]
        return np.concatenate([wrench, np.concatenate([about, 0.0 * about])], axis=1) if self.count > 3 else wrench

    def _jacobian(self, twists: Array, wrenches: list[Array], sides: list[Any], limb: Limb) -> Array:
        """Velocity of the first body relative to the second per unit of a limb's coordinates (rows, coordinates).

        Its rows are along the axes, then about them. `wrenches` are those at the points of both bodies, one if they are
        the same.
        """
        one, other = (self.columns.moving(side, limb.columns) for side in sides)
        J = np.zeros((self.count, len(limb.coordinates)), dtype=object)
        for wrench, mask in zip(wrenches, [one - other] if len(wrenches) == 1 else [one, -other], strict=True):
            for k, sign in zip(limb.columns, mask, strict=True):
                j = limb.coordinates.index(self.columns.columns[k].coordinate)
                J[:, j] = J[:, j] + sign * (wrench.T @ twists[k])
        return J

    def _propagated(self, J: Array, N: Array, limb: Limb) -> tuple[Array, list[int]]:
        """J N for the coordinates of a limb, and the coordinates where it is not zero."""
        on = sorted({j for k in limb.coordinates for j in self.at[k]})
        place, z = {j: i for i, j in enumerate(on)}, np.zeros((self.count, len(on)), dtype=object)
        first = dict(zip(self.at, np.cumsum([0, *map(len, self.at.values())]).tolist(), strict=False))
        for column, k in zip(J.T, limb.coordinates, strict=True):
            at = self.at[k]
            row, here = N[first[k] : first[k] + len(at)], [place[j] for j in at]
            for r in range(self.count):
                z[r, here] = z[r, here] + column[r] * row
        return z, on
