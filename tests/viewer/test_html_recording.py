"""Pages that play by themselves: what is in them, and what a browser shows of them."""

import re
import time
from pathlib import Path

import numpy as np
import pytest

import kinloop as kl
from kinloop import viewer
from kinloop.viewer.html_recording import frame_indices

from . import browser
from .recorded_page import messages, nodes


def swing(robot, count=20, dt=0.02):
    q, Q = robot.neutral(), []
    for k in range(count):
        Q.append(q)
        q = robot.integrate(q, np.full(robot.nv, 0.05 * np.cos(0.3 * k)))
    return dt * np.arange(count), np.array(Q)


def test_page_holds_every_body_shape_and_loop(tmp_path, capsys):
    robot = kl.robots.load("four_bar")
    path = viewer.record(robot, 0.0, robot.neutral(), tmp_path / "deep" / "still.html", title="a < b")
    duration, found = messages(path)
    names = nodes(found)
    assert duration == 0
    assert {n for n in names if n.count("/") == 2 and n.startswith("/robot/")} == {
        "/robot/00_link1", "/robot/01_link3", "/robot/02_link2",
    }  # fmt: skip
    # links from joint to joint and to the pin; pins of joints that carry; the loop
    parts = sorted(n.split("/")[-1].split("_", 1)[1] for n in names if n.count("/") == 3)
    assert parts == ["joint"] + ["link0"] * 3 + ["loop_pin"]
    assert "/ground" in names
    text = path.read_text(encoding="utf-8")
    assert "<title>a &lt; b</title>" in text
    assert "link1, link3, link2" in text
    assert capsys.readouterr().out == ""


def test_page_has_the_motion_and_its_forces(tmp_path):
    robot = kl.robots.load("tello")
    times, Q = swing(robot)
    points = np.zeros((20, 2, 3))
    forces = np.zeros((20, 2, 3))
    forces[10:, 0, 2] = 50.0
    seen = []
    path = viewer.record(
        robot, times, Q, tmp_path / "tello.html", points, forces, fps=25, progress=lambda k, n: seen.append((k, n))
    )
    duration, found = messages(path)
    names = nodes(found)
    assert duration == pytest.approx(times[-1] + 0.5)
    assert len([n for n in names if n.count("/") == 2 and n.startswith("/robot/")]) == len(robot.body_names)
    assert len([n for n in names if n.startswith("/bars/")]) == 12
    assert "/forces" in names
    assert seen[-1][0] == seen[-1][1] == len({t for t, _ in found})
    shown = [m["visible"] for _, m in found if m["type"] == "SetSceneNodeVisibilityMessage" and m["name"] == "/forces"]
    assert shown[-1] is True


def test_frames_are_evenly_spread_and_keep_the_ends():
    times = np.linspace(0, 1, 1001)
    np.testing.assert_array_equal(frame_indices(times, 10), np.arange(0, 1001, 100))
    np.testing.assert_array_equal(frame_indices(np.array([2.0]), 50), [0])
    np.testing.assert_array_equal(frame_indices(np.array([0.0, 1.0, 1.5]), 50), [0, 1, 2])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"times": [0.0, 1.0]}, r"Q must have shape \(N, 3\) and times \(N,\), received \(1, 3\) and \(2,\)"),
        ({"path": "x.txt"}, "cannot write a recording to 'x.txt'; give a name that ends in .html"),
        ({"contacts": np.zeros((1, 1, 3))}, "contacts and forces belong together; give both or none"),
        ({"contacts": np.zeros((2, 1, 3)), "forces": np.zeros((2, 1, 3))}, r"must have shape \(1, C, 3\)"),
        ({"fps": 0}, "fps must be a positive number, received 0"),
    ],
)
def test_mistakes_are_told(change, message, tmp_path):
    robot = kl.robots.load("four_bar")
    arguments = {"times": [0.0], "Q": [robot.neutral()], "path": tmp_path / "x.html"} | change
    with pytest.raises(kl.KinloopError, match=message):
        viewer.record(robot, **arguments)


@pytest.mark.skipif(browser.find() is None, reason="no Chromium on this machine: nothing to take a picture with")
def test_browser_shows_the_robot(tmp_path):
    """The page is not blank: there are the clusters' colours in it, and the ground."""
    robot = kl.robots.load("tello")
    path = viewer.record(robot, 0.0, robot.neutral(), tmp_path / "tello.html")
    with browser.Browser(tmp_path, (480, 320)) as page:
        page.open(path.as_uri())
        for _ in range(60):
            time.sleep(0.5)
            data, picture = page.picture()
            if colourful(picture) > 0.01:
                break
        (tmp_path / "tello.png").write_bytes(data)
    assert colourful(picture) > 0.01, "less than 1 % of the picture is coloured"
    assert picture.std() > 10
    hues = {tuple(c) for c in (picture[saturated(picture)] // 64)}
    assert len(hues) > 4, "the clusters should have different colours"


def saturated(picture):
    return np.ptp(picture.astype(int), axis=2) > 60


def colourful(picture):
    """Part of the pixels that are neither gray nor white."""
    return float(np.mean(saturated(picture)))


def test_page_of_the_docs_runs_as_printed(tmp_path, monkeypatch):
    text = (Path(__file__).parents[2] / "docs" / "viewer.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "viewer.md", "exec"), names)
    assert (tmp_path / "rssr.html").exists()
