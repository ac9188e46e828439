"""The API reference has every public name, with an entry and an example, and the shapes it prints are true."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from typing import is_typeddict

import numpy as np
import pytest
from test_docs import FENCE, run_blocks
from test_papers import resolve

import kinloop as kl

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
PAGES = {page.name: page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md")}
EVERYTHING = "\n".join(PAGES.values())
CODE = "\n".join(block for _, _, block in FENCE.findall(EVERYTHING))
MODULES = ["kinloop.sim", "kinloop.control", "kinloop.io", "kinloop.io.convert", "kinloop.robots", "kinloop.viewer"]
MODULES += ["kinloop.sweeps"]
MODULES += ["kinloop.learn.environments"] if importlib.util.find_spec("gymnasium") else []
INNER = {"batch", "careful_step", "fitting", "linearizer", "maker", "sensed_shapes", "velocities"}
"""What rollouts and controllers of the package use of a simulator, and users need not."""


def entered(path: str) -> bool:
    """Whether the reference has an entry for a name, by itself or among the members of its owner."""
    owner, name = path.rsplit(".", 1)
    if re.search(rf"^::: {re.escape(path)}$", EVERYTHING, re.MULTILINE):
        return True
    members = re.findall(rf"^::: {re.escape(owner)}\n    options:\n      members: \[(.*)\]", EVERYTHING, re.MULTILINE)
    return any(name in listed.split(", ") for listed in members)


def public(owner: type) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def in_modules() -> list[tuple[str, str]]:
    found = [(module, name) for module in MODULES for name in importlib.import_module(module).__all__]
    return [(m, n) for m, n in found if not inspect.ismodule(getattr(importlib.import_module(m), n))]


@pytest.mark.parametrize("name", [n for n in kl.__all__ if not inspect.ismodule(getattr(kl, n))])
def test_names_at_the_top_are_entered_and_used(name):
    assert entered(f"kinloop.{name}") or entered(f"kinloop.sim.{name}") or entered(f"kinloop.errors.{name}")
    assert re.search(rf"kl\.{name}\b", CODE) or name == "Robot" or re.search(rf"\b{name}\(", CODE)


@pytest.mark.parametrize("module, name", in_modules())
def test_names_of_modules_are_entered_and_used(module, name):
    assert entered(f"{module}.{name}") or entered(f"kinloop.{name}"), f"docs/reference has no `::: {module}.{name}`"
    assert re.search(rf"\b{name}\b", CODE), f"no example of docs/reference uses {name}"


@pytest.mark.parametrize("owner, path", [(kl.Robot, "kinloop.Robot"), (kl.Builder, "kinloop.Builder")])
def test_methods_are_entered_and_used(owner, path):
    missing = [name for name in public(owner) if not entered(f"{path}.{name}")]
    unused = [name for name in public(owner) if not re.search(rf"\.{name}\b", CODE)]
    assert not missing and not unused, f"no entry for {missing}, no example of {unused}"


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_names_for_array_libraries_are_entered_and_used(library):
    assert all(entered(f"kinloop.{library}.{name}") for name in ("function", "step", "rollout"))
    assert f"import kinloop.{library} as" in CODE


def test_methods_of_the_simulator_are_entered():
    missing = [n for n in public(kl.Simulator) if n not in INNER and not entered(f"kinloop.sim.Simulator.{n}")]
    assert not missing


def test_what_the_reference_enters_exists():
    for path in re.findall(r"^::: ([\w.]+)$", EVERYTHING, re.MULTILINE):
        if not path.startswith(("kinloop.jax", "kinloop.torch")):  # the strict build finds these without the libraries
            resolve(path)


WITHOUT_UNITS = {
    "kinloop.scalar": "functions of any numbers",
    "kinloop.sweeps": "parameters and results of any task",
    "kinloop.io.convert.pinocchio_order": "indices",
    "kinloop.sim.State.ok": "yes or no",
    "kinloop.sim.Rollout.diverged": "yes or no",
    "kinloop.control.IKSolution.reached": "yes or no",
    "kinloop.control.IKSolution.improved": "numbers of rows",
    "kinloop.control.Solution.converged": "yes or no",
}
"""Names of arrays that have no units, and why; a module stands for all of its names."""

SIZES = (
    "B C N T m n np nq nu nv n_spanning r bodies columns contacts dofs joints loops motors points rows sides size tasks"
)
LENGTH = rf"(?:\.\.\.|\d+|len\(\w+\)|(?:\d )?(?:{'|'.join(SIZES.split())})(?: \+ (?:\d|n))?)"
A_SHAPE = re.compile(rf"\({LENGTH}(?:, {LENGTH})*,?\)|\ba number\b|\bany shape\b")
A_UNIT = re.compile(r"\[[^\]]*\b(?:m|rad|s|N|kg|J|V|A|Ohm|SI|1)\b[^\]]*\]")


OPTIONAL = {"jax": "jax", "torch": "torch", "learn": "gymnasium"}
"""Modules of the package, and what they need."""


def shown() -> dict[str, object]:
    """Everything with an entry, and the members that are shown with it, by path."""
    found: dict[str, object] = {}
    entries = re.findall(r"^::: ([\w.]+)$(?:\n    options:\n      members: (.*)$)?", EVERYTHING, re.MULTILINE)
    for path, members in entries:
        if any(path.startswith(f"kinloop.{m}") and not importlib.util.find_spec(n) for m, n in OPTIONAL.items()):
            continue
        owner, name = path.rsplit(".", 1)
        thing = resolve(path)
        inside = inspect.isclass(above := resolve(owner)) and inspect.getattr_static(above, name)
        found[path] = inside or thing
        if inspect.isclass(thing):
            ours = {n for kind in thing.__mro__ if kind.__module__.startswith("kinloop") for n in vars(kind)}
            names = members.strip("[]").split(", ") if members else sorted(ours & set(public(thing)))
            found |= {f"{path}.{n}": inspect.getattr_static(thing, n) for n in names if hasattr(thing, n)}
    return found


def described(thing: object) -> tuple[str, str]:
    """The annotations of something, and what its docstrings say, those of what it overrides included."""
    if isinstance(thing, property):
        return str(thing.fget.__annotations__.get("return")), inspect.getdoc(thing) or ""
    thing = getattr(thing, "__func__", thing)
    return str(inspect.signature(thing)), inspect.getdoc(thing) or ""


def measured() -> dict[str, tuple[str, str]]:
    """(annotations, docstring) of all that takes or gives arrays."""
    can = {p: x for p, x in shown().items() if not (isinstance(x, type) and issubclass(x, Exception))}
    can = {p: x for p, x in can.items() if callable(getattr(x, "__func__", x)) or isinstance(x, property)}
    can = {p: x for p, x in can.items() if not is_typeddict(x)}
    said = {path: described(thing) for path, thing in can.items()}
    return {path: s for path, s in said.items() if re.search(r"\bArray|ndarray", s[0])}


def test_everything_with_an_entry_is_described():
    silent = [p for p, x in shown().items() if (callable(x) or isinstance(x, property)) and not inspect.getdoc(x)]
    assert not silent


def test_arrays_have_their_shapes_and_units_said():
    found = measured()
    assert len(found) > 200
    without = lambda path: any(path == p or path.startswith(f"{p}.") for p in WITHOUT_UNITS)  # noqa: E731
    shapeless = [path for path, (_, said) in found.items() if not A_SHAPE.search(said)]
    unitless = [path for path, (_, said) in found.items() if not A_UNIT.search(said) and not without(path)]
    assert not shapeless and not unitless, f"no shape: {shapeless}, no unit: {unitless}"


def test_every_section_with_entries_has_an_example():
    for page, text in PAGES.items():
        for section in re.split(r"^(?=## )", text, flags=re.MULTILINE):
            assert ":::" not in section or FENCE.search(section), f"{page}: {section.splitlines()[0]}"


SHAPE = re.compile(r"^(\w+) = .*# (\((?:[^()]|\([^()]*\))*\))", re.MULTILINE)
"""`name = ...   # (shape)` of an example."""


def test_shapes_in_comments_are_those_of_the_results():
    checked = 0
    for block, names in run_blocks("docs/reference/robot.md"):
        for name, shape in SHAPE.findall(block):
            assert np.shape(names[name]) == eval(shape, dict(names)), f"{name} has the shape {np.shape(names[name])}"
            checked += 1
    assert checked > 40
