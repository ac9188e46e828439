"""Files that a model refers to are found inside its roots, by every way of naming them, and nowhere else."""

import os

import pytest

from kinloop.errors import ModelError
from kinloop.io.shared.paths import Roots, stem


@pytest.fixture
def folders(tmp_path):
    for name in ("model/meshes", "other/meshes", "outside"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.stl").write_text("solid")
    return tmp_path


def test_every_way_of_naming_a_file_finds_it(folders):
    here = Roots(folders / "model", {"robot": folders / "other"})
    mine, theirs = folders / "model/meshes/a.stl", folders / "other/meshes/a.stl"
    for reference in (
        "meshes/a.stl",
        "package://model/meshes/a.stl",
        f"file://{mine}",
        str(mine),
        "package://meshes/a.stl",
    ):
        assert here.find(reference) == mine.resolve(), reference
    assert here.find("package://robot/meshes/a.stl") == here.find("model://robot/meshes/a.stl") == theirs.resolve()
    assert Roots(folders / "model", [folders / "other"]).find("package://other/meshes/a.stl") == theirs.resolve()


@pytest.mark.parametrize(
    "reference", ["../outside/a.stl", "package://model/../../outside/a.stl", "/etc/passwd", "a\0b"]
)
def test_nothing_outside_the_roots_is_found(folders, reference):
    here = Roots(folders / "model")
    assert here.find(reference) is None and here.escapes(reference)


def test_links_out_of_the_roots_count_as_where_they_lead(folders):
    (folders / "model/link.stl").symlink_to(folders / "outside/a.stl")
    assert Roots(folders / "model").find("link.stl") is None
    assert Roots(folders / "model", [folders / "outside"]).find("link.stl") is not None


def test_missing_files_are_missing_and_not_outside(folders):
    here = Roots(folders / "model")
    assert here.find("meshes/b.stl") is None and not here.escapes("meshes/b.stl")
    assert here.find("http://x/a.stl") is None


def test_declared_packages_must_exist(folders):
    with pytest.raises(ModelError, match="is not a directory; declare directories that exist"):
        Roots(folders / "model", [folders / "nowhere"])


def test_the_stem_of_a_reference():
    assert stem("package://x/meshes/a.b.stl") == "a.b" and stem("c:\\meshes\\a.stl") == "a"


def test_of_a_folder_that_is_not_there_no_file_is_looked_for(folders, monkeypatch):
    looked = []
    plain = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path, **x: (looked.append(str(path)), plain(path, **x))[1])
    here = Roots(folders / "model")
    for k in range(20):
        assert here.find(f"nowhere/{k}.stl") is None and not here.escapes(f"nowhere/{k}.stl")
        assert here.find(f"meshes/{k}.stl") is None
    assert sum("nowhere/" in path for path in looked) == 0
    assert sum("meshes/" in path for path in looked) == 20
    (folders / "model/gone").symlink_to(folders / "never", target_is_directory=True)  # a link that leads nowhere
    assert here.find("gone/a.stl") is None and here.escapes("gone/a.stl")
