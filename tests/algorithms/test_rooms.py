"""The sub-packages of algorithms stand on each other in one order."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kinloop.algorithms

ROOT = Path(kinloop.algorithms.__file__).parent
ORDER = ["trees", "constrained", "witnesses", "quantities", "requests"]
MODULES = sorted(p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*.py") if p.parent != ROOT)


def imports(module: str) -> set[tuple[str, str]]:
    """(module, name) of everything that is imported from kinloop by `from ... import ...`."""
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("kinloop")]
    return {(node.module or "", alias.name) for node in nodes for alias in node.names}


@pytest.mark.parametrize("module", MODULES)
def test_a_room_imports_only_from_rooms_below_it(module):
    room = ORDER.index(module.split("/")[0])
    for path, name in imports(module):
        parts = [*path.split("."), name]
        if parts[:2] == ["kinloop", "algorithms"]:
            assert ORDER.index(parts[2]) <= room, f"{module} imports {name} from {path}"
