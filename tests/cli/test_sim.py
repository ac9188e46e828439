"""`kinloop sim`: motors, keyframes, slopes, what is written; one line for every mistake."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import kinloop as kl
from kinloop.cli import motor_options as driving
from kinloop.cli import start_options as start
from kinloop.cli.sim_command import make
from kinloop.cli.timed_run import Run
from kinloop.sim import Plane

LEGGED = """<mujoco model="legged">
  <compiler angle="radian"/>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="trunk" pos="0 0 0.5">
      <freejoint name="base"/>
      <geom type="box" size="0.2 0.15 0.05" mass="4"/>
      {legs}
    </body>
  </worldbody>
  <actuator>{actuators}</actuator>
  <keyframe>
    <key name="home" qpos="0 0 0.38 1 0 0 0 0.5 -1 0.5 -1 0.5 -1 0.5 -1"/>
    <key name="sunk" qpos="0 0 0.1 1 0 0 0 0.5 -1 0.5 -1 0.5 -1 0.5 -1"/>
  </keyframe>
</mujoco>"""

LEG = """<body name="thigh{k}" pos="{x} {y} 0">
  <joint name="hip{k}" axis="0 1 0" range="-1 1.5"/><geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.5" contype="0" conaffinity="0"/>
  <body name="shank{k}" pos="0 0 -0.2">
    <joint name="knee{k}" axis="0 1 0" range="-2 -0.2" damping="0.5"/><geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.2"/>
  </body>
</body>"""  # noqa: E501


@pytest.fixture
def legged(tmp_path):
    """A four-legged robot in a file, with servos at its hips and torque motors at its knees, and keyframes."""
    pytest.importorskip("mujoco", reason="MJCF files are read with mujoco, which is not installed")
    places = [(x, y) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    legs = "".join(LEG.format(k=k, x=x, y=y) for k, (x, y) in enumerate(places))
    motors = [
        f'<position joint="hip{k}" kp="80" kv="4" ctrlrange="-0.4 0.4"/><motor joint="knee{k}"/>' for k in range(4)
    ]
    path = tmp_path / "legged.xml"
    path.write_text(LEGGED.format(legs=legs, actuators="".join(motors)))
    return path


def test_servos_hold_a_robot_up(figures, legged, tmp_path):
    lines = figures(legged, "--keyframe", "home", "--motors", "hold", "--time", "0.5", "--save", tmp_path / "run.npz")
    assert lines["motors"][0] == "8"
    assert lines["motors"][1].startswith("position servos that hold the start; kp ")
    q = kl.sim.load(tmp_path / "run.npz")["q"]
    np.testing.assert_allclose(q[-1, 7:], np.tile([0.5, -1.0], 4), atol=0.05)
    assert q[-1, 2] > 0.3
    fallen = figures(legged, "--keyframe", "home", "--time", "0.5", "--save", tmp_path / "fallen.npz")
    assert fallen["motors"] == ["0", "none: joints move freely"]
    assert kl.sim.load(tmp_path / "fallen.npz")["q"][-1, 2] < 0.3


def test_gains_are_those_given(figures, legged):
    start = [legged, "--keyframe", "home", "--motors", "hold", "--time", "0.01"]
    words = figures(*start, "--kp", "70", "--kd", "2.5")["motors"][1]
    assert words == "position servos that hold the start; kp 70, kd 2.5"
    assert figures(*start, "--kp", "70")["motors"][1].startswith("position servos that hold the start; kp 70, kd ")


def test_motors_of_the_file_are_used(figures, legged):
    words = figures(legged, "--keyframe", "home", "--motors", "model", "--time", "0.01")["motors"]
    assert words[0] == "8"
    assert words[1] == "4 position servos that hold the start; 4 torque motors told nothing; kp 80, kd 4"


def test_targets_of_the_file_s_servos_keep_to_their_range(legged):
    robot = kl.load(legged)
    q = start.at_keyframe(robot, "home")
    told = driving.driving(robot, q, "model").controls
    np.testing.assert_allclose(told, [0.4, 0.0] * 4)
    np.testing.assert_allclose(driving.driving(robot, q, "hold").controls, [0.5, -1.0] * 4)


def test_a_keyframe_keeps_its_height_unless_it_is_below_the_ground(legged):
    robot = kl.load(legged)
    assert start.configuration(robot, "home", None)[2] == 0.38
    lifted = start.configuration(robot, "sunk", None)
    assert start.lowest(robot, lifted) == pytest.approx(0.0, abs=1e-12)
    assert start.lowest(robot, start.configuration(robot, "home", 0.25)) == pytest.approx(0.25, abs=1e-12)


def test_joints_that_start_beyond_their_stops_are_told(run, legged):
    status, _, err = run("sim", legged, "--time", "0.01")
    assert status == 0
    assert err.startswith(
        "warning: at neutral joints are beyond their stops: knee0 at 0 (stops -2 and -0.2) and 3 more;"
    )
    assert err.rstrip().endswith("start from --keyframe home")
    assert err.count("\n") == 1


def test_held_loops_stay_where_they_are(figures, tmp_path):
    lines = figures("tello", "--motors", "hold", "--no-ground", "--time", "0.2", "--save", tmp_path / "run.npz")
    assert lines["motors"][0] == "10"
    assert float(lines["loops open by at most"][0]) < 1e-12
    q = kl.sim.load(tmp_path / "run.npz")["q"]
    np.testing.assert_allclose(q[-1, 7:], kl.robots.load("tello").neutral()[7:], atol=0.02)


def test_gains_of_a_fixed_robot_come_from_the_mass_matrix():
    robot = kl.robots.load("double_pendulum")
    q = robot.neutral()
    servos = driving.holding(robot, q, None, None)
    wanted = driving.FREQUENCY**2 * np.diag(robot.mass_matrix(q))
    np.testing.assert_allclose([m.kp for m in servos], wanted, rtol=5e-3)


def test_gains_cannot_be_found_where_loops_do_not_follow():
    """A slider at its dead centre does not turn its crank."""
    robot = kl.robots.load("slider_crank")
    robot, q = robot.with_independent(["slider_joint"]), np.zeros(robot.nq)
    with pytest.raises(kl.KinloopError, match="do not determine the motion; start elsewhere, or give --kp and --kd"):
        driving.holding(robot, q, 1.0, None)
    assert driving.holding(robot, q, 1.0, 2.0)[0].kp == 1.0


def test_a_standing_leg_moves_the_robot_and_not_itself():
    """Inertia seen by a hip: at least what the base resists with when the foot is held."""
    robot = kl.robots.load("mini_cheetah")
    q = robot.neutral()
    names = driving.held_coordinates(robot)
    inertia = driving.moved_inertias(robot, q, names)
    own = np.array([robot.mass_matrix(q)[k, k] for k in (robot.independent_names.index(n) for n in names)])
    assert len(names) == 12 and not any("[" in n for n in names)
    assert np.all(inertia >= own * (1 - 1e-9))
    assert np.max(inertia / own) > 3


def test_a_held_robot_stands_on_a_slope(figures, tmp_path):
    lines = figures(
        "mini_cheetah", "--motors", "hold", "--slope", "10", "--height", "0.01", "--time", "0.6",
        "--save", tmp_path / "run.npz", "--html", tmp_path / "run.html",
    )  # fmt: skip
    last = float(lines["contact force, most and last"][0].split(", ")[1])
    assert last == pytest.approx(87.4, abs=2.0)
    data = kl.sim.load(tmp_path / "run.npz")
    assert np.min(data["gap"]) > -1e-4
    w, _, y, _ = data["q"][-1, 3:7]
    assert np.degrees(2 * np.arctan2(y, w)) == pytest.approx(-10.0, abs=2.0)
    assert (tmp_path / "run.html").stat().st_size > 500_000


def test_a_robot_starts_along_the_slope():
    robot = kl.robots.load("mini_cheetah")
    ground = Plane(normal=(-0.2, 0.3, 1.0))
    q = start.configuration(robot, None, 0.05, ground)
    assert start.lowest(robot, q, ground) == pytest.approx(0.05, abs=1e-9)
    R = robot.frame_pose(q, robot.body_names[0])[:3, :3]
    np.testing.assert_allclose(R[:, 2], ground.normal, atol=1e-12)


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
    assert make(b.build(), 1e-3, None, None).integrator == "semi_implicit"
    assert make(kl.robots.load("double_pendulum"), 1e-3, None, None).integrator == "rk4"


def test_figures_are_of_the_time_before_a_row_stopped():
    rollout = SimpleNamespace(t=np.array([0.1, 0.2, 0.3]), stopped=np.array([0.25, np.inf]))
    assert Run(None, rollout, 0, 0, 0, 2).alive.tolist() == [True, True, False]
    rollout.stopped[0] = 0.01
    assert Run(None, rollout, 0, 0, 0, 2).alive.tolist() == [False, False, False]


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


def test_mistakes_about_the_file_are_one_line(run, legged):
    for args, message in (
        (["--keyframe", "hom"], "error: no keyframe named 'hom'; did you mean 'home'?"),
        (["--keyframe", "jump"], "error: no keyframe named 'jump'; known: 'home', 'sunk'"),
        (["--keyframe", "home", "--fixed"], "error: keyframe 'home' has 15 positions and 'legged' 8; remove --fixed"),
    ):
        status, _, err = run("sim", legged, *args)
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
