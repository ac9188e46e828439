"""Robots of files that do not come with kinloop."""

import pytest

from kinloop.bench import model_files
from kinloop.bench.model_files import MENAGERIE, TREES, available_trees, menagerie_robots, tree_robot, wheel_file
from kinloop.errors import ModelError


def test_without_the_wheel_there_are_no_trees(monkeypatch):
    def absent(name):
        raise model_files.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(model_files.importlib.metadata, "distribution", absent)
    assert wheel_file("go1.urdf") is None
    assert available_trees() == []
    with pytest.raises(ModelError, match=r"Go1 needs the file 'go1.urdf' of the wheel: pip install"):
        tree_robot("Go1")


@pytest.mark.skipif(len(available_trees()) < len(TREES), reason="pip install 'kinloop[peers]'")
def test_trees_have_no_closures():
    robot = tree_robot("Panda")
    assert not robot.mechanism.closures
    assert robot.nv == robot.n_spanning


def test_the_menagerie_is_where_it_is_said_to_be(tmp_path):
    with pytest.raises(ModelError, match="give the folder of the MuJoCo Menagerie"):
        menagerie_robots(tmp_path)
    for path in MENAGERIE.values():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("<mujoco/>")
    assert list(menagerie_robots(tmp_path)) == list(MENAGERIE)
