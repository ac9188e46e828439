"""A robot in the browser, live: sliders for the independent coordinates, loops closed all the while."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinloop.errors import KinloopError
from kinloop.inputs import checked
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.contact.candidates import Candidate, find_candidates
from kinloop.sim.contact.ground import Ground
from kinloop.sim.contact.standing import contact_positions
from kinloop.viewer.camera_and_light import bounding_box, set_up_view
from kinloop.viewer.draw_ground import as_ground, covers, draw_ground
from kinloop.viewer.html_page import headline
from kinloop.viewer.html_recording import frame_indices
from kinloop.viewer.slider_coordinates import Coordinates
from kinloop.viewer.viser_scene import PARTS, Scene
from kinloop.viewer.viser_server import start_server, stop_server

REACH = 6
"""Random configurations that the first view has room for."""

RATE = 50.0
"""Frames shown per second of wall time."""


class Viewer:
    """A live view of a robot: `update(q)` (nq) [rad, m] moves it, `play(times, Q)` shows a motion, `stop()` ends it."""

    def __init__(
        self,
        robot: Robot,
        q: ArrayLike | None = None,
        port: int = 8080,
        ground: Ground | float | None = None,
        show: Collection[str] = (),
    ) -> None:
        self.robot = robot
        self.coordinates = Coordinates(robot, q)
        self.server = start_server(port, robot.name)
        self.scene = Scene(self.server.scene, robot, show)
        self.candidates = contact_candidates(robot)
        R, p = self.scene.poses(self.coordinates.q)
        self.area = bounding_box(self.scene.look, R, p)
        self.ground = as_ground(ground, self.area[0][2], robot.mechanism.world_geometry)
        # the camera has room for what `random` may show
        reach = np.array([self.coordinates.q, *(self.coordinates.shuffled(k) for k in range(REACH))])
        set_up_view(
            self.server, *bounding_box(self.scene.look, *self.scene.poses(reach)), self.ground, self.scene.look.size
        )
        self.server.gui.main_panel.dock_right()
        self.scene.move(self.coordinates.q, (R, p))
        self._busy = False
        self._controls()

    @property
    def url(self) -> str:
        """Where a browser finds the view."""
        return f"http://127.0.0.1:{self.server.get_port()}"

    def _controls(self) -> None:
        gui, c = self.server.gui, self.coordinates
        # not as Markdown: in viser that runs HTML, and reads files and addresses named in it
        self.headline = gui.add_html(headline(self.robot))
        self.error = gui.add_text("open loops [m, rad]", initial_value="0", disabled=True)
        gui.add_button("neutral").on_click(lambda _: self.update(self.robot.neutral()))
        gui.add_button("random").on_click(lambda _: self.update(c.shuffled()))
        self.toggles = show_toggles(gui, self.scene, [p for p in PARTS if p != "forces"], self._refresh)
        self.shadows = gui.add_checkbox("shadows", initial_value=False)
        self.shadows.on_update(lambda _: self._shade())
        self.sliders = []
        with gui.add_folder("independent coordinates"):
            for k, name in enumerate(c.labels):
                low, high = c.limits(k)
                step = max(1e-4, (high - low) / 1000)
                slider = gui.add_slider(
                    name, min=low, max=high, step=step, initial_value=np.clip(c.value(k), low, high)
                )
                slider.on_update(lambda _, k=k: self._slid(k))
                self.sliders.append(slider)

    def _slid(self, k: int) -> None:
        if self._busy:
            return
        self.coordinates.move(k, float(self.sliders[k].value))
        self._refresh(skip=k)

    def _refresh(self, skip: int = -1) -> None:
        """Draw the configuration, and bring the sliders to it."""
        q = self.coordinates.q
        R, p = self.scene.poses(q)
        with self.server.atomic():
            self._follow(R, p)
            self.scene.move(q, (R, p))
            if self.candidates and "contacts" in self.scene.shown:
                points = contact_positions((R, p), self.candidates, self.ground)
                self.scene.push(points, np.zeros_like(points))
        errors = self.robot.loop_error(q)
        self.error.value = f"{float(np.max(errors)) if errors.size else 0.0:.1e}"
        self._busy = True
        try:
            for k, slider in enumerate(self.sliders):
                value = float(np.clip(self.coordinates.value(k), slider.min, slider.max))
                if abs(value - slider.value) > (1e-3 if k == skip else 1e-9):
                    slider.value = value
        finally:
            self._busy = False

    def _follow(self, R: Array, p: Array) -> None:
        """Draw the ground anew where the robot, at one or many poses, leaves what is drawn of it."""
        low, high = bounding_box(self.scene.look, R, p)
        if not covers(self.ground, self.area, low, high):
            self.area = low, high
            self._draw_ground()

    def _draw_ground(self) -> None:
        draw_ground(self.server.scene, self.ground, *self.area, self.scene.look.size, self.shadows.value)

    def _shade(self) -> None:
        """Cast shadows or none, as the panel says."""
        self.server.scene.configure_default_lights(True, cast_shadow=self.shadows.value)
        self._draw_ground()

    def update(self, q: ArrayLike) -> None:
        """Show the configuration q (nq) [rad, m]; loops that stand open in it are closed first."""
        self.coordinates.restart(self.robot.close(q))
        self._refresh()

    def play(self, times: ArrayLike, Q: ArrayLike, speed: float = 1.0) -> None:
        """Show a motion Q (N, nq) [rad, m] at the times (N,) [s], or `speed` times as fast."""
        times, Q = np.asarray(times, dtype=float), np.atleast_2d(checked("Q", Q, self.robot.nq))
        R, p = self.scene.poses(Q)
        self._follow(R, p)
        start = time.perf_counter()
        for k in frame_indices(times, RATE / speed):
            time.sleep(max(0.0, (times[k] - times[0]) / speed - (time.perf_counter() - start)))
            with self.server.atomic():
                self.scene.move(Q[k], (R[k], p[k]))
        self.coordinates.restart(Q[-1])

    def wait(self) -> None:
        """Stay until interrupted (Ctrl-C)."""
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    def stop(self) -> None:
        """End the view."""
        stop_server(self.server)


def show_toggles(gui: Any, scene: Scene, parts: Collection[str], refresh: Callable[[], None]) -> dict[str, Any]:
    """Boxes in a panel that show or hide parts of a scene; `refresh` draws anew what moves."""
    boxes: dict[str, Any] = {}
    with gui.add_folder("show"):
        for part in parts:
            boxes[part] = gui.add_checkbox(part.replace("_", " "), initial_value=part in scene.shown)
    for part, box in boxes.items():

        def toggled(_: Any, part: str = part, box: Any = box) -> None:
            scene.show(part, box.value)
            refresh()

        box.on_update(toggled)
    return boxes


def contact_candidates(robot: Robot) -> list[Candidate]:
    """The points with which a robot would touch the ground, if it has any."""
    try:
        return find_candidates(robot, None)
    except KinloopError:
        return []


def show(
    robot: Robot,
    q: ArrayLike | None = None,
    *,
    port: int = 8080,
    ground: Ground | float | None = None,
    show: Collection[str] = (),
) -> Viewer:
    """Open a live view of a robot at q (nq) [rad, m] (neutral if left out) on a ground; see `Viewer.url`.

    `show` names what is shown besides the robot at first: frames, inertias, center_of_mass, contacts, labels.
    """
    return Viewer(robot, q, port, ground, show)
