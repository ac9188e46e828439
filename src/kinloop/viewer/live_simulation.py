"""A simulation in the browser, at its own pace: bodies are dragged with the mouse."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinloop.errors import MethodError
from kinloop.inputs import checked
from kinloop.scalar import Array
from kinloop.sim import Simulator, State
from kinloop.sim.integrators.fixed_step import FixedStep
from kinloop.viewer.camera_and_light import bounding_box, set_up_view
from kinloop.viewer.contact_arrows import contact_arrows, contact_records
from kinloop.viewer.draw_ground import as_ground, covers, draw_ground
from kinloop.viewer.html_page import headline
from kinloop.viewer.live_server import show_toggles
from kinloop.viewer.mouse_grip import MouseGrip, grip_forces
from kinloop.viewer.viser_scene import PARTS, Scene
from kinloop.viewer.viser_server import start_server, stop_server

RATE = 50.0
"""Frames shown per second of wall time."""

BEHIND = 0.2
"""A simulation that is this far behind its time [s] gives up the rest: it runs as fast as it can."""

Controls = ArrayLike | Callable[[Any, State], ArrayLike] | None


class LiveSimulation:
    """A simulation that a browser shows while it runs; a body is dragged by pulling at it with the left mouse button.

    From q (nq) [rad, m] and v (nv) [rad/s, m/s]. `advance(seconds)` brings it forward and draws it, `run(seconds)` does
    so at its own pace, `stop()` ends it.
    """

    def __init__(self, sim: Simulator, q: ArrayLike | None, v: ArrayLike | None, controls: Controls, port: int) -> None:
        if not isinstance(sim.method, FixedStep):
            raise MethodError(f"the {sim.integrator} integrator has no single step to show; use semi_implicit or rk4")
        self.robot, self._given, self.nu = sim.robot, controls, sim.nu
        self.sim = sim.with_forces(grip_forces(sim.robot))
        self.begin = self.state = self.sim.state(q, v)
        self.grip = MouseGrip(sim.robot)
        self.server = start_server(port, sim.robot.name)
        self.scene = Scene(self.server.scene, sim.robot)
        R, p = self.scene.poses(self.state.q[0])
        self.area = bounding_box(self.scene.look, R, p)
        self.ground = as_ground(sim.ground, self.area[0][2], sim.robot.mechanism.world_geometry)
        set_up_view(self.server, *self.area, self.ground, self.scene.look.size)
        self.server.gui.main_panel.dock_right()
        self._controls()
        self.draw()

    @property
    def url(self) -> str:
        """Where a browser finds the view."""
        return f"http://127.0.0.1:{self.server.get_port()}"

    def _controls(self) -> None:
        gui = self.server.gui
        gui.add_html(headline(self.robot))
        self.clock = gui.add_text("time [s]", initial_value="0.00", disabled=True)
        self.paused = gui.add_checkbox("pause", initial_value=False)
        gui.add_button("restart").on_click(lambda _: self.restart())
        self.toggles = show_toggles(gui, self.scene, PARTS, self.draw)
        for name, body in self.scene.body_of.items():
            self.scene.nodes[name].on_drag(self._dragged(body))

    def _dragged(self, body: int) -> Callable[[Any], Any]:
        async def dragged(event: Any) -> None:  # awaited by viser: phases come in order
            if event.phase == "end":
                self.grip.release()
            elif event.phase == "start":
                self.grip.take(body, event.start_position, event.end_position, self.state.q[0])
            else:
                self.grip.move(event.end_position)

        return dragged

    def restart(self) -> None:
        """Let go, and begin anew."""
        self.grip.release()
        self.state = self.begin

    def advance(self, seconds: float) -> None:
        """Bring the simulation forward by a time [s], in whole steps, and draw it."""
        for _ in range(max(1, round(seconds / self.sim.dt))):
            state = self.state
            pull = self.grip.pull(state.q[0], self.sim.velocities(state)[0])
            after = self.sim.step(state, np.concatenate([self._told(state), self.grip.controls(pull)]))
            if self.state is state:  # nobody has begun anew meanwhile
                self.state = after
        self.draw()

    def _told(self, state: State) -> Array:
        """The controls of the simulator that was given."""
        u = self._given(float(state.t[0]), state) if callable(self._given) else self._given
        return checked("controls", np.zeros(self.nu) if u is None else u, self.nu).reshape(self.nu)

    def draw(self) -> None:
        """Show where the robot is, and what the mouse does."""
        q = self.state.q[0]
        R, p = self.scene.poses(q)
        pull = self.grip.pull(q, self.sim.velocities(self.state)[0])
        low, high = bounding_box(self.scene.look, R, p)
        with self.server.atomic():
            if not covers(self.ground, self.area, low, high):
                self.area = low, high
                draw_ground(self.server.scene, self.ground, low, high, self.scene.look.size)
            self.scene.move(q, (R, p))
            if self.scene.shown & {"contacts", "forces"}:
                points, forces = self._contact()
                if pull is not None:
                    points, forces = np.vstack([points, pull.point]), np.vstack([forces, pull.force])
                self.scene.push(points, forces)
        self.clock.value = f"{float(self.state.t[0]):.2f}"

    def _contact(self) -> tuple[Array, Array]:
        """Points and forces of contact (C, 3) in the step that comes next."""
        record = contact_records(self.sim)
        if not record:
            return np.zeros((0, 3)), np.zeros((0, 3))
        u = np.concatenate([self._told(self.state), self.grip.controls(None)])
        run = self.sim.rollout(state=self.state, controls=u, steps=1, record=("q", *record))
        points, forces = contact_arrows(self.sim, run) or (np.zeros((1, 0, 3)),) * 2
        return points[0], forces[0]

    def run(self, seconds: float | None = None) -> None:
        """Go on at the simulation's own pace, for so long on the wall clock [s], or until interrupted (Ctrl-C)."""
        began = last = time.perf_counter()
        try:
            while (seconds is None or last - began < seconds) and bool(self.state.ok[0]):
                time.sleep(max(0.0, 1.0 / RATE - (time.perf_counter() - last)))
                now = time.perf_counter()
                if not self.paused.value:
                    self.advance(min(now - last, BEHIND))
                last = now
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """End the view."""
        stop_server(self.server)


def simulate(
    sim: Simulator,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    controls: Controls = None,
    *,
    port: int = 8080,
) -> LiveSimulation:
    """Open a live view of a simulation from q0 (nq) [rad, m], v0 (nv) [rad/s, m/s]; `run()` lets it go on at `url`.

    `controls` are held (nu,), or a function (t, state) -> (nu,) that is asked before every step.
    """
    return LiveSimulation(sim, q0, v0, controls, port)
