"""A module imports only from its own row of the layer table and the rows above it."""

import ast
from pathlib import Path

import pytest

import kinloop

ROOT = Path(kinloop.__file__).parent

ROWS = [
    {"errors", "progress"}, {"foreign_arrays"}, {"scalar"}, {"linear"}, {"spatial"}, {"meshes"}, {"model"},
    {"clusters"}, {"algorithms"}, {"compiler"}, {"inputs"}, {"interpreted"}, {"kernels"}, {"states"},
    {"constrained_motion"}, {"doors"}, {"front_door"}, {"configurations"}, {"random_states"}, {"robot_structure"},
    {"robot_kinematics"}, {"robot_derivatives"}, {"robot"}, {"identification"}, {"sim"}, {"control"}, {"io"},
    {"robots"}, {"sweeps"}, {"learn"}, {"jax", "torch"}, {"bench"}, {"viewer", "cli", "__main__"}, {"__init__"},
]  # fmt: skip
ROW = {name: k for k, names in enumerate(ROWS) for name in names}

# The front door's front step: Mechanism.build and Builder.build return a robot, Robot.motors motors.
ALLOWED = {("model/mechanism.py", "robot"), ("model/builder.py", "robot"), ("robot.py", "sim")}


def imported(tree: ast.AST) -> set[str]:
    """Top-level parts of kinloop that a module imports, anywhere in it; `__init__` for the package itself."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            paths = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            paths = [f"{node.module}.{alias.name}" for alias in node.names]
            assert node.level == 0, "kinloop imports itself by absolute names"
        else:
            continue
        for path in paths:
            parts = path.split(".")
            if parts[0] == "kinloop":
                found.add(parts[1] if len(parts) > 1 and parts[1] in ROW else "__init__")
    return found


MODULES = sorted(p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*.py"))


@pytest.mark.parametrize("module", MODULES)
def test_module_imports_only_from_above(module):
    own = module.split("/")[0].removesuffix(".py")
    assert own in ROW, f"{own} has no row in the layer table; add it to DESIGN and to this test"
    below = [
        part
        for part in imported(ast.parse((ROOT / module).read_text(encoding="utf-8")))
        # the command line uses the package as its users do
        if ROW[part] > ROW[own] and (module, part) not in ALLOWED and (own, part) != ("cli", "__init__")
    ]
    assert not below, f"{module} imports {below}, which lie below its layer {own!r}"


def test_exceptions_are_still_needed():
    for module, part in ALLOWED:
        assert part in imported(ast.parse((ROOT / module).read_text(encoding="utf-8")))
