"""Surfaces and pairs are checked where they are made."""

import numpy as np
import pytest

from kinloop.errors import ModelError
from kinloop.model import ContactPair, Surface


@pytest.mark.parametrize(
    "fields, reason",
    [
        ({"friction": (1, -1, 0)}, r"friction of a surface is \(1.0, -1.0, 0.0\); it must not be negative"),
        ({"friction": (1, 1)}, r"must have shape \(3,\)"),
        ({"condim": 2}, "condim of a surface is 2; it must be one of 1, 3, 4, 6"),
        ({"contype": 0.5}, "contype of a surface is 0.5; give a whole number"),
        ({"margin": np.nan}, "must be finite"),
        ({"solref": "x"}, "must be numbers"),
    ],
)
def test_surfaces_are_checked(fields, reason):
    with pytest.raises(ModelError, match=reason):
        Surface(**fields)


def test_pairs_are_checked_and_numbers_are_plain():
    pair = ContactPair("p", "a", "b", friction=np.ones(5), condim=np.int32(1), solref=[1, 2])
    assert pair == ContactPair("p", "a", "b", (1.0,) * 5, 1, solref=(1.0, 2.0))
    with pytest.raises(ModelError, match="friction of contact pair 'p'"):
        ContactPair("p", "a", "b", friction=(1, 1, 1))
    with pytest.raises(ModelError, match="solreffriction of 'p'"):
        ContactPair("p", "a", "b", solreffriction=(1,))
