"""Bodies that are far from each other: nothing that is near is left out, and most of what is far is."""

import numpy as np
import pytest

from kinloop.model import Surface
from kinloop.sim.contact import far_bodies
from kinloop.sim.contact.far_bodies import Pair, keys_of_pairs
from kinloop.sim.contact.near_pairs import nearness, travel
from kinloop.sim.contact.scene import Touching
from kinloop.sim.contact.scene_shapes import Shape
from kinloop.spatial import Transform, quaternion_rotation

SIZES = {"sphere": (0.1,), "capsule": (0.05, 0.4), "box": (0.3, 0.1, 0.2), "cylinder": (0.1, 0.3)}
H, NEARBY = 1e-2, 1.0


def turned(rng: np.random.Generator, spread: float) -> Transform:
    x = rng.normal(size=4)
    return Transform(quaternion_rotation(x / np.linalg.norm(x)), rng.normal(0.0, spread, 3))


def crowd(rng: np.random.Generator, bodies: int, each: int) -> list[Shape]:
    """Shapes anywhere on bodies."""
    kinds = [*SIZES]
    return [
        Shape(f"{b}.{k}", kind, SIZES[kind], b, turned(rng, 0.2), Surface(), frozenset())
        for b in range(bodies)
        for k, kind in enumerate(rng.choice(kinds, each).tolist())
    ]


def keys(
    shapes: list[Shape], poses: list[Transform], speeds: list[float], pairs: list[Touching], least: int, monkeypatch
) -> np.ndarray:
    monkeypatch.setattr(far_bodies, "LEAST", least)
    given = [Pair(x.a, x.b, x.margin) for x in pairs]

    def key(k: int) -> float:
        return float(nearness(shapes, poses, speeds, pairs[k], H, NEARBY))

    found = keys_of_pairs(shapes, poses, speeds, given, lambda speed: travel(speed, H, NEARBY), key)
    return np.array(found, dtype=float)


@pytest.mark.parametrize("spread", [0.2, 1.0, 4.0])
def test_what_is_near_is_found_whether_bodies_are_compared_first_or_not(spread, monkeypatch):
    rng, left_out = np.random.default_rng(round(10 * spread)), 0
    for _ in range(40):
        shapes = crowd(rng, 4, 5)
        at, fast = [turned(rng, spread) for _ in range(4)], rng.uniform(0.0, 3.0, (4, 2))
        poses = [at[s.body].then(s.placement) for s in shapes]
        reach = [float(np.linalg.norm(s.placement.p)) + s.bound for s in shapes]
        speeds = [fast[s.body, 0] + r * fast[s.body, 1] for s, r in zip(shapes, reach, strict=True)]
        pairs = [
            Touching(i, j, 1.0, float(rng.choice([0.0, 0.05])))
            for j, b in enumerate(shapes)
            for i, a in enumerate(shapes[:j])
            if a.body != b.body
        ]
        one_by_one, sifted = (keys(shapes, poses, speeds, pairs, n, monkeypatch) for n in (10**6, 1))
        assert np.array_equal(one_by_one < 0.0, sifted < 0.0)
        assert np.array_equal(one_by_one[sifted != 1.0], sifted[sifted != 1.0])
        left_out += int(np.sum(sifted == 1.0))
    assert left_out > 0


def test_of_bodies_that_are_far_apart_no_pair_of_shapes_is_compared_one_by_one(monkeypatch):
    rng = np.random.default_rng(0)
    shapes = crowd(rng, 2, 3)
    pairs = [Touching(i, j, 1.0, 0.0) for i in range(3) for j in range(3, 6)]
    at = [Transform(np.eye(3), np.array([5.0 * b, 0.0, 0.0])) for b in range(2)]
    poses = [at[s.body].then(s.placement) for s in shapes]
    assert np.all(keys(shapes, poses, [0.0] * 6, pairs, far_bodies.LEAST, monkeypatch) == 1.0)
    fast = [0.0] * 3 + [1000.0] * 3  # in one step of 10 ms they come 10 m
    assert np.all(keys(shapes, poses, fast, pairs, far_bodies.LEAST, monkeypatch) < 0.0)


@pytest.mark.parametrize("margin", [0.0, 0.02])
@pytest.mark.parametrize("turning", [(0.0, 0.0), (30.0, 0.0), (0.0, 30.0), (30.0, 30.0)])
def test_bodies_whose_outermost_shapes_are_just_near_are_not_far(turning, margin, monkeypatch):
    """Spheres at the two ends of bars in one line: there the spheres about the bars end as well."""
    rng = np.random.default_rng(0)
    ends = [Transform(np.eye(3), np.array([x, 0.0, 0.0])) for x in (0.0, 0.3, -0.3)]
    shapes = [
        Shape(f"{b}.{k}", "sphere", (0.1,), b, T, Surface(), frozenset()) for b in (0, 1) for k, T in enumerate(ends)
    ]
    reach = [float(np.linalg.norm(s.placement.p)) + s.bound for s in shapes]
    speeds = [r * turning[s.body] for s, r in zip(shapes, reach, strict=True)]
    pairs = [Touching(i, j, 1.0, margin) for i in range(3) for j in range(3, 6)]
    R = turned(rng, 1.0).R
    near = 0.8 + margin + H * (NEARBY + 0.4 * sum(turning))
    for apart, found in ((near - 1e-7, 1), (near + 1e-7, 0)):
        at = [Transform(R, R @ np.array([x, 0.0, 0.0])) for x in (0.0, apart)]
        poses = [at[s.body].then(s.placement) for s in shapes]
        assert np.sum(keys(shapes, poses, speeds, pairs, far_bodies.LEAST, monkeypatch) < 0.0) == found
