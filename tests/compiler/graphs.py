"""Functions to compile: seeded random graphs over every operation, and a few made by hand."""

from __future__ import annotations

import numpy as np

from kinloop import scalar as sc
from kinloop.compiler import Kernel, compile_function

NO_ANGLES = (0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12)  # kinds of steps without sines and cosines
UNARY = (sc.sin, sc.cos, sc.tan, sc.atan, sc.floor, sc.abs)


def random_function(seed: int, size: int = 120, loops: bool = True) -> sc.Function:
    """A graph of about `size` operations whose values stay of order one."""
    rng = np.random.default_rng(seed)

    def body(q, v):
        values = [*q, *v]
        truths = [q[0] < v[0]]

        def pick():
            return values[rng.integers(len(values))]

        while len(values) < size:
            values.append(_step(rng, pick, truths))
        if loops:
            values.extend(sc.repeat(3, _round, [pick(), pick()], [pick()]))
            values.extend(sc.repeat(2, _round, [pick(), pick()], [pick()], when=truths[-1]))
            values.extend(sc.repeat(4, _round, [pick(), pick()], [pick()], truths[0], until=lambda c: c[0] < c[1]))
        chosen = [values[i] for i in rng.permutation(len(values))[:12]] + values[-4:]
        return {"a": np.array(chosen, dtype=object), "m": np.array([[pick(), 1.5], [truths[-1], 0.0]], dtype=object)}

    return sc.trace(body, {"q": 4, "v": 3})


def linked_function(seed: int, links: int = 40, size: int = 18) -> sc.Function:
    """The same random operations at every link, on other inputs and constants: outward, inward, and outward again.

    Every link leaves an output; every fifth leaves another, an angle, and something for a loop behind them all.
    """
    draw = np.random.default_rng(seed)
    constants = np.round(draw.uniform(0.2, 0.9, (links, 3)), 3) + 0.01

    def turn(values, k, number):
        rng, truths = np.random.default_rng([seed, number]), [values[0] < values[-1]]
        values = [*values, constants[k, number] * values[0] - 0.25 * values[-1]]
        while len(values) < size + number:
            values.append(_step(rng, lambda: values[rng.integers(len(values))], truths, NO_ANGLES))
        return values

    def body(q, v):
        there = [[q[0], v[0]]]
        for k in range(links):
            there.append(turn([there[-1][-1], there[-1][-2], q[k], v[k], 2.0 - constants[k, 2] * q[k]], k, 0))
        back = [[v[0], q[0]]]
        for k in reversed(range(links)):
            back.append(turn([back[-1][-1], there[k + 1][-1], there[k][-2], v[k]], k, 1))
        out = [[q[1], v[1]]]
        for k in range(links):
            out.append(turn([out[-1][-1], there[k + 1][-2], back[links - k][-1]], k, 2))
        some = [there[k][-3] + sc.sin(there[k + 1][-1]) for k in range(2, links, 5)]
        last = sc.repeat(3, _round, [some[0], out[links // 2][-1]], [back[links // 3][-2]])
        ends = [x[-1] for x in out[1:]] + [there[k][-2] for k in range(1, links, 5)]
        return {"a": np.array([*ends, *last], dtype=object), "m": np.array([some, [-x for x in some]], dtype=object)}

    return sc.trace(body, {"q": links, "v": links})


def _round(carry, given):
    x, y = carry
    swing = sc.repeat(2, lambda c, g: np.array([0.5 * c[0] + g[0]]), [x], [y])[0]
    return np.array([sc.sin(swing) + 0.3 * given[0], sc.where(x < y, x, 0.5 * y)], dtype=object)


def _step(rng, pick, truths, kinds=tuple(range(14))):
    kind = kinds[rng.integers(len(kinds))]
    a, b, c = pick(), pick(), pick()
    match kind:
        case 0 | 1:
            return 0.6 * a + 0.4 * b
        case 2 | 3:
            return a * b - 0.3 * c
        case 4:
            return a / (2.0 + b * b)
        case 5:
            return UNARY[rng.integers(len(UNARY))](0.5 * a)
        case 6:
            return sc.sqrt(sc.abs(a) + 0.5)
        case 7:
            return sc.log(1.0 + a * a) - sc.exp(-sc.abs(b))
        case 8:
            return sc.asin(a / (1.5 + sc.abs(a))) - sc.acos(b / (1.5 + sc.abs(b)))
        case 9:
            return sc.atan2(a, b)
        case 10:
            return sc.minimum(a, b) + sc.maximum(b, c)
        case 11:
            truths.append(sc.logical_or(a < b, sc.logical_not(sc.logical_and(b <= c, truths[-1]))))
            return sc.where(truths[-1], a, c)
        case 12:
            return -a + truths[-1] * b
        case _:
            return sc.sin(a) * sc.cos(a) + sc.cos(b)


def every_operation() -> sc.Function:
    """One small function that uses all of them, loops included."""

    def body(x, y):
        u, w = x[0], y[0]
        out = [u + w, u - w, u * w, u / w, -u, sc.sin(u), sc.cos(u), sc.tan(u), sc.asin(u), sc.acos(u), sc.atan(u)]
        out += [sc.atan2(u, w), sc.sqrt(u), sc.exp(u), sc.log(u), sc.abs(u), sc.floor(u), sc.minimum(u, w)]
        out += [sc.maximum(u, w), u < w, u <= w, sc.logical_and(u < w, u <= w), sc.logical_or(u < w, w < u)]
        out += [sc.logical_not(u < w), sc.where(u < w, u, w), 2.5, -0.0, u, np.nan, np.inf]
        out += list(sc.repeat(3, lambda c, g: np.array([sc.sin(c[0]) + g[0]], dtype=object), [u], [w]))
        out += list(sc.repeat(2, lambda c, g: g, [u], [u * w + sc.exp(w)], when=u < w))
        return np.array(out, dtype=object)

    return sc.trace(body, {"x": 1, "y": 1})


def reference(function: sc.Function, *rows: np.ndarray) -> list[np.ndarray]:
    """Outputs for a batch by replaying the graph row by row."""
    results = []
    for row in zip(*rows, strict=True):
        out = function(*row)
        results.append(out if isinstance(out, tuple) else (out,))
    return [np.array([r[k] for r in results], dtype=float) for k in range(len(function.outputs))]


def random_states(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of `random_function`."""
    return rng.uniform(-2, 2, (rows, 4)), rng.uniform(-2, 2, (rows, 3))


def double(n: int = 3) -> Kernel:
    """A kernel simple enough to predict: out = 2 x + y."""
    return compile_function(sc.trace(lambda x, y: {"z": 2.0 * x + y}, {"x": n, "y": n}), name="double", cache=False)


def chain(length: int) -> sc.Function:
    """A graph of about 10 operations per link, each depending on the last, none like the one before."""
    turns = np.random.default_rng(0).permuted(np.tile(np.arange(3), (length, 1)), axis=1)

    def body(x):
        a, b, c = x
        for k in range(length):
            a, b, c = np.array([a, b, c], dtype=object)[turns[k]]
            a, b, c = a * b + 0.1 * c, sc.where(k % 2, b * c - a, b + 0.5 * c), a * c - b * b
        return np.array([a, b, c], dtype=object)

    return sc.trace(body, {"x": 3})
