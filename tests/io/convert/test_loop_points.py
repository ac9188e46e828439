"""Loops as points and welds: one point where the rest keeps a hinge aligned, else two; what is neither is refused."""

import numpy as np
import pytest

from kinloop import robots
from kinloop.clusters import grow
from kinloop.errors import ModelError
from kinloop.io.convert.loop_points import ARM, balls_suffice, loop_points


def test_a_point_closes_planar_loops_but_not_those_in_space():
    assert balls_suffice(grow(robots.mechanism("four_bar")))
    assert not balls_suffice(grow(robots.mechanism("bricard")))


def test_a_hinge_in_space_is_two_points_along_its_axis():
    m = robots.mechanism("bricard")
    (loop,) = m.loops
    one, two = loop_points(m)
    assert one.loop == two.loop == loop.name and not one.rigid
    for a, b, T in zip(one[2:], two[2:], (loop.predecessor_placement, loop.successor_placement), strict=True):
        np.testing.assert_allclose(b[1].p - a[1].p, ARM * T.R @ np.array(loop.type.axis), atol=1e-15)


def test_loops_that_points_cannot_say_are_refused_by_name():
    with pytest.raises(ModelError, match="loop 'coupler' is a Rod"):
        loop_points(robots.mechanism("rssr"))
    with pytest.raises(ModelError, match="closed by a cylindrical joint, which points and welds cannot say"):
        from dataclasses import replace

        from kinloop.model.joints import Cylindrical

        m = robots.mechanism("four_bar")
        loop_points(replace(m, loops=[replace(m.loops[0], type=Cylindrical((0.0, 1.0, 0.0)))], independent=()))
