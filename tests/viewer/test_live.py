"""The live view: sliders move the independent coordinates, loops stay closed."""

import numpy as np
import pytest

import kinloop as kl
from kinloop import viewer
from kinloop.viewer.live_server import Coordinates


@pytest.mark.parametrize("name", ["tello", "four_bar", "bennett", "slider_crank", "stewart"])
def test_moving_a_coordinate_keeps_loops_closed(name):
    robot = kl.robots.load(name)
    c = Coordinates(robot)
    before = c.values()
    k = len(c.names) - 1
    assert c.move(k, before[k] + 0.2)
    assert c.value(k) == pytest.approx(before[k] + 0.2, abs=1e-9)
    np.testing.assert_allclose(c.values()[:k], before[:k], atol=1e-9)
    assert np.max(robot.loop_error(c.q)) < 1e-10
    low, high = c.limits(k)
    assert low <= c.value(k) <= high


def test_a_coordinate_stops_where_the_loop_ends():
    """A rocker's reach is bounded by its crank: the slider comes to a stop, the loop stays closed."""
    robot = kl.robots.load("four_bar_chain", links=1).with_independent(["rocker-0_joint"])
    c = Coordinates(robot)
    assert not c.move(0, c.value(0) + 3.0)
    assert np.max(robot.loop_error(c.q)) < 1e-8


def test_live_view_follows_sliders_and_configurations(capsys):
    robot = kl.robots.load("four_bar")
    view = viewer.show(robot, port=0)
    try:
        assert view.url.startswith("http://127.0.0.1:")
        assert len(view.sliders) == robot.nv
        before = np.array(view.scene.bodies[2].position)
        view.sliders[0].value = view.coordinates.value(0) + 0.3
        view._slid(0)
        assert np.linalg.norm(np.array(view.scene.bodies[2].position) - before) > 0.05
        q = robot.random_state(3)[0]
        view.update(q)
        np.testing.assert_allclose(view.coordinates.q, q, atol=1e-9)
        view.scene.show_axes(True)
        assert view.scene.bodies[0].show_axes
        view.play([0.0, 0.01], [robot.neutral(), q])
    finally:
        view.stop()
    assert capsys.readouterr().out == ""
