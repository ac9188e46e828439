"""What all tests share: one tolerance, random states, and a tally of what was left out and why."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.clusters import ClusterTree, conditioning, grow, random_closed
from kinloop.model import Mechanism
from kinloop.model.random import KINDS, random_mechanism
from kinloop.spatial import Transform

EPS = float(np.finfo(float).eps)
WORST = 1e11
"""A state with a larger condition number leaves no digits to compare; it is counted, not compared."""

OFTEN = ("tree", "geared", "planar", "rods", "loop_revolute", "mixture")
EVERY_KIND = [kind if kind in OFTEN else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
"""Kinds of random mechanisms for tests that trace: a few of them every time, all with the slow ones."""

used: Counter = Counter()
dropped: Counter = Counter()


def drop(reason: str) -> None:
    """Count something that was not compared. The reason is printed at the end of the session."""
    dropped[reason] += 1


def assert_enough(compared: int, least: float, what: str = "cases") -> None:
    """A law that was compared with next to nothing says nothing: at least so many cases must have been."""
    used["comparisons where cases were left out"] += compared
    assert compared >= least, f"only {compared} {what} compared, at least {least:g} expected"


def calls(work: Callable[[], Any], builtins: bool = False) -> int:
    """Python functions that `work` calls, with those written in C if `builtins`: a cost no busy machine changes."""
    counted, count = ("call", "c_call") if builtins else ("call",), 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in counted

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def relative(a: Any, b: Any, scale: float = 0.0) -> float:
    """Largest difference, relative to the largest entry of either (or to a larger given scale)."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    assert a.shape == b.shape, f"shapes {a.shape} and {b.shape} differ"
    size = max(float(np.max(np.abs(a), initial=0.0)), float(np.max(np.abs(b), initial=0.0)), scale)
    difference = float(np.max(np.abs(a - b), initial=0.0))
    return difference / size if size > 0 else difference


def assert_agree(a: Any, b: Any, cond: float = 1.0, what: str = "", scale: float = 0.0) -> None:
    """The one tolerance of all tests: relative difference <= 1e3 eps cond."""
    error, allowed = relative(a, b, scale), 1e3 * EPS * cond
    assert error <= allowed, f"{what}: relative difference {error:.2e} above {allowed:.2e} (cond {cond:.2e})"


class Random(NamedTuple):
    """A random mechanism, and the name under which it can be made again."""

    name: str
    mechanism: Mechanism
    tree: ClusterTree
    rng: np.random.Generator


class State(NamedTuple):
    """A closed state with everything an algorithm takes, and the condition number that scales tolerances."""

    name: str
    tree: ClusterTree
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    f_ext: np.ndarray
    frames: list[tuple[int, Transform]]
    M: np.ndarray
    cond: float


def mechanism_of(seed: int, kind: str | None = None, **options: Any) -> Random:
    """The random mechanism of a seed; kinds take turns, so that any run of seeds covers them all."""
    kind = kind or KINDS[seed % len(KINDS)]
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    m = random_mechanism(rng, kind, **options)
    return Random(f"{kind} (seed {seed})", m, grow(m), rng)


def mechanisms(n: int, seed: int = 0, kind: str | None = None, **options: Any) -> Iterator[Random]:
    for s in range(seed, seed + n):
        used["mechanisms"] += 1
        yield mechanism_of(s, kind, **options)


def condition(tree: ClusterTree, q: np.ndarray, M: np.ndarray) -> float:
    """How much rounding may grow at q: mass matrix (each velocity in its own unit) times charts."""
    if len(M) == 0:
        return conditioning(tree, q)
    d = np.sqrt(np.abs(np.diag(M)))
    scaled = M / np.maximum(np.outer(d, d), 1e-300)
    cond = float(np.linalg.cond(scaled)) if np.all(np.isfinite(scaled)) else np.inf
    return cond * conditioning(tree, q) * max(1.0, float(np.max(d) / np.min(d)) if np.min(d) > 0 else np.inf)


def state_of(r: Random) -> State | None:
    """The next random closed state of a mechanism; None, counted, where the arithmetic is hopeless."""
    tree, rng, top = r.tree, r.rng, r.tree.top
    q = random_closed(tree, rng)
    M = cluster_crba(tree, q)
    cond = condition(tree, q, M)
    if not cond < WORST:
        drop("state with cond above 1e11: singular configuration or mass matrix")
        return None
    used["states"] += 1
    draw = [rng.normal(size=tree.nv) for _ in range(3)]
    frames = [(top.body_index[f.body], f.placement) for f in r.mechanism.frames]
    f_ext = rng.normal(size=(len(top), 6))
    return State(r.name, tree, q, *draw, f_ext, frames, M, cond)


def states(n: int, seed: int = 0, per: int = 3, kind: str | None = None, **options: Any) -> Iterator[State]:
    """`per` states of each of n random mechanisms."""
    for r in mechanisms(n, seed, kind, **options):
        for _ in range(per):
            s = state_of(r)
            if s is not None:
                yield s


def comfortable(kind: str, seed: int) -> State:
    """A state of a small random mechanism of a kind, far enough from singular ones for differences to say something."""
    for k in range(20):
        s = state_of(mechanism_of(seed + k, kind))
        if s is not None and s.cond < 1e4 and 0 < s.tree.nv < 12:
            return s
    raise AssertionError(f"no comfortable state of kind {kind}")


def differences(f: Callable[[float], Any], h: float) -> np.ndarray:
    """f'(0) by central differences of order 4."""
    return (8.0 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12.0 * h)
