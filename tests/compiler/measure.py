"""The numbers of docs/compiler.md: `PYTHONPATH=src python -m tests.compiler.measure`."""

from __future__ import annotations

import dataclasses
import time
import timeit

import numpy as np

from kinloop import scalar as sc
from kinloop.compiler import compile_function, core
from kinloop.compiler.run.host import host
from tests.compiler.emit.test_sincos import make, ulps
from tests.compiler.graphs import chain


def best(statement: str, names: dict, number: int = 1000) -> float:
    """Microseconds, the best of many."""
    return min(timeit.repeat(statement, globals=names, number=number, repeat=50)) / number * 1e6


def accuracy() -> None:
    rng = np.random.default_rng(0)
    turns = np.arange(1, 63661) * (np.pi / 2)
    sets = {
        "|x| < pi": rng.uniform(-np.pi, np.pi, 2_000_000),
        "|x| < 1e5": rng.uniform(-1e5, 1e5, 2_000_000),
        "doubles next to every multiple of pi/2 below 1e5": np.concatenate(
            [turns, np.nextafter(turns, 0), np.nextafter(turns, np.inf)]
        ),
        "1e-300 < x < 1": 10.0 ** rng.uniform(-300, 0, 200_000),
        "1e5 < x < 1e300 (libm)": 10.0 ** rng.uniform(5.001, 300, 100_000),
    }
    real = host()
    for fma in (True, False):
        changed = dataclasses.replace(real, fma=fma)
        core.host = lambda target=changed: target  # type: ignore[assignment]
        sincos = make()
        for name, x in sets.items():
            s, c = sincos(x[:, None])
            exact = x.astype(np.longdouble)
            worst = [ulps(y[:, 0], f(exact)).max() for y, f in ((s, np.sin), (c, np.cos))]
            print(f"{'FMA' if fma else 'no FMA':7} {name:50} sin {worst[0]:.2f}  cos {worst[1]:.2f} ulp")
    core.host = lambda: real  # type: ignore[assignment]


def calls() -> None:
    nothing = compile_function(sc.Function({"q": 7, "v": 6, "tau": 6}, {"a": np.zeros(6)}, sc.Graph()), cache=False)
    nothing.compile().compile(batch=True)
    one = [np.zeros(n) for n in (7, 6, 6, 6)]
    many = [np.zeros((8, n)) for n in (7, 6, 6, 6)]
    names = {"kernel": nothing, "builtin": nothing.builtin, "one": one, "many": many}
    for text in ("kernel(*one)", "builtin(*one)", "kernel(*one[:3])", "kernel(*many)", "kernel(*many[:3])"):
        print(f"kernel that computes nothing: {text:18} {best(text, names):.3f} us")
    for text in ("out=many[3]", "out=many[3], threads=1", "threads=2"):
        print(f"kernel that computes nothing: 8 rows, {text} {best(f'kernel(*many[:3], {text})', names):.2f} us")


def compile_times() -> None:
    for length in (250, 1000, 4000, 12_500):
        function = chain(length)
        count = function.operations["total"]
        for batch in (False, True):
            start = time.process_time()
            compile_function(function, cache=False).compile(batch=batch)
            seconds = time.process_time() - start
            lanes = "lanes" if batch else "one state"
            print(f"{count:7} operations, {lanes:9}: {seconds:6.2f} s, {seconds / count * 1e6:.0f} us per operation")


if __name__ == "__main__":
    accuracy()
    calls()
    compile_times()
