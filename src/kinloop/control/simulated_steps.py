"""Steps of a simulator, contact included, as the map that `ILQR` optimises over."""

from __future__ import annotations

import numpy as np

from kinloop.control.motions import Limits, Motions
from kinloop.errors import KinloopError
from kinloop.scalar import Array
from kinloop.sim import Simulator
from kinloop.sim.state import State

SMALL = 1e-6
"""The steps of differences [rad, m, rad/s, m/s], and of controls of that size."""


class SimulatedSteps:
    """The steps of `Simulator.linearize`: each begins without memory, with motors, contact, stops and friction."""

    def __init__(self, sim: Simulator) -> None:
        self.sim, self.robot, self.dt, self.nu = sim, sim.robot, sim.dt, sim.nu

    def follow(self, about: Motions, k: Array, K: Array, limits: Limits, threads: int | None = None) -> Motions:
        """Motions from the starts of others under u = clip(u + k + K dx).

        Behind a step that does not follow the equations of motion, or whose contacts are not solved, all is nan.
        """
        q, v, u = (np.full_like(x, np.nan) for x in about)
        q[:, 0], v[:, 0] = about.q[:, 0], about.v[:, 0]
        for n in range(about.u.shape[1]):
            rows, start = self._start(q[:, n], v[:, n], n * self.dt)
            if start is None:
                break
            dx = [self.robot.difference(about.q[rows, n], q[rows, n]), v[rows, n] - about.v[rows, n]]
            change = k[rows, n] + (K[rows, n] @ np.concatenate(dx, axis=1)[..., None])[..., 0]
            u[rows, n] = np.clip(about.u[rows, n] + change, *limits)
            after = self.sim.careful_step(start, u[rows, n], threads)
            good = self._good(after)
            q[rows[good], n + 1], v[rows[good], n + 1] = after.q[good], self.sim.velocities(after)[good]
        return Motions(q, v, u)

    def slopes(self, q: Array, v: Array, u: Array, t: Array, threads: int | None = None) -> tuple[Array, Array]:
        """A (B, 2 nv, 2 nv) and B (B, 2 nv, nu) of the steps from rows of states; nan where they have none.

        Steps that the simulator takes in several parts have no exact ones: central differences take their place.
        """
        n = 2 * self.robot.nv
        A, B = np.full((len(q), n, n), np.nan), np.full((len(q), n, self.nu), np.nan)
        rows, start = self._start(q, v, t)
        if start is not None:
            found = self.sim.linearize(start, u[rows], threads=threads)
            A[rows], B[rows] = found
            parts = self._good(found.next) & ~np.isfinite(found.A).all(axis=(1, 2))
            for k, row in zip(np.flatnonzero(parts), rows[parts], strict=True):
                A[row], B[row] = self._differences(q[row], v[row], u[row], float(t[row]), found.next.q[k], threads)
        return A, B

    def _differences(
        self, q: Array, v: Array, u: Array, t: float, end: Array, threads: int | None
    ) -> tuple[Array, Array]:
        """Central differences of one step that leads to `end`; nan where a step beside it fails."""
        nv, unit = self.robot.nv, np.eye(2 * self.robot.nv + self.nu)
        size = SMALL * np.concatenate([np.ones(2 * nv), np.maximum(1.0, np.abs(u))])
        d = np.concatenate([unit, -unit]) * size
        about = np.tile(q, (len(d), 1))
        start = self.sim.state(self.robot.integrate(about, d[:, :nv]), v + d[:, nv : 2 * nv], np.full(len(d), t))
        after = self.sim.careful_step(start, u + d[:, 2 * nv :], threads)
        moved = self.robot.difference(np.tile(end, (len(d), 1)), after.q)
        change = np.concatenate([moved, self.sim.velocities(after)], axis=1)
        change[~self._good(after)] = np.nan
        slopes = ((change[: len(unit)] - change[len(unit) :]) / (2.0 * size[:, None])).T
        return slopes[:, : 2 * nv], slopes[:, 2 * nv :]

    def _good(self, after: State) -> Array:
        """Which rows followed the equations of motion, contacts solved."""
        good = after.ok
        return good & ~(after.memory[:, -1] > 0.0) if self.sim.contact is not None else good

    def curvature(self, q: Array, v: Array, u: Array, p: Array, threads: int | None = None) -> None:
        """Steps with contact have no second derivatives that are worth their price."""

    def _start(self, q: Array, v: Array, t: Array | float) -> tuple[Array, State | None]:
        """The rows from which a step can begin, and their states."""
        rows = np.flatnonzero(np.isfinite(np.concatenate([q, v], axis=1)).all(axis=1))
        time = np.broadcast_to(t, len(q))
        try:
            return rows, self.sim.state(q[rows], v[rows], time[rows]) if len(rows) else None
        except KinloopError:  # some row is singular, or beyond all bounds: which, is asked one by one
            rows = np.array([k for k in rows if self._begins(q[k], v[k])], dtype=int)
            return rows, self.sim.state(q[rows], v[rows], time[rows]) if len(rows) else None

    def _begins(self, q: Array, v: Array) -> bool:
        try:
            self.sim.state(q, v)
        except KinloopError:
            return False
        return True
