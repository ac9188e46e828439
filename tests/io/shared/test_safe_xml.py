"""Comments that XML forbids and everybody writes; lines stay what they are."""

import time

import pytest

from kinloop.io import ModelFileError
from kinloop.io.shared.reading_options import Limits
from kinloop.io.shared.safe_xml import parse_xml


def read(text):
    return parse_xml(text.encode(), "f.xml", Limits())


@pytest.mark.parametrize("comment", ["<!-- a -- b -->", "<!--- a --->", "<!-- <x> --\n\n -- -->", "<!------>"])
def test_comments_with_two_dashes_are_comments(comment):
    root = read(f"<robot>{comment}<link name='a--b'/>\n<!-- fine --></robot>")
    (link,) = root
    assert link.get("name") == "a--b" and link.line == 1 + comment.count("\n")


def test_what_is_wrong_besides_is_still_wrong():
    with pytest.raises(ModelFileError, match=r"f.xml:3: .*not well-formed"):
        read("<robot><!-- a --\n -- b -->\n<link></robot>")
    for text in (
        "<robot><!-- a -- b </robot>",
        "<!DOCTYPE x [<!-- a -- b --><!ENTITY y 'z'>]><robot/>",
        "<robot><!-- -- --><",
    ):
        with pytest.raises(ModelFileError):
            read(text)


def test_many_comments_take_no_longer_than_their_length():
    begin = time.perf_counter()
    for text in ("<!--" * 1_000_000, "<!-- -- -->" * 300_000, "<!----" * 1_000_000):
        with pytest.raises(ModelFileError):
            read(f"<robot>{text}")
    assert time.perf_counter() - begin < 6.0
