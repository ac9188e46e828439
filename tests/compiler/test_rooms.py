"""The rooms of the compiler: emitting, running and exporting know the plan, and nothing of each other."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from kinloop import compiler

ROOT = Path(compiler.__file__).parent
SHARED = {"abi", "target", "signature"}  # what two rooms agree on
MAY_IMPORT = {
    "plan": {"plan"},
    "emit": {"emit", "plan", *SHARED},
    "run": {"run", *SHARED},
    "export": {"export", "plan", *SHARED},
    **dict.fromkeys(SHARED, SHARED),
}
ROOM = {p.relative_to(ROOT).as_posix(): p.relative_to(ROOT).parts[0].removesuffix(".py") for p in ROOT.rglob("*.py")}


def rooms_imported(path: Path) -> set[str]:
    """Parts of the compiler that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        parts = [name.split(".") for name in names]
        found |= {p[2] for p in parts if p[:2] == ["kinloop", "compiler"] and len(p) > 2}
    return found


@pytest.mark.parametrize("module", sorted(m for m in ROOM if ROOM[m] in MAY_IMPORT))
def test_a_room_imports_no_room_beside_it(module):
    assert rooms_imported(ROOT / module) <= MAY_IMPORT[ROOM[module]]


def test_every_room_is_looked_at_and_imports_something():
    assert set(MAY_IMPORT) <= set(ROOM.values())
    for room in ("plan", "emit", "run", "export"):
        assert any(rooms_imported(p) for p in (ROOT / room).glob("*.py"))


def test_a_program_whose_kernels_are_cached_loads_no_planner_and_no_emitter():
    """They would take a sixth of the time it takes to import kinloop."""
    script = """
import sys
import numpy as np
from kinloop import scalar as sc
from kinloop.compiler import load_or_compile
kernel = load_or_compile("rooms", lambda: sc.trace(lambda x: 2.0 * x, {"x": 3}))
assert (kernel(np.ones(3)) == 2).all()
print(*[name for name in ("plan", "emit", "export", "build") if f"kinloop.compiler.{name}" in sys.modules])
"""
    loaded = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    ]
    assert loaded == [["plan", "emit", "build"], []]


def test_every_table_of_contents_names_its_modules():
    for folder in (ROOT, *(p.parent for p in ROOT.glob("*/__init__.py"))):
        contents = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
        here = {p.stem for p in folder.glob("*.py")} | {p.parent.name for p in folder.glob("*/__init__.py")}
        assert [name for name in sorted(here - {"__init__"}) if f"`{name}`" not in contents] == []
