"""Triangles of files and capsules."""

import numpy as np

from kinloop.viewer.mesh_files import capsule, read_mesh


def test_what_cannot_be_read_is_no_mesh(tmp_path):
    (tmp_path / "broken.stl").write_bytes(b"no mesh at all")
    assert read_mesh(str(tmp_path / "broken.stl")) is None
    assert read_mesh(str(tmp_path / "missing.stl")) is None
    assert read_mesh(None) is None


def test_triangles_are_those_of_the_file(tmp_path):
    (tmp_path / "one.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n")
    vertices, faces = read_mesh(str(tmp_path / "one.obj"))
    assert faces.shape == (1, 3)
    np.testing.assert_allclose(np.ptp(vertices, axis=0), (1, 2, 0))


def test_a_capsule_lies_along_z_about_its_centre():
    vertices, _ = capsule(0.1, 0.5)
    np.testing.assert_allclose(vertices.max(axis=0), (0.1, 0.1, 0.35), atol=1e-2)
    np.testing.assert_allclose(vertices.min(axis=0), -vertices.max(axis=0), atol=1e-9)
