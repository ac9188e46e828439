"""The command line: tidy tables out, one clean line for every mistake."""

import re

import numpy as np
import pytest

import kinloop as kl
from kinloop.cli.info_command import _axis
from kinloop.cli.view_command import tour


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
    assert ["ankle_pin", "revolute joint", "foot - shank_support", "5", "2", "3", "0", "0"] in rows(out)


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


def test_sim_prints_figures_and_writes_arrays_and_a_page(run, tmp_path):
    status, out, err = run("sim", "four_bar", "--time", "0.1", "--out", str(tmp_path))
    assert (status, err) == (0, "")
    lines = {line[0]: line[1:] for line in rows(out)}
    assert lines["rows"][0] == "1"
    assert float(lines["rate"][0].replace(",", "")) > 0
    assert float(lines["loops open by at most"][0]) < 1e-12
    with np.load(tmp_path / "sim.npz") as found:
        assert found["q"].shape == (10, 3)
        assert found["t"][-1] == pytest.approx(0.1)
    assert "four_bar" in (tmp_path / "sim.html").read_text(encoding="utf-8")


def test_sim_of_a_batch_starts_every_row_differently(run, tmp_path):
    path = tmp_path / "rows.npz"
    status, out, _ = run(
        "sim", "double_pendulum", "--time", "0.02", "--batch", "3", "--seed", "1", "--npz", str(path), "--threads", "1",
        "--integrator", "semi_implicit", "--dt", "0.002",
    )  # fmt: skip
    assert status == 0
    with np.load(path) as found:
        assert found["q"].shape == (3, 2, 2)
        assert len(np.unique(found["q"][:, -1, 0])) == 3
    assert ["rows", "3", "simulated side by side"] in rows(out)


def test_demo_lands_and_writes_a_page_and_a_plot(run, tmp_path):
    status, out, err = run("demo", "--time", "0.5", "--batch", "4", "--out", str(tmp_path / "demo"))
    assert (status, err) == (0, "")
    lines = {line[0]: line[1:] for line in rows(out)}
    assert float(lines["loops open by at most"][0]) < 1e-12
    assert float(lines["deepest penetration"][0]) < 0.1
    start, end = (float(x) for x in lines["energy at start, at end"][0].split(", "))
    assert end < start
    assert "4 land on their feet" in out
    assert (tmp_path / "demo" / "tello.html").stat().st_size > 500_000
    assert (tmp_path / "demo" / "tello.png").read_bytes().startswith(b"\x89PNG")


def test_view_writes_a_page(run, tmp_path):
    status, out, _ = run("view", "bennett", "--html", str(tmp_path / "b.html"), "--seconds", "0.2")
    assert status == 0
    assert out.strip().endswith("b.html")
    assert "__VISER_EMBED_DATA__" in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_view_serves_until_interrupted(run, monkeypatch):
    from kinloop.viewer import Viewer

    monkeypatch.setattr(Viewer, "wait", Viewer.stop)
    status, out, _ = run("view", "four_bar", "--port", "0")
    assert status == 0
    assert re.match(r"four_bar is at http://127.0.0.1:\d+", out)


def test_tour_moves_every_joint_and_keeps_loops_closed():
    robot = kl.robots.load("tello")
    times, Q = tour(robot, 0.5)
    assert len(times) == len(Q) == 20
    assert np.max(robot.loop_error(Q)) < 1e-8
    moved = np.ptp(Q, axis=0)
    assert np.all(moved[:7] == 0)
    assert np.all(moved[7:] > 1e-3)


@pytest.mark.parametrize(
    "args, message",
    [
        (["sim", "four_bar", "--time", "-1"], "error: --time must be positive and --batch at least 1, received -1"),
        (["sim", "four_bar", "--dt", "0"], "error: dt must be a positive number of seconds, received 0.0"),
        (["sim", "four_bar", "--integrator", "euler"], "error: integrator 'euler' is not one of"),
        (["sim", "four_bar", "--ground"], "error: robot 'four_bar' has neither collision shapes nor named frames"),
        (["sim", "tello", "--integrator", "rk4"], "error: contact needs integrator='semi_implicit', received 'rk4'"),
        (["sim", "four_bar", "--time", "0.01", "--html", "x.txt"], "error: cannot write a recording to 'x.txt'"),
        (["sim", "four_bar", "--npz", "x.csv"], "error: cannot save to 'x.csv'; give a name that ends in .npz"),
        (["view", "four_bar", "--html", "x.txt"], "error: cannot write a recording to 'x.txt'"),
        (["view", "telo"], "error: no robot named 'telo'; did you mean 'tello'"),
    ],
)
def test_mistakes_in_simulating_and_viewing_are_one_line(run, args, message):
    status, _, err = run(*args)
    assert status == 1
    assert err.startswith(message)
    assert err.count("\n") == 1
