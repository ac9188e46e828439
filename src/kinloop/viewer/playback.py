"""A motion as one self-contained page: it plays in any browser, without a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kinloop.compute import checked
from kinloop.errors import MethodError, ShapeError
from kinloop.robot import Robot
from kinloop.sim.contact.ground import Ground
from kinloop.spatial.transform import Array
from kinloop.viewer import surroundings as page
from kinloop.viewer.scene import Scene
from kinloop.viewer.terrain import as_ground


def record(
    robot: Robot,
    times: Any,
    Q: Any,
    path: str | Path,
    contacts: Any = None,
    forces: Any = None,
    *,
    fps: float = 50.0,
    ground: Ground | float | None = None,
    axes: bool = False,
    title: str | None = None,
    notes: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write the motion Q (N, nq) at the times (N,) [s] to an HTML file that plays by itself.

    `contacts` and `forces` (N, C, 3) are points and forces on the robot in the world, drawn as arrows.
    `ground` is what the robot moves on, or its height; None puts level ground below the robot. One configuration
    makes a still.
    """
    path = page.checked_path(path)
    times, Q = _motion(robot, times, Q)
    points, pushes = _contacts(len(Q), contacts, forces)
    frames = frame_indices(times, fps)
    with page.quiet():
        server = page.viser().ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        scene = Scene(server.scene, robot, axes)
        R, p = scene.poses(Q[frames])
        low, high = page.bounds(scene.look, R, p)
        page.dress(server, low, high, as_ground(ground, low[2]), scene.look.size)
        scene.move(Q[frames[0]], (R[0], p[0]))
        if points is not None:
            scene.push(points[frames[0]], pushes[frames[0]])
        serializer = server.get_scene_serializer()
        for k, frame in enumerate(frames[1:], start=1):
            serializer.insert_sleep(float(times[frame] - times[frames[k - 1]]))
            scene.move(Q[frame], (R[k], p[k]))
            if points is not None:
                scene.push(points[frame], pushes[frame])
            if progress is not None:
                progress(k + 1, len(frames))
        if len(frames) > 1:
            serializer.insert_sleep(0.5)
        over = page.caption(robot, scene.look, title, notes)
        return page.write(serializer.as_html(), over, title or robot.name, path)
    finally:
        with page.quiet():
            server.stop()


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


def _motion(robot: Robot, times: Any, Q: Any) -> tuple[Array, Array]:
    Q = np.atleast_2d(checked("Q", Q, robot.nq))
    times = np.atleast_1d(np.asarray(times, dtype=float))
    if Q.ndim != 2 or times.shape != Q.shape[:1]:
        raise ShapeError(f"Q must have shape (N, {robot.nq}) and times (N,), received {Q.shape} and {times.shape}")
    if not len(times) or not np.all(np.diff(times) > 0):
        raise ShapeError("times must be at least one and must increase")
    return times, Q


def _contacts(count: int, contacts: Any, forces: Any) -> tuple[Array | None, Array]:
    if contacts is None and forces is None:
        return None, np.zeros(0)
    if contacts is None or forces is None:
        raise MethodError("contacts and forces belong together; give both or none")
    points, pushes = np.asarray(contacts, dtype=float), np.asarray(forces, dtype=float)
    if points.shape != pushes.shape or points.ndim != 3 or points.shape[0] != count or points.shape[2] != 3:
        raise ShapeError(
            f"contacts and forces must have shape ({count}, C, 3), received {points.shape} and {pushes.shape}"
        )
    return points, pushes
