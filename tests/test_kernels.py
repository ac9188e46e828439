"""The maker of kernels: keys, caches, backends, the warning without a compiler, and the fallback on numbers."""

from __future__ import annotations

import ast
import itertools
import pickle
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from helpers import assert_agree

import kinloop as kl
from kinloop import compiler, kernels
from kinloop import scalar as sc
from kinloop.algorithms.quantities import QUANTITIES
from kinloop.algorithms.requests import ask
from kinloop.compiler.keys import PACKAGE, source_digest
from kinloop.errors import MethodError
from kinloop.kernels import TRACED, Interpreted, Kernels, Recent, charts_key
from kinloop.model.joints import JointType
from kinloop.sim import Plane
from kinloop.spatial import Transform, axis_rotation
from tests.test_layers import ALLOWED


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KINLOOP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("KINLOOP_CACHE", raising=False)
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(compiler, "available", lambda: False)
    kernels.warn_once.cache_clear()
    yield
    kernels.warn_once.cache_clear()


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the inputs of everything that was traced."""
    seen: list[str] = []
    trace = sc.trace
    monkeypatch.setattr(sc, "trace", lambda call, inputs: (seen.append(", ".join(inputs)), trace(call, inputs))[1])
    return seen


def four_bar(length: float = 0.4, independent: tuple[str, ...] = ()) -> kl.Mechanism:
    b = kl.Builder("four_bar")
    solid = {"mass": 1.0, "inertia": (0.01, 0.01, 0.01)}
    b.body("crank", axis="y", **solid)
    b.body("coupler", "crank", axis="y", at=(length, 0, 0), **solid)
    b.body("rocker", axis="y", at=(1.2, 0, 0), **solid)
    b.loop("pin", "coupler", "rocker", axis="y", at=(1.0, 0, 0), at_successor=(0.8, 0, 0))
    return replace(b.mechanism(), independent=independent)


def state(robot: kl.Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q, v = robot.random_state(rng)
    return q, v, rng.normal(size=robot.nv)


# --- sources: what a key covers


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


FRONT = ("inputs.py", "kernels.py", "states.py", "constrained_motion.py", "robot.py")
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
        assert engine.loop_error(q).shape == (len(robot.loop_names),)
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


# --- keys


def test_a_second_robot_of_the_same_mechanism_traces_nothing(own_cache, traces):
    q, v, tau = state(kl.Robot(four_bar()))
    expected = kl.Robot(four_bar()).forward_dynamics(q, v, tau)
    assert traces.count("q, v, tau") == 1
    assert np.array_equal(kl.Robot(four_bar()).forward_dynamics(q, v, tau), expected)
    assert traces.count("q, v, tau") == 1


def test_whatever_a_kernel_depends_on_changes_its_key(own_cache, traces):
    robot = kl.Robot(four_bar())
    q, v, tau = state(robot)
    rocker = kl.Robot(four_bar(independent=("rocker_joint",)))
    assert charts_key(rocker.tree) != charts_key(robot.tree)
    frames = [kl.Robot(four_bar()).compile("frame_pose", frames=[b]) for b in robot.body_names]
    for k, make in enumerate((
        lambda: robot.forward_dynamics(q, v, tau),
        lambda: kl.Robot(four_bar(length=0.5)).compile("forward_dynamics"),
        lambda: rocker.compile("forward_dynamics"),
        lambda: robot.compile("forward_dynamics", "projection"),
        lambda: robot.compile("forward_dynamics", f_ext=True),
        lambda: robot.compile("forward_dynamics", parameters=["crank.mass"]),
    )):  # fmt: skip
        make()
        assert sum("tau" in names for names in traces) == k + 1
    assert len({kernel(q).tobytes() for kernel in frames}) == 3


def slot(factor: float) -> kl.Mechanism:
    b = kl.Builder("slot")
    solid = {"mass": 1.0, "inertia": (0.01, 0.01, 0.01)}
    b.body("cam", axis="z", **solid)
    b.body("pin", axis="x", joint="prismatic", at=(1, 0, 0), **solid)
    b.loop_function("slot", ["pin_joint", "cam_joint"], lambda pin, cam: pin - factor * sc.sin(cam))
    return b.mechanism()


def test_a_users_function_is_known_by_what_it_computes(own_cache, traces):
    robot = kl.Robot(slot(0.1))
    q, v, tau = state(robot)
    a = robot.forward_dynamics(q, v, tau)
    assert np.array_equal(kl.Robot(slot(0.1)).forward_dynamics(q, v, tau), a)
    assert traces.count("q, v, tau") == 1
    other = kl.Robot(slot(0.2))
    assert not np.array_equal(other.forward_dynamics(other.close(q), v, tau), a)
    assert traces.count("q, v, tau") == 2


def spiral(rise: float) -> kl.Robot:
    """A joint type from outside the package: its name and fields say nothing about `rise`."""

    @dataclass(frozen=True)
    class Spiral(JointType):
        nq = nv = 1

        def pose(self, q: np.ndarray) -> Transform:
            return Transform(axis_rotation(np.array([0.0, 0.0, 1.0]), q[0]), np.array([0.0, 0.0, rise * q[0]]))

        def columns(self, q: np.ndarray) -> np.ndarray:
            return np.array([[0.0, 0.0, 1.0, 0.0, 0.0, rise]]).T

    b = kl.Builder("spiral")
    b.body("nut", joint=Spiral(), mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    return kl.Robot(b.mechanism())


def test_a_kind_from_outside_the_package_is_known_by_what_it_computes(own_cache):
    found = {}
    for rise in (0.1, 0.3, 0.1):
        robot = spiral(rise)
        q, v, tau = state(robot)
        a = robot.forward_dynamics(q, v, tau)
        plain = kl.Robot.from_tree(robot.tree, backend="numpy")
        assert_agree(a, plain.forward_dynamics(q, v, tau), what=f"rise {rise}")
        found.setdefault(rise, a)
        assert np.array_equal(found[rise], a)
    assert found[0.1] != found[0.3]
    assert len(list(own_cache.glob("*.kernel"))) == 2


# --- memory


def test_the_least_recently_used_is_let_go():
    recent = Recent(3)
    for key in "abc":
        recent.keep(key, key.upper())
    assert recent.get("a") == "A" and recent.get("d") is None
    recent.keep("d", "D")
    assert len(recent) == 3
    assert [recent.get(key) for key in "abcd"] == ["A", None, "C", "D"]


def test_memory_of_recent_kernels_is_safe_in_threads():
    recent, errors = Recent(8), []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for key in rng.integers(0, 20, 5000).tolist():
                if recent.get(key) not in (None, key + 1):
                    errors.append(key)
                recent.keep(key, key + 1)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and len(recent) <= 8


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
def test_a_robot_remembers_a_bounded_number_of_kernels(backend):
    robot = kl.Robot(kl.robots.mechanism("geared_chain", links=2))
    few = Kernels(robot.tree, backend, kept=3)
    q = robot.random_state(0)[0]
    for _ in range(2):
        for frame in robot.frame_names:
            few.answer(ask(robot.tree.top, "frame_pose", None, [frame]))(q)
            assert len(few) <= 3
    asked = ask(robot.tree.top, "frame_pose", None, [robot.frame_names[-1]])
    assert few.answer(asked) is few.answer(asked)
    assert kernels.KEPT >= 256


def test_the_front_door_and_an_explicit_handle_share_a_kernel():
    robot = kl.Robot(four_bar())
    q, v, tau = state(robot)
    robot.forward_dynamics(q, v, tau)
    assert len(robot.kernels) == 1
    assert robot.compile("forward_dynamics") is robot.compile("forward_dynamics", "cluster_aba")
    assert len(robot.kernels) == 1
    assert robot.compile("forward_dynamics", cache=False) is not robot.compile("forward_dynamics")


# --- backends


def test_backend_numpy_compiles_nothing_but_what_is_asked_for(traces):
    robot = kl.Robot(four_bar(), backend="numpy")
    q, v, tau = state(robot)
    a = robot.forward_dynamics(q, v, tau)
    assert not traces
    assert_agree(robot.compile("forward_dynamics")(q, v, tau), a, 10.0)
    with pytest.raises(MethodError, match="works on numbers only and has no kernel"):
        robot.compile("forward_dynamics", "dense_kkt")
    with pytest.raises(MethodError, match="backend 'gpu' is not one of 'kernel', 'numpy'"):
        Kernels(robot.tree, "gpu")


def test_without_a_compiler_there_is_one_warning_and_the_same_results(no_compiler):
    expected = kl.Robot(four_bar(), backend="numpy")
    q, v, tau = state(expected)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            robot = kl.Robot(four_bar())
            assert np.array_equal(robot.forward_dynamics(q, v, tau), expected.forward_dynamics(q, v, tau))
            assert np.array_equal(robot.mass_matrix(q), expected.mass_matrix(q))
            kl.Simulator(robot).rollout(q, v, steps=2)
    assert [w.category for w in seen if "llvmlite is not installed" in str(w.message)] == [RuntimeWarning]


def test_a_numpy_robot_does_not_warn(no_compiler):
    robot = kl.Robot(four_bar(), backend="numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.mass_matrix(robot.neutral())


def test_all_of_kinloop_works_where_llvmlite_cannot_be_imported():
    code = """
import sys, warnings
sys.modules["llvmlite"] = None
import kinloop as kl, numpy as np
from kinloop.viewer.poses import Poses
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    robot = kl.robots.load("four_bar")
    q, v = robot.random_state(0)
    robot.forward_dynamics(q, v, [1.0])
    robot.constrained_dynamics(q, v, [1.0], [kl.Rows("link2", np.eye(6)[3:4])])
    assert kl.Simulator(robot).rollout(q, v, steps=3).q.shape == (3, robot.nq)
    assert Poses(robot)(q)[1].shape == (len(robot.body_names), 3)
    try:
        robot.compile("forward_dynamics")
    except kl.KinloopError as error:
        print(error)
print(len([w for w in seen if "llvmlite is not installed" in str(w.message)]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    told, count = done.stdout.split("\n")[:2]
    assert "pip install llvmlite" in told and count == "1"


# --- the fallback on numbers


def swing(q: np.ndarray, v: np.ndarray, u: np.ndarray) -> dict[str, np.ndarray]:
    a = u - sc.sin(q)
    return {"q_next": q + 0.1 * v, "v_next": v + 0.1 * a, "power": np.sum(u * v)}


INPUTS = {"q": 2, "v": 2, "u": 2}


def pair() -> tuple[compiler.Kernel, Interpreted]:
    return compiler.compile_function(sc.trace(swing, INPUTS)), Interpreted("swing", swing, INPUTS)


def test_the_fallback_is_called_as_a_kernel_is():
    kernel, plain = pair()
    assert plain.inputs == kernel.inputs and plain.outputs == kernel.outputs and plain.name == "swing"
    rng = np.random.default_rng(0)
    for lead in ((), (5,), (2, 3), (0,), (4, 0)):
        q, v, u = rng.normal(size=(*lead, 2)), rng.normal(size=(*lead, 2)), rng.normal(size=2)
        for ours, theirs in zip(plain(q, v, u), kernel(q, v, u, threads=1), strict=True):
            assert ours.shape == theirs.shape and ours.dtype == theirs.dtype == float
            assert np.allclose(ours, theirs, rtol=1e-14, atol=1e-15)


def test_the_fallback_iterates_as_a_kernel_does():
    kernel, plain = pair()
    rng = np.random.default_rng(1)
    feedback = {"q": "q_next", "v": "v_next"}
    for lead in ((), (3,)):
        q, v = rng.normal(size=(*lead, 2)), rng.normal(size=(*lead, 2))
        for steps, every, u, stepped in (
            (6, 2, rng.normal(size=(*lead, 6, 2)), ("u",)),
            (7, 3, rng.normal(size=(*lead, 2)), ()),
            (2, 3, rng.normal(size=(*lead, 2)), ()),
        ):
            options = {"steps": steps, "every": every, "feedback": feedback, "stepped": stepped}
            ours, theirs = plain.iterate(q, v, u, **options), kernel.iterate(q, v, u, **options)
            assert set(ours) == set(theirs)
            for name, x in theirs.items():
                assert ours[name].shape == x.shape, (name, steps, every)
                assert np.allclose(ours[name], x, rtol=1e-13, atol=1e-14)


def test_any_function_of_a_robot_becomes_a_kernel_or_its_fallback():
    robot = kl.Robot(four_bar())
    plain = kl.Robot.from_tree(robot.tree, backend="numpy")
    Q = np.array([robot.random_state(k)[0] for k in range(4)])

    def tip(q: np.ndarray) -> np.ndarray:
        return np.array([sc.cos(q[0]), sc.sin(q[0])])

    made = [r.kernels.make("tip", tip, {"q": robot.nq}, key=("tip", 1.0)) for r in (robot, plain)]
    assert isinstance(made[0], compiler.Kernel) and isinstance(made[1], Interpreted)
    assert np.allclose(made[0](Q), made[1](Q), rtol=1e-14)
    with pytest.raises(TypeError, match="cannot be part of a kernel's recipe"):
        robot.kernels.make("tip", tip, {"q": robot.nq}, key=(object(),))


def test_an_empty_batch_gives_empty_arrays_with_both_backends():
    robot = kl.Robot(four_bar())
    none = np.zeros((0, robot.nq))
    for r in (robot, kl.Robot.from_tree(robot.tree, backend="numpy")):
        assert r.mass_matrix(none).shape == (0, 1, 1)


# --- pickling


def test_robots_and_kernels_pickle_in_the_charts_they_have():
    robot = kl.Robot(four_bar())
    cluster = robot.tree.clusters[0]
    other = kl.Robot(four_bar(independent=("rocker_joint",))).tree.clusters[0].chart
    assert other != cluster.chart
    turned = kl.Robot.from_tree(robot.tree.with_charts({0: other}))
    again = pickle.loads(pickle.dumps(turned))
    assert again.independent_names == turned.independent_names == ["rocker_joint"] != robot.independent_names
    q, v, tau = state(turned)
    kernel = turned.compile("forward_dynamics")
    assert np.array_equal(pickle.loads(pickle.dumps(kernel))(q, v, tau), again.forward_dynamics(q, v, tau))
    solver = turned.compile("constrained_dynamics", constraints=[kl.Rows("coupler", np.eye(6)[3:4], [0.5])])
    copied = pickle.loads(pickle.dumps(solver))
    assert [x.tobytes() for x in copied(q, v, tau, [0.5])] == [x.tobytes() for x in solver(q, v, tau, [0.5])]
