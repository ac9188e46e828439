"""Files are written whole or not at all, and every number of an XML document reads back to the same bits."""

import numpy as np
import pytest

from kinloop.errors import ModelError
from kinloop.io import Limits, ModelFileError
from kinloop.io.shared.safe_xml import parse_xml
from kinloop.io.shared.whole_files import read_bytes, write_text
from kinloop.io.shared.written_mechanism import cannot_hold, mechanism_of
from kinloop.io.shared.xml_lines import XmlLines
from kinloop.model import FunctionCoupling, LoopFunction, Rod


def test_a_place_that_cannot_be_written_is_an_error_that_leaves_nothing(tmp_path):
    with pytest.raises(ModelError, match="cannot be written"):
        write_text(tmp_path / "nowhere" / "m.json", "x")
    write_text(tmp_path / "m.json", "x")
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]
    assert read_bytes(tmp_path / "m.json", 1) == b"x"
    with pytest.raises(ModelFileError, match="has more than 0 bytes"):
        read_bytes(tmp_path / "m.json", 0)


def test_xml_keeps_bits_and_escapes_names():
    x = np.random.default_rng(0).normal(size=3) * 1e-7
    out = XmlLines()
    out.open("a", name='<"&>', left_out=None)
    out.empty("b", xyz=x)
    out.close("a")
    root = parse_xml(out.text().encode(), "f.xml", Limits())
    assert root.attrib == {"name": '<"&>'}
    np.testing.assert_array_equal([float(w) for w in root.children[0].attrib["xyz"].split()], x)


def test_what_a_format_lacks_is_refused_by_name_and_kind():
    rod = Rod("r", "a", "b", (0, 0, 0), (0, 0, 0), 1.0)
    assert str(cannot_hold(rod, "X cannot", "leave it out")) == "loop 'r' is a Rod, which X cannot hold; leave it out"
    for part, what in (
        (LoopFunction("f", ("a",), abs), "loop 'f'"),
        (FunctionCoupling("f", ("a",), ("b",), abs), "coupling 'f'"),
    ):
        assert str(cannot_hold(part, "X cannot", "x")).startswith(f"{what} is a Python function")


def test_writers_take_robots_and_mechanisms():
    from kinloop import Robot, robots

    m = robots.mechanism("four_bar")
    assert mechanism_of(m) is m and mechanism_of(Robot(m, "numpy")) is m
