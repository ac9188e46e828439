"""Thresholds that only make sense in a certain order."""

from __future__ import annotations

from kinloop.sim.charts import thresholds as t


def test_charts_are_left_later_than_they_are_good():
    """The best chart has a reach of 1: between that and the limit lies the hysteresis."""
    assert t.REACH_LIMIT > t.REACH_MARGIN * (1.0 + t.NO_BETTER_SWAP)
    assert t.REACH_MARGIN > 1.0 > t.VOLUME_MARGIN > 0.0


def test_a_row_looks_out_before_it_is_near_and_is_near_before_it_is_singular():
    assert 1.0 > t.VOLUME_LIMIT > t.NEARLY_SINGULAR > 0.0
    assert t.HARDLY_REGULAR > t.SINGULAR > 0.0
    assert t.LOOKAHEAD > 1.0


def test_passages_take_more_and_more_steps_fewer_than_patience():
    assert list(t.PASSAGE_STEPS) == sorted(set(t.PASSAGE_STEPS)) and t.PASSAGE_STEPS[0] == 1
    assert len(t.PASSAGE_STEPS) < t.PATIENCE and 0.0 < t.LANDING < 1.0
    assert t.SPEED_CHANGE[0] < 1.0 < t.SPEED_CHANGE[1]


def test_a_row_that_is_sent_on_is_stopped_again_before_the_singular_configuration():
    for covered in (0.0, 0.2, 0.5, 0.99):
        part = min(1.0 - t.EARLY_STOP * covered, max(t.LEAST_PART, t.LAST_STEPS * covered))
        assert t.LEAST_PART <= part <= 1.0
