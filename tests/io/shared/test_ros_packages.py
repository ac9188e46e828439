"""Packages of ROS are found by their package.xml: above a model, and below what the user declares."""

import pytest
from io_samples import bar, write

from kinloop.errors import ModelError
from kinloop.io import load
from kinloop.io.shared import ros_packages
from kinloop.io.shared.paths import Roots
from kinloop.io.shared.ros_packages import own_package, packages_below

MESHES = "<mujoco><compiler meshdir='../meshes'/><asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/>{}</asset><worldbody><body name='b'><geom type='mesh' mesh='m'/></body></worldbody></mujoco>"  # noqa: E501


@pytest.fixture
def workspace(tmp_path):
    """src/arm (package robot_arm) with urdf/ and meshes/, and src/group/hand beside it."""
    for folder, name in (("src/arm", "robot_arm"), ("src/group/hand", "robot_hand")):
        (tmp_path / folder / "meshes").mkdir(parents=True)
        (tmp_path / folder / "meshes/a.stl").write_text("solid\nendsolid")
        (tmp_path / folder / "package.xml").write_text(f"<package><name> {name} </name></package>")
    (tmp_path / "src/arm/urdf").mkdir()
    (tmp_path / "outside.stl").write_text("solid")
    return tmp_path.resolve()


def test_a_model_finds_the_files_of_its_own_package(workspace):
    here = Roots(workspace / "src/arm/urdf")
    mesh = workspace / "src/arm/meshes/a.stl"
    for reference in ("../meshes/a.stl", "package://robot_arm/meshes/a.stl", "model://robot_arm/meshes/a.stl"):
        assert here.find(reference) == mesh
    assert here.find("../../../outside.stl") is None and here.escapes("../../../outside.stl")
    assert here.find("package://robot_hand/meshes/a.stl") is None
    (workspace / "src/arm/meshes/b.stl").symlink_to(workspace / "outside.stl")
    assert here.find("../meshes/b.stl") is None


def test_packages_below_a_declared_directory_are_found_by_name(workspace):
    here = Roots(workspace / "src/arm/urdf", [workspace / "src"])
    assert here.find("package://robot_hand/meshes/a.stl") == workspace / "src/group/hand/meshes/a.stl"
    assert packages_below([workspace]) == {
        "robot_arm": workspace / "src/arm",
        "robot_hand": workspace / "src/group/hand",
    }


def test_the_search_has_bounds(workspace, monkeypatch):
    (workspace / "src/arm/urdf/loop").symlink_to(workspace / "src")
    assert len(packages_below([workspace])) == 2
    monkeypatch.setattr(ros_packages, "FOLDERS", 2)
    assert packages_below([workspace]) == {}
    deep = workspace / "src/arm/1/2/3/4/5/6"
    deep.mkdir(parents=True)
    assert own_package(deep.parent.parent) is not None and own_package(deep / "7") is None
    monkeypatch.setenv("HOME", str(workspace / "src/arm"))
    assert own_package(workspace / "src/arm/urdf") is None, "a home is no package"


def test_a_package_without_a_name_has_that_of_its_folder(workspace):
    (workspace / "src/arm/package.xml").write_bytes(b"\xff" * 200_000)
    assert own_package(workspace / "src/arm") == ("arm", workspace / "src/arm")


def test_urdf_and_mjcf_read_from_a_directory_one_level_up(workspace):
    link = bar("a").replace('<box size="0.1 0.02 0.02"/>', "<mesh filename='package://robot_arm/meshes/a.stl'/>")
    m = load(write(workspace / "src/arm/urdf", f"<robot name='r'>{link}</robot>"))
    assert m.bodies[0].geometry[0].path == str(workspace / "src/arm/meshes/a.stl") and not m.warnings
    cube = "<mesh name='c' file='cube.obj'/>"
    points = [f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    faces = ["f 1 2 3", "f 4 2 3", "f 5 6 7", "f 8 6 7", "f 1 2 5", "f 6 2 5"]
    (workspace / "src/arm/meshes/cube.obj").write_text("\n".join([*points, *faces]))
    text = MESHES.format(cube)
    assert load(write(workspace / "src/arm/urdf", text)).bodies
    (workspace / "src/arm/package.xml").unlink()
    with pytest.raises(ModelError, match=r"lies outside .*; declare packages=\['.*src/arm/meshes'\]"):
        load(workspace / "src/arm/urdf/model.xml")
    assert load(workspace / "src/arm/urdf/model.xml", packages=[workspace / "src/arm/meshes"]).bodies
