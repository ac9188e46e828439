"""`kinloop sim`: what is run, what is written; one line for every mistake."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import kinloop as kl
from kinloop.cli import sim_command
from kinloop.cli.sim_command import GroundOptions, OutputOptions, StepOptions, make_simulator
from kinloop.errors import MethodError
from kinloop.sim import Motor


def test_sim_prints_figures_and_writes_arrays_and_a_page(run, tmp_path, rows):
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


def test_all_shapes_of_a_scene_touch(summary, tmp_path):
    scene = tmp_path / "scene.xml"
    box = '<geom type="box" size=".3 .3 .1" pos="0 0 .1"/>'
    ball = '<body pos="0 0 .35"><freejoint/><geom type="sphere" size=".1" mass="2"/></body>'
    scene.write_text(f'<mujoco><worldbody><geom type="plane" size="0 0 1"/>{box}{ball}</worldbody></mujoco>')
    lines = summary(scene, "--collisions", "--height", "0.25", "--time", "0.5", "--out", tmp_path)
    last = float(lines["contact force, most and last"][0].split(", ")[1])
    assert last == pytest.approx(2 * 9.81, abs=0.1)
    found = kl.sim.load(tmp_path / "sim.npz")
    assert found.q[-1, 2] == pytest.approx(0.3, abs=1e-5)
    page = (tmp_path / "sim.html").read_text(encoding="utf-8")
    assert "contact force at most" in page


def test_sim_of_a_batch_starts_every_row_differently(run, tmp_path, rows):
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


def test_a_held_robot_stands_on_a_slope(summary, tmp_path):
    lines = summary(
        "mini_cheetah", "--motors", "hold", "--slope", "10", "--height", "0.01", "--time", "0.6",
        "--save", tmp_path / "run.npz", "--html", tmp_path / "run.html",
    )  # fmt: skip
    last = float(lines["contact force, most and last"][0].split(", ")[1])
    assert last == pytest.approx(87.4, abs=2.0)
    most = float(lines["contact force, most and last"][0].split(", ")[0])
    data = kl.sim.load(tmp_path / "run.npz")
    shown = np.linalg.norm(data["contact_force"].sum(axis=1), axis=1).max()
    assert most == pytest.approx(data.peaks["contact_force"][0], abs=0.06)
    assert most > 2.0 * shown, "the blow of the landing falls between two recorded states"
    assert "contact force at most" in (tmp_path / "run.html").read_text(encoding="utf-8")
    assert np.min(data["gap"]) > -1e-4
    w, _, y, _ = data["q"][-1, 3:7]
    assert np.degrees(2 * np.arctan2(y, w)) == pytest.approx(-10.0, abs=2.0)
    assert (tmp_path / "run.html").stat().st_size > 500_000


def test_rows_that_stop_say_why(run, monkeypatch):
    monkeypatch.setattr(sim_command, "motor_setup", pushing)
    status, out, _ = run("sim", "double_pendulum", "--time", "0.05", "--batch", "2", "--integrator", "semi_implicit")
    assert status == 0 and "rows, from 0 s on: 2 diverged" in out
    assert "row 1 stopped at t = 0 s, in step 1: " in out and "look for forces that are too large" in out


def pushing(robot, q, options, keyframe):
    """Motors that tear the robot to pieces."""
    return SimpleNamespace(motors=[Motor(robot.independent_names[0])], controls=np.array([1e13]), words="torn")


def test_everything_is_written(run, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: nothing to write Parquet with")
    status, out, _ = run(
        "sim", "four_bar", "--time", "0.1", "--motors", "hold", "--batch", "2", "--plot", tmp_path / "a" / "p.svg",
        "--save", tmp_path / "b" / "r.parquet", "--out", tmp_path / "c",
    )  # fmt: skip
    assert status == 0
    assert [line.split("/")[-1] for line in out.splitlines() if line.startswith("wrote")] == [
        "r.parquet",
        "p.svg",
        "sim.html",
    ]
    assert kl.sim.load(tmp_path / "b" / "r.parquet")["q"].shape == (2, 10, 3)
    assert "Independent coordinates" in (tmp_path / "a" / "p.svg").read_text(encoding="utf-8")


def test_stops_are_felt_without_ground():
    """A robot with joint stops is not integrated as if it had none."""
    b = kl.Builder("stopped")
    b.body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1), axis="y", lower=-0.1, upper=0.1)
    assert make_simulator(b.build(), 1e-3, None, None).integrator == "semi_implicit"
    assert make_simulator(kl.robots.load("double_pendulum"), 1e-3, None, None).integrator == "rk4"


@pytest.mark.parametrize(
    "args, message",
    [
        (["sim", "four_bar", "--time", "-1"], "error: --time must be positive and --batch at least 1, received -1"),
        (["sim", "four_bar", "--time", "inf"], "error: --time must be finite, received inf; give a number of seconds"),
        (["sim", "four_bar", "--time", "nan"], "error: --time must be positive and --batch at least 1, received nan"),
        (
            ["sim", "four_bar", "--batch", "0"],
            "error: --time must be positive and --batch at least 1, received 5 and 0",
        ),
        (["sim", "four_bar", "--threads", "0"], "error: --threads must be at least 1, received 0"),
        (["sim", "four_bar", "--seed", "-1"], "error: --seed must not be below zero, received -1"),
        (["sim", "tello", "--height", "nan"], "error: --height must be a finite number of metres, received nan"),
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


@pytest.mark.parametrize(
    "args, message",
    [
        (["four_bar", "--motors", "servo"], "error: --motors 'servo' is not one of torque, model, hold"),
        (["four_bar", "--kp", "3"], "error: --kp and --kd are for --motors hold, received --motors torque"),
        (["four_bar", "--motors", "hold", "--kd", "-1"], "error: --kd must be a number not below zero, received -1"),
        (["four_bar", "--motors", "model"], "error: the model of 'four_bar' describes no motors; use --motors hold"),
        (["four_bar", "--keyframe", "home"], "error: the model of 'four_bar' has no keyframes; remove --keyframe"),
        (["four_bar", "--height", "1"], "error: --height is for robots with a free base, and 'four_bar' has none"),
        (["tello", "--slope", "5", "--no-ground"], "error: --slope needs ground; remove --no-ground or --slope"),
        (["tello", "--slope", "95"], "error: --slope must be between -90 and 90 degrees, received 95"),
        (["four_bar", "--plot", "x.csv"], "error: cannot write a plot to 'x.csv'; give a name that ends in .png"),
    ],
)
def test_mistakes_are_one_line(run, args, message):
    status, _, err = run("sim", *args)
    assert status == 1
    assert err.startswith(message)
    assert err.count("\n") == 1


def test_what_cannot_be_written_is_one_line(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    status, _, err = run("sim", "four_bar", "--time", "0.01", "--save", tmp_path / "file" / "run.npz")
    assert status == 1
    assert err.startswith("error: cannot ") and "in the way" not in err
    assert err.count("\n") == 1


def test_missing_pyarrow_is_told_before_the_work(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    status, _, err = run("sim", "four_bar", "--time", "1e9", "--save", "x.parquet")
    assert status == 1
    assert err.startswith("error: .parquet files need pyarrow; pip install 'kinloop[parquet]', or use .npz")


@pytest.mark.parametrize(
    "module, option, message",
    [("matplotlib", "x.png", "the plot needs matplotlib"), ("viser", "x.html", "the viewer needs viser")],
)
def test_what_draws_is_missed_before_the_work(run, monkeypatch, module, option, message):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(sim_command, "find", None)
    status, _, err = run("sim", "four_bar", "--plot" if option.endswith("png") else "--html", option)
    assert (status, err) == (1, f"error: {message}; pip install {module}\n")


def test_a_slope_is_a_tilted_plane():
    assert GroundOptions().plane() is None and GroundOptions(False).plane() is None
    assert GroundOptions(True).plane().normal == (0.0, 0.0, 1.0)
    plane = GroundOptions(slope=30.0).plane()
    assert plane.heights(1.0, 0.0) == pytest.approx(np.tan(np.radians(30.0)))


def test_a_folder_stands_for_three_files(tmp_path):
    files = OutputOptions(tmp_path, plot=tmp_path / "mine.svg").files()
    assert (files.html, files.plot, files.save) == tuple(tmp_path / n for n in ("sim.html", "mine.svg", "sim.npz"))
    assert OutputOptions().files() == OutputOptions()


@pytest.mark.parametrize("wrong", [{"time": 0.0}, {"time": float("nan")}, {"batch": 0}])
def test_a_run_needs_time_and_robots(wrong):
    with pytest.raises(MethodError, match="--time must be positive and --batch at least 1"):
        StepOptions(**wrong).check()
