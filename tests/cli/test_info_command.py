"""`kinloop info` and `kinloop robots`: what a robot is made of."""

import pytest

import kinloop as kl
from kinloop.cli.info_command import _axis


def test_info_prints_sizes_bodies_loops_and_clusters(run, rows):
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


def test_info_counts_redundant_rows(run, rows):
    _, out, _ = run("info", "planar_leg_linkage")
    assert ["ankle_pin", "revolute joint", "foot - shank_support", "5", "2", "3", "0", "0"] in rows(out)


def test_info_tells_who_chose_the_coordinates(run, rows):
    _, out, _ = run("info", "bricard")
    cluster = next(line for line in rows(out) if line[0] == "0" and "bar1, bar2" in line[1])
    assert cluster[-1] == "kinloop"
    _, out, _ = run("info", "double_pendulum")
    assert "nothing to choose" in out


@pytest.mark.parametrize("name", kl.robots.names())
def test_info_prints_every_robot_of_the_zoo(run, name):
    short = ["-o", "links=2"] if name.endswith("_chain") and name != "revolute_rotor_chain" else []
    status, out, err = run("info", name, *short)
    assert (status, err) == (0, "")
    assert out.startswith(name)


def test_robots_lists_the_zoo(run, rows):
    status, out, _ = run("robots")
    assert status == 0
    assert {line[0] for line in rows(out)} >= set(kl.robots.names())


def test_axes_are_printed_by_name_where_they_have_one():
    b = kl.Builder()
    for name, axis in (("a", "-y"), ("b", (0.6, 0.0, 0.8))):
        b.body(name, mass=1, inertia=(1, 1, 1), axis=axis)
    joints = b.mechanism().joints
    assert [_axis(j) for j in joints] == ["-y", "0.6 0 0.8"]
