"""Whether steps stay with the way in which loops are assembled."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop.clusters.closing import close_parts
from kinloop.clusters.following import follows, in_parts, is_redundant, orientation
from tests.sim.mechanisms import crank_rocker, parallelograms, turned


def other_assembly(robot: kl.Robot, q: np.ndarray) -> np.ndarray:
    """The closed configuration with the same crank whose coupler and rocker are bent the other way."""
    (cluster,) = [c for c in robot.tree if c.bends]
    for start in np.random.default_rng(0).uniform(-np.pi, np.pi, size=(50, 2)):
        found, error = close_parts(robot.tree.top, cluster.parts, cluster.dependent_dofs, np.array([q[0], *start]))
        if error < 1e-12 and np.cos(found - q).min() < 0.9:
            return found
    raise AssertionError("there is another assembly")


def test_determinants_tell_the_assemblies_of_a_four_bar_apart():
    robot = crank_rocker("crank_joint")
    q, (cluster,) = robot.neutral(), [c for c in robot.tree if c.bends]
    other = other_assembly(robot, q)
    assert other[0] == q[0] and np.max(robot.loop_error(other)) < 1e-12
    one, two = (orientation(cluster, robot.tree.rows(cluster, x).K) for x in (q, other))
    assert len(one) == 1 and one[0] * two[0] < 0.0
    step = np.array([1e-3])
    assert follows(robot.tree, q, robot.integrate(q, step), step)
    assert not follows(robot.tree, q, robot.integrate(other, step), step)
    assert not follows(robot.tree, q, robot.integrate(q, 2.0 * step), step), "not as far as asked"


def test_a_parallelogram_passes_the_line_where_its_assemblies_meet():
    """Its determinant changes its sign there, and the tangent tells where it goes on."""
    robot = parallelograms(1)
    q, v = turned(robot, 0.5 * np.pi - 0.353, 1.0)[0], [1.0]
    short = q
    for _ in range(70):
        short = robot.integrate(short, v, 0.01)
    assert robot.integrate(q, v, 0.7) == pytest.approx(short, abs=1e-9)
    assert robot.integrate(q, v, 0.706) == pytest.approx(turned(robot, 0.5 * np.pi + 0.353, 1.0)[0], abs=1e-9)


def test_redundant_rows_have_no_determinants_and_zero_rows_do_not_count():
    known = {"bennett": True, "bricard": True, "four_bar": False, "rssr": False}
    for name, redundant in known.items():
        tree = kl.robots.load(name).tree
        (cluster,) = [c for c in tree if c.bends]
        assert is_redundant(cluster) == redundant
        assert bool(orientation(cluster, tree.rows(cluster, tree.top.neutral()).K)) != redundant


def test_rows_are_tried_in_more_and_more_parts():
    """Rows whose second number says how long a part may be."""
    asked: list[int] = []

    def step(q, v, dt):
        asked.append(len(q))
        return np.where(np.abs(v * dt) <= q[:, 1:], q + v * dt * [1.0, 0.0], np.inf)

    one = np.ones((3, 1))
    found = in_parts(step, np.array([[0.0, 0.4], [0.0, 0.03], [0.0, 0.0]]), one, one)
    assert found[:2, 0] == pytest.approx(1.0) and np.isnan(found[2]).all()
    assert sum(asked) == (3 + 1 + 1) + 2 + (2 + 60), "who failed is not asked again in this round"
