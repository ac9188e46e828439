"""Convex shapes without a formula: certificates of their distances, patches, broad phase, and what is refused."""

import builtins
import time
from itertools import product

import numpy as np
import pytest

from kinloop.errors import MethodError
from kinloop.sim.contact.shapes import PAIRS, Proximity, convex_pairs
from kinloop.sim.contact.shapes.convex import ConvexShape
from kinloop.sim.contact.shapes.convex_pairs import ConvexPairs
from kinloop.sim.contact.shapes.outlines import hull, overlap
from kinloop.spatial import axis_rotation
from tests.sim.contact.shapes.random_pairs import SIZES, random_shapes, rotations, touches

KINDS = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "mesh")
WITHOUT_FORMULA = [(a, b) for k, a in enumerate(KINDS) for b in KINDS[k:] if (a, b) not in PAIRS]


def random_shape(rng, kind):
    if kind == "mesh":
        return ConvexShape(kind, rng.normal(size=(int(rng.integers(5, 40)), 3)) * rng.uniform(0.05, 0.3, 3))
    return ConvexShape(kind, rng.uniform(0.05, 0.6, SIZES[kind]))


def furthest(shape, n):
    """How far a shape reaches along n, in its frame: an independent support function."""
    s = shape.size
    match shape.kind:
        case "sphere":
            return s[0]
        case "capsule":
            return s[0] + 0.5 * s[1] * abs(n[2])
        case "box":
            return 0.5 * s @ np.abs(n)
        case "cylinder":
            return s[0] * np.hypot(n[0], n[1]) + 0.5 * s[1] * abs(n[2])
        case "ellipsoid":
            return np.linalg.norm(s * n)
    return (s @ n).max()


def separation(a, b, R, p, n):
    """By how much a plane square to n separates a from b, which is below it."""
    return n @ (p[0] - p[1]) - furthest(a, -n @ R[0]) - furthest(b, n @ R[1])


def faces(shape, R):
    return shape.planes[:, :3] @ R.T


def check(kinds, n, seed):
    """No plane separates shapes by more than their distance; one separates them by it; along it they touch.

    Of shapes that overlap: moved by the gap along the normal they touch, and no face of theirs is a shorter way out.
    """
    rng = np.random.default_rng([seed, WITHOUT_FORMULA.index(kinds)])
    signs = set()
    for _ in range(n):
        a, b = (random_shape(rng, kind) for kind in kinds)
        R, p = rotations(rng, 2), 0.25 * rng.normal(size=(2, 3))
        pairs = ConvexPairs([a, b], [(0, 1)], margin=10.0)
        found = pairs.proximities(R, p)[0]
        nearest = min(found, key=lambda x: x.gap)
        assert 1 <= len(found) <= pairs.points and abs(np.linalg.norm(nearest.normal) - 1.0) < 1e-12
        assert separation(a, b, R, p, nearest.normal) == pytest.approx(nearest.gap, abs=2e-10)
        others = [*faces(a, R[0]), *faces(b, R[1]), *-faces(a, R[0]), *-faces(b, R[1]), *rotations(rng, 10)[:, 0]]
        assert max(separation(a, b, R, p, m) for m in others) <= nearest.gap + 1e-6
        for k, side in enumerate((0.5, -0.5)):
            x = (nearest.point + side * nearest.gap * nearest.normal - p[k]) @ R[k]
            if (a, b)[k].flat:
                assert abs((a, b)[k].way_out(x[None], (-nearest.normal, nearest.normal)[k] @ R[k])[0]) < 1e-4
        for x in found:
            assert x.gap >= nearest.gap and np.array_equal(x.normal, nearest.normal)
        signs.add(nearest.gap > 0.0)
    return signs


@pytest.mark.parametrize("kinds", WITHOUT_FORMULA, ids="-".join)
def test_distances_are_certified(kinds):
    assert check(kinds, 10, 0) == {False, True}


@pytest.mark.slow
@pytest.mark.parametrize("kinds", WITHOUT_FORMULA, ids="-".join)
def test_distances_of_many_are_certified(kinds):
    check(kinds, 400, 1)


def met(a, b, R, p, height, **options):
    """Proximities of a, placed by R at p above b, by the height of a above where it stands."""
    pairs = ConvexPairs([a, b], [(0, 1)], **options)
    return pairs.proximities(np.array([R, np.eye(3)]), np.array([[*p, height], np.zeros(3)]))


BRICK = np.array(list(product((-0.3, 0.3), (-0.25, 0.25), (-0.2, 0.2))))
FLOOR = ConvexShape("box", [1.0, 0.5, 0.4])


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-4, 0.3])
@pytest.mark.parametrize("gap", [1e-3, -1e-3])
def test_the_hull_of_a_box_meets_what_a_box_meets(tilt, gap):
    R, shapes = axis_rotation((1.0, 0.0, 0.0), tilt) @ axis_rotation((0.0, 0.0, 1.0), 0.4), {}
    for kind, size in (("box", [0.6, 0.5, 0.4]), ("capsule", [0.1, 0.6]), ("sphere", [0.2])):
        shapes[kind] = random_shapes(np.random.default_rng(0), kind, 1)._replace(size=np.array([size]), R=R[None])
        shapes[kind] = shapes[kind]._replace(p=np.array([[0.1, 0.0, 0.4 + gap]]))
    floor = random_shapes(np.random.default_rng(0), "box", 1)
    floor = floor._replace(size=np.array([[1.0, 0.5, 0.4]]), R=np.eye(3)[None], p=np.zeros((1, 3)))
    hull_floor = ConvexShape("mesh", list(product((-0.5, 0.5), (-0.25, 0.25), (-0.2, 0.2))))
    for kind, shape in shapes.items():
        expected = touches(shape, floor)
        a = ConvexShape("mesh", BRICK) if kind == "box" else ConvexShape(kind, shape.size[0])
        found = met(a, hull_floor, R, (0.1, 0.0), 0.4 + gap, margin=1.0)[0]
        assert min(x.gap for x in found) == pytest.approx(expected.nearest()[0][0], abs=1e-7)
        np.testing.assert_allclose(found[0].normal, expected.nearest()[2][0], atol=1e-6)
        if tilt < 1e-3:
            assert sum(x.gap < 0.1 for x in found) == np.sum(expected.gap < 0.1)


def check_touching(rows, gaps):
    """Hulls of boxes that hardly touch, or hardly do not, beside the formula for boxes."""
    rng, n = np.random.default_rng(7), 300
    a, b = random_shapes(rng, "box", n), random_shapes(rng, "box", n)
    apart, _, normal = touches(a, b).nearest()
    corners = np.array(list(product((-0.5, 0.5), repeat=3)))
    for gap in gaps:
        placed = a.moved((gap - apart)[:, None] * normal)
        expected, _, _ = touches(placed, b).nearest()
        for k in rows:
            pairs = ConvexPairs([ConvexShape("mesh", corners * x.size[k]) for x in (placed, b)], [(0, 1)])
            R, p = np.array([placed.R[k], b.R[k]]), np.array([placed.p[k], b.p[k]])
            (found,) = pairs.proximities(R, p).values()
            assert min(x.gap for x in found) == pytest.approx(expected[k], abs=1e-7)


def test_what_hardly_touches_has_its_gap():
    """Normals that coal gives of the last three are square to the right ones."""
    check_touching([*range(20), 132, 218, 265], (1e-9, -1e-9))


@pytest.mark.slow
def test_what_hardly_touches_has_its_gap_in_many_places():
    check_touching(range(300), (1e-12, 1e-9, 1e-7, 1e-6, -1e-12, -1e-9, -1e-7, -1e-6))


def test_shapes_that_coal_fails_at_leave_through_a_face(monkeypatch):
    brick = ConvexShape("mesh", BRICK)
    lost = Proximity(-1e308, np.zeros(3), np.array([1.0, 0.0, 0.0]))
    monkeypatch.setattr(convex_pairs, "_collided", lambda *args: lost)
    ((found,),) = met(brick, FLOOR, np.eye(3), (0.0, 0.0), 0.39).values()
    assert found.gap == pytest.approx(-0.01) and found.normal == pytest.approx([0, 0, 1])
    ((found,),) = met(brick, FLOOR, np.eye(3), (0.0, 0.0), 0.0).values()
    assert found.gap == pytest.approx(-0.4)


@pytest.mark.parametrize("gap", [1e-3, 1e-9, 0.0, -1e-12, -1e-3])
@pytest.mark.parametrize("tilt", [0.0, 1e-12, 1e-6, 1e-3])
def test_flat_shapes_meet_in_patches(gap, tilt):
    lean = axis_rotation((1.0, 0.0, 0.0), tilt)
    lying = lean @ axis_rotation((1.0, 0.0, 0.0), np.pi / 2)
    can = ConvexShape("cylinder", [0.2, 0.4])
    pipe = ConvexShape("capsule", [0.1, 0.4])
    for shape, R, height, count in ((can, lean, 0.4, 4), (can, lying, 0.4, 2), (pipe, lying, 0.3, 2)):
        for below in (FLOOR, ConvexShape("mesh", FLOOR.half * np.array(list(product((-1, 1), repeat=3))))):
            (found,) = met(shape, below, R, (0.0, 0.0), height + gap).values()
            assert len(found) == count
            spread = np.array([x.point for x in found])[:, :2]
            assert np.linalg.norm(spread - spread.mean(axis=0), axis=1).min() > 0.15
            for x in found:
                # The lowest points of a, above the top of b: both planes are known.
                assert x.gap == pytest.approx(gap + tilt * x.point[1], abs=2e-8 + tilt * tilt)
                np.testing.assert_allclose(x.normal, [0, 0, 1], atol=1e-7 + tilt)


def test_what_is_found_depends_on_poses_alone():
    rng = np.random.default_rng(0)
    shapes = [random_shape(rng, kind) for kind in KINDS]
    pairs = ConvexPairs(shapes, [(i, j) for i in range(6) for j in range(i)], margin=0.5)
    R, p = rotations(rng, 6), 0.3 * rng.normal(size=(6, 3))
    first, _, again = (pairs.proximities(*x) for x in ((R, p), (rotations(rng, 6), 1.1 * p), (R, p)))
    assert first.keys() == again.keys() and len(first) > 5
    near = pairs.near(np.stack([R, R[::-1], R]), np.stack([p, p[::-1], p]))
    assert np.array_equal(near[0], pairs.near(R, p)) and np.array_equal(near[0], near[2])
    for k in first:
        for x, y in zip(first[k], again[k], strict=True):
            assert x.gap == y.gap and np.array_equal(x.point, y.point) and np.array_equal(x.normal, y.normal)


def test_the_broad_phase_leaves_out_far_pairs_and_no_near_one():
    rng = np.random.default_rng(0)
    shapes = [random_shape(rng, KINDS[k % 6]) for k in range(24)]
    every = [(i, j) for i in range(24) for j in range(i)]
    far, near = ConvexPairs(shapes, every, margin=100.0), ConvexPairs(shapes, every, margin=0.05)
    R, p = rotations(rng, 24), rng.normal(size=(24, 3))
    all_of_them, found = far.proximities(R, p), near.proximities(R, p)
    assert len(all_of_them) == len(every)
    assert set(found) == {k for k, x in all_of_them.items() if min(y.gap for y in x) <= 0.05}
    assert len(found) <= near.near(R, p).sum() < 0.6 * len(every)


def test_outlines_of_polygons_segments_and_points():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
    assert len(hull(square)) == 4
    np.testing.assert_allclose(sorted(overlap(square, square + 0.5).tolist()), [[0.5, 0.5], [0.5, 1], [1, 0.5], [1, 1]])
    across = np.array([[-1.0, 0.5], [2.0, 0.5]])
    np.testing.assert_allclose(sorted(overlap(square, across).tolist()), [[0.0, 0.5], [1.0, 0.5]])
    np.testing.assert_allclose(sorted(overlap(across, across + [1.0, 0.0]).tolist()), [[0.0, 0.5], [2.0, 0.5]])
    assert (
        len(overlap(across, across[:, ::-1]))
        == len(overlap(square, square + 2.0))
        == len(overlap(square, across[:1]))
        == 0
    )


@pytest.mark.parametrize(
    "kind, size, words",
    [
        ("plane", [0.0, 0.0], "plane 'x' is none of the convex shapes"),
        ("cylinder", [0.1], "cylinder 'x' has the size [0.1]; it takes 2 finite numbers not below zero"),
        ("box", [0.1, -1.0, 1.0], "box 'x' has the size"),
        ("mesh", [[0.0, np.nan, 0.0]], "finite vertices"),
        ("mesh", [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]], "hull of mesh 'x' is flat"),
        ("mesh", np.zeros((20_001, 3)), "has 20001 vertices, more than 20000; simplify it"),
    ],
)
def test_what_is_no_convex_shape_is_refused_by_name(kind, size, words):
    with pytest.raises(MethodError) as error:
        ConvexShape(kind, size, "x")
    assert words in str(error.value)


def test_pairs_of_shapes_that_are_not_there_are_refused():
    with pytest.raises(MethodError, match="between 0 and 0, received"):
        ConvexPairs([FLOOR], [(0, 1)])


def test_without_coal_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name == "coal":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MethodError, match=r"pip install 'kinloop\[collision\]'"):
        ConvexPairs([ConvexShape("sphere", [0.1])] * 2, [(0, 1)]).proximities(
            np.stack([np.eye(3)] * 2), np.zeros((2, 3))
        )


@pytest.mark.slow
def test_large_hulls_are_prepared_in_bounded_time():
    x = np.random.default_rng(0).normal(size=(20_000, 3))
    begun = time.process_time()
    ConvexShape("mesh", x / np.linalg.norm(x, axis=1)[:, None])
    assert time.process_time() - begun < 5.0
