"""Which tangent frame a cluster gets: the scales of its coordinates."""

from __future__ import annotations

import numpy as np
from helpers import mechanisms

import kinloop as kl
from kinloop.clusters.framing import coordinate_scales


def test_a_loop_without_freedom_has_plain_scales():
    locked = [r for r in mechanisms(8, seed=860, kind="locked") if any(not c.m for c in r.tree.loop_clusters)]
    assert locked
    for r in locked:
        for c in r.tree.loop_clusters:
            if not c.m:
                np.testing.assert_array_equal(coordinate_scales(c.equations.samples), np.ones(len(c.dofs)))


def test_scales_tell_how_far_coordinates_move():
    """In a parallelogram crank, coupler and rocker turn by the same angle."""
    scales = coordinate_scales(kl.robots.load("four_bar").tree.clusters[0].equations.samples)
    assert np.all(scales > 0)
    assert np.max(scales) / np.min(scales) < 3.0
