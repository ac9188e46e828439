"""The house stays in order: names that stand once, borders that only public names cross, pages one can read."""

from __future__ import annotations

import ast
import importlib
import re
import statistics
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import kinloop

ROOT = Path(kinloop.__file__).parent
REPOSITORY = Path(__file__).resolve().parents[1]
MODULES = sorted(p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*.py"))

LONGEST_MODULE, MEDIAN_MODULE, LONGEST_FUNCTION = 350, 130, 50

SHARED_NAMES: dict[str, str] = {"__init__.py": "every package has one, its table of contents"}
"""Basenames that may stand more than once, with the reason."""


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"))


def lines(module: str) -> int:
    return len((ROOT / module).read_text(encoding="utf-8").splitlines())


def imports(module: str) -> list[tuple[str, str]]:
    """(module, name) of everything imported from kinloop, wherever the import stands."""
    found = []
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kinloop":
            found += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names if alias.name.split(".")[0] == "kinloop"]
    return found


def test_no_module_name_stands_for_two_things():
    count = Counter(Path(m).name for m in MODULES)
    twice = {n: [m for m in MODULES if Path(m).name == n] for n, k in count.items() if k > 1 and n not in SHARED_NAMES}
    assert not twice, twice


def test_shared_names_are_still_shared():
    count = Counter(Path(m).name for m in MODULES)
    assert all(count[n] > 1 for n in SHARED_NAMES)


@pytest.mark.parametrize("module", MODULES)
def test_only_public_names_cross_the_border_of_a_module(module):
    private = [f"{m}.{n}" for m, n in imports(module) if any(p.startswith("_") for p in (*m.split("."), n)[1:] if p)]
    # also `module._name` on a module that was imported whole
    whole = {
        n.split(".")[-1] for m, n in imports(module) if n and (ROOT.parent / m.replace(".", "/") / f"{n}.py").exists()
    }
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            hidden = node.attr.startswith("_") and not node.attr.startswith("__")
            if hidden and node.value.id in whole:
                private.append(f"{node.value.id}.{node.attr}")
    assert not private, f"{module} uses private names of other modules: {private}"


@pytest.mark.parametrize("module", MODULES)
def test_functions_fit_on_a_page(module):
    long = [
        f"{node.name} ({length} lines)"
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.FunctionDef) and (length := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    ]
    assert not long, f"{module}: {long}"


def test_modules_are_of_a_size_one_reads():
    sizes = {m: lines(m) for m in MODULES if not m.endswith("__init__.py")}
    long = {m: n for m, n in sizes.items() if n > LONGEST_MODULE}
    assert not long, long
    assert statistics.median(sizes.values()) < MEDIAN_MODULE


@pytest.mark.parametrize("package", [m for m in MODULES if m.endswith("__init__.py")])
def test_every_room_says_what_is_inside(package):
    """The docstring of a package that has several modules names each of them, as a table of contents does."""
    folder = (ROOT / package).parent
    text = ast.get_docstring(parsed(package)) or ""
    assert text, f"{package} has no docstring"
    inside = [p.stem for p in folder.glob("*.py") if not p.stem.startswith("__")]
    inside += [p.name for p in folder.iterdir() if (p / "__init__.py").exists()]
    if folder == ROOT:
        return
    missing = sorted(n for n in inside if not re.search(rf"\b{n}\b", text))
    assert not missing, f"{package} does not name {missing}"


def test_nothing_keeps_state_that_a_second_call_can_see():
    """No empty container at module level that functions fill, and no `global`."""
    found = []
    for module in MODULES:
        for node in ast.walk(parsed(module)):
            if isinstance(node, ast.Global):
                found.append(f"{module}:{node.lineno} global {', '.join(node.names)}")
        for node in parsed(module).body:
            value = getattr(node, "value", None)
            empty = isinstance(value, ast.Dict | ast.List | ast.Set) and not getattr(
                value, "keys", getattr(value, "elts", ())
            )
            made = isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] in (
                "WeakKeyDictionary", "WeakValueDictionary", "defaultdict", "dict", "list", "set",
            ) and not value.args and not value.keywords  # fmt: skip
            if isinstance(node, ast.Assign | ast.AnnAssign) and (empty or made):
                found.append(f"{module}:{node.lineno} {ast.unparse(node)}")
    assert not found, found


def named_functions(page: str) -> list[str]:
    """Dotted names in backticks that begin with kinloop."""
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    return sorted(set(re.findall(r"`(kinloop(?:\.\w+)+)`", text)))


def resolved(name: str) -> object:
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def test_the_architecture_names_what_exists():
    names = named_functions("architecture.md")
    assert len(names) > 40
    for name in names:
        resolved(name)


def test_the_architecture_has_a_paragraph_for_every_room():
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [p.name for p in ROOT.iterdir() if (p / "__init__.py").exists()]
    missing = [room for room in rooms if f"`{room}/`" not in text]
    assert not missing, missing
