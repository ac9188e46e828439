"""A robot in the browser, live: sliders for the independent coordinates, loops closed all the while."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from kinloop.compute import checked
from kinloop.errors import KinloopError
from kinloop.model.joints import Prismatic
from kinloop.robot import Robot
from kinloop.sim.contact.ground import Ground
from kinloop.spatial.transform import Array
from kinloop.viewer import surroundings as page
from kinloop.viewer.scene import Scene
from kinloop.viewer.terrain import as_ground, covers, draw_ground

STRIDE = 0.1
"""Longest step of a slider at once [rad, m]: longer ones are walked, so that loops keep their branch."""


class Coordinates:
    """A closed configuration moved by its independent coordinates, one at a time."""

    def __init__(self, robot: Robot, q: Any = None) -> None:
        self.robot = robot
        top = robot.tree.top
        self.q = robot.close(robot.neutral() if q is None else checked("q", q, robot.nq))
        self.names = robot.independent_names
        self.places = [_place(top, d) for d in robot.tree.independent_dofs]
        # what has no plain position (a free base, a ball) is counted from where it starts
        self.turned = np.zeros(robot.nv)

    def value(self, k: int) -> float:
        place = self.places[k]
        return float(self.turned[k] if place < 0 else self.q[place])

    def values(self) -> list[float]:
        return [self.value(k) for k in range(len(self.names))]

    def limits(self, k: int) -> tuple[float, float]:
        """Where a slider may go: the joint's limits, else a turn or a metre around the start."""
        top = self.robot.tree.top
        d = self.robot.tree.independent_dofs[k]
        joint = top.joints[top.body_of[d]]
        slides = isinstance(joint.type, Prismatic) or (self.places[k] < 0 and d - top.v_of[top.body_of[d]].start >= 3)
        reach, now = (1.0 if slides else np.pi), self.value(k)
        low = joint.lower if np.isfinite(joint.lower) and joint.type.nv == 1 else min(-reach, now)
        high = joint.upper if np.isfinite(joint.upper) and joint.type.nv == 1 else max(reach, now)
        return min(float(low), now), max(float(high), now)

    def move(self, k: int, target: float) -> bool:
        """Bring coordinate k to the target; False where the loops cannot follow (it then stays where it came)."""
        for _ in range(200):
            rest = target - self.value(k)
            if abs(rest) < 1e-9:
                return True
            step = np.zeros(self.robot.nv)
            step[k] = np.clip(rest, -STRIDE, STRIDE)
            before = self.value(k)
            try:
                q = self.robot.integrate(self.q, step)
                self.robot.check_closed(q, 1e-8)
            except KinloopError:
                return False
            if not np.all(np.isfinite(q)) or np.max(np.abs(q - self.q)) > 20 * STRIDE:
                return False
            self.q = q
            if self.places[k] < 0:
                self.turned[k] += step[k]
            elif abs(self.value(k) - before - step[k]) > 0.5 * abs(step[k]):
                return False  # the loops took it elsewhere: the end of its reach
        return False

    def restart(self, q: Array) -> None:
        self.q, self.turned = q, np.zeros(self.robot.nv)


def _place(top: Any, d: int) -> int:
    """Place in q of spanning coordinate d, or -1 if its joint has no plain positions."""
    i = top.body_of[d]
    kind = top.types[i]
    return top.q_of[i].start + d - top.v_of[i].start if kind.nq == kind.nv else -1


class Viewer:
    """A live view of a robot: `update(q)` moves it, `play(times, Q)` shows a motion, `stop()` ends it."""

    def __init__(
        self, robot: Robot, q: Any = None, port: int = 8080, ground: Ground | float | None = None, axes: bool = False
    ) -> None:
        self.robot = robot
        self.coordinates = Coordinates(robot, q)
        with page.quiet():
            self.server = page.viser().ViserServer(host="127.0.0.1", port=port, label=robot.name, verbose=False)
        self.scene = Scene(self.server.scene, robot, axes)
        R, p = self.scene.poses(self.coordinates.q)
        self.area = page.bounds(self.scene.look, R, p)
        self.ground = as_ground(ground, self.area[0][2])
        page.dress(self.server, *self.area, self.ground, self.scene.look.size)
        self.scene.move(self.coordinates.q, (R, p))
        self._busy = False
        self._controls(axes)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.get_port()}"

    def _controls(self, axes: bool) -> None:
        gui, c = self.server.gui, self.coordinates
        m = self.robot.mechanism
        gui.add_markdown(
            f"**{self.robot.name}**: {self.robot.nv} degrees of freedom, {len(m.bodies)} bodies, "
            f"{len(m.loops)} loops, {len(m.couplings)} couplings"
        )
        self.error = gui.add_text("open loops [m, rad]", initial_value="0", disabled=True)
        gui.add_button("neutral").on_click(lambda _: self.update(self.robot.neutral()))
        gui.add_button("random").on_click(lambda _: self.update(self.robot.random_state()[0]))
        shown = gui.add_checkbox("frames", initial_value=axes)
        shown.on_update(lambda _: self.scene.show_axes(shown.value))
        self.sliders = []
        with gui.add_folder("independent coordinates"):
            for k, name in enumerate(c.names):
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
        low, high = page.bounds(self.scene.look, R, p)
        if not covers(self.ground, self.area, low, high):
            self.area = low, high
            draw_ground(self.server.scene, self.ground, low, high, self.scene.look.size)

    def update(self, q: Any) -> None:
        """Show the configuration q; loops that stand open in it are closed first."""
        self.coordinates.restart(self.robot.close(q))
        self._refresh()

    def play(self, times: Any, Q: Any, speed: float = 1.0) -> None:
        """Show a motion Q (N, nq) at its own pace, or `speed` times as fast."""
        from kinloop.viewer.playback import frame_indices

        times, Q = np.asarray(times, dtype=float), np.atleast_2d(checked("Q", Q, self.robot.nq))
        R, p = self.scene.poses(Q)
        self._follow(R, p)
        start = time.perf_counter()
        for k in frame_indices(times, 50.0 / speed):
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
        with page.quiet():
            self.server.stop()


def show(
    robot: Robot, q: Any = None, *, port: int = 8080, ground: Ground | float | None = None, axes: bool = False
) -> Viewer:
    """Open a live view of a robot at q (its neutral configuration if left out) on a ground; see `Viewer.url`."""
    return Viewer(robot, q, port, ground, axes)
