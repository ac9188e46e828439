"""Sweeps described in TOML: which task, which points, where the results go. docs/learning.md has an example."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinloop import io, robots
from kinloop.errors import KinloopError, MethodError, ModelError, unknown
from kinloop.inputs import checked_count, checked_number
from kinloop.robot import Robot
from kinloop.sim import Plane, Simulator
from kinloop.sweeps.designs import Design, Range, grid, latin_hypercube, random
from kinloop.sweeps.results import table_path
from kinloop.sweeps.rollout_task import RolloutTask
from kinloop.sweeps.task_calls import Task

SWEEP = {"task", "design", "points", "seed", "out", "chunk"}
ROLLOUT = {
    "robot", "options", "floating_base", "dt", "integrator", "ground", "friction", "motors", "limits", "seconds",
    "record", "push", "q0", "v0", "controls",
}  # fmt: skip
RANGE = {"low", "high", "count", "log"}
DESIGNS = ("grid", "random", "latin_hypercube")


class SweepFile(NamedTuple):
    """What a file asks for."""

    task: Task
    design: Design
    seed: int
    out: Path
    chunk: int | None


def read_sweep(path: str | Path) -> SweepFile:
    """The sweep that a TOML file describes; errors name the file."""
    path = Path(path)
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MethodError(f"{path.name!r} cannot be read ({error.strerror}); give a sweep file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MethodError(f"{path.name!r} is no TOML: {error}") from None
    try:
        return _read(given, path)
    except KinloopError as error:
        raise MethodError(f"{path.name}: {error}") from error


def _read(given: dict[str, Any], path: Path) -> SweepFile:
    about = {name: _table(given, name) for name in ("sweep", "rollout", "parameters")}
    _known("table", given, about)
    asked, rolled = about["sweep"], about["rollout"]
    _known("entry of [sweep]", asked, SWEEP)
    _known("entry of [rollout]", rolled, ROLLOUT)
    if ("task" in asked) == bool(rolled):
        raise MethodError("say either task = 'module:function' in [sweep], or what to simulate in [rollout]")
    seed = checked_count("seed", asked.get("seed", 0), least=0)
    design = _design(asked, about["parameters"], seed)
    task: Task = (
        _function(asked["task"], path.parent) if "task" in asked else _rollout(rolled, path.parent, design.names)
    )
    out = table_path(path.parent / asked.get("out", path.with_suffix(".parquet").name))
    return SweepFile(task, design, seed, out, checked_count("chunk", asked["chunk"]) if "chunk" in asked else None)


def _table(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = given.get(name, {})
    if not isinstance(found, dict):
        raise MethodError(f"[{name}] must be a table, received {found!r}")
    return found


def _known(kind: str, given: Mapping[str, Any], known: Any) -> None:
    for name in given:
        if name not in known:
            raise unknown(kind, name, sorted(known))


def _design(asked: Mapping[str, Any], parameters: Mapping[str, Any], seed: int) -> Design:
    kind = asked.get("design", "grid")
    if kind not in DESIGNS:
        raise MethodError(f"design {kind!r} is not one of {', '.join(DESIGNS)}")
    if not parameters:
        raise MethodError("[parameters] has none; give values for at least one")
    if kind == "grid":
        if "points" in asked:
            raise MethodError("a grid has as many points as its values make; leave out points, or take another design")
        return grid({name: _listed(name, x) for name, x in parameters.items()})
    if "points" not in asked:
        raise MethodError(f"the design {kind} needs points, how many there shall be")
    make = random if kind == "random" else latin_hypercube
    return make({name: _ranged(name, x) for name, x in parameters.items()}, asked["points"], seed)


def _ranged(name: str, given: Any) -> Range | list[Any]:
    """The values that points are drawn from."""
    if isinstance(given, list):
        return given
    if isinstance(given, dict) and {"low", "high"} <= set(given):
        _known(f"entry of {name!r}", given, RANGE)
        return Range(given["low"], given["high"], bool(given.get("log", False)))
    raise MethodError(f"parameter {name!r} must be a list of values, or have low and high, received {given!r}")


def _listed(name: str, given: Any) -> list[Any]:
    """The values of a grid."""
    found = _ranged(name, given)
    if isinstance(found, list):
        return found
    if "count" not in given:
        raise MethodError(f"parameter {name!r} of a grid needs count, how many values there are from low to high")
    parts = np.linspace(0.0, 1.0, checked_count(f"count of {name!r}", given["count"]))
    return [float(x) for x in found.at(parts)]


def _function(name: Any, folder: Path) -> Task:
    """The function `module:function`, of a module beside the file or an installed one."""
    module, colon, attribute = str(name).partition(":")
    if not colon or not module or not attribute:
        raise MethodError(f"task {name!r} is not of the form 'module:function'")
    try:
        made = _module(module, folder)
    except ModuleNotFoundError as error:
        raise MethodError(f"task {name!r}: there is no module {error.name!r} beside the file or installed") from None
    if not callable(getattr(made, attribute, None)):
        raise unknown(f"function of {module!r}", attribute, [n for n in vars(made) if not n.startswith("_")])
    task: Task = getattr(made, attribute)
    return task


def _module(name: str, folder: Path) -> Any:
    """A module; one that lies beside the file travels to workers with the task, which need not have it."""
    file = folder / f"{name}.py"
    if not file.is_file():
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None, "a Python file has a loader"
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    try:
        import cloudpickle
    except ImportError:
        return made
    cloudpickle.register_pickle_by_value(made)
    return made


def _rollout(given: Mapping[str, Any], folder: Path, names: Sequence[str]) -> RolloutTask:
    """The rollouts that [rollout] describes; parameters that are no start and no control are open numbers."""
    for name in ("robot", "seconds"):
        if name not in given:
            raise MethodError(f"[rollout] needs {name}")
    robot = _robot(given, folder)
    ground = Plane(friction=given.get("friction", 1.0)) if given.get("ground", False) else None
    if ground is None and "friction" in given:
        raise MethodError("friction is that of the ground; add ground = true, or remove it")
    options = {name: given[name] for name in ("dt", "integrator", "motors", "limits") if name in given}
    opened = [name for name in names if not name.startswith(("q.", "v.", "u."))]
    sim = Simulator(robot, ground=ground, open=opened, **options)
    steps = max(1, round(checked_number("seconds", given["seconds"], "be a positive number", 1e-12) / sim.dt))
    push = checked_number("push", given.get("push", 0.0), "be a number not below zero", 0.0)
    start = {name: given.get(name) for name in ("q0", "v0", "controls")}
    return RolloutTask(sim, steps, record=tuple(given.get("record", ("q", "v"))), push=push, **start)


def _robot(given: Mapping[str, Any], folder: Path) -> Robot:
    """A robot of a model file beside the sweep's, or of the zoo."""
    name, floating, options = str(given["robot"]), given.get("floating_base"), given.get("options", {})
    if (folder / name).is_file():
        if options:
            raise ModelError(f"{name!r} is a file and takes no options; remove {', '.join(options)}")
        return io.load(folder / name, floating).build()
    return robots.load(name, floating, **options)
