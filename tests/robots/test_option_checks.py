"""Options that must be whole numbers."""

import pytest

from kinloop.errors import ModelError
from kinloop.robots.option_checks import whole_number


def test_whole_numbers_pass():
    assert whole_number("links", 4, 2, step=2) == 4


@pytest.mark.parametrize(
    "value, least, step, message",
    [
        (0, 1, 1, "links must be a whole number of at least 1, received 0"),
        (1.5, 1, 1, r"links must be a whole number of at least 1, received 1\.5"),
        (3, 2, 2, "links must be an even whole number of at least 2, received 3"),
    ],
)
def test_others_are_refused(value, least, step, message):
    with pytest.raises(ModelError, match=message):
        whole_number("links", value, least, step)
