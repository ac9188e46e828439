"""The command line: tidy tables out, one clean line for every mistake."""

import re
import sys

import pytest

import kinloop as kl
from kinloop import cli
from kinloop.cli.info import _axis


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `kinloop ARGS`; returns exit status, output, errors."""

    def call(*args):
        monkeypatch.setattr(sys, "argv", ["kinloop", *args])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err

    return call


def rows(text):
    """Words of every line of a table."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if line.strip()]


def test_info_prints_sizes_bodies_loops_and_clusters(run):
    status, out, err = run("info", "tello")
    assert (status, err) == (0, "")
    lines = rows(out)
    assert ["nv", "16", "independent velocities, v"] in lines
    assert ["mass", "10.4494", "kg, all bodies"] in lines
    shin = "left-thigh-to-shin"
    assert ["9", "left-shin", "0.3072", shin, "revolute", "y", "left-thigh"] in lines
    assert "mass [kg]" in out
    assert "left-hip-differential" in out
    gear = ["1", "left-hip-clamp, left-hip-clamp-rotor", "0", "torso", "torso-to-left-hip-clamp", "user"]
    assert gear in lines


def test_info_counts_redundant_rows(run):
    _, out, _ = run("info", "planar_leg_linkage")
    assert ["ankle_pin", "revolute joint", "foot - shank_support", "5", "2", "3", "0"] in rows(out)


def test_info_tells_who_chose_the_coordinates(run):
    _, out, _ = run("info", "bricard")
    cluster = next(line for line in rows(out) if line[0] == "0" and "bar1, bar2" in line[1])
    assert cluster[-1] == "kinloop"
    _, out, _ = run("info", "double_pendulum")
    assert "nothing to choose" in out


def test_info_takes_options(run):
    status, out, _ = run("info", "geared_chain", "--option", "links=3", "-o", "ratio=7.5")
    assert status == 0
    assert ["nv", "3", "independent velocities, v"] in rows(out)
    assert "gear of 7.5" in out


@pytest.mark.parametrize("name", kl.robots.names())
def test_info_prints_every_robot_of_the_zoo(run, name):
    short = ["-o", "links=2"] if name.endswith("_chain") and name != "revolute_rotor_chain" else []
    status, out, err = run("info", name, *short)
    assert (status, err) == (0, "")
    assert out.startswith(name)


def test_robots_lists_the_zoo(run):
    status, out, _ = run("robots")
    assert status == 0
    assert {line[0] for line in rows(out)} >= set(kl.robots.names())


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


def test_info_reads_model_files(run, tmp_path):
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


def test_base_of_a_zoo_robot_is_not_for_choosing(run):
    status, _, err = run("info", "tello", "--fixed")
    assert status == 1
    assert err.startswith("error: --floating and --fixed are for model files")


def test_cache_is_shown_and_cleared(run, monkeypatch, tmp_path):
    monkeypatch.setenv("KINLOOP_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "250")
    status, out, _ = run("cache")
    assert status == 0
    assert ["kernels", "0"] in rows(out)
    assert tmp_path.name in out
    status, out, _ = run("cache", "clear")
    assert (status, out) == (0, "removed 0 kernels\n")


def test_axes_are_printed_by_name_where_they_have_one():
    b = kl.Builder()
    for name, axis in (("a", "-y"), ("b", (0.6, 0.0, 0.8))):
        b.body(name, mass=1, inertia=(1, 1, 1), axis=axis)
    joints = b.mechanism().joints
    assert [_axis(j) for j in joints] == ["-y", "0.6 0 0.8"]
