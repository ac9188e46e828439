"""Triangles of files and capsules."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kinloop.meshes import mesh_worker
from kinloop.meshes.mesh_files import capsule, read_mesh, read_meshes


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


TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n"


def refused(path, reason):
    """Read a file that is refused, between two that are not; which of these are read."""
    good = [path.parent / "first.obj", path.parent / "last.obj"]
    for other in good:
        other.write_text(TRIANGLE)
    with pytest.warns(RuntimeWarning, match=rf"the mesh .*{path.name}' is not drawn: {reason}"):
        found = read_meshes([str(good[0]), str(path), str(good[1])])
    assert sorted(found) == sorted(map(str, good))


def test_files_beyond_the_limits_are_refused_and_others_read(tmp_path):
    huge = tmp_path / "huge.stl"
    with huge.open("wb") as file:
        file.truncate(2_000_000_000)
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(huge, "it has 2000 MB, and at most 100 are read")
    assert time.perf_counter() - begin < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, "kB"


def test_a_file_that_asks_for_much_memory_is_refused(tmp_path):
    """A polygon of millions of corners becomes as many triangles."""
    bomb = tmp_path / "bomb.obj"
    bomb.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf " + "1 2 3 " * 3_000_000 + "\n")
    refused(bomb, "reading it takes more than 350 MB")
    # a process counts its own memory as its child's until the child has begun: so a small process asks
    program = (
        "import resource, sys, warnings\n"
        "from kinloop.meshes.mesh_files import read_mesh\n"
        "warnings.simplefilter('ignore')\n"
        "assert read_mesh(sys.argv[1]) is None\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    told = subprocess.run([sys.executable, "-c", program, str(bomb)], check=True, capture_output=True, text=True)
    assert 20_000 < int(told.stdout) <= 700_000, f"the worker took {told.stdout} kB"


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.stl")
    refused(tmp_path / "pipe.stl", "it is no file")


def test_a_file_that_ends_the_worker_does_not_end_the_others(tmp_path, monkeypatch):
    """A material is a file too, and this one never ends."""
    os.mkfifo(tmp_path / "pipe.mtl")
    (tmp_path / "slow.obj").write_text("mtllib pipe.mtl\n" + TRIANGLE)
    program = tmp_path / "worker.py"
    text = Path(mesh_worker.__file__).read_text(encoding="utf-8")
    program.write_text(text.replace("SECONDS = 20", "SECONDS = 2"), encoding="utf-8")
    monkeypatch.setattr(mesh_worker, "__file__", str(program))
    refused(tmp_path / "slow.obj", "reading it takes more than 20 s, or ends the reader")


def test_triangles_of_all_meshes_are_bounded(tmp_path, monkeypatch):
    for k in range(3):
        (tmp_path / f"{k}.obj").write_text(TRIANGLE)
    one = 3 * 24 + 24
    monkeypatch.setattr(mesh_worker, "TOTAL", 2 * one)
    with pytest.warns(RuntimeWarning, match=r"2.obj' is not drawn: all meshes together may have"):
        assert len(read_meshes([str(tmp_path / f"{k}.obj") for k in range(3)])) == 2


def test_a_mesh_that_just_fits_is_read_and_a_byte_less_is_too_little(tmp_path):
    (tmp_path / "one.obj").write_text(TRIANGLE)
    path, one = str(tmp_path / "one.obj"), 3 * 24 + 24
    vertices, faces = mesh_worker.read(path, one)
    assert vertices.nbytes + faces.nbytes == one
    assert mesh_worker.read(path, one - 1) == "all meshes together may have 150 MB of triangles"


def test_triangles_are_those_that_the_library_reads(tmp_path):
    import trimesh

    made = trimesh.creation.icosphere(3)
    for ending in ("stl", "obj", "ply", "off", "glb"):
        path = str(tmp_path / f"ball.{ending}")
        made.export(path)
        want = trimesh.load(path, force="mesh")
        vertices, faces = read_mesh(path)
        assert np.array_equal(vertices, want.vertices) and np.array_equal(faces, want.faces), ending
