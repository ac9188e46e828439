"""Gap, point and normal of pairs of shapes, beside coal."""

from itertools import product

import numpy as np
import pytest

from kinloop.errors import MethodError
from kinloop.sim.contact.shapes import DATA_PAIRS, FAR, PAIRS, pair_function, pair_points
from kinloop.spatial import Transform, axis_rotation
from tests.sim.contact.shapes.random_pairs import (
    coal_distances,
    cylinder_distances,
    random_shapes,
    rotations,
    segment_distances,
    square_rotations,
    touches,
    traced,
)

KINDS = [kinds for kinds in (*PAIRS, *DATA_PAIRS) if not {"heightfield", "terrain"} & {*kinds}]
OPERATIONS = {
    ("sphere", "sphere"): 27, ("sphere", "capsule"): 45, ("capsule", "capsule"): 218, ("sphere", "box"): 95,
    ("capsule", "box"): 621, ("box", "box"): 2110, ("sphere", "plane"): 17, ("capsule", "plane"): 44,
    ("box", "plane"): 154, ("sphere", "cylinder"): 84,
    ("mesh", "plane"): 944, ("cylinder", "plane"): 150, ("ellipsoid", "plane"): 63,
}  # fmt: skip


def pairs_of(kinds, n, turned=rotations, seed=0):
    rng = np.random.default_rng([seed, KINDS.index(kinds)])
    return tuple(random_shapes(rng, kind, n, turned) for kind in kinds), rng


def check_gaps(a, b, distances=coal_distances):
    """Our gaps are those of a witness, and the normals lead the way: moved along it by its gap, a touches b."""
    found = touches(a, b)
    assert all(np.isfinite(x).all() for x in found)
    gap, _, normal = found.nearest()
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=-1), 1.0, atol=1e-12)
    expected = distances(a, b)
    np.testing.assert_allclose(gap, expected, rtol=0, atol=1e-9)
    above = a.moved((1e-3 - gap)[:, None] * normal)
    np.testing.assert_allclose(distances(above, b), 1e-3, rtol=0, atol=1e-9)
    return found, expected


WITNESSES = {("capsule", "capsule"): segment_distances, ("sphere", "cylinder"): cylinder_distances}
"""Distances where coal is at fault; it is asked for all others."""


def check_all(kinds, n, seed=0):
    distances = WITNESSES.get(kinds, coal_distances)
    (a, b), rng = pairs_of(kinds, n, seed=seed)
    found, expected = check_gaps(a, b, distances)
    sound = expected > (-a.size[:, 0] if kinds == ("sphere", "cylinder") else -np.inf)
    np.testing.assert_allclose(coal_distances(a, b)[sound], expected[sound], rtol=0, atol=1e-9)
    assert 0.02 < np.mean(expected < 0.0) < 0.98
    gap, _, normal = found.nearest()
    check_gaps(a.moved((rng.uniform(-1e-3, 1e-3, n) - gap)[:, None] * normal), b, distances)
    for noise in (0.0, 1e-12, 1e-9, 1e-6, 1e-3):
        (a, b), _ = pairs_of(kinds, n // 5, lambda rng, n, noise=noise: square_rotations(rng, n, noise), seed)
        check_gaps(a, b, distances)


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_gaps_and_normals_are_those_of_coal(kinds):
    check_all(kinds, 100)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_gaps_and_normals_of_many_are_those_of_coal(kinds):
    check_all(kinds, 10_000, seed=1)


SURFACES = {
    "sphere": lambda s, x: np.linalg.norm(x, axis=1) - s[:, 0],
    "capsule": lambda s, x: (
        np.hypot(np.hypot(x[:, 0], x[:, 1]), np.maximum(np.abs(x[:, 2]) - 0.5 * s[:, 1], 0.0)) - s[:, 0]
    ),
    "box": lambda s, x: np.max(np.abs(x) - 0.5 * s, axis=1),
    "cylinder": lambda s, x: np.maximum(np.hypot(x[:, 0], x[:, 1]) - s[:, 0], np.abs(x[:, 2]) - 0.5 * s[:, 1]),
    "ellipsoid": lambda s, x: np.linalg.norm(x / s, axis=1) - 1.0,
    "plane": lambda s, x: x[:, 2],
    "mesh": lambda s, x: np.linalg.norm(s.reshape(-1, 12, 3) - x[:, None], axis=2).min(axis=1),
}
"""Functions of sizes and points (in the shapes' frames) that are zero on the surfaces of shapes."""


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_points_lie_halfway_between_the_surfaces(kinds):
    (a, b), _ = pairs_of(kinds, 300)
    gap, point, normal = touches(a, b).nearest()
    for shapes, side in ((a, 0.5), (b, -0.5)):
        x = np.einsum("nij,ni->nj", shapes.R, point + side * gap[:, None] * normal - shapes.p)
        np.testing.assert_allclose(SURFACES[shapes.kind](shapes.size, x), 0.0, atol=1e-8)


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_a_pair_is_the_same_seen_from_either_shape(kinds):
    (a, b), _ = pairs_of(kinds, 100)
    gap, point, normal = touches(a, b).nearest()
    back_gap, back_point, back_normal = touches(b, a).nearest()
    np.testing.assert_allclose(back_gap, gap, rtol=0, atol=1e-12)
    np.testing.assert_allclose(back_normal, -normal, rtol=0, atol=1e-7)
    np.testing.assert_allclose(back_point, point, rtol=0, atol=1e-7)
    assert pair_points(*kinds) == pair_points(*kinds[::-1]) == len(pair_function(*kinds)(*a[0], *b[0]))


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_symbols_and_numbers_have_the_same_bits(kinds):
    (a, b), _ = pairs_of(kinds, 5)
    (c, d), _ = pairs_of(kinds, 5, lambda rng, n: square_rotations(rng, n, 0.0))
    for one, other in ((a, b), (c, d)):
        found = touches(one, other)
        for k in range(5):
            rows = pair_function(*kinds)(*one[k], *other[k])
            for name in ("gap", "point", "normal"):
                np.testing.assert_array_equal(getattr(found, name)[k], [getattr(row, name) for row in rows])


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_operations_stay_few(kinds):
    assert traced(*kinds).operations["total"] <= OPERATIONS[kinds]


def test_a_pair_without_a_formula_is_named():
    with pytest.raises(MethodError, match="a cylinder against a box has no formula; pairs with one are sphere-sphere"):
        pair_function("cylinder", "box")
    with pytest.raises(MethodError, match="a plane against a plane"):
        pair_points("plane", "plane")
    with pytest.raises(MethodError, match="the hull of a mesh has 1 vertices; give"):
        pair_function("mesh", "plane")([1.0, 1.0, 1.0], CENTRE, [0, 0], CENTRE)


def near(kind_a, size_a, pose_a, kind_b, size_b, pose_b):
    """Proximities that are used, with gap, point and normal, all of them finite and of unit length."""
    found = pair_function(kind_a, kind_b)(size_a, pose_a, size_b, pose_b)
    for x in found:
        assert np.isfinite([x.gap, *x.point, *x.normal]).all()
        assert abs(np.linalg.norm(x.normal) - 1.0) < 1e-12
    return [x for x in found if x.gap < 0.5 * FAR]


def at(*p, R=None):
    return Transform(np.eye(3) if R is None else R, np.array(p, dtype=float))


def about(axis, angle):
    return axis_rotation(np.array(axis, dtype=float), angle)


CENTRE = at(0, 0, 0)
DEPTHS = {
    ("sphere", "sphere"): ([0.1], [0.2], 0.3),
    ("sphere", "capsule"): ([0.1], [0.2, 1.0], 0.3),
    ("capsule", "capsule"): ([0.1, 1.0], [0.2, 0.5], 0.3),
    ("sphere", "box"): ([0.1], [1.0, 0.4, 2.0], 0.3),
    ("capsule", "box"): ([0.1, 1.0], [1.0, 0.4, 2.0], 0.3),
    ("box", "box"): ([1.0, 0.6, 1.0], [1.0, 0.4, 2.0], 0.5),
}


@pytest.mark.parametrize("kinds", DEPTHS, ids="-".join)
@pytest.mark.parametrize("turn", [0.0, 1e-13, 1e-9, np.pi / 2])
def test_shapes_with_one_centre_leave_the_shortest_way(kinds, turn):
    size_a, size_b, depth = DEPTHS[kinds]
    for pose in (CENTRE, at(0, 1e-17, 0), at(1e-320, 0, 0), at(0, 0, 0, R=about((0, 1, 0), turn))):
        found = near(kinds[0], size_a, pose, kinds[1], size_b, CENTRE)
        assert min(x.gap for x in found) == pytest.approx(-depth, abs=1e-8)


@pytest.mark.parametrize("turn", [0.0, 1e-14, 1e-10, np.pi, np.pi + 1e-12])
def test_parallel_capsules_meet_at_both_ends_of_what_they_share(turn):
    found = near("capsule", [0.1, 1.0], at(0.3, 0, 0.4, R=about((1, 0, 0), turn)), "capsule", [0.1, 0.6], CENTRE)
    assert [x.gap for x in found] == pytest.approx([0.1, 0.1])
    assert sorted(x.point[2] for x in found) == pytest.approx([-0.1, 0.3])
    np.testing.assert_allclose([x.normal for x in found], [[1, 0, 0]] * 2, atol=1e-9)


def test_capsules_in_line_and_without_length_meet_once():
    (end,) = near("capsule", [0.1, 1.0], at(0, 0, 1.3), "capsule", [0.1, 1.0], CENTRE)
    assert end.gap == pytest.approx(0.1) and end.normal == pytest.approx([0, 0, 1])
    (ball,) = near("capsule", [0.1, 0.0], at(0.3, 0, 0), "capsule", [0.1, 0.0], CENTRE)
    assert ball.gap == pytest.approx(0.1) and ball.normal == pytest.approx([1, 0, 0])
    (ball,) = near("capsule", [0.1, 0.0], at(0.3, 0, 0.2), "box", [0.2, 0.2, 1.0], CENTRE)
    assert ball.gap == pytest.approx(0.1) and ball.normal == pytest.approx([1, 0, 0])


@pytest.mark.parametrize("angle", [0.3, np.pi / 2])
def test_crossing_axes_leave_square_to_both(angle):
    pose = at(0, 0, 0.1, R=about((1, 0, 0), angle))
    gap, n = min((x.gap, tuple(x.normal)) for x in near("capsule", [0.1, 1.0], pose, "capsule", [0.1, 1.0], CENTRE))
    assert gap == pytest.approx(-0.2) and np.abs(n) == pytest.approx([1, 0, 0])


@pytest.mark.parametrize("height", [0.6, 0.5, 0.499])
def test_a_capsule_lies_on_a_face_at_both_ends_of_what_they_share(height):
    lying = at(0.3, 0.1, height + 0.1, R=about((0, 1, 0), np.pi / 2))
    found = near("capsule", [0.1, 1.0], lying, "box", [1.0, 1.0, 1.0], CENTRE)
    assert [x.gap for x in found] == pytest.approx([height - 0.5] * 2)
    assert sorted(x.point[0] for x in found) == pytest.approx([-0.2, 0.5])
    np.testing.assert_allclose([x.normal for x in found], [[0, 0, 1]] * 2, atol=1e-12)


def test_a_capsule_lies_along_an_edge():
    found = near("capsule", [0.1, 0.6], at(0.6, 0.6, 0.4), "box", [1.0, 1.0, 1.0], CENTRE)
    assert [x.gap for x in found] == pytest.approx([0.1 * 2**0.5 - 0.1] * 2)
    assert sorted(x.point[2] for x in found) == pytest.approx([0.1, 0.5])


@pytest.mark.parametrize("tilt", [0.0, 0.4, np.pi / 2, 2.0])
def test_planes_may_tilt(tilt):
    plane = at(0.3, -0.2, 0.5, R=about((1, 0, 0), tilt))
    n = plane.R[:, 2]
    on_top = plane._replace(p=plane.p + 0.2 * n)
    for kind, size, count in (("box", [1.0, 0.6, 0.3], 4), ("cylinder", [0.3, 0.3], 4), ("sphere", [0.15], 1)):
        found = near(kind, size, on_top, "plane", [0.0, 0.0], plane)
        used = [x for x in found if x.gap < 0.1]
        assert [x.gap for x in used] == pytest.approx([0.05] * (3 if kind == "cylinder" else count))
        np.testing.assert_allclose([x.normal for x in found], [n] * len(found), atol=1e-12)


def most_separated(size_a, pose_a, size_b, pose_b):
    """How far boxes are apart along the best of their separating axes, from their corners (coal fails at such gaps)."""
    corners = np.array(list(product((-0.5, 0.5), repeat=3)))
    a, b = ((corners * size) @ pose.R.T + pose.p for size, pose in ((size_a, pose_a), (size_b, pose_b)))
    crossed = np.cross(pose_a.R.T[:, None], pose_b.R.T[None]).reshape(-1, 3)
    lengths = np.linalg.norm(crossed, axis=1)
    axes = np.concatenate([pose_a.R.T, pose_b.R.T, crossed[lengths > 1e-4] / lengths[lengths > 1e-4, None]])
    return max((a @ n).min() - (b @ n).max() for n in (*axes, *-axes))


STACKED = (0.0, -1e-16, 1e-12, 3e-8, 1e-5)


@pytest.mark.parametrize("gap", [0.0, 1e-9, -1e-3])
@pytest.mark.parametrize("yaw", [0.0, 0.3, np.pi / 4, np.pi / 2])
def test_boxes_in_a_stack_meet_in_four_corners(gap, yaw):
    """The same four whatever rounding or a small tilt does to the pose, and the largest of the faces' overlap."""
    size_a, size_b, before = [0.6, 0.5, 0.4], [1.0, 0.5, 0.4], None
    for tilt_x in STACKED:
        for tilt_y in STACKED:
            R = about((1, 0, 0), tilt_x) @ about((0, 1, 0), tilt_y) @ about((0, 0, 1), yaw)
            found = near("box", size_a, at(0.1, 0.0, 0.4 + gap, R=R), "box", size_b, CENTRE)
            assert len(found) == 4
            assert [x.gap for x in found] == pytest.approx([gap] * 4, abs=2e-5)
            # The corner of both faces' overlap that is lowest is among them.
            expected = most_separated(size_a, at(0.1, 0.0, 0.4 + gap, R=R), size_b, CENTRE)
            assert min(x.gap for x in found) == pytest.approx(expected, abs=1e-9)
            points = np.array([x.point for x in found])
            np.testing.assert_allclose([x.normal for x in found], [[0, 0, 1]] * 4, atol=2e-5)
            before = points if before is None else before
            # Where faces overlap in more than four corners, a lower one may take the place of its neighbour.
            np.testing.assert_allclose(points, before, atol=2e-5 if yaw in (0.0, np.pi / 2) else 0.3)
            spread = points[:, :2] - points[:, :2].mean(axis=0)
            assert np.linalg.svd(spread)[1][1] > 0.25, "a patch, not a line"


def test_boxes_meet_at_crossing_edges():
    R = about((1, 0, 0), np.pi / 4)
    top, below = R @ about((0, 0, 1), 0.0), about((0, 1, 0), np.pi / 4)
    found = near("box", [1.0, 0.2, 0.2], at(0, 0, 0.27, R=top), "box", [0.2, 1.0, 0.2], at(0, 0, 0, R=below))
    gap, point = min((x.gap, tuple(x.point)) for x in found)
    assert gap == pytest.approx(0.27 - 0.2 * 2**0.5) and point == pytest.approx((0, 0, 0.135), abs=1e-8)
    assert sum(x.gap < gap + 1e-3 for x in found) == 1


def test_boxes_apart_meet_at_corners():
    gap, normal = min(
        (x.gap, tuple(x.normal)) for x in near("box", [1, 1, 1], at(1.1, 1.1, 1.1), "box", [1, 1, 1], CENTRE)
    )
    assert gap == pytest.approx(0.1 * 3**0.5) and normal == pytest.approx([3**-0.5] * 3)


def test_boxes_without_thickness_touch():
    found = near("box", [1.0, 1.0, 0.0], at(0, 0, 0.1), "box", [2.0, 2.0, 0.0], CENTRE)
    assert [x.gap for x in found] == pytest.approx([0.1] * 4)


def test_a_cylinder_stands_on_the_same_points_of_its_rim():
    before = None
    for tilt in (0.0, 1e-16, -1e-15, 1e-13):
        found = near("cylinder", [0.3, 1.0], at(0, 0, 0.5, R=about((1, 0, 0), tilt)), "plane", [0, 0], CENTRE)
        points = np.array([x.point for x in found if x.gap < 0.1])
        assert len(points) == 3
        before = points if before is None else before
        np.testing.assert_allclose(points, before, atol=1e-3)


def test_a_hull_stands_on_four_spread_vertices():
    turn = 2 * np.pi * np.arange(12) / 12
    prism = np.array([[0.3 * np.cos(t), 0.2 * np.sin(t), z] for z in (-0.1, 0.1) for t in turn])
    before = None
    for tilt in (0.0, 1e-14, -1e-12, 1e-10):
        found = near("mesh", prism, at(0, 0, 0.1, R=about((0.6, 0.8, 0), tilt)), "plane", [0, 0], CENTRE)
        points = np.array([x.point for x in found])
        assert len(found) == 4 and max(abs(x.gap) for x in found) < 1e-9
        before = points if before is None else before
        np.testing.assert_allclose(points, before, atol=1e-9)
    assert np.linalg.svd(points[:, :2] - points[:, :2].mean(axis=0))[1][1] > 0.15
    for turn in np.linspace(0.0, 3.0, 7):
        R = about((np.cos(turn), np.sin(turn), 0), 1e-4)
        lowest = min(x.gap for x in near("mesh", prism, at(0, 0, 0.1, R=R), "plane", [0, 0], CENTRE))
        assert lowest == pytest.approx(0.1 + (prism @ R.T)[:, 2].min(), abs=1e-12)
    corner = near("mesh", prism, at(0, 0, 0.5, R=about((0.6, 0.8, 0), 0.7)), "plane", [0, 0], CENTRE)
    assert len(corner) == 1, "one vertex, by far the lowest"
