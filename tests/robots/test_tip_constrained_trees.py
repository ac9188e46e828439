"""Trees whose tips are to be constrained: as many tips as rungs and branches, no loops."""

import pytest

from kinloop.errors import ModelError

from .numpy_robots import build


def frames(robot):
    return [f.name for f in robot.mechanism.frames]


def test_sizes_are_those_asked_for():
    chain = build("serial_chain", links=5)
    assert (chain.nv, frames(chain)) == (5, ["tip"])
    ladder = build("ladder", rungs=3, rung=2, rail=4)
    assert (ladder.nv, frames(ladder)) == (3 * (2 + 4), ["tip-0", "tip-1", "tip-2"])
    stalk = build("stalk", length=4, branches=2, branch=3)
    assert (stalk.nv, len(frames(stalk))) == (6 + 3 + 2 * 2 * 3, 4)
    assert not any(r.mechanism.closures for r in (chain, ladder, stalk))


def test_a_stalk_of_one_link_has_all_branches_on_it():
    stalk = build("stalk", length=1, branches=1, branch=1)
    assert stalk.body_names == ["stalk-base", "near-0-0", "far-0-0"]


@pytest.mark.parametrize("options", [{"rungs": 0}, {"rung": 1.5}, {"rail": -1}])
def test_impossible_sizes_are_refused(options):
    (name,) = options
    with pytest.raises(ModelError, match=f"{name} must be a whole number of at least 1"):
        build("ladder", **options)
