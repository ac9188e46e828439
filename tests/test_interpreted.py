"""Functions on numbers where no kernel can be made: the warning, the same results, called as kernels are."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from kernel_cases import four_bar, state

import kinloop as kl
from kinloop import compiler, kernels
from kinloop import scalar as sc
from kinloop.interpreted import Interpreted


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(compiler, "available", lambda: False)
    kernels.warn_once.cache_clear()
    yield
    kernels.warn_once.cache_clear()


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


def test_the_fallback_steps_on_arrays_that_stay_as_a_kernel_does():
    rng = np.random.default_rng(2)
    q, v, u = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), rng.normal(size=(1, 6, 2))
    ends = []
    for made in pair():
        stepping = made.stepping(3, {"q": "q_next", "v": "v_next"})
        record = np.zeros((3, 4))
        stepping.arrays["q"][:], stepping.arrays["v"][:], stepping.arrays["u"][:] = q, v, u[0, 0]
        made.advance(stepping, 1)
        stepping.read_table("u", u)
        stepping.record("power", record, 1)
        made.advance(stepping, 6, every=2)
        stepping.forget()
        made.advance(stepping, 1)
        assert stepping.rows == 3
        ends.append([*stepping.arrays.values(), record])
    for a, b in zip(*ends, strict=True):
        assert np.allclose(a, b, rtol=1e-13, atol=1e-14)


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
