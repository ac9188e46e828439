"""Derivatives of inverse and forward dynamics: the recursion beside the graph and differences along closed motions."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.algorithms.trees.branch_factor import BranchFactor, velocity_parents
from kinloop.algorithms.trees.cluster_aba import cluster_aba
from kinloop.algorithms.trees.cluster_rnea import cluster_rnea
from kinloop.algorithms.trees.derivatives import inverse_dynamics_derivatives
from kinloop.algorithms.trees.forward_derivatives import forward_dynamics_derivatives
from kinloop.algorithms.witnesses import graph_derivatives
from kinloop.clusters.framing import framed
from kinloop.model.random import KINDS
from tests.helpers import State, comfortable, differences, relative

BOTH = {
    "inverse": (inverse_dynamics_derivatives, graph_derivatives.inverse_dynamics_derivatives, cluster_rnea),
    "forward": (forward_dynamics_derivatives, graph_derivatives.forward_dynamics_derivatives, cluster_aba),
}


def size(blocks: tuple[np.ndarray, ...]) -> float:
    """The largest entry of all: a block may be nothing but rounding, as along velocities on which nothing depends."""
    return max((float(np.max(np.abs(x), initial=0.0)) for x in blocks), default=0.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BOTH)
@pytest.mark.sample(6)
def test_the_recursion_agrees_with_the_graph_on_every_kind_of_cluster(name, kind):
    ours, witness, _ = BOTH[name]
    s = comfortable(kind, 40)
    x = s.a if name == "inverse" else s.tau
    found, expected = ours(s.tree, s.q, s.v, x, s.f_ext), witness(s.tree, s.q, s.v, x, s.f_ext)
    for one, other in zip(found, expected, strict=True):
        assert relative(one, other, scale=size(expected)) <= 1e-12 * max(1.0, 1e-3 * s.cond), s.name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(3)
def test_derivatives_are_the_slopes_along_closed_motions(kind):
    s = comfortable(kind, 60)
    tree, robot = s.tree, kl.Robot.from_tree(s.tree, "numpy", "off")
    G = tree.spanning_jacobian(s.q)
    for ours, _, primal in BOTH.values():
        given = (s.v, s.a if primal is cluster_rnea else s.tau)
        found = ours(tree, s.q, *given, s.f_ext)
        for k, e in enumerate(np.eye(tree.nv)):
            slopes = closed_slopes(robot, primal, s, given, e, float(np.max(np.abs(G[:, k]))))
            for block, slope in zip(found, slopes, strict=True):
                assert relative(block[:, k], slope, scale=size(found)) <= 1e-9 * max(1.0, 1e-1 * s.cond), (s.name, k)


def closed_slopes(
    robot: kl.Robot, primal: Callable, s: State, given: tuple[np.ndarray, np.ndarray], e: np.ndarray, fastest: float
) -> list[np.ndarray]:
    """Slopes along one coordinate of q, of v and of the last input; steps are small to the fastest joint."""
    v, x = given
    return [
        differences(lambda t: primal(s.tree, robot.integrate(s.q, e, t), v, x, s.f_ext), 1e-3 / max(1.0, fastest)),
        differences(lambda t: primal(s.tree, s.q, v + t * e, x, s.f_ext), 1.0),
        differences(lambda t: primal(s.tree, s.q, v, x + t * e, s.f_ext), 1.0),
    ]


@pytest.mark.parametrize("name", BOTH)
def test_velocities_of_a_tangent_frame_have_derivatives_too(name):
    ours, witness, _ = BOTH[name]
    robot = kl.robots.load("planar_leg_linkage")
    tree, (q, _) = framed(robot.tree), robot.random_state(3)
    v, x = np.random.default_rng(3).normal(size=(2, tree.nv))
    for one, other in zip(ours(tree, q, v, x), witness(tree, q, v, x), strict=True):
        assert relative(one, other) <= 1e-12


def tree_path(name: str) -> str:
    try:
        files = importlib.metadata.distribution("example-robot-data").files or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the robots come with the example-robot-data wheel: pip install kinloop[peers]")
    return next(str(f.locate()) for f in files if str(f).endswith(name))


def tree_file(name: str) -> kl.Robot:
    return kl.load(tree_path(name), floating_base=True)


def operations(robot: kl.Robot, quantity: str) -> int:
    return robot.compile(quantity).operations["total"]


@pytest.mark.parametrize(
    ("file", "inverse", "forward", "allowed"),
    [("go1.urdf", 6886, 18339, 12000), ("talos_reduced.urdf", 25536, 92069, 36000)],
)
def test_trees_take_no_more_operations_than_measured(file, inverse, forward, allowed):
    robot = tree_file(file)
    assert operations(robot, "inverse_dynamics_derivatives") <= inverse <= allowed
    assert operations(robot, "forward_dynamics_derivatives") <= forward


@pytest.mark.parametrize(
    ("name", "inverse", "forward"), [("mini_cheetah", 7096, 18805), ("tello", 12378, 23465), ("four_bar", 299, 320)]
)
def test_clusters_take_no_more_operations_than_measured(name, inverse, forward):
    robot = kl.robots.load(name)
    assert operations(robot, "inverse_dynamics_derivatives") <= inverse
    assert operations(robot, "forward_dynamics_derivatives") <= forward


def comb(teeth: int) -> kl.Robot:
    """Legs of two joints on one base."""
    b = kl.Builder("comb")
    b.body("base", joint="free", mass=3.0, inertia=(0.2, 0.3, 0.4))
    for k in range(teeth):
        hip, knee, figures = f"hip{k}", f"knee{k}", {"mass": 1.0, "com": (0, 0.1, -0.2), "inertia": (0.1, 0.1, 0.1)}
        b.body(hip, "base", at=(0.1 + 0.2 * k, 0.3, 0), axis="y", **figures)
        b.body(knee, hip, at=(0, 0.1, -0.4), axis="x", **figures)
    return b.build()


def test_inverse_dynamics_derivatives_grow_linearly_where_depth_is_bounded():
    counts = [
        operations(comb(n), "inverse_dynamics_derivatives") for n in range(3, 9)
    ]  # the first legs add to constants
    assert np.all(np.diff(counts, 2) == 0), counts


@pytest.mark.parametrize("quantity", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
def test_open_parameters_are_inputs_of_derivatives(quantity):
    robot = kl.robots.load("planar_leg_linkage")
    q, v = robot.random_state(2)
    body = robot.body_names[-1]
    kernel = robot.compile(quantity, parameters=[f"{body}.mass"])
    mass = robot.mechanism.bodies[-1].mass
    x = np.ones(robot.nv)
    for one, other in zip(kernel(q, v, x, np.array([mass])), robot.compute(quantity, q, v, x), strict=True):
        assert relative(one, other) <= 1e-12


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
@pytest.mark.sample(4)
def test_the_front_door_takes_methods_and_wrenches(backend):
    robot = kl.Robot(kl.robots.mechanism("mini_cheetah"), backend)
    q, v = robot.random_state(4)
    rng = np.random.default_rng(4)
    x, f_ext = rng.normal(size=robot.nv), rng.normal(size=(len(robot.body_names), 6))
    for call in (robot.inverse_dynamics_derivatives, robot.forward_dynamics_derivatives):
        found, witness = call(q, v, x, f_ext), call(q, v, x, f_ext=f_ext, method="graph")
        for one, other in zip(found, witness, strict=True):
            assert relative(one, other) <= 1e-11
        assert relative(found[0], call(q, v, x)[0]) > 1e-3


def test_a_factor_solves_and_inverts_what_a_tree_makes_sparse():
    tree = comb(3).tree
    M = kl.Robot.from_tree(tree).mass_matrix(kl.Robot.from_tree(tree).random_state(1)[0])
    factor = BranchFactor(M, velocity_parents(tree))
    assert relative(factor.inverse() @ M, np.eye(tree.nv)) <= 1e-12
    for k, b in enumerate(np.eye(tree.nv)):
        assert relative(factor.solve(b), factor.inverse()[:, k]) <= 1e-12
    many = np.random.default_rng(0).normal(size=(tree.nv, 12)) * (np.arange(12) % 5 < np.arange(tree.nv)[:, None])
    assert relative(M @ factor.solve(many, -1.0), -many) <= 1e-12
    assert factor.solve(many[:, :0]).shape == (tree.nv, 0)
    assert BranchFactor(np.zeros((0, 0)), []).solve(np.zeros((0, 0))).shape == (0, 0)


@pytest.mark.parametrize("inverse", [False, True])
def test_no_sum_waits_for_more_than_its_last_product(inverse):
    def longest(n):
        def outputs(m, b):
            factor = BranchFactor(m.reshape(n, n), [k - 1 for k in range(n)])
            return factor.inverse() if inverse else factor.solve(b)

        depth = {}
        for node in sc.trace(outputs, {"m": n * n, "b": n}).nodes:
            depth[node.index] = 1 + max([depth.get(getattr(x, "index", None), 0) for x in node.args], default=0)
        return max(depth.values())

    assert longest(24) < 2.3 * longest(12)  # of operations that wait for each other: along the path once, not for each
