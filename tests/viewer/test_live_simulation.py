"""A simulation in the browser: it runs at its pace, and a body follows the mouse that drags it."""

import asyncio
import time
from types import SimpleNamespace

import numpy as np
import pytest

import kinloop as kl
from kinloop import viewer
from kinloop.errors import KinloopError
from kinloop.model import Builder, Geometry
from kinloop.sim import Motor, Simulator
from kinloop.viewer.mouse_grip import FREQUENCY, MouseGrip

from . import browser


@pytest.fixture(scope="module")
def live():
    robot = kl.robots.load("four_bar")
    name = robot.independent_names[0]
    sim = Simulator(robot, 2e-3, motors=[Motor(name, "velocity", kd=0.05)])
    view = viewer.simulate(sim, port=0)
    yield view
    view.stop()


def drag(view, node, phase, point, mouse):
    """What viser does when the mouse drags a node: it calls every callback that was registered there."""
    event = SimpleNamespace(phase=phase, start_position=tuple(point), end_position=tuple(mouse))
    for entry in view.scene.nodes[node]._impl.drag_cb:
        assert (entry.button, entry.modifier) == ("left", None)
        asyncio.run(entry.callback(event))


def test_a_body_follows_the_mouse(live):
    robot, node = live.robot, next(n for n, body in live.scene.body_of.items() if body == 0)
    live.restart()
    T = robot.frame_pose(live.state.q[0], robot.body_names[0])
    local = np.array([0.3, 0.0, 0.1])
    point = T[:3, :3] @ local + T[:3, 3]
    ahead = robot.integrate(live.state.q[0], np.full(robot.nv, 0.4))
    goal = robot.frame_pose(ahead, robot.body_names[0])[:3] @ [*local, 1.0]
    drag(live, node, "start", point, point)
    drag(live, node, "update", point, goal)
    begin = np.linalg.norm(point - goal)
    live.advance(0.02)
    assert live.scene.nodes["/forces"].visible
    for _ in range(99):
        live.advance(0.02)
    there = robot.frame_pose(live.state.q[0], robot.body_names[0])[:3] @ [*local, 1.0]
    assert begin > 0.1 and np.linalg.norm(there - goal) < 0.5 * begin
    assert float(live.clock.value) == pytest.approx(2.0)
    drag(live, node, "end", point, goal)
    live.advance(0.02)
    assert live.grip.pull(live.state.q[0], np.zeros(robot.nv)) is None and not live.scene.nodes["/forces"].visible
    live.restart()
    np.testing.assert_array_equal(live.state.q, live.begin.q)


def test_without_the_mouse_it_is_the_simulation_that_was_given(live):
    live.restart()
    live.advance(0.05)
    robot = live.robot
    sim = Simulator(robot, 2e-3, motors=[Motor(robot.independent_names[0], "velocity", kd=0.05)])
    np.testing.assert_allclose(live.state.q, sim.rollout(steps=25).final.q, atol=1e-9)


def test_it_runs_at_its_own_pace_and_rests_when_told(live):
    live.restart()
    live.run(0.2)
    assert 0.02 <= live.state.t[0] <= 0.6
    live.paused.value = True
    before = live.state
    live.run(0.05)
    assert live.state is before
    live.paused.value = False


def test_what_is_gripped_feels_a_spring_of_its_own_mass():
    b = kl.Builder("box")
    b.body("box", joint="free", mass=3.0, com=(0.0, 0.0, 0.0), inertia=np.diag([0.1, 0.1, 0.1]))
    robot = b.build()
    grip, q = MouseGrip(robot), robot.neutral()
    q[:3] = 0.3, -0.2, 1.0
    grip.take(0, q[:3], q[:3] + [0.1, 0.0, 0.0], q)
    pull = grip.pull(q, np.zeros(6))
    np.testing.assert_allclose(pull.force, [3.0 * FREQUENCY**2 * 0.1, 0.0, 0.0])
    np.testing.assert_allclose(grip.controls(pull), [0.0, 0.0, 0.0, *pull.force], atol=1e-12)
    np.testing.assert_allclose(grip.pull(q, np.array([0, 0, 0, 1.0, 0, 0])).force[0], pull.force[0] - 6.0 * FREQUENCY)
    arm = np.array([0.0, 0.4, 0.0])
    grip.take(0, q[:3] + arm, q[:3] + arm + [0.1, 0.0, 0.0], q)
    felt = 1.0 / (1.0 / 3.0 + 0.4**2 / 0.1)
    pull = grip.pull(q, np.zeros(6))
    np.testing.assert_allclose(pull.force, [felt * FREQUENCY**2 * 0.1, 0.0, 0.0], rtol=1e-9)
    np.testing.assert_allclose(pull.moment, np.cross(arm, pull.force))
    grip.release()
    grip.move(q[:3])
    assert grip.pull(q, np.zeros(6)) is None and not grip.controls(None).any()


def test_integrators_without_steps_are_refused():
    with pytest.raises(KinloopError, match="the adaptive integrator has no single step to show"):
        viewer.simulate(Simulator(kl.robots.load("four_bar"), integrator="adaptive"), port=0)


@pytest.mark.slow
@pytest.mark.skipif(browser.find() is None, reason="no Chromium on this machine: no mouse to drag with")
def test_a_mouse_in_a_browser_drags_a_body(tmp_path):
    """A box in the middle of the view is pressed and pulled aside: it is held, moves that way, and is let go."""
    b = kl.Builder("box", gravity=(0.0, 0.0, 0.0))
    b.body("box", joint="free", mass=3.0, com=(0.0, 0.0, 0.0), inertia=np.diag([0.1, 0.1, 0.1]))
    view = viewer.simulate(Simulator(b.build(), 2e-3), port=0)

    def pull():
        return view.grip.pull(view.state.q[0], np.zeros(6))

    def comes_to(held):
        for _ in range(200):
            if (pull() is not None and np.any(pull().force)) if held else pull() is None:
                return True
            time.sleep(0.1)
        return False

    try:
        with browser.Browser(tmp_path, (960, 640)) as page:

            def mouse(kind, x, **more):
                page.send("Input.dispatchMouseEvent", type=kind, x=x, y=320, **more)

            page.open(view.url)
            held = False
            for _ in range(5):  # until the page is drawn
                time.sleep(3.0)
                mouse("mouseMoved", 480)
                mouse("mousePressed", 480, button="left", buttons=1, clickCount=1)
                for k in range(6):
                    mouse("mouseMoved", 480 + 8 * k, button="left", buttons=1)
                held = comes_to(held=True)
                if held:
                    force = pull().force
                    view.advance(0.1)
                mouse("mouseReleased", 528, button="left", buttons=0, clickCount=1)
                if held:
                    break
            assert held and force @ view.state.q[0, :3] > 1e-4
            assert comes_to(held=False)
    finally:
        view.stop()


def test_a_dragged_body_pushes_what_it_meets():
    """With contact between bodies: one ball is dragged against another, which then moves."""
    b = Builder("balls", gravity=(0, 0, 0))
    for k in range(2):
        shape = (Geometry("sphere", (0.1,), name=f"ball{k}"),)
        b.body(f"ball{k}", mass=1.0, inertia=(4e-3,) * 3, joint="free", geometry=shape)
    robot = b.build()
    q = robot.neutral()
    q[7] = 0.3
    view = viewer.simulate(Simulator(robot, 2e-3, collisions=True), q, port=0)
    try:
        node = next(n for n, body in view.scene.body_of.items() if body == 0)
        drag(view, node, "start", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        drag(view, node, "update", (0.0, 0.0, 0.0), (0.4, 0.0, 0.0))
        for _ in range(30):
            view.advance(0.02)
        q = view.state.q[0]
        assert view.state.status.tolist() == [1]
        assert q[7] > 0.35 and np.linalg.norm(q[7:10] - q[:3]) > 0.2 - 1e-5
    finally:
        view.stop()
