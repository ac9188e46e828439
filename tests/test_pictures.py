"""Every robot of the zoo has a picture and a diagram, on a page that is up to date; the demo is animated."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from PIL import Image

import kinloop as kl
from tools import make_pictures
from tools.connectivity_diagram import svg
from tools.software_renderer import Model, around, draw

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"


@pytest.mark.parametrize("name", kl.robots.names())
def test_a_robot_of_the_zoo_has_a_picture_and_a_diagram(name):
    with Image.open(PICTURES / f"{name}.png") as image:
        assert image.size == (make_pictures.WIDTH, make_pictures.HEIGHT)
        assert len(image.convert("RGB").getcolors(10**6)) > 3, "an empty picture"
    drawing = ElementTree.parse(PICTURES / f"{name}.svg")
    dots = drawing.findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(dots) == len(kl.robots.mechanism(name).bodies)


def test_the_page_of_mechanisms_is_up_to_date():
    assert make_pictures.PAGE.read_text(encoding="utf-8") == make_pictures.page()


def test_the_demo_moves_and_is_small():
    path = PICTURES / "demo.gif"
    assert path.stat().st_size < 1e6
    with Image.open(path) as image:
        assert image.n_frames > 20


def test_pictures_and_diagrams_are_made_as_they_are_kept():
    robot = kl.Robot(kl.robots.mechanism("four_bar"), backend="numpy")
    triangles, colors = Model(robot).triangles(robot.neutral())
    image = draw(triangles, colors, around(triangles, 60, 40))
    assert image.size == (60, 40) and len(image.getcolors(10**4)) > 3
    assert svg(robot) == (PICTURES / "four_bar.svg").read_text(encoding="utf-8")
    assert svg(robot).count("stroke-dasharray") == 2, "the loop ties three bodies"
