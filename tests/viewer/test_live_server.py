"""The live view: it follows sliders, configurations and motions, and the ground follows it."""

import numpy as np

import kinloop as kl
from kinloop import viewer
from kinloop.sim import HeightField

from .test_draw_ground import hills


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
        view.scene.show("frames")
        assert view.scene.bodies[0].show_axes
        view.play([0.0, 0.01], [robot.neutral(), q])
    finally:
        view.stop()
    assert capsys.readouterr().out == ""


def test_live_ground_follows_the_robot():
    robot = kl.robots.load("mini_cheetah")
    view = viewer.show(robot, port=0, ground=HeightField(hills))
    try:
        first = view.area
        q = robot.neutral()
        view.update(q)
        assert view.area is first
        q[0] += 20.0
        view.update(q)
        assert view.area[0][0] > 15
        Q = np.tile(q, (2, 1))
        Q[1, 0] += 5.0
        view.play([0.0, 0.01], Q)
        assert view.area[1][0] - view.area[0][0] > 5
    finally:
        view.stop()
