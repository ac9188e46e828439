"""Coriolis matrix, gravity, centroidal momentum, gradients of energy, derivatives of frames, by several witnesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.algorithms.requests import ask, evaluate, input_sizes
from kinloop.algorithms.trees import energy, kinematics
from kinloop.algorithms.trees.centroidal import (
    center_of_mass_jacobian,
    centroidal_momentum,
    centroidal_momentum_bias,
    centroidal_momentum_matrix,
    gravity_force,
)
from kinloop.algorithms.trees.cluster_crba import cluster_crba
from kinloop.algorithms.trees.cluster_rnea import bias_force
from kinloop.algorithms.trees.coriolis import coriolis_matrix
from kinloop.algorithms.trees.frame_derivatives import (
    frame_acceleration_derivatives,
    frame_hessian,
    frame_velocity_derivatives,
)
from kinloop.clusters import ClusterTree, grow
from kinloop.clusters.framing import framed
from kinloop.model.joints import Free, Spherical
from kinloop.model.random import KINDS
from kinloop.spatial import Transform
from tests.algorithms.trees.test_derivatives import comb, tree_file
from tests.helpers import EVERY_KIND, OFTEN, State, mechanism_of, relative, state_of

AXES = ("body", "world")


@cache
def comfortable(kind: str, seed: int = 40) -> State:
    """A state of a small random mechanism of a kind, far enough from singular ones for differences to say something."""
    for k in range(20):
        s = state_of(mechanism_of(seed + k, kind))
        if s is not None and s.cond < 1e4 and 0 < s.tree.nv < 12:
            return s
    raise AssertionError(f"no comfortable state of kind {kind}")


def frames_of(s: State) -> list[tuple[int, Transform]]:
    """A frame of the mechanism, and one on a body whose spin nobody else sees, if there is one."""
    unseen = [i for i, hidden in enumerate(s.tree.top.spins_unseen) if hidden]
    last = len(s.tree.top) - 1
    at = Transform(np.eye(3), np.array([0.1, -0.2, 0.3]))
    return [s.frames[0] if s.frames else (last, at), *((i, at) for i in unseen[:1])]


def directions(n: int) -> np.ndarray:
    """Two random directions (n, 2): a wrong column shows in both."""
    return np.random.default_rng(n).normal(size=(n, 2))


def graph_slopes(
    tree: ClusterTree, f: Callable[..., np.ndarray], q: np.ndarray, *given: np.ndarray
) -> list[np.ndarray]:
    """The graph's derivatives of f(q, ...) in `directions` of closed motions, and of what is given besides."""

    def slopes(q: np.ndarray, *given: np.ndarray) -> dict[str, np.ndarray]:
        y, G = f(q, *given), tree.spanning_jacobian(q)
        steps = [kinematics.position_rate(tree.top, q, G @ e) for e in directions(tree.nv).T]
        out = {"q": np.stack([sc.jvp(y, q, x) for x in steps], axis=-1)}
        for k, x in enumerate(given):
            out[str(k)] = np.stack([sc.jvp(y, x, e) for e in directions(len(x)).T], axis=-1)
        return out

    found = sc.trace(slopes, {"q": tree.top.nq} | {str(k): len(x) for k, x in enumerate(given)})(q, *given)
    return list(found) if given else [found]


def assert_slopes(found: Sequence[np.ndarray], slopes: Sequence[np.ndarray], s: State) -> None:
    """Derivatives, one column per direction, in `directions`."""
    assert_all_agree([x @ directions(x.shape[-1]) for x in found], slopes, s)


def graph_rate(tree: ClusterTree, f: Callable[[np.ndarray], np.ndarray], q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The graph's derivative of f(q) along the motion v."""

    def rate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return sc.jvp(f(q), q, kinematics.position_rate(tree.top, q, tree.spanning_motion(q, v)[1]))

    return sc.trace(rate, {"q": tree.top.nq, "v": tree.nv})(q, v)


def assert_all_agree(found, expected, s: State, digits: float = 1e-12) -> None:
    scale = max(1.0, *(float(np.max(np.abs(x), initial=0.0)) for x in expected))
    for one, other in zip(found, expected, strict=True):
        assert relative(one, other, scale) <= digits * max(1.0, 1e-2 * s.cond), s.name


@pytest.mark.parametrize("kind", KINDS)
def test_the_coriolis_matrix_explains_the_bias_force_and_the_rate_of_the_mass_matrix(kind):
    s = comfortable(kind)
    C = coriolis_matrix(s.tree, s.q, s.v)
    assert_all_agree([C @ s.v + gravity_force(s.tree, s.q)], [bias_force(s.tree, s.q, s.v)], s)
    assert_all_agree([C + C.T], [graph_rate(s.tree, lambda q: cluster_crba(s.tree, q), s.q, s.v)], s)


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_the_coriolis_matrix_is_christoffels_where_velocities_are_rates_of_coordinates(kind):
    s = comfortable(kind)
    top = s.tree.top
    if any(isinstance(top.types[top.body_of[d]], Free | Spherical) for d in s.tree.independent_dofs):
        return
    dM = np.stack([graph_rate(s.tree, lambda q: cluster_crba(s.tree, q), s.q, e) for e in np.eye(s.tree.nv)], axis=-1)
    expected = 0.5 * (dM @ s.v + np.einsum("jik,i->jk", dM, s.v) - np.einsum("ikj,i->jk", dM, s.v))
    assert_all_agree([coriolis_matrix(s.tree, s.q, s.v)], [expected], s)


@pytest.mark.parametrize("kind", KINDS)
def test_gravity_and_the_centre_of_mass_are_gradients(kind):
    s = comfortable(kind)
    gravity = graph_slopes(s.tree, lambda q: np.asarray(energy.potential_energy(s.tree, q)), s.q)
    assert_slopes([gravity_force(s.tree, s.q)], gravity, s)
    J = graph_slopes(s.tree, lambda q: energy.center_of_mass(s.tree, q), s.q)
    assert_slopes([center_of_mass_jacobian(s.tree, s.q)], J, s)
    T = graph_slopes(s.tree, lambda q, v: np.asarray(energy.kinetic_energy(s.tree, q, v)), s.q, s.v)
    found = energy.kinetic_energy_gradient(s.tree, s.q, s.v)
    assert_slopes(found, T, s)
    assert_all_agree(found[1:], [s.M @ s.v], s)


@pytest.mark.parametrize("kind", KINDS)
def test_centroidal_momentum_is_the_momentum_about_the_centre_of_mass(kind):
    s = comfortable(kind)
    h, c = energy.momentum(s.tree, s.q, s.v), energy.center_of_mass(s.tree, s.q)
    expected = np.concatenate([h[:3] - np.cross(c, h[3:]), h[3:]])
    A = centroidal_momentum_matrix(s.tree, s.q)
    assert_all_agree([A @ s.v, centroidal_momentum(s.tree, s.q, s.v)], [expected, expected], s)
    mass = sum(s.tree.top.mass)
    assert_all_agree([A[3:]], [mass * center_of_mass_jacobian(s.tree, s.q)], s)
    rate = graph_rate(s.tree, lambda q: centroidal_momentum_matrix(s.tree, q), s.q, s.v)
    assert_all_agree([centroidal_momentum_bias(s.tree, s.q, s.v)], [rate @ s.v], s)


BOTH_AXES = [pytest.param(k, "body", marks=() if k in OFTEN else pytest.mark.slow) for k in KINDS]


@pytest.mark.parametrize(("kind", "axes"), [*BOTH_AXES, ("tree", "world"), ("belt", "world")])
def test_derivatives_of_frames_are_those_of_the_graph(kind, axes):
    s = comfortable(kind)
    for frame in frames_of(s):
        assert_slopes_of(s, *frame, axes)


def assert_slopes_of(s: State, *at) -> None:
    """Of everything about one frame."""
    tree, q, v, a = s.tree, s.q, s.v, s.a
    found = frame_velocity_derivatives(tree, q, v, *at)
    assert_slopes(found, graph_slopes(tree, lambda q, v: kinematics.frame_velocity(tree, q, v, *at), q, v), s)
    J, H = kinematics.frame_jacobian(tree, q, *at), frame_hessian(tree, q, *at)
    assert_all_agree([np.einsum("ijk,j->ik", H, v), J], found, s)
    assert_slopes([H], graph_slopes(tree, lambda q: kinematics.frame_jacobian(tree, q, *at), q), s)
    found = frame_acceleration_derivatives(tree, q, v, a, *at)
    slopes = graph_slopes(tree, lambda q, v, a: kinematics.frame_acceleration(tree, q, v, a, *at), q, v, a)
    assert_slopes(found, slopes, s)
    rate = kinematics.frame_jacobian_rate(tree, q, v, *at)
    assert_all_agree([J @ a + rate @ v], [kinematics.frame_acceleration(tree, q, v, a, *at)], s)
    assert_all_agree([rate @ v], [kinematics.frame_bias_acceleration(tree, q, v, *at)], s)


@pytest.mark.parametrize("axes", AXES)
def test_a_frame_on_a_wheel_whose_spin_nobody_else_sees_turns_with_it(axes):
    b = kl.Builder("arm")
    b.body("arm", axis="x", mass=1.0, com=(0, 0, 0.2), inertia=(0.1, 0.2, 0.3))
    b.body("wheel", "arm", axis="z", at=(0, 0.3, 0.4), mass=0.5, inertia=(0.1, 0.1, 0.2))
    b.gear("wheel_joint", "arm_joint", 6.0)
    tree = grow(b.mechanism())
    assert tree.top.spins_unseen[1] and len(tree) == 1
    q, v, a = (np.array(x) for x in ([0.3, 1.8], [0.7], [-0.4]))
    one = np.ones(1)
    assert_slopes_of(
        State("wheel", tree, q, v, a, one, one, [], one, 1.0), 1, Transform(np.eye(3), np.array([0.1, 0, 0])), axes
    )


def differences(f: Callable[[float], np.ndarray], h: float) -> np.ndarray:
    """f'(0) by central differences of order 4."""
    return (8.0 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12.0 * h)


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_derivatives_are_the_slopes_along_closed_motions(kind):
    s = comfortable(kind, 60)
    tree, robot, (frame, *_) = s.tree, kl.Robot.from_tree(s.tree, "numpy", "off"), frames_of(s)
    at = (*frame, "world")
    primal = {
        "gravity": lambda q: np.asarray(energy.potential_energy(tree, q)),
        "com": lambda q: energy.center_of_mass(tree, q),
        "kinetic": lambda q: np.asarray(energy.kinetic_energy(tree, q, s.v)),
        "velocity": lambda q: kinematics.frame_velocity(tree, q, s.v, *at),
        "acceleration": lambda q: kinematics.frame_acceleration(tree, q, s.v, s.a, *at),
        "jacobian": lambda q: kinematics.frame_jacobian(tree, q, *at),
    }
    found = {
        "gravity": gravity_force(tree, s.q),
        "com": center_of_mass_jacobian(tree, s.q),
        "kinetic": energy.kinetic_energy_gradient(tree, s.q, s.v)[0],
        "velocity": frame_velocity_derivatives(tree, s.q, s.v, *at)[0],
        "acceleration": frame_acceleration_derivatives(tree, s.q, s.v, s.a, *at)[0],
        "jacobian": frame_hessian(tree, s.q, *at),
    }
    for e in directions(tree.nv).T:
        h = 1e-3 / max(1.0, float(np.max(np.abs(tree.spanning_jacobian(s.q) @ e))))
        there = {t: robot.integrate(s.q, e, t) for t in (-2 * h, -h, h, 2 * h)}
        for name, f in primal.items():
            slope = differences(lambda t, f=f, there=there: f(there[t]), h)
            scale = max(1.0, float(np.max(np.abs(found[name]))), float(np.max(np.abs(f(s.q)))))
            assert relative(found[name] @ e, slope, scale) <= 1e-9 * max(1.0, 1e-1 * s.cond), (s.name, name)


@pytest.mark.parametrize("kind", ["rods", "planar"])
def test_velocities_of_a_tangent_frame_have_all_of_it_too(kind):
    s = comfortable(kind)
    tree, q, v, a = framed(s.tree), s.q, s.v, s.a
    assert any(c.bends for c in tree)
    C = coriolis_matrix(tree, q, v)
    assert_all_agree([C @ v + gravity_force(tree, q)], [bias_force(tree, q, v)], s)
    # a is dv/dt of a frame that is carried along parallel to itself, so that C + C^T is dM/dt: T changes by the power
    qd, power = tree.spanning_motion(q, v)[1], v @ (cluster_crba(tree, q) @ a + C @ v)
    slope = differences(lambda t: energy_after(s, tree, t), 1e-3 / max(1.0, float(np.max(np.abs(qd)))))
    assert relative(power, slope) <= 1e-9 * s.cond
    for at in ((len(tree.top) - 1, Transform.identity(), axes) for axes in AXES):
        found = frame_velocity_derivatives(tree, q, v, *at)
        slopes = graph_slopes(tree, lambda q, v, at=at: kinematics.frame_velocity(tree, q, v, *at), q, v)
        assert_slopes(found, slopes, s)
        H = graph_slopes(tree, lambda q, at=at: kinematics.frame_jacobian(tree, q, *at), q)
        assert_slopes([frame_hessian(tree, q, *at)], H, s)
    gradient = graph_slopes(tree, lambda q, v: np.asarray(energy.kinetic_energy(tree, q, v)), q, v)
    assert_slopes(energy.kinetic_energy_gradient(tree, q, v), gradient, s)


def energy_after(s: State, tree: ClusterTree, t: float) -> np.ndarray:
    """Kinetic energy after the time t of the motion that has v and a of a tree with other velocities."""
    robot, (G, qd, g) = kl.Robot.from_tree(s.tree, "numpy", "off"), tree.spanning_motion(s.q, s.v)
    qdd = G @ s.a + g
    there = robot.integrate(s.q, robot.independent(qd + 0.5 * t * qdd), t)
    return np.asarray(robot.kinetic_energy(there, robot.independent(qd + t * qdd)))


COUNTED = (
    "gravity_force",
    "coriolis_matrix",
    "center_of_mass_jacobian",
    "centroidal_momentum_matrix",
    "centroidal_momentum",
    "centroidal_momentum_bias",
    "kinetic_energy_gradient",
)
OF_FRAMES = ("frame_hessian", "frame_velocity_derivatives", "frame_acceleration_derivatives")


def operations(robot: kl.Robot, quantity: str, *frames: str) -> int:
    asked = ask(robot.tree.top, quantity, frames=frames)
    return sc.trace(partial(evaluate, robot.tree, asked), input_sizes(robot.tree, asked)).operations["total"]


@pytest.mark.parametrize(
    ("file", "foot", "counts"),
    [
        ("go1.urdf", "FL_foot", [262, 3805, 502, 1854, 1236, 2285, 1136, 162, 150, 650]),
        ("talos_reduced.urdf", "right_sole_link", [657, 14144, 1265, 4959, 3094, 6160, 2965, 624, 416, 1508]),
    ],
)
def test_trees_take_no_more_operations_than_measured(file, foot, counts):
    robot = tree_file(file)
    found = [*(operations(robot, x) for x in COUNTED), *(operations(robot, x, foot) for x in OF_FRAMES)]
    assert all(a <= b for a, b in zip(found, counts, strict=True)), dict(zip(COUNTED + OF_FRAMES, found, strict=True))


@pytest.mark.parametrize(
    ("name", "counts"),
    [("tello", [514, 5907, 764, 2006, 1448, 2951, 2250]), ("mini_cheetah", [221, 3897, 425, 1663, 1201, 2404, 1166])],
)
def test_clusters_take_no_more_operations_than_measured(name, counts):
    robot = kl.robots.load(name)
    found = [operations(robot, x) for x in COUNTED]
    assert all(a <= b for a, b in zip(found, counts, strict=True)), dict(zip(COUNTED, found, strict=True))


@pytest.mark.parametrize("quantity", COUNTED)
def test_operations_grow_linearly_where_depth_is_bounded(quantity):
    counts = [operations(comb(n), quantity) for n in range(3, 8)]  # the first legs add to constants
    assert np.all(np.diff(counts, 2) == 0), counts


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
def test_without_mass_there_is_no_centre_of_mass(backend):
    """Nor anything about it; a mass that was left open may still come."""
    b = kl.Builder("ghost")
    b.body("rotor", axis="z", armature=0.1)
    robot, q, v = b.build(backend=backend), np.zeros(1), np.ones(1)
    asked = [robot.center_of_mass, robot.center_of_mass_jacobian, robot.centroidal_momentum_matrix]
    calls = [lambda f=f: f(q) for f in asked]
    calls += [lambda f=f: f(q, v) for f in (robot.centroidal_momentum, robot.centroidal_momentum_bias)]
    for call in calls:
        with pytest.raises(kl.ModelError, match=r"masses of 'ghost' add up to 0 kg.*give one of its bodies a mass"):
            call()
    assert robot.momentum(q, v).tolist() == [0.0] * 6 and robot.forward_dynamics(q, v, v) == 10.0
    left_open = robot.compile("center_of_mass", parameters=["rotor.mass"])
    assert left_open(q, np.array([2.0])).tolist() == [0.0] * 3
