"""Convex shapes that a kernel looks for: distances by certificate and beside coal, patches, what is left in doubt."""

from functools import cache

import numpy as np
import pytest

from kinloop import scalar as sc
from kinloop.compiler.make import compile_function
from kinloop.sim.contact.shapes.convex import ConvexShape
from kinloop.sim.contact.shapes.convex_pairs import proximities_of
from kinloop.sim.contact.shapes.couple import Body, Couple, Kinds, are_near
from kinloop.sim.contact.shapes.meeting import search
from kinloop.sim.contact.shapes.simplex import nearer
from kinloop.sim.contact.shapes.supports import REACHES, Hulls, Sum, core
from tests.sim.contact.shapes.random_pairs import SIZES, rotations

KINDS = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "mesh")
REACH = 0.03
EACH = 12


def random_shape(rng, kind):
    if kind == "mesh":
        return ConvexShape(kind, rng.normal(size=(int(rng.integers(5, 100)), 3)) * rng.uniform(0.05, 0.3, 3))
    return ConvexShape(kind, rng.uniform(0.05, 0.6, SIZES[kind]))


@cache
def some_shapes():
    rng = np.random.default_rng(3)
    return [random_shape(rng, kind) for kind in np.repeat(KINDS, EACH)]


def meeting_kernel(shapes):
    """A kernel of where two of these shapes, by number, at poses in the world meet within a reach."""
    hulls = Hulls(s.hull for s in shapes if s.kind == "mesh")
    cores = np.array([core(s) for s in shapes])
    numbers = np.array([hulls.number[id(s.hull)] if s.kind == "mesh" else -1.0 for s in shapes])
    flat, half = np.array([float(s.flat) for s in shapes]), np.array([s.half.max() for s in shapes])
    kinds = Kinds(hulls, Sum.of(cores), Sum.of(cores))

    def meet(k, pose_a, pose_b, reach):
        R_a, R_b = pose_a[3:].reshape(3, 3), pose_b[3:].reshape(3, 3)
        a, b = (Body(sc.take(cores, x), sc.take(numbers, x)) for x in k)
        sizes = [sc.take(half, x) for x in k]
        limit = reach[0] + a.size[-1] + b.size[-1]
        both = sc.take(flat, k[0]) * sc.take(flat, k[1])
        p = R_b.T @ (pose_a[:3] - pose_b[:3])
        couple = Couple(kinds, a, b, both, R_b.T @ R_a, p, limit, sizes[0] + sizes[1], sc.minimum(*sizes))
        seen = are_near(couple)
        met = search(couple, seen.v, seen.at)
        parted = couple.apart_at_least() > limit
        near = sc.logical_and(seen.near, sc.logical_not(parted))
        said = (near, met.apart, met.sure, met.corners.wide, parted)
        corners = np.array([[*(pose_b[:3] + R_b @ c[:3]), c[3]] for c in met.corners.rows])
        return {
            "said": np.array([sc.where(x, 1.0, 0.0) for x in said]),
            "gap": np.array([met.gap]),
            "point": pose_b[:3] + R_b @ met.point,
            "n": R_b @ met.n,
            "corners": corners,
        }

    return compile_function(sc.trace(meet, {"k": 2, "pose_a": 12, "pose_b": 12, "reach": 1}))


@cache
def kernel():
    return meeting_kernel(some_shapes())


def random_poses(rng, shapes, n, low, high):
    """Numbers of pairs, and poses at which planes square to a random direction part them by low to high [m]."""
    k = rng.integers(0, len(shapes), (n, 2))
    R, u = [rotations(rng, n) for _ in range(2)], rng.normal(size=(n, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    p = [rng.normal(size=(n, 3)), None]
    reach = [shapes[a].reach(-w @ A) + shapes[b].reach(w @ B) for (a, b), w, A, B in zip(k, u, *R, strict=True)]
    p[1] = p[0] - (np.array(reach) + rng.uniform(low, high, n))[:, None] * u
    return k, R, p


def told(k, R, p, reach=REACH):
    poses = [np.concatenate([x, A.reshape(-1, 9)], axis=1) for x, A in zip(p, R, strict=True)]
    said, gap, point, n, corners = kernel()(k.astype(float), *poses, np.full((len(k), 1), reach))
    return said > 0.5, gap[:, 0], point, n, corners


def separation(a, b, R, p, n):
    """By how much a plane square to n parts a from b."""
    return n @ (p[0] - p[1]) - a.reach(-n @ R[0]) - b.reach(n @ R[1])


def moved_to(gap, shapes, k, R, p):
    """The same with a moved along the normal of their distance, until that is the gap; only pairs that are near."""
    kept = []
    for i, (a, b) in enumerate(k):
        found = proximities_of(shapes[a], shapes[b], (R[0][i], p[0][i], R[1][i], p[1][i]), REACH)
        if found and found[0].gap > 1e-4:
            nearest = min(found, key=lambda x: x.gap)
            p[0][i] += (gap[i] - nearest.gap) * nearest.normal
            kept.append(i)
    return k[kept], [x[kept] for x in R], [x[kept] for x in p]


def agree_with_coal(count, seed, low, high, gaps=None):
    """How many of the pairs are in doubt, overlap, and are apart."""
    rng, shapes = np.random.default_rng(seed), some_shapes()
    k, R, p = random_poses(rng, shapes, count, low, high)
    if gaps is not None:
        k, R, p = moved_to(rng.uniform(*gaps, count), shapes, k, R, p)
    said, gap, _, normal, _ = told(k, R, p)
    doubts = np.zeros((2, 2), dtype=int)
    for i, (a, b) in enumerate(k):
        poses = R[0][i], p[0][i], R[1][i], p[1][i]
        found = proximities_of(shapes[a], shapes[b], poses, REACH)
        least = min((x.gap for x in found), default=np.inf)
        near, apart, sure, *_ = said[i]
        if not near or apart:
            assert least > REACH - 1e-9, (shapes[a].kind, shapes[b].kind)
            continue
        doubts[int(least < 0.0)] += 1, not sure
        if sure:
            n = normal[i]
            assert abs(np.linalg.norm(n) - 1.0) < 1e-12
            parted = separation(shapes[a], shapes[b], [x[i] for x in R], [x[i] for x in p], n)
            assert abs(parted - gap[i]) < 1e-9  # what is found is a plane that parts them by the gap
            most = 2e-8 if least > 0.0 else 1e-3  # EPA of round shapes ends early, and somewhere
            assert -1e-9 < gap[i] - least < most, (shapes[a].kind, shapes[b].kind, gap[i], least)
    return doubts


def test_distances_are_those_of_coal():
    (apart, lost), _ = agree_with_coal(600, 1, -0.05, 0.03)
    assert apart > 100 and lost < 0.02 * apart


def test_most_of_what_is_not_near_is_parted_across_the_way_between():
    rng, shapes = np.random.default_rng(5), some_shapes()
    said, *_ = told(*random_poses(rng, shapes, 400, 0.0, 0.3))
    near, parted = said[:, 0], said[:, 4]
    assert not np.any(near & parted) and np.sum(parted) > 0.5 * np.sum(~near) > 100


def test_shapes_that_overlap_a_little_are_parted_by_the_shortest_way():
    (touch, lost), (overlap, deep) = agree_with_coal(500, 2, -0.05, 0.02, (-1e-3, 1e-6))
    assert overlap > 100 and deep < 0.1 * overlap, (touch, lost, overlap, deep)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_pairs_are_those_of_coal(seed):
    agree_with_coal(3000, [7, seed], -0.03, 0.03)


def test_what_is_deep_is_left_in_doubt():
    rng, shapes = np.random.default_rng(5), some_shapes()
    k, R, p = random_poses(rng, shapes, 200, 0.0, 0.0)
    p[1] = p[0] + 1e-3 * rng.normal(size=p[0].shape)
    said, *_ = told(k, R, p)
    rounded = np.array([any(shapes[x].kind in ("sphere", "capsule") for x in pair) for pair in k])
    assert not said[~rounded, 2].any()


def test_a_box_on_a_box_meets_it_in_the_corners_of_the_patch():
    box = ConvexShape("box", (0.2, 0.2, 0.1))
    hull = ConvexShape("mesh", np.array(np.meshgrid([-0.3, 0.3], [-0.3, 0.3], [-0.05, 0.05])).reshape(3, -1).T)
    run = meeting_kernel([box, hull])
    turn = np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    for gap in (1e-3, 1e-9, 0.0, -1e-6, -5e-4):
        poses = [np.array([[*x, *R.flat]]) for x, R in (((0.02, 0.01, 0.1 + gap), turn), ((0.0, 0.0, 0.0), np.eye(3)))]
        for order in (slice(None), slice(None, None, -1)):
            k = np.array([[0.0, 1.0]])[:, order]
            said, found, _, n, corners = (x[0] for x in run(k, *poses[order], np.array([[0.01]])))
            assert said[2] and said[3] and abs(found[0] - gap) < 1e-10
            np.testing.assert_allclose(np.abs(n), [0, 0, 1], atol=1e-9)
            np.testing.assert_allclose(corners[:, 3], gap, atol=1e-8)
            ours = (
                np.array([0.02, 0.01, 0.0])
                + (np.array([[1, 1, 0], [-1, 1, 0], [1, -1, 0], [-1, -1, 0]]) * 0.1) @ turn.T
            )
            off = np.abs(corners[:, None, :2] - ours[None, :, :2]).max(axis=-1)
            assert off.min(axis=0).max() < 1e-9 and off.min(axis=1).max() < 1e-9


def turned_to(rng, n, m):
    """A random rotation that turns a unit vector n to m."""
    axes = []
    for u, other in ((n, (0.3, 0.5, 0.8)), (m, rng.normal(size=3))):
        t = np.cross(u, other) / np.linalg.norm(np.cross(u, other))
        axes.append(np.column_stack([t, np.cross(u, t), u]))
    return axes[1] @ axes[0].T


def test_corners_of_faces_that_meet_lie_on_both_of_them():
    """Random faces of boxes and hulls, tilted by up to a hundredth, apart or a little in each other."""
    rng, shapes = np.random.default_rng(8), some_shapes()
    own = [k for k, s in enumerate(shapes) if s.kind in ("box", "mesh")]
    k, pairs, patches = rng.choice(own, (400, 2)), [], 0
    for i, j in k:
        up, tilted = rng.normal(size=(2, 3))
        up, tilted = up / np.linalg.norm(up), up / np.linalg.norm(up) + 0.003 * tilted
        faces = [shapes[x].planes[rng.integers(len(shapes[x].planes)), :3] for x in (i, j)]
        R_a, R_b = turned_to(rng, faces[0], -tilted / np.linalg.norm(tilted)), turned_to(rng, faces[1], up)
        apart = shapes[i].reach(-up @ R_a) + shapes[j].reach(up @ R_b) + rng.uniform(-5e-4, 1e-3)
        pairs.append((R_a, apart * up + rng.uniform(-0.05, 0.05, 3), R_b, np.zeros(3)))
    R, p = [np.array([x[n] for x in pairs]) for n in (0, 2)], [np.array([x[n] for x in pairs]) for n in (1, 3)]
    said, gap, _, normal, corners = told(k, R, p)
    for (i, j), (R_a, p_a, R_b, p_b), n, g, patch, (near, _, sure, wide, _) in zip(
        k, pairs, normal, gap, corners, said, strict=True
    ):
        if near and sure and wide:
            patch, patches = patch[patch[:, 3] < 1.0], patches + 1
            x, gaps = patch[:, :3], patch[:, 3]
            assert gaps.min() > g - 1e-9
            above, below = shapes[j].way_out((x - p_b) @ R_b, n @ R_b), shapes[i].way_out((x - p_a) @ R_a, -n @ R_a)
            np.testing.assert_allclose(above, -0.5 * gaps, atol=1e-9)
            np.testing.assert_allclose(below, -0.5 * gaps, atol=1e-9)
    assert patches > 100


def test_climbs_end_at_the_vertex_furthest_along_a_direction():
    rng = np.random.default_rng(0)
    shapes = [ConvexShape("mesh", rng.normal(size=(n, 3)) * rng.uniform(0.1, 1.0, 3)) for n in (4, 30, 300)]
    shapes.append(ConvexShape("mesh", np.array(np.meshgrid([-1, 1], [-1, 0, 1], [-1, 1])).reshape(3, -1).T))
    hulls = Hulls(s.hull for s in shapes)

    def furthest(number, d):
        return {"v": np.array([hulls.climbed(hulls.beginning(number[0], d), d)])}

    find = compile_function(sc.trace(furthest, {"number": 1, "d": 3}))
    d, number = rng.normal(size=(500, 3)), rng.integers(0, len(shapes), 500)
    v = np.asarray(find(number[:, None].astype(float), d)).ravel().astype(int)
    for one, k, place in zip(d, number, v, strict=True):
        assert abs(one @ hulls.vertices[place] - (shapes[k].size @ one).max()) < 1e-14


def test_hulls_reach_no_further_than_what_is_kept_says_and_little_less():
    shapes = [s for s in some_shapes() if s.kind == "mesh"]
    hulls, rng = Hulls(s.hull for s in shapes), np.random.default_rng(8)
    number = rng.integers(len(shapes), size=3000)
    d = rng.normal(size=(3000, 3))
    d[:600] = np.round(d[:600])  # corners and edges of cells, and of the cube
    d[600:900] *= rng.integers(2, size=(300, 3))  # along axes and in planes of them, or no direction at all
    d[900:1200, 1] = d[900:1200, 0] * (1.0 + rng.choice([0.0, 1e-16, -1e-16, 1e-9], 300))
    most = compile_function(
        sc.trace(lambda number, d: {"r": np.array([hulls.reach_at_most(number[0], d)])}, {"number": 1, "d": 3}),
        cache=False,
    )
    r = np.asarray(most(number[:, None].astype(float), d)).ravel()
    more = []
    for one, k, bound in zip(d, number, r, strict=True):
        vertices, length = shapes[k].size, np.linalg.norm(one)
        reach, size = (vertices @ one).max(), np.linalg.norm(vertices, axis=1).max() * length
        assert reach - 1e-14 * size <= bound <= reach + 2**0.5 / REACHES * size + 1e-299
        more.append((bound - reach) / max(size, 1e-300))
    assert np.mean(more[1200:]) < 0.01


def test_the_nearest_point_of_a_simplex_is_no_further_than_any_mixture_of_its_corners():
    rng = np.random.default_rng(1)
    seen = {True: 0, False: 0}
    for _ in range(200):
        y = list(rng.normal(size=(3, 3)) + rng.normal(size=3))
        y = [y[0], y[0], y[1]] if rng.random() < 0.3 else y
        P = rng.normal(size=3)
        found = nearer(y, P)
        weights = rng.dirichlet([0.3] * 4, 400)
        seen[bool(found.inside)] += 1
        if not found.inside:
            some = weights[:, :1] * P + weights[:, 1:] @ np.array(y)
            with_P = [P + t * (x - P) for x in y for t in np.linspace(0, 1, 20)]
            mixed = (1 - found.w_i - found.w_j) * P + found.w_i * y[int(found.i)] + found.w_j * y[int(found.j)]
            np.testing.assert_allclose(found.v, mixed, atol=1e-10)
            assert min(np.linalg.norm(x) for x in with_P) >= np.linalg.norm(found.v) - 1e-12
            others = np.linalg.norm(some, axis=1).min()
            assert others > 0.0
    assert seen[True] > 0 and seen[False] > 100
