"""A motion as one self-contained page: it plays in any browser, without a server."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinloop.errors import MethodError, ShapeError
from kinloop.inputs import checked
from kinloop.robot import Robot
from kinloop.scalar import Array
from kinloop.sim.contact.ground import Ground
from kinloop.viewer.camera_and_light import bounding_box, set_up_view
from kinloop.viewer.draw_ground import as_ground
from kinloop.viewer.html_page import caption, checked_page_path, write_page
from kinloop.viewer.viser_scene import Scene
from kinloop.viewer.viser_server import running_server

END = 0.5
"""How long the last frame of a motion stays [s]."""

Progress = Callable[[int, int], None]
"""Called with frames done and frames in all."""


def record(
    robot: Robot,
    times: ArrayLike,
    Q: ArrayLike,
    path: str | Path,
    contacts: ArrayLike | None = None,
    forces: ArrayLike | None = None,
    *,
    fps: float = 50.0,
    ground: Ground | float | None = None,
    show: Collection[str] = ("forces",),
    shadows: bool = False,
    title: str | None = None,
    notes: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write the motion Q (N, nq) at the times (N,) [s] to an HTML file that plays by itself.

    `contacts` and `forces` (N, C, 3) are points and forces on the robot in the world, drawn as arrows.
    `ground` is what the robot moves on, or its height; None puts level ground below the robot. `show` names what is
    drawn besides the robot: frames, inertias, center_of_mass, contacts, forces, labels.
    `shadows` look better, and take a browser without a graphics card twice the time. One configuration is a still.
    """
    path = checked_page_path(path)
    motion = _motion(robot, times, Q, contacts, forces)
    motion = motion.at(frame_indices(motion.times, fps))
    with running_server() as server:
        scene = Scene(server.scene, robot, show)
        R, p = scene.poses(motion.Q)
        low, high = bounding_box(scene.look, R, p)
        around = as_ground(ground, low[2], robot.mechanism.world_geometry)
        set_up_view(server, low, high, around, scene.look.size, shadows)
        page = _played(server, scene, motion, (R, p), progress)
        return write_page(page, caption(robot, scene.look, title, notes), title or robot.name, path)


class _Motion(NamedTuple):
    """Configurations at times, with the points and forces of contact where these are drawn."""

    times: Array
    Q: Array
    points: Array | None
    forces: Array | None

    def at(self, frames: Array) -> _Motion:
        """The motion at some of its times."""
        if self.points is None or self.forces is None:
            return _Motion(self.times[frames], self.Q[frames], None, None)
        return _Motion(self.times[frames], self.Q[frames], self.points[frames], self.forces[frames])


def _played(server: Any, scene: Scene, motion: _Motion, poses: tuple[Array, Array], progress: Progress | None) -> str:
    """The page of a scene that goes through a motion."""
    count = len(motion.times)

    def show(k: int) -> None:
        scene.move(motion.Q[k], (poses[0][k], poses[1][k]))
        if motion.points is not None and motion.forces is not None:
            scene.push(motion.points[k], motion.forces[k])

    show(0)
    serializer = server.get_scene_serializer()
    for k in range(1, count):
        serializer.insert_sleep(float(motion.times[k] - motion.times[k - 1]))
        show(k)
        if progress is not None:
            progress(k + 1, count)
    if count > 1:
        serializer.insert_sleep(END)
    return str(serializer.as_html())


def frame_indices(times: Array, fps: float) -> Array:
    """Which of the recorded times to show, at most `fps` per second: first and last among them."""
    if not fps > 0:
        raise MethodError(f"fps must be a positive number, received {fps!r}")
    count = max(1, round(float(times[-1] - times[0]) * fps) + 1)
    wanted = np.linspace(times[0], times[-1], min(count, len(times)))
    right = np.clip(np.searchsorted(times, wanted), 0, len(times) - 1)
    left = np.maximum(right - 1, 0)
    nearest = np.where(np.abs(times[left] - wanted) <= np.abs(times[right] - wanted), left, right)
    return np.unique(nearest)


def _motion(
    robot: Robot, times: ArrayLike, Q: ArrayLike, contacts: ArrayLike | None, forces: ArrayLike | None
) -> _Motion:
    Q = np.atleast_2d(checked("Q", Q, robot.nq))
    times = np.atleast_1d(np.asarray(times, dtype=float))
    if Q.ndim != 2 or times.shape != Q.shape[:1]:
        raise ShapeError(f"Q must have shape (N, {robot.nq}) and times (N,), received {Q.shape} and {times.shape}")
    if not len(times) or not np.all(np.diff(times) > 0):
        raise ShapeError("times must be at least one and must increase")
    return _Motion(times, Q, *_contacts(len(Q), contacts, forces))


def _contacts(
    count: int, contacts: ArrayLike | None, forces: ArrayLike | None
) -> tuple[Array, Array] | tuple[None, None]:
    if contacts is None and forces is None:
        return None, None
    if contacts is None or forces is None:
        raise MethodError("contacts and forces belong together; give both or none")
    points, pushes = np.asarray(contacts, dtype=float), np.asarray(forces, dtype=float)
    if points.shape != pushes.shape or points.ndim != 3 or points.shape[0] != count or points.shape[2] != 3:
        raise ShapeError(
            f"contacts and forces must have shape ({count}, C, 3), received {points.shape} and {pushes.shape}"
        )
    return points, pushes
