"""Hulls of points and of mesh files, each vertex needed and every point inside."""

import sys

import numpy as np
import pytest
import trimesh

from kinloop.errors import ModelError
from kinloop.meshes.convex_hulls import hull_vertices, hulls_of_files
from kinloop.model import Geometry, convex_hulls

DIRECTIONS = np.random.default_rng(3).normal(size=(500, 3))


def furthest(points):
    """How far points reach in many directions: equal for points of the same hull."""
    return np.max(np.asarray(points) @ DIRECTIONS.T, axis=0)


def test_a_hull_reaches_as_far_as_its_points_and_has_none_too_many():
    points = np.random.default_rng(1).normal(size=(300, 3))
    hull = hull_vertices(np.concatenate([points, points]))
    assert np.array_equal(furthest(hull), furthest(points)) and len(hull) < 80
    corners = np.array(np.meshgrid([0, 1], [0, 2], [0, 3])).reshape(3, -1).T
    assert len(hull_vertices(np.concatenate([corners, points / 99 + (0.5, 1, 1.5)]))) == 8


def test_flat_points_are_kept():
    square = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1], [0.5, 0.5, 1]])
    assert np.array_equal(furthest(hull_vertices(square)), furthest(square))
    assert len(hull_vertices(square[:1])) == 1


def test_hulls_of_files_are_scaled_and_given_ones_taken(tmp_path):
    shape = trimesh.creation.icosphere(subdivisions=2, radius=0.5)
    path = str(tmp_path / "ball.stl")
    shape.export(path)
    shapes = [Geometry("mesh", (1.0, -2.0, 3.0), path=path), Geometry("mesh", (1.0, 1.0, 1.0), vertices=np.eye(3))]
    one, two = convex_hulls(shapes)
    assert np.allclose(furthest(one), furthest(shape.vertices * (1.0, -2.0, 3.0)), atol=1e-7)
    assert two is shapes[1].vertices and not two.flags.writeable


def test_what_has_no_hull_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ModelError, match=r"no mesh file was found for 'a\.stl'"):
        convex_hulls([Geometry("mesh", (1, 1, 1), mesh="a.stl")])
    with pytest.raises(ModelError, match="box 'b' has no convex hull"):
        convex_hulls([Geometry("box", (1, 1, 1), name="b")])
    (tmp_path / "a.stl").write_text("nothing")
    with pytest.raises(ModelError, match="nobody here can read it"):
        hulls_of_files([str(tmp_path / "a.stl")])
    with pytest.raises(ModelError, match="is not there"):
        hulls_of_files([str(tmp_path / "b.stl")])
    with pytest.raises(ModelError, match="has 2 points for a convex hull; give at most 200000, finite ones"):
        hull_vertices(np.array([[0, 0, 0], [np.nan, 0, 0]]))
    with pytest.raises(ModelError, match="has 200001 points"):
        hull_vertices(np.arange(600_003.0).reshape(-1, 3))
    monkeypatch.setitem(sys.modules, "scipy.spatial", None)
    with pytest.raises(ModelError, match=r"pip install 'kinloop\[collision\]'"):
        hull_vertices(np.eye(3))


@pytest.mark.parametrize(
    "fields, reason",
    [
        ({"kind": "mesh", "vertices": [[0, 0]]}, "vertices of shape"),
        ({"kind": "mesh", "vertices": [[0, 0, np.inf]]}, "must be finite"),
        ({"kind": "box", "vertices": np.eye(3)}, "box '' has vertices"),
        ({"kind": "heightfield"}, "has no heights"),
        ({"kind": "heightfield", "heights": [[1, 2]]}, "two or more numbers, two or more of them"),
        ({"kind": "heightfield", "heights": [[1, "x"], [1, 2]]}, "must be numbers"),
    ],
)
def test_tables_of_shapes_are_checked(fields, reason):
    with pytest.raises(ModelError, match=reason):
        Geometry(size=(1.0, 1.0, 1.0), **fields)
