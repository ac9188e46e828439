"""How a task is called at a point: with the point's values and random numbers of its own.

A task is a function of its parameters by name, `def task(mass, speed)`, or of all of them as one mapping,
`def task(point)`; where it has an argument `rng` it gets a generator that depends on the sweep's seed and the number of
the point alone. A task with a method `batch(points, generators)` takes many points at once.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import pickle
import re
import tokenize
import traceback
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from kinloop.errors import MethodError
from kinloop.sweeps.results import Values, values_of

RNG = "rng"
"""The argument by which a task asks for random numbers."""


@runtime_checkable
class BatchTask(Protocol):
    """A task that takes many points at once: what it gives for a point must not depend on the others."""

    @property
    def identity(self) -> str: ...

    def batch(self, points: Sequence[dict[str, Any]], generators: Sequence[np.random.Generator]) -> Sequence[Any]: ...


Task = Callable[..., Any] | BatchTask


class Failure(NamedTuple):
    """A point at which a task failed."""

    point: int
    words: str
    trace: str


class Outcome(NamedTuple):
    """What a task gave at points, up to the first at which it failed, if any."""

    values: Values
    failure: Failure | None = None


def generator(seed: int, index: int) -> np.random.Generator:
    """The random numbers of a point: the same whoever computes it, when, and beside whom."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))


def only_argument(task: Task) -> str:
    """The name of what a task is about, where a point is one value."""
    if isinstance(task, BatchTask):
        return "value"
    named = [name for name in _arguments(task) if name != RNG]
    return named[0] if named else "value"


def _arguments(task: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(task).parameters)
    except (TypeError, ValueError):  # a builtin that does not say
        return {"value": inspect.Parameter("value", inspect.Parameter.POSITIONAL_ONLY)}


def caller(task: Callable[..., Any], names: Sequence[str]) -> Callable[[dict[str, Any], np.random.Generator], Any]:
    """What calls a task at a point, or an error where it does not take these parameters."""
    taken = _arguments(task)
    further = {RNG} & set(taken) - set(names)
    plain = {name: p for name, p in taken.items() if name not in further}
    any_name = any(p.kind is p.VAR_KEYWORD for p in plain.values())
    by_name = {name for name, p in plain.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    needed = {name for name in by_name if plain[name].default is inspect.Parameter.empty}
    if set(names) >= needed and (any_name or set(names) <= by_name):
        return lambda point, rng: task(**point, **({RNG: rng} if further else {}))
    positions = [p for p in plain.values() if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    if len(positions) == 1 and not needed - {positions[0].name}:
        alone = list(names) == [positions[0].name]
        return lambda point, rng: task(point[names[0]] if alone else point, **({RNG: rng} if further else {}))
    raise MethodError(
        f"the task takes {', '.join(plain) or 'nothing'}, the parameters are {', '.join(names) or 'none'}; let it take "
        "them by name, or one mapping of them"
    )


def packed(task: Task) -> bytes:
    """A task as bytes, for other processes."""
    try:
        import cloudpickle as pickler  # comes with Dask, and takes functions of scripts and notebooks too
    except ImportError:
        pickler = pickle
    try:
        made: bytes = pickler.dumps(task)
    except Exception as error:  # of pickle, and of whatever a task holds
        raise MethodError(
            f"the task cannot be sent to other processes ({error}); define it in a module, or pip install "
            "'kinloop[dask]'"
        ) from None
    return made


@functools.lru_cache(maxsize=4)
def unpacked(payload: bytes) -> Task:
    """The task of these bytes; a process makes it once, with its robots and kernels."""
    found: Task = pickle.loads(payload)
    return found


def run_packed(payload: bytes, asked: bytes) -> Outcome:
    """What other processes do: the task at some points, by the arguments of `run_points` behind it as bytes.

    Executors look into what they are given, at every number of every point; into bytes they do not.
    """
    return run_points(unpacked(payload), *pickle.loads(asked))


def run_points(
    task: Task, names: Sequence[str], seed: int, indices: list[int], points: list[dict[str, Any]]
) -> Outcome:
    """A task at some points; a failure ends it there and is told in words, since not every error can travel."""
    generators = [generator(seed, k) for k in indices]
    if isinstance(task, BatchTask):
        try:
            found = list(task.batch(points, generators))
        except Exception as error:  # whatever a task may raise
            return Outcome(values_of((), ()), _failure(indices[0], error))
        return Outcome(values_of(indices, found))
    call, values = caller(task, names), list[Any]()
    for k, point, rng in zip(indices, points, generators, strict=True):
        try:
            values.append(call(point, rng))
        except Exception as error:  # whatever a task may raise
            return Outcome(values_of(indices[: len(values)], values), _failure(k, error))
    return Outcome(values_of(indices, values))


def _failure(index: int, error: Exception) -> Failure:
    return Failure(index, f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)))


def code_text(value: Any) -> str:
    """What the code of a function does, or one of its constants: the same in every process of one version of Python."""
    if isinstance(value, CodeType):
        return "\0".join([value.co_code.hex(), repr(value.co_names), *map(code_text, value.co_consts)])
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def identity(task: Task) -> str:
    """What tells a task from others when a sweep is continued: its name, its source, and the values that it holds."""
    if isinstance(task, BatchTask):
        return task.identity
    function: Any = task
    given: list[str] = []
    while isinstance(function, functools.partial):
        given += [repr(function.args), repr(sorted(function.keywords.items()))]
        function = function.func
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__qualname__)}"
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):  # typed at a prompt, or not written in Python
        source = ""
    source += code_text(getattr(function, "__code__", None))  # where the source is that of another function
    held = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    given += [re.sub(r" at 0x[0-9a-f]+", "", repr(x)) for x in (*held, getattr(function, "__defaults__", None))]
    return hashlib.sha256("\0".join([name, source, *given]).encode()).hexdigest()
