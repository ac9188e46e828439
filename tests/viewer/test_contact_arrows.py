"""Points and forces of contact, as they are drawn."""

import numpy as np
import pytest

import kinloop as kl
from kinloop.sim import ContactPoint, Plane, Simulator
from kinloop.viewer.contact_arrows import contact_arrows, contact_records


@pytest.fixture(scope="module")
def ball():
    b = kl.Builder("ball")
    b.body("ball", joint="free", mass=2.0, inertia=(0.1, 0.1, 0.1))
    return b.build()


def test_a_ball_at_rest_is_carried_where_it_touches(ball):
    sim = Simulator(ball, ground=Plane(), contacts=[ContactPoint("ball", radius=0.5)])
    q = np.array([0.3, 0.2, 0.5, 1, 0, 0, 0])
    run = sim.rollout(q, steps=50, record=("q", *contact_records(sim)))
    points, forces = contact_arrows(sim, run)
    np.testing.assert_allclose(points[-1], [[0.3, 0.2, 0.0]], atol=1e-4)
    np.testing.assert_allclose(forces[-1], [[0, 0, 2.0 * 9.81]], rtol=1e-6)


def test_without_contact_there_are_none(ball):
    sim = Simulator(ball)
    assert contact_records(sim) == ()
    assert contact_arrows(sim, sim.rollout(steps=1)) is None
