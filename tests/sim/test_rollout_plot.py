"""Rollouts as pictures and in a line."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

from kinloop.errors import MethodError
from kinloop.sim import Simulator
from tests.sim.mechanisms import crank_rocker, pendulum

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def run():
    robot = crank_rocker("crank_joint")
    v0 = np.array([[1.0], [2.0]])
    return Simulator(robot, 1e-3).rollout(robot.neutral(), v0, steps=20, record=("q", "v", "energy"))


def test_a_panel_per_quantity_a_curve_per_entry_with_its_name(run):
    figure = run.plot(row=1)
    assert [ax.get_title() for ax in figure.axes] == ["q", "v", "energy"]
    curves = figure.axes[0].get_lines()
    assert [c.get_label() for c in curves] == ["crank_joint", "coupler_joint", "rocker_joint"]
    for k, curve in enumerate(curves):
        np.testing.assert_array_equal(curve.get_ydata(), run.q[1, :, k])
    matplotlib.pyplot.close(figure)


def test_what_is_named_is_drawn_and_written(run, tmp_path):
    figure = run.plot("energy", path=tmp_path / "energy.png")
    assert len(figure.axes) == 1 and (tmp_path / "energy.png").stat().st_size > 2000
    assert not matplotlib.pyplot.fignum_exists(figure.number), "written, hence closed"


def test_what_cannot_be_drawn_is_said(run):
    with pytest.raises(MethodError, match="'gap' was not recorded"):
        run.plot("gap")
    with pytest.raises(MethodError, match="row 2 is not there; the rollout has rows 0 to 1"):
        run.plot(row=2)
    nothing = Simulator(pendulum(), 1e-3).rollout(np.zeros(1), None, steps=2, record=())
    with pytest.raises(MethodError, match="nothing was recorded"):
        nothing.plot()


def test_a_rollout_a_state_and_a_simulator_say_in_a_line_what_they_are(run):
    assert repr(run) == (
        "<Rollout: 2 rows, 20 times from 0.001 to 0.02 s; q (2, 20, 3), v (2, 20, 1), energy (2, 20); all well>"
    )
    assert repr(run.final) == "<State of 'crank_rocker': 2 rows, t = 0.02 s, q (2, 3), qd (2, 3), running>"
    sim = Simulator(pendulum(), 1e-3)
    assert repr(sim) == "<Simulator of 'pendulum': dt = 0.001 s, semi_implicit, 1 control>"
    lost = sim.rollout(np.zeros(1), None, [1e12], steps=3)
    assert "1 not well, see reasons" in repr(lost) and "1 stopped" in repr(lost.final)
