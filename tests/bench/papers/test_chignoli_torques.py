"""Figure 14 of [Chignoli2023]: what approximating the loops costs."""

import pytest

from kinloop.bench.papers.chignoli_torques import PAPER, torque_errors


def test_errors_of_approximate_methods_are_those_printed_for_the_leg():
    knee = torque_errors()["knee"]
    for method, (rms, percent) in PAPER.items():
        assert knee[method]["rms"] == pytest.approx(rms, abs=0.01)
        assert knee[method]["percent"] == pytest.approx(percent, abs=1.0)


def test_the_ankle_itself_is_less_wrong_in_newton_metres_and_more_in_percent():
    ankle = torque_errors()["ankle"]
    assert ankle["unconstrained"]["rms"] == pytest.approx(1.586, abs=1e-3)
    assert ankle["approximate"]["rms"] == pytest.approx(0.825, abs=1e-3)
    assert ankle["unconstrained"]["percent"] > PAPER["unconstrained"][1]
