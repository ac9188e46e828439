"""The maker of kernels: their keys, those it remembers, backends, pickling."""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from helpers import assert_agree
from kernel_cases import four_bar, state

import kinloop as kl
from kinloop import kernels
from kinloop import scalar as sc
from kinloop.algorithms.requests import ask
from kinloop.errors import MethodError
from kinloop.kernels import Kernels, Recent, charts_key
from kinloop.model.joints import JointType
from kinloop.spatial import Transform, axis_rotation


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KINLOOP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("KINLOOP_CACHE", raising=False)
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the inputs of everything that was traced."""
    seen: list[str] = []
    trace = sc.trace
    monkeypatch.setattr(sc, "trace", lambda call, inputs: (seen.append(", ".join(inputs)), trace(call, inputs))[1])
    return seen


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
        lambda: robot.compile("forward_dynamics", derivative="jvp"),
        lambda: robot.compile("forward_dynamics", derivative="vjp"),
    )):  # fmt: skip
        make()
        assert sum("tau" in names for names in traces) == k + 1
    assert len({kernel(q).tobytes() for kernel in frames}) == 3


def test_a_derivative_is_kept_on_disk_under_its_own_name(own_cache, traces):
    robot = kl.Robot(four_bar())
    q, v, tau = state(robot)
    kernel = robot.compile("forward_dynamics", derivative="vjp")
    a, *gradient = kernel(q, v, tau, np.ones(1))
    assert kernel.name == "forward_dynamics_vjp" and sum("tau" in names for names in traces) == 1
    assert np.array_equal(a, pickle.loads(pickle.dumps(kernel))(q, v, tau, np.ones(1))[0])
    again = kl.Robot(four_bar()).compile("forward_dynamics", derivative="vjp")(q, v, tau, np.ones(1))
    assert sum("tau" in names for names in traces) == 1 and all(map(np.array_equal, again, (a, *gradient)))


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
