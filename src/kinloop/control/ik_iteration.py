"""The iteration of inverse kinematics: Levenberg and Marquardt's method on closed loops, as one rolled loop.

A round looks at a configuration. If it is better than the best so far it takes its place, else the search goes back
there with more damping. From the best one it takes the step of `damped_least_squares`, no longer than `LONGEST` and not
across a limit, closes the loops by Newton's rounds, and the next round looks at what came out. So every configuration
that is looked at has closed loops; where these cannot be closed, the step counts as a failure.

Better means, level by level: less error; or, where there are further levels, no more error than the curvature of a step
of that length explains, and better in the next level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinloop import scalar as sc
from kinloop.clusters.tangent_frame import plain
from kinloop.control.damped_least_squares import Rows, Step, damped_step
from kinloop.control.ik_problem import Look, Problem, beyond, coordinate_weights, longest, look, reachable, stepped
from kinloop.scalar import Array

DAMPING, EASED, LEAST, FAILED, GROWTH, HOPELESS = 1e-3, 0.1, 1e-9, 1e-4, 10.0, 1e4
"""Damping: where it starts, its factor after a better round, the least of it; after a failure the least, its factor,
and where no step will help any more."""

LONGEST = 0.6
"""No coordinate moves farther in a step [rad, m], but for positions of free bodies."""

CURVATURE = 1.0
"""Error [m, rad] that a step of 1 [rad, m] may leave in a level which has others behind it."""

GOOD, POOR = 0.6, 0.3
"""Parts of the promised gain above which damping is eased, and below which it grows though there was a gain."""

NO_GAIN = 1e-11
"""A step that promises less than this part of the squared error leads nowhere."""

FUNNEL = 0.8
"""What is left, after a round, of the largest error that a step may leave."""

FOLLOWED = 15
"""Rounds in a row that a search stays away from the best configuration, beyond limits."""

MUCH = 0.9
"""What is left of an error that got much less: then the levels behind it are not asked."""

SETTLED = 1e-9
"""A step [rad, m] that is as good as none, where there are levels behind others."""


class State(NamedTuple):
    """What is carried from round to round.

    q to look at, `trial` where that is a step's end (else the best one again), the best q with what was found there:
    norms of the error of every level, residuals of tasks, how far it is beyond limits; the damping of the first level
    and of those `behind` it, the length of the last step, what part of the last level's squared error it `promised` to
    take away, the `funnel` that bounds what a step may leave, for how many rounds the search is `away` from the best
    one, the active limits, how many rounds there were, how it ended (0: not yet, 1: reached, 2: no step helps, 3: no
    more rounds).
    """

    q: Array
    trial: Any
    best: Array
    norms: list[Any]
    residual: list[Any]
    beyond: Any
    damping: Any
    behind: Any
    length: Any
    promised: Any
    funnel: Any
    away: Any
    active: list[Any]
    steps: Any
    ended: Any

    def flat(self) -> Array:
        parts = [x if isinstance(x, list | np.ndarray) else [x] for x in self]
        return np.array([y for x in parts for y in x], dtype=object)


def unpacked(p: Problem, x: Array) -> State:
    """A state from the values that a loop carries."""
    n = p.tree.top.nq
    sizes = {"q": n, "best": n, "norms": len(p.levels), "residual": len(p.tasks), "active": len(p.limits)}
    parts: dict[str, Any] = {}
    start = 0
    for name in State._fields:
        size = sizes.get(name, 1)
        here = list(x[start : start + size])
        start += size
        parts[name] = plain(np.array(here, dtype=object)) if size == n and name in ("q", "best") else here
        if name not in sizes:
            (parts[name],) = here
    return State(**parts)


def begin(p: Problem, q: Array) -> State:
    """Before the first round: q is to be looked at, and anything is better than nothing."""
    never = [np.inf] * len(p.levels)
    return State(
        q,
        1.0,
        q,
        never,
        [np.inf] * len(p.tasks),
        np.inf,
        DAMPING / EASED,
        DAMPING / EASED,
        0.0,
        0.0,
        1.0,
        0.0,
        [0.0] * len(p.limits),
        0.0,
        0.0,
    )


def left_by(s: State) -> Any:
    """What the curvature of the last step may leave of errors and beyond limits, less from round to round."""
    return sc.minimum(CURVATURE * s.length * s.length, s.funnel)


def is_better(s: State, norms: Sequence[Any], out: Any) -> Any:
    """Whether a trial is better than the best so far, limits apart."""
    slack = left_by(s)
    better: Any = norms[-1] < s.norms[-1]
    for now, before in zip(reversed(norms[:-1]), reversed(s.norms[:-1]), strict=True):
        same = sc.logical_and(now <= sc.maximum(before, slack), better)
        better = sc.logical_or(now < MUCH * before, same)
    return sc.logical_or(better, sc.logical_and(out <= 0.5 * s.beyond, out < s.beyond))


def damped(damping: Any, fails: Any, gains: Any) -> Any:
    """The damping after a failure, a gain, or neither."""
    more, less = sc.maximum(GROWTH * damping, FAILED), sc.maximum(EASED * damping, LEAST)
    return sc.where(fails, sc.minimum(more, 10.0 * HOPELESS), sc.where(gains, less, damping))


def settle(p: Problem, s: State, found: Look, tolerance: Any) -> State:
    """The state after a look: the trial taken, followed for a while, or given up; whether this is the end.

    A trial that is better but beyond limits, by no more than the curvature of its step explains, is followed: the next
    step leads back inside.
    """
    norms = [sc.sqrt(sc.squared(r.e)) for r in found.levels]
    out = beyond(p, s.q) if len(p.limits) else 0.0
    better = sc.logical_and(s.trial > 0.5, is_better(s, norms, out))
    taken = sc.logical_and(better, out <= s.beyond)
    near = sc.logical_and(out <= left_by(s), s.away < FOLLOWED)
    followed = sc.logical_and(sc.logical_and(better, near), sc.logical_not(taken))
    worse = sc.logical_and(s.trial > 0.5, sc.logical_not(sc.logical_or(taken, followed)))

    def choose(new: Sequence[Any], old: Sequence[Any]) -> list[Any]:
        return [sc.where(taken, a, b) for a, b in zip(new, old, strict=True)]

    # where the first level would be content, only those behind it are damped more
    content = sc.logical_and(near, norms[0] <= sc.maximum(s.norms[0], left_by(s)))
    blamed = sc.logical_and(worse, sc.logical_not(content)) if len(norms) > 1 else worse
    # a step that took away far less than it promised was too long: errors bend
    kept = s.norms[-1] * s.norms[-1] - norms[-1] * norms[-1]
    promise = s.promised * s.norms[-1] * s.norms[-1]
    long = sc.logical_and(taken, kept < POOR * promise) if len(norms) == 1 else False
    good = sc.logical_and(taken, kept >= GOOD * promise) if len(norms) == 1 else taken
    blamed = sc.logical_or(blamed, long)
    damping, behind = damped(s.damping, blamed, good), damped(s.behind, worse, taken)
    residual, (further,) = choose(found.residual, s.residual), choose([out], [s.beyond])
    reached: Any = sc.logical_and(sc.largest(residual) <= tolerance, further <= 0.0)
    return s._replace(
        trial=sc.where(worse, 0.0, 1.0), best=plain(np.array(choose(list(s.q), list(s.best)), dtype=object)),
        norms=choose(norms, s.norms), residual=residual, beyond=further, damping=damping, behind=behind,
        away=sc.where(followed, s.away + 1.0, 0.0),
        ended=sc.where(reached, 1.0, sc.where(damping > HOPELESS, 2.0, 0.0)),
    )  # fmt: skip


def go_on(p: Problem, s: State, found: Look, solve: Callable[..., Step] = damped_step) -> State:
    """The state after a step from the q that was looked at, or back at the best one where that was worse."""
    at, tree, goes = found.at, p.tree, s.trial > 0.5
    weights = coordinate_weights(tree, at)
    D = [(s.behind if k else s.damping) * weights for k in range(len(found.levels))]
    step = solve(found.levels, D, reachable(p, at), s.active)
    size = longest(tree, at, step.dv)
    part = LONGEST / sc.maximum(size, LONGEST)
    q, well = stepped(p, at, part * step.dv)
    takes, fails = sc.logical_and(goes, well), sc.logical_and(goes, sc.logical_not(well))
    home = sc.logical_and(goes, sc.logical_and(s.away < 0.5, s.beyond <= 0.0))
    idle = sc.logical_and(home, is_idle(s, found, step, size))
    return s._replace(
        q=plain(np.array([sc.where(takes, a, b) for a, b in zip(q, s.best, strict=True)], dtype=object)),
        trial=sc.where(takes, 1.0, 0.0),
        damping=damped(s.damping, fails, False),
        behind=damped(s.behind, fails, False),
        length=part * size,
        promised=promise(found.levels[-1], part * step.dv),
        active=[sc.where(goes, a, b) for a, b in zip(step.active, s.active, strict=True)],
        funnel=FUNNEL * s.funnel,
        steps=s.steps + 1.0,
        ended=sc.where(sc.logical_and(s.ended < 0.5, idle), 2.0, s.ended),
    )


def promise(rows: Rows, dv: Array) -> Any:
    """The part of the squared error that a step takes away to first order."""
    left = rows.e - rows.J @ dv
    before = rows.e @ rows.e
    return 1.0 - (left @ left) / sc.maximum(before, 1e-300)


def is_idle(s: State, found: Look, step: Step, size: Any) -> Any:
    """Whether a step leads nowhere: it promises nothing to the first level, and those behind it have given up."""
    first = found.levels[0]
    none = first.e @ (first.J @ step.dv) <= NO_GAIN * (first.e @ first.e)
    if len(found.levels) == 1:
        return none
    return sc.logical_or(size <= SETTLED, sc.logical_and(none, s.behind > HOPELESS))


MOST = 1000
"""Rounds that a kernel has at most; how many it may take is given with every call."""


def iterate(p: Problem, q: Array, targets: Array, settings: Array) -> dict[str, Array]:
    """The best configuration found from q on, and how the search ended; `settings` are the tolerance and rounds."""
    m = len(targets)

    def body(carry: Array, given: Array) -> Array:
        s, targets = unpacked(p, carry), plain(np.array(given[:m], dtype=object))
        found = look(p, s.q, targets)
        s = go_on(p, settle(p, s, found, given[m]), found)
        return s._replace(ended=sc.where(sc.logical_and(s.ended < 0.5, s.steps >= given[m + 1]), 3.0, s.ended)).flat()

    def over(carry: Array) -> Any:
        return carry[-1] > 0.5

    end = sc.repeat(MOST, body, begin(p, q).flat(), np.array([*targets, *settings], dtype=object), until=over, usual=6)
    return conclude(p, unpacked(p, end), settings[0])


def conclude(p: Problem, s: State, tolerance: Any) -> dict[str, Array]:
    """The best configuration, residuals there, and how the search ended: status, rounds, how far beyond limits."""
    first = [r for r, t in zip(s.residual, p.tasks, strict=True) if t.level == p.levels[0]]
    reached = sc.logical_and(sc.largest(first) <= tolerance, s.beyond <= 0.0)
    held = sc.squared(np.array(s.active, dtype=object)) > 0.5 if s.active else False
    status = sc.where(reached, 1.0, sc.where(s.ended > 2.5, 4.0, sc.where(held, 2.0, 3.0)))
    return {"q": s.best, "residual": np.array(s.residual, dtype=object), "ended": np.array([status, s.steps, s.beyond])}
