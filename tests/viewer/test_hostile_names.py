"""Names of a model are text wherever a browser shows them: they run no code, send no request, have no file read."""

import time
from html.parser import HTMLParser

import numpy as np
import pytest

from kinloop import viewer
from kinloop.viewer.html_page import caption
from kinloop.viewer.robot_look import look

from . import browser
from .hostile_names import canary_server, hostile_robot, hostile_text

needs_browser = pytest.mark.skipif(browser.find() is None, reason="no Chromium on this machine: nothing to be attacked")

REPORT = """[window.canary === undefined, document.querySelectorAll('iframe').length,
    document.documentElement.outerHTML.includes('data:image/png'), document.body.innerText + document.title]"""


def attacked(page, url, words):
    """What a page that has shown the words for three seconds says of itself."""
    page.open(url)
    for _ in range(120):
        time.sleep(0.5)
        text = str(page.evaluate("document.body.innerText"))
        if words in text:
            break
    assert words in text, f"the page never showed {words!r}"
    time.sleep(3.0)
    return page.evaluate(REPORT)


@needs_browser
def test_a_browser_runs_no_code_of_names_in_the_live_view(tmp_path):
    secret = tmp_path / "secret.png"
    make_picture(secret)
    with canary_server() as (port, asked):
        view = viewer.show(hostile_robot(port, f" ![x]({secret})"), port=0)
        try:
            with browser.Browser(tmp_path) as page:
                quiet, frames, picture, text = attacked(page, view.url, "of freedom")
        finally:
            view.stop()
    assert quiet, "a name of the model ran code in the page"
    assert asked == [], "a name of the model sent requests"
    assert frames == 0 and not picture
    assert f"{hostile_text(0, port)} ![x]({secret})" in text, "the robot's name is shown as it is"
    assert hostile_text(5, port) in text, "the slider has the joint's name as it is"


@needs_browser
def test_a_browser_runs_no_code_of_names_in_a_recorded_page(tmp_path):
    with canary_server() as (port, asked):
        robot = hostile_robot(port)
        path = viewer.record(robot, 0.0, robot.neutral(), tmp_path / "page.html", notes=hostile_text(9, port))
        with browser.Browser(tmp_path) as page:
            quiet, frames, _, text = attacked(page, path.as_uri(), "of freedom")
    assert quiet and asked == [] and frames == 0
    assert text.count(hostile_text(0, port)) == 2, "in the caption and as title"
    assert hostile_text(9, port) in text


def make_picture(path):
    from PIL import Image

    Image.fromarray(np.full((4, 4, 3), 200, dtype=np.uint8)).save(path)


class Tags(HTMLParser):
    """Which elements a text has, with which attributes."""

    def __init__(self):
        super().__init__()
        self.found = set()

    def handle_starttag(self, tag, attributes):
        self.found.add((tag, *(name for name, _ in attributes)))


@pytest.mark.parametrize("title", [None, hostile_text(20)])
@pytest.mark.parametrize("notes", [None, hostile_text(21)])
def test_a_caption_has_only_elements_of_its_own(title, notes):
    robot = hostile_robot()
    tags = Tags()
    tags.feed(caption(robot, look(robot), title, notes))
    assert tags.found == {("style",), ("div", "id"), ("b",), ("div",), ("section",), ("i", "style")}


def test_the_panel_has_only_elements_of_its_own():
    view = viewer.show(hostile_robot(), port=0)
    try:
        tags = Tags()
        tags.feed(view.headline.content)
        assert tags.found == {("div", "style"), ("b",)}
        assert "&lt;script&gt;" in view.headline.content
    finally:
        view.stop()
