"""What the key of a kernel covers: every source that its trace can run, and no other."""

from __future__ import annotations

import ast
import itertools
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import kinloop as kl
from kinloop import compiler
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.compiler.keys import PACKAGE, source_digest
from kinloop.kernels import TRACED
from kinloop.sim import Plane
from tests.test_layers import ALLOWED


def modules_of(source: str) -> list[Path]:
    place = PACKAGE / source
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


def covers(sources: tuple[str, ...], path: Path) -> bool:
    relative = path.relative_to(PACKAGE)
    return any(relative.parts[: len(Path(s).parts)] == Path(s).parts for s in sources)


def imports_of(module: Path) -> set[Path]:
    """Modules of kinloop that a module imports anywhere in it, packages on the way included."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "kinloop":
                place = PACKAGE.joinpath(*parts[1:])
                found |= {p for p in (place.with_suffix(".py"), place / "__init__.py") if p.is_file()}
    own = module.relative_to(PACKAGE).as_posix()
    return {p for p in found if (own, p.stem) not in ALLOWED and p != PACKAGE / "__init__.py"}


def closure(sources: tuple[str, ...]) -> set[Path]:
    """Everything that the modules of some rooms import, and what that imports."""
    waiting = [m for source in sources for m in modules_of(source)]
    found: set[Path] = set()
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += imports_of(module)
    return found


def test_a_trace_can_import_nothing_that_its_key_does_not_cover():
    reached = closure(TRACED)
    assert len(reached) > 60
    outside = [p for p in reached if not covers(TRACED, p)]
    assert not outside, f"{outside} can be reached from a trace; add their rooms to kernels.TRACED"


FRONT = (
    "foreign_arrays.py", "inputs.py", "interpreted.py", "kernels.py", "states.py", "doors.py", "front_door.py",
    "configurations.py", "random_states.py", "constrained_motion.py", "robot_structure.py", "robot_kinematics.py",
    "robot_derivatives.py", "robot.py",
)  # fmt: skip
"""The front door: the simulator asks it for kernels and states, and never from within a trace (see below)."""


def test_the_simulator_imports_nothing_but_its_own_rooms_the_front_door_and_the_compiler():
    outside = [p for p in closure((*TRACED, "sim")) if not covers((*TRACED, "sim", "compiler", *FRONT), p)]
    assert not outside


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Every kernel made by its key is traced, and whatever runs meanwhile must be covered by its sources."""
    counted: dict[str, int] = {}

    def load(key, trace, *, name, sources, **options):
        ran: set[str] = set()
        sys.setprofile(lambda frame, event, argument: ran.add(frame.f_code.co_filename))
        try:
            function = trace()
        finally:
            sys.setprofile(None)
        files = {Path(f) for f in ran if Path(f).is_relative_to(PACKAGE)}
        assert len(files) > 5
        # what users' functions compute is in the key by itself; those of the zoo are users' functions too
        outside = [p for p in files if not covers((*sources, "robots"), p)]
        assert not outside, f"the trace of {name} runs {outside}, which its key does not cover"
        counted[name] = counted.get(name, 0) + 1
        return compiler.compile_function(function, name=name, **options)

    monkeypatch.setattr(compiler, "load_or_compile", load)
    return counted


def test_no_trace_of_a_quantity_runs_what_its_key_does_not_cover(watched):
    robot = kl.Robot(kl.robots.mechanism("four_bar"))
    frame = robot.body_names[robot.joint_names.index(robot.independent_names[0])]
    for quantity, entry in QUANTITIES.items():
        frames = [frame] if entry.frames else []
        constraints = [kl.Rows(frame, np.ones((1, 6)))] if entry.constraints else []
        for method in (name for name, how in entry.methods.items() if not how.numeric):
            robot.compile(quantity, method, frames=frames, constraints=constraints)
    assert watched == {q: sum(not m.numeric for m in e.methods.values()) for q, e in QUANTITIES.items()}


def test_no_trace_of_a_step_runs_what_its_key_does_not_cover(watched):
    robot = kl.Robot(kl.robots.mechanism("tello"))
    q = robot.neutral()
    q[2] += 0.5
    for options in ({"ground": Plane()}, {"integrator": "rk4", "substeps": 1}):
        sim = kl.Simulator(robot, **options)
        engine = sim.engine
        assert engine.step is not None
        qd, energies = engine.reading(q, np.zeros(robot.n_spanning))
        assert qd.shape == (robot.n_spanning,) and energies.shape == (2,)
        robot.spanning_velocity(q, np.zeros(robot.nv))
        assert robot.loop_error(q).shape == (len(robot.loop_names),)
    adaptive = kl.Simulator(robot, integrator="adaptive").engine
    assert adaptive.rate is not None and adaptive.projection is not None
    from kinloop.viewer.poses import Poses

    Poses(robot)(q)
    assert {"step", "loop_error", "spanning_velocity", "rate", "project", "read", "body_poses"} <= set(watched)


def test_an_edit_in_a_covered_room_changes_the_key_and_one_elsewhere_does_not(tmp_path):
    copy = tmp_path / "kinloop"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "data"))
    count = itertools.count()

    def digest() -> str:
        for path in copy.rglob("*.py"):
            os.utime(path, (0, 0))  # as a process sees it that begins after the edit
        return source_digest.__wrapped__(TRACED, copy)

    before = digest()
    assert before == digest() == source_digest(TRACED)
    for source in TRACED:
        module = (copy / source) if source.endswith(".py") else next(iter(sorted((copy / source).rglob("[a-z]*.py"))))
        module.write_text(module.read_text(encoding="utf-8") + f"\n# {next(count)}\n", encoding="utf-8")
        assert digest() != before, source
        before = digest()
    for module in ("viewer/scene.py", "cli/info.py", "io/load.py", "robots/tello.py", "robot.py", "sim/simulator.py"):
        (copy / module).write_text('"""Another docstring."""\n', encoding="utf-8")
        assert digest() == before, module
    (copy / "algorithms" / "new.py").write_text("", encoding="utf-8")
    assert digest() != before
    with pytest.raises(OSError, match="nowhere"):
        source_digest(("nowhere",))


def test_a_process_whose_files_were_changed_keeps_its_kernels_to_itself(tmp_path):
    """What it runs is not what the files say now: nobody else may find its kernels under their key."""
    file = tmp_path / "scalar.py"
    file.write_text("x = 1\n", encoding="utf-8")

    def digest(changed: float) -> str:
        os.utime(file, (changed, changed))
        return source_digest.__wrapped__(("scalar.py",), tmp_path)

    before = digest(0)
    assert digest(time.time() + 1e6) == before  # a clock that is wrong is no change
    with pytest.warns(UserWarning, match="restart Python"):
        assert digest(time.time()) != before
