"""Planes between shapes: they never say that shapes are further apart than they are, and spare searches."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import kinloop as kl
from kinloop.model import Builder, Geometry
from kinloop.sim.contact.parting import WORTH, find_partings
from kinloop.spatial import Transform, axis_rotation

pytest.importorskip("coal")
from kinloop.sim.contact.shapes.convex import ConvexShape
from kinloop.sim.contact.shapes.convex_pairs import ConvexPairs

WEDGE = 0.1 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0], [1, 0, 1], [0, 1, 1]])
OTHER = 0.03 * np.array(list(product((-0.5, 0.5), repeat=3))) + [0.075, 0.075, 0.05]
"""Half of a cube, cut along a diagonal, and a small cube in the place of the other half."""


def poses(rng, shift):
    turn = axis_rotation(rng.normal(size=3), 0.3 * rng.normal())
    return [
        Transform(np.eye(3), np.zeros(3)),
        Transform(turn, np.array([shift, shift, 0.0]) + 0.02 * rng.normal(size=3)),
    ]


def test_planes_are_never_further_apart_than_the_shapes():
    pairs = ConvexPairs([ConvexShape("mesh", WEDGE), ConvexShape("mesh", OTHER)], [(0, 1)])
    usual = [Transform(np.eye(3), np.zeros(3)), Transform(np.eye(3), np.zeros(3))]
    assert pairs.near(np.array([x.R for x in usual]), np.array([x.p for x in usual]), WORTH).all()
    (plane,) = find_partings(pairs, [usual])[0]
    parted, rng = 0, np.random.default_rng(0)
    for _ in range(200):
        now = poses(rng, rng.uniform(-0.02, 0.02))
        gap = plane.gap(now[plane.own], now[plane.other], pairs.shapes[plane.other])
        R, p = np.array([x.R for x in now]), np.array([x.p for x in now])
        found = [x.gap for x in pairs.contact(0, R, p, 0.2)]
        assert gap <= min(found) + 1e-9
        parted += gap > 0.0
    assert parted > 20
    assert (
        find_partings(pairs, [[usual[0], Transform(np.eye(3), np.array([-0.02, -0.02, 0.0]))]]) == {}
    )  # they touch: no plane parts them


def floating():
    """A wedge and a cube that float beside each other."""
    b = Builder("wedge", gravity=(0.0, 0.0, 0.0))
    for name, vertices in (("wedge", WEDGE), ("cube", OTHER)):
        shape = Geometry("mesh", (1, 1, 1), vertices=vertices)
        b.body(name, mass=1.0, inertia=[0.01] * 3, joint="free", geometry=(shape,))
    return kl.Simulator(b.build(), 1e-3, collisions=True)


def test_wedges_beside_each_other_are_looked_at_only_when_they_come_near(monkeypatch):
    """A plane keeps a pair out of the slots of a step's searches while it parts it; what is found is the same."""
    sim = floating()
    monkeypatch.setattr("kinloop.sim.contact.searched_pairs.find_partings", lambda pairs, usual: {})
    plain, q = floating(), sim.robot.neutral()
    assert sim.contact.search.partings and not plain.contact.search.partings and sim.contact.key != plain.contact.key
    usual = [s.placement for s in sim.contact.scene.shapes]
    nearer = [usual[0], Transform(np.eye(3), usual[1].p - [0.02, 0.02, 0.0])]
    keys = [[x.contact.search.keys(y, [0.0, 0.0], 1e-3)[0] for y in (usual, nearer)] for x in (sim, plain)]
    assert keys[0][0] > 0.0 and keys[0][1] < 0.0 and keys[1][0] < 0.0 and keys[1][1] < 0.0
    v, ends = np.zeros((3, 12)), []
    v[1, 9:11], v[2, 9:11] = -0.2, -0.6
    for x in (sim, plain):
        asked = []
        monkeypatch.setattr(x.contact.search, "points", lambda *a, seen=asked: seen.append(a))
        ends.append(x.rollout(np.tile(q, (3, 1)), v, steps=60))
        np.testing.assert_array_equal(ends[-1].q[2], x.rollout(q, v[2], steps=60).q)
        assert not asked  # steps find all of it by themselves
    np.testing.assert_allclose(ends[0].q, ends[1].q, atol=1e-9)
    np.testing.assert_array_equal(ends[0].q[0], np.tile(q, (60, 1)))
    assert ends[0].q[2, -1, 7] > -0.03  # they met, and did not pass through each other
