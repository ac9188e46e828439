"""The iterations of iLQR: where every problem of a batch stands, and what brings it on.

An iteration sweeps back along several *models* of a problem at once: with and without the second derivatives of the
motion, each with regularisation from none to much. Along all of them steps of several lengths are tried, all as rows of
one batch of motions, and the one of least cost is taken. So far from a minimum the steps are those of a gradient, and
near it those of Newton's method, without a rule for when to go over.

A problem that is finished stays as it is; the others go on, each bit for bit as it would alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.clusters import conditioning
from kinloop.control.motions import Limits, Motions
from kinloop.control.riccati_sweep import Sweep, sweep_back
from kinloop.control.solution import Outcome, Solution
from kinloop.control.traced_cost import Expansion
from kinloop.control.trajectories import Model, Planner, Priced, joined
from kinloop.scalar import Array

LENGTHS = 0.5 ** np.arange(8)
"""Lengths alpha of steps that are tried side by side."""
GRID = np.array([0.0, 0.1, 1.0, 10.0, 100.0])
"""Regularisations that are tried side by side, as parts of the present one."""
LEAST, MOST, SHIFT = 1e-8, 1e12, 1e3
"""The least and the most present regularisation, as a part of the cost's own curvature, and the factor by which the
whole grid moves where none of it serves."""
FALLS = 1e-4
"""The least part of the foretold decrease that a step has to bring."""
TINY = 1e-6
"""What part of the first cost counts beside the present one where a decrease is called small."""
ROUNDING = 1e-14
"""A decrease below this part of the sum of all costs is lost in rounding."""
AT_ONCE = 2e7
"""Numbers of feedback gains that are in memory at the same time, about."""
KINDS = 2
"""Models without and with the second derivatives of the motion; each kind has a regularisation of its own."""
SINGULAR = 1e3
"""From this condition of loops on (`clusters.conditioning`) a configuration is called singular."""
RUNNING = 0


class Optimization:
    """Problems on their way to a minimum."""

    def __init__(self, planner: Planner, first: Priced, limits: Limits, tolerance: float) -> None:
        self.planner, self.now, self.limits, self.tolerance = planner, first, limits, tolerance
        rows, steps, nu = first.motions.u.shape
        self.status, self.reasons = np.zeros(rows, dtype=int), [""] * rows
        self.iterations, self.decrease = np.zeros(rows, dtype=int), np.full(rows, np.nan)
        self.gains = np.full((rows, steps, nu, 2 * planner.steps.robot.nv), np.nan)
        self._first, self._scale, self._firm = first.cost.copy(), np.zeros(rows), np.ones((rows, KINDS))
        self._models: dict[int, Model] = {}
        tried = len(GRID) * len(LENGTHS) * KINDS * max(self.gains[0].size, 1) if rows else 1
        self._at_once = max(1, int(AT_ONCE // tried))
        for row in range(rows):
            self._judge_start(row)

    def iterate(self) -> bool:
        """One iteration of all problems that are not finished; whether there were any."""
        running = np.flatnonzero(self.status == RUNNING)
        for k in range(0, len(running), self._at_once):
            rows, sweep, valid = self._swept(running[k : k + self._at_once])
            self.iterations[rows] += 1
            going, firm = self._judged(rows, valid), self._firm[rows]
            self._at_the_edge(rows[self.status[rows] == RUNNING], valid[self.status[rows] == RUNNING])
            if going.any():
                self._search(rows[going], Sweep(*(x[going] for x in sweep)), firm[going])
        return bool(len(running))

    def solution(self) -> Solution:
        """What was found; gains of problems that are not finished belong to where they are."""
        running = np.flatnonzero(self.status == RUNNING)
        for k in range(0, len(running), self._at_once):
            for row in self._swept(running[k : k + self._at_once])[0]:
                left = f"the cost could still fall by {self.decrease[row]:.2g}"
                self._finish(row, Outcome.ITERATIONS, f"{left} after {self.iterations[row]} iterations; allow more")
        cost, status, reasons = self.now.cost, self.status, tuple(self.reasons)
        return Solution(*self.now.motions, self.gains, cost, status, reasons, self.iterations, self.decrease)

    def _finish(self, row: int, outcome: Outcome, why: str) -> None:
        self.status[row], self.reasons[row] = int(outcome), why
        self._models.pop(int(row), None)

    def _judge_start(self, row: int) -> None:
        """A problem whose first motion or cost is not finite ends here."""
        (q, v, _), cost = (x[row] for x in self.now.motions), self.now.cost[row]
        if np.isfinite(cost):
            return
        lost = np.flatnonzero(~(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)))
        why = f"its cost is {cost} along the start; give a cost that is finite there, or start elsewhere"
        if len(lost):
            why = (
                f"the motion from the start cannot take step {lost[0] - 1}; start with other controls, or shorter steps"
            )
        self._finish(row, Outcome.NO_START, why)

    def _judge_model(self, row: int, model: Model) -> None:
        """A problem without derivatives ends; the curvature of its cost is the measure of regularisation."""
        steps, costs = joined([model.A, model.B])[0], joined(model.cost)[0]
        if not steps.all():
            why = f"step {np.flatnonzero(~steps)[0]} has no derivatives: it is not taken whole, or contact is undecided"
            self._finish(row, Outcome.NO_SLOPES, f"{why}; try shorter steps")
        elif not costs.all():
            self._finish(row, Outcome.NO_SLOPES, f"the cost of step {np.flatnonzero(~costs)[0]} has no derivatives")
        elif not joined([x[:, None] for x in (model.last.x, model.last.xx)]).all():
            self._finish(row, Outcome.NO_SLOPES, "the cost of the end has no derivatives")
        elif self._scale[row] == 0.0:
            diagonals = [np.diagonal(x, axis1=-2, axis2=-1) for x in (model.cost.xx, model.cost.uu, model.last.xx)]
            self._scale[row] = sum(float(np.mean(np.abs(x))) for x in diagonals if x.size) or 1.0

    def _modelled(self, rows: Array) -> Array:
        """Those rows of problems that have a model along their present motion, made where need be."""
        new = np.array([row for row in rows if int(row) not in self._models], dtype=int)
        if len(new):
            model = self.planner.model(self.now.at(new).motions, self.now.parameters[new])
            for k, row in enumerate(new):
                self._models[int(row)] = model.at(slice(k, k + 1))
                self._judge_model(int(row), self._models[int(row)])
        running: Array = rows[self.status[rows] == RUNNING]
        return running

    def _swept(self, rows: Array) -> tuple[Array, Sweep, Array]:
        """The rows that have derivatives, sweeps (rows, models, ...) of all their models, and which have a minimum."""
        rows = self._modelled(rows)
        models = [self._models[int(row)] for row in rows]
        if not models:
            return rows, Sweep(*(np.zeros(0) for _ in Sweep._fields)), np.zeros((0, len(GRID)), dtype=bool)
        kinds = [[m.cost, *([] if m.bend is None else [m.bend])] for m in models]
        cost = _stacked([x for kind in kinds for x in kind for _ in GRID])
        count = len(cost.x) // len(rows)
        own = self._firm[rows, : count // len(GRID)] * self._scale[rows, None]
        firm = own[..., None] * GRID
        u = np.repeat(self.now.motions.u[rows], count, axis=0)
        A, B, last = (_repeated([m[k] for m in models], count) for k in (0, 1, 3))
        flat = sweep_back(A, B, cost, last, (self.limits[0] - u, self.limits[1] - u), firm.ravel())
        sweep = Sweep(*(x.reshape(len(rows), count, *x.shape[1:]) for x in flat))
        some, foretold = np.asarray(sweep.found.any(axis=1)), -(sweep.slope + 0.5 * sweep.curvature)
        self.decrease[rows] = np.where(some, np.where(sweep.found, foretold, -np.inf).max(axis=1), np.nan)
        # the gains are those of the least regularisation, without second derivatives if that will do
        order = np.arange(count).reshape(-1, len(GRID)).T.ravel()
        first = order[np.argmax(sweep.found[:, order], axis=1)]
        gains = sweep.gains[np.arange(len(rows)), first]
        self.gains[rows] = np.where(some[:, None, None, None], gains, np.nan)
        return rows, sweep, sweep.found

    def _judged(self, rows: Array, found: Array) -> Array:
        """Which rows go on to a search; some have converged, others need more or less regularisation first."""
        cost, first = np.abs(self.now.cost[rows]), np.abs(self._first[rows])
        enough = np.maximum(self.tolerance * (cost + TINY * first), ROUNDING * self.now.size[rows])
        with np.errstate(invalid="ignore"):
            small = self.decrease[rows] <= enough
        each, some = found.reshape(len(rows), found.shape[1] // len(GRID), len(GRID)), found.any(axis=1)
        # a small decrease tells something only if no regularisation makes it small
        plain = each[..., 0] | (each[..., 2:] & ~each[..., 1:-1]).any(axis=-1)
        settled = plain.any(axis=-1) | (self._firm[rows] <= LEAST).all(axis=1)
        for row in rows[small & settled]:
            self._finish(row, Outcome.CONVERGED, f"converged after {self.iterations[row]} iterations")
        for row in rows[~some & (self._firm[rows, 0] >= MOST)]:
            self._finish(row, Outcome.STALLED, "its quadratic models have no minimum, with any regularisation")
        less = rows[small & ~settled]
        self._firm[less] = np.maximum(self._firm[less] / SHIFT, LEAST)
        return some & ~small

    def _at_the_edge(self, rows: Array, found: Array) -> None:
        """Move the grid of every kind of model to where the least regularisation leaves it a minimum."""
        kinds = found.shape[1] // len(GRID)
        each = found.reshape(len(rows), kinds, len(GRID))
        edge = np.argmax(each, axis=2)
        factor = np.where(each.any(axis=2), np.where(edge == 0, 1.0, GRID[edge]), SHIFT)
        self._firm[rows, :kinds] = np.clip(self._firm[rows, :kinds] * factor, LEAST, MOST)

    def _search(self, rows: Array, sweep: Sweep, firm: Array) -> None:
        """Steps of all lengths along all models: the one of least cost that falls enough is taken."""
        models, count = sweep.found.shape[1], sweep.found.shape[1] * len(LENGTHS)
        now, lengths = self.now.at(rows), np.tile(LENGTHS, models)
        k, K, slope, curvature, found = (np.repeat(x, len(LENGTHS), axis=1) for x in sweep)
        k = np.where(found[..., None, None], lengths[:, None, None] * k, 0.0)
        K = np.where(found[..., None, None, None], K, 0.0)
        about = Motions(*(np.repeat(x, count, axis=0) for x in now.motions))
        flat_k, flat_K = (x.reshape(-1, *x.shape[2:]) for x in (k, K))
        tried = self.planner.follow(about, flat_k, flat_K, self.limits, np.repeat(now.parameters, count, axis=0))
        foretold = -(lengths * slope + 0.5 * lengths**2 * curvature)
        cost = tried.cost.reshape(len(rows), count)
        with np.errstate(invalid="ignore"):
            fall = now.cost[:, None] - cost
            good = found & np.isfinite(cost) & (fall >= FALLS * foretold) & (fall > 0.0)
        best, some = np.argmin(np.where(good, cost, np.inf), axis=1), good.any(axis=1)
        taken, at = rows[some], (np.arange(len(rows)) * count + best)[some]
        mine, new = ((*x.motions, x.cost, x.size) for x in (self.now, tried))
        for x, y in zip(mine, new, strict=True):
            x[taken] = y[at]
        for row in taken:
            del self._models[int(row)]
        kind, part = np.divmod(best[some] // len(LENGTHS), len(GRID))
        chosen = firm[some][np.arange(len(taken)), kind] * np.where(part == 0, GRID[1], GRID[part])
        self._firm[taken, kind] = np.clip(chosen, LEAST, MOST)
        self._refused(rows[~some], firm[~some])

    def _refused(self, rows: Array, firm: Array) -> None:
        """Much more regularisation; problems that had the most end."""
        self._firm[rows] = np.minimum(firm * SHIFT, MOST)
        for row in rows[(firm >= MOST).all(axis=1)]:
            self._finish(row, Outcome.STALLED, self._stalled(row))

    def _stalled(self, row: int) -> str:
        """Why no step lowers the cost of a problem: beyond singular configurations of loops motions go either way."""
        tree = self.planner.steps.robot.tree
        worst = [conditioning(tree, q) for q in self.now.motions.q[row]]
        k = int(np.argmax(worst))
        if worst[k] < SINGULAR:
            return "no step lowers the cost, which is at a kink or lost in rounding"
        return (
            f"no step lowers the cost: before step {k} loops are at a singular configuration (condition "
            f"{worst[k]:.1g}), "
            "beyond which the motion is not determined; let the cost keep away from it, or start elsewhere"
        )


def _stacked(expansions: list[Expansion]) -> Expansion:
    return Expansion(*(np.concatenate(x) for x in zip(*expansions, strict=True)))


def _repeated(parts: list[Any], count: int) -> Any:
    """Arrays, or expansions, of problems (1, ...), one after the other, each so many times."""
    if isinstance(parts[0], Expansion):
        return _stacked([x for x in parts for _ in range(count)])
    return np.repeat(np.concatenate(parts), count, axis=0)
