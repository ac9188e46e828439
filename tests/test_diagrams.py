"""Every derivation shows a diagram of ours that is up to date, and whose labels can be read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import combinations
from pathlib import Path

import pytest

from tools.make_diagrams import DIAGRAMS, FOLDER
from tools.sketch import Box, Sketch, pieces, width_of

DERIVATIONS = sorted((Path(__file__).resolve().parents[1] / "docs" / "algorithms").glob("*.md"))


def overlap(a: Box, b: Box) -> bool:
    return min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])


def covered(sketch: Sketch) -> list[tuple[str, str]]:
    """Labels that lie on each other."""
    return [(one, two) for (one, a), (two, b) in combinations(sketch.labels, 2) if overlap(a, b)]


def outside(sketch: Sketch) -> list[str]:
    """Labels that leave the picture."""
    return [
        t for t, (x, y, right, low) in sketch.labels if min(x, y) < 0 or right > sketch.width or low > sketch.height
    ]


@pytest.mark.parametrize("page", DERIVATIONS, ids=lambda page: page.stem)
def test_a_derivation_has_a_diagram_with_a_caption(page):
    shown = rf"^!\[[^\]]+\]\(\.\./pictures/derivations/{page.stem}\.svg\)\n\n\*[^*]+\*$"
    assert re.search(shown, page.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("name", DIAGRAMS)
def test_a_diagram_is_kept_as_it_is_drawn_and_its_labels_are_free(name):
    sketch = DIAGRAMS[name]()
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == sketch.svg(), "run python -m tools.make_diagrams"
    assert ElementTree.fromstring(sketch.svg()).tag.endswith("svg") and len(sketch.svg()) < 15e3
    assert sketch.labels and not covered(sketch) and not outside(sketch)


def test_labels_that_cover_each_other_or_leave_the_picture_are_seen():
    sketch = Sketch(100, 40)
    sketch.text((10, 20), "one")
    sketch.text((20, 22), "two")
    sketch.text((95, 20), "three")
    assert covered(sketch) == [("one", "two")] and outside(sketch) == ["three"]


def test_formulas_in_labels_have_indices():
    assert pieces("of $X_{ij}^T f$") == [
        ("of ", False, 0),
        ("X", True, 0),
        ("ij", True, -1),
        ("T", True, 1),
        (" f", True, 0),
    ]
    assert width_of("$X_i$") < width_of("$Xi$")
