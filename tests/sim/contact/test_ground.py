"""Grounds: distances, axes, heights and normals that belong together."""

from __future__ import annotations

import numpy as np
import pytest

import kinloop as kl
from kinloop import scalar as sc
from kinloop.errors import KinloopError
from kinloop.sim import ContactPoint, HeightField, Plane, Simulator
from kinloop.sim.contact.ground import Ground
from tests.sim.mechanisms import level

NODES = np.linspace(-1.0, 1.0, 5)
HEIGHTS = np.random.default_rng(5).normal(scale=0.2, size=(5, 5))

GROUNDS = {
    "level": Plane(0.5, 0.1, height=0.3),
    "tilted": Plane(normal=(0.2, -0.3, 1.0), height=0.1),
    "hills": HeightField(lambda x, y: 0.1 * sc.sin(3.0 * x) + 0.05 * x * y * y, friction=0.4),
    "table": HeightField.table(NODES, NODES, HEIGHTS),
}
each = pytest.mark.parametrize("ground", GROUNDS.values(), ids=GROUNDS)


def points(n=40, seed=0):
    """Points off the nodes of the table, where its slopes jump."""
    xy = np.random.default_rng(seed).uniform(-0.95, 0.95, size=(n, 2))
    near = np.min(np.abs(xy[..., None] - NODES), axis=-1) < 1e-3
    return xy[~np.any(near, axis=1)]


@each
def test_normals_are_those_of_the_heights(ground):
    x, y = points().T
    h = 1e-6
    slope_x = (ground.heights(x + h, y) - ground.heights(x - h, y)) / (2 * h)
    slope_y = (ground.heights(x, y + h) - ground.heights(x, y - h)) / (2 * h)
    n = np.stack([-slope_x, -slope_y, np.ones_like(x)], axis=-1)
    np.testing.assert_allclose(ground.normals(x, y), n / np.linalg.norm(n, axis=-1, keepdims=True), atol=1e-8)


@each
def test_axes_are_normal_and_tangents_and_right_handed(ground):
    for x, y in points(10):
        _, axes = ground.surface(np.array([x, y, 1.0]))
        np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-14)
        assert np.linalg.det(axes) == pytest.approx(1.0)
        np.testing.assert_allclose(axes[:, 0], ground.normals(x, y), atol=1e-14)


@each
def test_the_distance_is_zero_on_the_surface_and_grows_along_the_normal(ground):
    for x, y in points(10):
        on = np.array([x, y, float(ground.heights(x, y))])
        gap, axes = ground.surface(on)
        assert gap == pytest.approx(0.0, abs=1e-15)
        assert ground.surface(on + [0, 0, 0.01])[0] > 0 > ground.surface(on - [0, 0, 0.01])[0]
        for d in (1e-6, -1e-6):
            assert ground.surface(on + d * axes[:, 0])[0] == pytest.approx(d, rel=1e-4)


def test_distances_from_planes_are_exact():
    plane = Plane(normal=(1.0, 2.0, 2.0), height=0.5)
    x = np.array([0.3, -0.4, 0.9])
    assert plane.surface(x)[0] == pytest.approx(x @ [1 / 3, 2 / 3, 2 / 3] - 0.5, abs=1e-15)
    assert plane.normal == pytest.approx((1 / 3, 2 / 3, 2 / 3)) and Plane(normal="x").normal == (1.0, 0.0, 0.0)


@each
def test_symbols_give_what_numbers_give(ground):
    def surface(x):
        gap, axes = ground.surface(x)
        return {"gap": np.array([gap]), "axes": np.asarray(axes)}

    traced = sc.trace(surface, {"x": 3})
    for x, y in points(5):
        p = np.array([x, y, 0.4])
        gap, axes = traced(p)
        np.testing.assert_allclose(float(gap[0]), ground.surface(p)[0], atol=1e-15)
        np.testing.assert_allclose(np.asarray(axes, dtype=float), ground.surface(p)[1], atol=1e-15)


def test_tables_are_met_at_their_nodes_and_bilinear_between():
    table = GROUNDS["table"]
    x, y = np.meshgrid(NODES, NODES, indexing="ij")
    np.testing.assert_allclose(table.heights(x, y), HEIGHTS, atol=1e-15)
    a, b = 0.3, 0.8  # in the cell of the first nodes
    weights = np.outer([1 - a, a], [1 - b, b])
    assert table.heights(-1 + 0.5 * a, -1 + 0.5 * b) == pytest.approx(np.sum(weights * HEIGHTS[:2, :2]), abs=1e-15)


def test_beyond_a_table_the_ground_is_level():
    table = GROUNDS["table"]
    assert table.heights(5.0, 0.25) == pytest.approx(table.heights(1.0, 0.25), abs=1e-15)
    np.testing.assert_allclose(table.normals(5.0, 7.0), [0.0, 0.0, 1.0], atol=1e-15)


def test_heights_broadcast():
    for ground in GROUNDS.values():
        assert ground.heights(np.zeros((3, 1)), np.zeros(4)).shape == (3, 4)
        assert ground.normals(np.zeros((3, 1)), np.zeros(4)).shape == (3, 4, 3)


def test_kinds_of_ground_are_known_by_what_they_say():
    assert all(isinstance(g, Ground) for g in GROUNDS.values())
    assert not isinstance(0.3, Ground) and not isinstance("level", Ground)
    keys = {g.key for g in GROUNDS.values()}
    assert len(keys) == len(GROUNDS)
    assert Plane().key == Plane().key != Plane(friction=0.7).key != Plane(restitution=0.1).key
    same, other = (HeightField(lambda x, y, a=a: a * x) for a in (0.1, 0.2))
    assert same.key == HeightField(lambda x, y: 0.1 * x).key != other.key, "functions count by what they compute"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Plane(friction=-1.0), "friction must be a number not below zero, received -1.0"),
        (lambda: Plane(friction=np.inf), "friction must be a number not below zero"),
        (lambda: Plane(restitution=1.5), "restitution must lie between 0 and 1, received 1.5"),
        (lambda: HeightField(lambda x, y: x, friction=np.nan), "friction"),
        (lambda: Plane(normal=(0, 0, 0)), "normal of the plane"),
        (lambda: HeightField.table([0, 1], [0, 1, 2], np.zeros((3, 2))), r"heights must have shape \(2, 3\)"),
        (lambda: HeightField.table([0, 1, 3], [0, 1], np.zeros((3, 2))), "evenly spaced"),
        (lambda: Plane(normal=(1, 0, 0)).heights(0.0, 0.0), "is upright; it has no heights"),
    ],
)
def test_mistakes_are_named(make, words):
    with pytest.raises(KinloopError, match=words):
        make()


def test_ground_may_be_a_function_or_a_table():
    hills = HeightField(lambda x, y: 0.1 * sc.sin(3.0 * x), friction=0.0)
    x = np.linspace(-1, 1, 9)
    ramp = HeightField.table(x, x, 0.2 * np.repeat(x[:, None], 9, axis=1), friction=0.0)
    for ground in (hills, ramp):
        b = kl.Builder("ball")
        b.body("ball", joint="free", mass=1.0, inertia=(0.004, 0.004, 0.004))
        sim = Simulator(b.build(), 1e-3, ground=ground, contacts=[ContactPoint("ball")])
        gap, axes = ground.surface(np.array([0.3, 0.1, 0.5]))
        assert np.allclose(axes.T @ axes, np.eye(3)) and gap > 0
        q = level(0.0)
        q[2] = 1e-6
        r = sim.rollout(q, None, steps=300, record=("q", "gap", "energy"))
        assert r.q[-1, 0] < -0.05 and np.min(r.gap) > -1e-4
        assert np.max(r.energy) < r.energy[0] + 1e-3
