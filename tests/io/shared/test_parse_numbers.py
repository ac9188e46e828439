"""Numbers out of text: exactly what is written, or an error that names the place."""

import numpy as np
import pytest

from kinloop.io import Limits, ModelFileError
from kinloop.io.shared.file_errors import Where
from kinloop.io.shared.parse_numbers import attribute, child_number, child_vector, number, numbers, vector
from kinloop.io.shared.safe_xml import parse_xml

HERE = Where("f.xml", 3, "<here>")


def node(text):
    return parse_xml(text.encode(), "f.xml", Limits())


@pytest.mark.parametrize("text, value", [("1", 1.0), (" -2.5e-3 ", -0.0025), ("+.5", 0.5), ("3.", 3.0)])
def test_numbers_are_read_as_written(text, value):
    assert number(text, HERE, "mass") == value


@pytest.mark.parametrize("text", ["", "x", "1 2", "nan", "inf", "0x10", "1_0", "1e", "--1", "1e13"])
def test_what_is_not_a_finite_number_of_a_robot_is_refused(text):
    with pytest.raises(ModelFileError, match=r"f.xml:3: <here>: mass '.*' (is not a finite number|is beyond)"):
        number(text, HERE, "mass")


def test_limits_may_be_infinite():
    assert [number(x, HERE, "upper", unbounded=True) for x in ("inf", "-Inf", "1e15")] == [np.inf, -np.inf, 1e15]


def test_vectors_have_as_many_numbers_as_they_need():
    np.testing.assert_array_equal(numbers("1, 2,3", 3, HERE, "xyz"), [1, 2, 3])
    with pytest.raises(ModelFileError, match="xyz '1 2' holds 2 numbers; give 3"):
        numbers("1 2", 3, HERE, "xyz")


def test_attributes_and_children_have_defaults_or_must_be_there():
    n = node("<a x='2' xyz='1 2 3'><b>4</b><c>5 6</c><d/></a>")
    assert attribute(n, "x") == 2.0 and attribute(n, "y", 7.0) == 7.0
    np.testing.assert_array_equal(vector(n), [1, 2, 3])
    np.testing.assert_array_equal(vector(None, "xyz", (1.0, 0.0, 0.0)), [1, 0, 0])
    assert child_number(n, "b") == 4.0 and child_number(n, "d", 8.0) == 8.0
    assert child_vector(n, "c", (0.0, 0.0)) == (5.0, 6.0) and child_vector(n, "e", (1.0,)) == (1.0,)
    with pytest.raises(ModelFileError, match="has no attribute 'y'"):
        attribute(n, "y")
    with pytest.raises(ModelFileError, match="<a>: has no <e>; add one"):
        child_number(n, "e")
