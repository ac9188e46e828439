"""Spheres and capsules over height fields, beside distances from every triangle."""

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.sim.contact.shapes import FAR, Heights, pair_function
from kinloop.spatial import Transform
from tests.sim.contact.shapes.random_pairs import rotations

LENGTHS = np.array([1.2, 0.8])


def nodes(field):
    rows, columns = field.heights.shape
    x = np.linspace(-0.5, 0.5, columns) * field.lengths[0]
    y = np.linspace(-0.5, 0.5, rows) * field.lengths[1]
    return np.stack([*np.meshgrid(x, y), field.heights], axis=-1)


def triangles(field):
    g = nodes(field)
    a, b, c, d = (g[:-1, :-1], g[:-1, 1:], g[1:, 1:], g[1:, :-1])
    return np.concatenate([np.stack(t, axis=2).reshape(-1, 3, 3) for t in ((a, b, c), (a, c, d))])


def triangle_distance(x, corners):
    """Distance of a point from a triangle: inside by barycentric coordinates, else from its sides."""
    a, b, c = corners
    e = np.stack([b - a, c - a], axis=1)
    s, t = np.linalg.lstsq(e, x - a, rcond=None)[0]
    if s >= 0 and t >= 0 and s + t <= 1:
        return np.linalg.norm(x - a - e @ [s, t])
    sides = [(p, q - p) for p, q in ((a, b), (b, c), (c, a))]
    return min(np.linalg.norm(x - p - np.clip((x - p) @ u / (u @ u), 0, 1) * u) for p, u in sides)


def sphere_over(field, x, radius, pose=None):
    pose = pose or Transform.identity()
    placed = Transform(np.eye(3), pose.p + pose.R @ x)
    return pair_function("sphere", "heightfield")([radius], placed, field, pose)


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (6, 9)])
def test_gaps_are_distances_from_the_nearest_triangle(shape):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(60):
        field = Heights(LENGTHS, 0.08 * rng.normal(size=shape))
        all_of_them = triangles(field)
        cell = LENGTHS / (np.array(shape[::-1]) - 1)
        x = np.array([*((rng.uniform(size=2) - 0.5) * LENGTHS), 0.0])
        x[2] = max(t[:, 2].max() for t in all_of_them) * rng.uniform(0.2, 1.0)
        distance = min(triangle_distance(x, t) for t in all_of_them)
        pose = Transform(rotations(rng, 1)[0], rng.normal(size=3))
        found = sphere_over(field, x, 0.03, pose)
        assert all(np.isfinite([f.gap, *f.point, *f.normal]).all() for f in found)
        assert all(abs(np.linalg.norm(f.normal) - 1.0) < 1e-12 for f in found)
        below = found[0].gap < -0.03
        if distance < 0.4 * cell.min() and not below:  # what the four cells about the centre are sure to have
            assert found[0].gap == pytest.approx(distance - 0.03, abs=1e-12)
            assert found[0].gap <= min(f.gap for f in found)
            surface = pose.R.T @ (found[0].point - 0.5 * found[0].gap * found[0].normal - pose.p)
            assert min(triangle_distance(surface, t) for t in all_of_them) < 1e-12
        seen.add("below" if below else "edge or face")
    assert seen == {"below", "edge or face"}


def test_a_level_field_has_no_edges():
    field = Heights(LENGTHS, np.full((5, 7), 0.2))
    cell = LENGTHS / [6, 4]
    places = np.random.default_rng(0).uniform(-0.39, 0.39, (50, 2)).tolist()
    for x in [*places, 0.5 * cell, cell, [0.3 * cell[0], 0.0], [0.0, 0.3 * cell[1]], [0.0, 0.0]]:
        found = [f for f in sphere_over(field, np.array([*x, 0.24]), 0.05) if f.gap < 0.5 * FAR]
        assert [f.gap for f in found] == pytest.approx([-0.01])
        np.testing.assert_allclose(found[0].normal, [0, 0, 1], atol=1e-15)
        deep = [f for f in sphere_over(field, np.array([*x, 0.1]), 0.05) if f.gap < 0.5 * FAR]
        assert [f.gap for f in deep] == pytest.approx([-0.15])


def test_a_sphere_in_a_valley_touches_both_sides():
    valley = Heights(LENGTHS, np.abs(np.linspace(-0.6, 0.6, 7))[None] * np.ones((5, 1)))
    found = [f for f in sphere_over(valley, np.array([0.0, 0.03, 0.1]), 0.05) if f.gap < 0.5 * FAR]
    assert [f.gap for f in found] == pytest.approx([0.1 * 0.5**0.5 - 0.05] * 2)
    assert sorted(f.normal[0] for f in found) == pytest.approx([-(0.5**0.5), 0.5**0.5])


def test_beside_the_field_there_is_nothing():
    field = Heights(LENGTHS, np.zeros((3, 3)))
    assert all(f.gap == FAR for f in sphere_over(field, np.array([0.7, 0.0, 0.0]), 0.05))
    at_the_border = sphere_over(field, np.array([0.63, 0.0, 0.0]), 0.05)
    assert at_the_border[0].gap == pytest.approx(-0.02) and at_the_border[0].normal == pytest.approx([1, 0, 0])


def test_a_capsule_has_two_ends():
    field = Heights(LENGTHS, np.zeros((3, 3)))
    lying = Transform(np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]), np.array([0.05, 0.03, 0.1]))
    found = pair_function("capsule", "heightfield")([0.08, 0.4], lying, field, Transform.identity())
    used = [f for f in found if f.gap < 0.5 * FAR]
    assert [f.gap for f in used] == pytest.approx([0.02] * 2)
    assert sorted(f.point[0] for f in used) == pytest.approx([-0.15, 0.25])


def test_symbols_and_numbers_have_the_same_bits():
    rng = np.random.default_rng(0)
    field = Heights(LENGTHS, 0.08 * rng.normal(size=(4, 5)))
    collide = pair_function("sphere", "heightfield")

    def f(x):
        found = collide([0.03], Transform(np.eye(3), x), field, Transform.identity())
        return np.array([[p.gap, *p.point, *p.normal] for p in found], dtype=object)

    graph = sc.trace(f, {"x": 3})
    assert graph.operations["total"] < 1700
    for x in rng.uniform(-0.4, 0.4, (20, 3)) * [1, 1, 0.5]:
        np.testing.assert_array_equal(graph(x), f(x).astype(float))
