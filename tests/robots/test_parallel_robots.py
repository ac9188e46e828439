"""The Stewart-Gough platform."""

import numpy as np
import pytest

from kinloop.errors import MethodError

from .numpy_robots import build


def test_stewart_moves_alike_in_both_choices_of_coordinates():
    platform, legs = build("stewart"), build("stewart", independent="legs")
    q, v = platform.random_state(2)
    rate = legs.tree.independent_dofs
    qd = platform.spanning_velocity(q, v)
    np.testing.assert_allclose(legs.spanning_velocity(q, qd[rate]), qd, atol=1e-9)
    assert platform.kinetic_energy(q, v) == pytest.approx(legs.kinetic_energy(q, qd[rate]), rel=1e-9)
    with pytest.raises(MethodError, match="'platform', 'legs'"):
        build("stewart", independent="base")
