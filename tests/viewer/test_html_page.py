"""The page of a recording: path, caption, file."""

from pathlib import Path

import pytest

import kinloop as kl
from kinloop.errors import MethodError
from kinloop.viewer.html_page import LEGEND, LETTERS, caption, checked_page_path, short_names, write_page
from kinloop.viewer.robot_look import look


def test_pages_are_html():
    assert checked_page_path("a.HTML") == Path("a.HTML")
    with pytest.raises(MethodError, match=r"cannot write a recording to 'a.txt'; give a name that ends in .html"):
        checked_page_path("deep/a.txt")


def test_the_caption_names_clusters_and_escapes():
    robot = kl.robots.load("geared_chain", links=LEGEND + 3)
    text = caption(robot, look(robot), "a < b", "c > d")
    assert "a &lt; b" in text and "c &gt; d" in text
    assert text.count("<i style") == LEGEND and "and 3 clusters more" in text
    assert "27 degrees of freedom; bodies 54, loops 0, couplings 27" in text
    for links in (2, LEGEND):
        robot = kl.robots.load("geared_chain", links=links)
        text = caption(robot, look(robot), None)
        assert "more</div>" not in text and "..." not in text, "all are named, in full"
        assert text.count("<i style") == links


def test_a_page_gets_its_title_and_what_stands_beside_it(tmp_path):
    page = "<html><head><title>viser</title></head><body>robot</body></html>"
    path = write_page(page, "<p>beside</p>", "a < b", tmp_path / "deep" / "page.html")
    expected = "<html><head><title>a &lt; b</title></head><body>robot<p>beside</p></body></html>"
    assert path.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(
    "names, text",
    [(["HR_abad_link", "HR_abad_rotor"], "HR_abad: link, rotor"), (["crank", "rod"], "crank, rod"), (["one"], "one"),
     (["left", "left_rotor"], "left, left_rotor"), (["a.b-c", "a.b-d"], "a.b: c, d")],
)  # fmt: skip
def test_names_begin_in_common_only_once(names, text):
    assert short_names(names) == text


def test_long_names_are_cut():
    assert len(short_names(["x" * 100, "y"])) == LETTERS
