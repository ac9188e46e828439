"""The robot a command is about: a name of the zoo or a model file, with options."""

import pytest

from kinloop.cli.robot_argument import find


def test_info_takes_options(run, rows):
    status, out, _ = run("info", "geared_chain", "--option", "links=3", "-o", "ratio=7.5")
    assert status == 0
    assert ["nv", "3", "independent velocities, v"] in rows(out)
    assert "gear of 7.5" in out


@pytest.mark.parametrize(
    "args, message",
    [
        (["info", "telo"], "error: no robot named 'telo'; did you mean 'tello'"),
        (["info", "missing.urdf"], "error: there is no file 'missing.urdf'; give an existing model file"),
        (["info", "geared_chain", "-o", "links"], "error: option 'links' is not of the form name=value, e.g. links=24"),
        (["info", "geared_chain", "-o", "links=0"], "error: links must be a whole number of at least 1, received 0"),
        (["info", "four_bar", "-o", "links=2"], "error: robot 'four_bar' has no option 'links'; it takes none"),
    ],
)
def test_mistakes_are_one_line_and_status_1(run, args, message):
    status, out, err = run(*args)
    assert status == 1
    assert out == ""
    assert err.startswith(message)
    assert err.count("\n") == 1


MODEL = """<robot name="two">
  <link name="base"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
</robot>"""  # noqa: E501


def test_info_reads_model_files(run, tmp_path, rows):
    path = tmp_path / "two.urdf"
    path.write_text(MODEL)
    status, out, _ = run("info", str(path))
    assert status == 0
    assert ["nv", "1", "independent velocities, v"] in rows(out)
    status, out, _ = run("info", str(path), "--floating")
    assert status == 0
    assert ["nv", "7", "independent velocities, v"] in rows(out)


def test_info_says_what_is_wrong_with_a_file(run, tmp_path):
    path = tmp_path / "broken.urdf"
    path.write_text("<robot")
    status, out, err = run("info", str(path))
    assert (status, out) == (1, "")
    assert err.startswith("error: ")
    assert "broken.urdf" in err
    path.write_text(MODEL)
    status, _, err = run("info", str(path), "-o", "links=2")
    assert status == 1
    assert "is a file and takes no options; remove links" in err


def test_base_of_a_zoo_robot_is_for_choosing(run):
    status, out, _ = run("info", "tello", "--fixed")
    assert status == 0 and "torso-to-ground" not in out.split("independent")[-1]
    status, _, err = run("info", "four_bar", "--floating")
    assert status == 1 and "stands on the world" in err


def test_packages_of_a_model_file_are_declared_on_the_command_line(run, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes/m.stl").write_text("solid")
    mesh = '<visual><geometry><mesh filename="package://look/m.stl"/></geometry></visual><inertial>'
    path = tmp_path / "model/two.urdf"
    path.write_text(MODEL.replace("<inertial>", mesh, 1))
    for given, found in (([], False), ([f"look={tmp_path / 'meshes'}"], True), ([str(tmp_path)], False)):
        assert run("info", str(path), *(word for text in given for word in ("--packages", text)))[0] == 0
        assert (find(str(path), packages=given).mechanism.bodies[0].geometry[0].path is not None) == found
    for args, message in (
        (["info", "four_bar", "--packages", "."], "error: --packages is for model files"),
        (["info", str(path), "--packages", ".", "--packages", "a=b"], "error: --packages . a=b mixes directories"),
        (["info", str(path), "--packages", "a=b"], "error: packages: "),
    ):
        status, _, err = run(*args)
        assert status == 1 and err.startswith(message) and err.count("\n") == 1
