"""How many frames per second a browser without a graphics card plays.

`pytest -m slow -s tests/viewer/test_playback.py` prints them; on a machine where nothing else runs.
"""

from __future__ import annotations

import time

import pytest

import kinloop as kl
from kinloop import viewer
from kinloop.viewer.tour_motion import tour
from kinloop.viewer.viser_server import running_server

from . import browser

SIZES = ((960, 640), (640, 400))
"""Pages that are measured [px]."""

LEAST, PART = 20.0, 0.5
"""Frames per second that a page of 960 x 640 plays, or the part of what viser plays there with a single box."""


def frames_per_second(page, size, work, seconds=3.0):
    """How often the page is drawn, once it has been opened and plays."""
    with browser.Browser(work, size) as shown:
        shown.open(f"file://{page}")
        time.sleep(5.0)
        shown.evaluate("window.n=0;(function f(){window.n++;requestAnimationFrame(f)})();0")
        shown.evaluate("window.n=0;window.t=performance.now();0")
        time.sleep(seconds)
        return 1000.0 * shown.evaluate("window.n") / shown.evaluate("performance.now()-window.t")


@pytest.fixture(scope="module")
def one_box(tmp_path_factory):
    """Viser's own: a box, and something that moves."""
    path = tmp_path_factory.mktemp("box") / "box.html"
    with running_server() as server:
        server.scene.add_box("/box", dimensions=(1.0, 1.0, 1.0))
        serializer = server.get_scene_serializer()
        moved = server.scene.add_frame("/moved")
        for k in range(160):
            serializer.insert_sleep(0.05)
            moved.position = (0.01 * k, 0.0, 0.0)
        path.write_text(serializer.as_html(), encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.skipif(browser.find() is None, reason="there is no Chromium")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["four_bar", "mini_cheetah", "tello"])
def test_pages_play_at_twenty_frames_per_second_or_half_of_what_one_box_does(name, size, one_box, tmp_path):
    robot = kl.robots.load(name)
    times, Q = tour(robot, 8.0)
    page = viewer.record(robot, times, Q, tmp_path / "page.html")
    alone = frames_per_second(one_box, size, tmp_path / "alone")
    found = frames_per_second(page, size, tmp_path / "found")
    print(f"{name} {size[0]} x {size[1]}: {found:.1f} frames per second, viser with one box {alone:.1f}")
    assert found >= min(LEAST, PART * alone)
