"""The zoo has the published parameters, bit for bit, in the published order."""

import numpy as np
import pytest

from kinloop import robots
from kinloop.clusters import grow
from kinloop.model import LinearCoupling

from . import published

NAMES = published.names() or [pytest.param("none", marks=pytest.mark.skip("no shared/figures beside the repository"))]


@pytest.fixture(params=NAMES)
def pair(request):
    return published.parameters(request.param), robots.mechanism(request.param)


def test_every_published_robot_is_in_the_zoo():
    assert set(published.names()) <= set(robots.names())


def test_bodies_and_joints_are_bitwise_as_published(pair):
    given, m = pair
    assert [b.name for b in m.bodies] == [b["name"] for b in given["bodies"]]
    assert m.gravity.tolist() == given["gravity"]
    for body, joint, b, j in zip(m.bodies, m.joints, given["bodies"], given["joints"], strict=True):
        assert body.mass == b["mass"]
        assert body.com.tolist() == b["com"]
        assert body.inertia.tolist() == b["inertia_about_com"]
        parent = "world" if j["parent"] == "ground" else j["parent"]
        assert (joint.name, joint.parent, joint.child, joint.type.name) == (j["name"], parent, b["name"], j["type"])
        if j["type"] == "revolute":
            assert list(joint.type.axis) == j["axis"]
        assert joint.placement.p.tolist() == j["placement"]["p"]
        assert joint.placement.R.tolist() == j["placement"]["R"]


def test_gears_and_belts_are_as_published(pair):
    given, m = pair
    expected = {}
    for cluster in given["clusters"]:
        c = cluster["constraint"]
        if c["kind"] == "linear":
            order, independent = c["coordinate_order"], cluster["independent_joints"]
            for j in order:
                if j not in independent:
                    expected[j] = dict(zip(independent, c["G"][order.index(j)], strict=True))
    ours = {}
    for c in m.couplings:
        assert isinstance(c, LinearCoupling)
        for j, row in zip(c.dependent, c.matrix, strict=True):
            ours[j] = dict(zip(c.independent, row.tolist(), strict=True))
    assert ours == expected


def test_contact_points_are_frames(pair):
    given, m = pair
    points = given["contact_points"]
    assert [(f.name, f.body, f.placement.p.tolist()) for f in m.frames] == [
        (p["name"], p["body"], p["offset"]) for p in points
    ]
    assert all(np.array_equal(f.placement.R, np.eye(3)) for f in m.frames)
    assert m.end_effectors == tuple(p["name"] for p in points if p["is_end_effector"])


def test_clusters_and_independent_coordinates_are_as_published(pair):
    """A published cluster of several bodies without a constraint is as many clusters here, in the same order."""
    given, m = pair
    tree = grow(m)
    top = tree.top
    assert tree.nv == given["nv"]
    ours = iter(tree)
    for c in given["clusters"]:
        free = c["constraint"]["kind"] == "none"
        mine = [next(ours) for _ in (c["bodies"] if free else [0])]
        assert [top.bodies[i].name for cluster in mine for i in cluster.bodies] == c["bodies"]
        independent = {top.coordinates[x.dofs[k]].split("[")[0] for x in mine for k in x.chart.independent}
        assert independent == set(c["independent_joints"])
        assert mine[0].v.start == c["velocity_index"]
        assert mine[-1].v.stop == c["velocity_index"] + c["num_velocities"]
    assert next(ours, None) is None


def test_only_impossible_inertias_are_accepted(pair):
    """`accept_inertia` stands exactly where the triangle inequality fails."""
    _, m = pair
    for body in m.bodies:
        low, middle, high = np.linalg.eigvalsh(body.inertia)
        impossible = high > (low + middle) * (1 + 1e-6) + 1e-15
        assert body.accept_inertia == impossible, body.name
