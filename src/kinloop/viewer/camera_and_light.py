"""Around the robot: how much room it takes, and the ground, light and camera that go with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinloop.scalar import Array
from kinloop.sim.contact.ground import Ground
from kinloop.viewer.body_shapes import half_extent
from kinloop.viewer.draw_ground import clearance, draw_ground
from kinloop.viewer.robot_look import Look


def bounding_box(look: Look, R: Array, p: Array) -> tuple[Array, Array]:
    """Lowest and highest corner of a box that holds all shapes, at all poses of R (..., bodies, 3, 3) and p."""
    low, high = [p.reshape(-1, 3).min(axis=0)], [p.reshape(-1, 3).max(axis=0)]
    for i, shapes in enumerate(look.shapes):
        for s in shapes:
            centre, half = half_extent(s)
            at = p[..., i, :] + R[..., i, :, :] @ (s.placement.p + s.placement.R @ centre)
            extent = np.abs(R[..., i, :, :] @ s.placement.R) @ half
            low.append((at - extent).reshape(-1, 3).min(axis=0))
            high.append((at + extent).reshape(-1, 3).max(axis=0))
    a, b = np.min(low, axis=0), np.max(high, axis=0)
    return (a, b) if np.linalg.norm(b - a) > 1e-6 else (a - 0.1, b + 0.1)


def set_up_view(server: Any, low: Array, high: Array, ground: Ground, size: float, shadows: bool = False) -> None:
    """Ground, light and camera for a robot `size` metres large that moves between two corners."""
    scene = server.scene
    scene.set_up_direction("+z")
    scene.world_axes.visible = False
    draw_ground(scene, ground, low, high, size, shadows)
    span = float(np.linalg.norm(high - low))
    # lamps instead of an environment map: that one takes software renderers half a minute
    scene.configure_default_lights(True, cast_shadow=shadows)
    scene.configure_environment_map(None)
    scene.add_light_hemisphere("/light/sky", sky_color=(255, 255, 255), ground_color=(170, 168, 165), intensity=1.6)
    middle = 0.5 * (low + high)
    fill = tuple(float(x) for x in middle + span * np.array([0.2, -2.0, 1.0]))
    scene.add_light_directional("/light/fill", intensity=1.1, cast_shadow=False, position=fill)
    camera = server.initial_camera
    camera.up = (0.0, 0.0, 1.0)
    camera.look_at = tuple(middle)
    camera.position = tuple(eye(middle, span, ground))
    camera.near, camera.far = 1e-3 * span, 100.0 * span
    camera.fov = 0.75


def eye(middle: Array, span: float, ground: Ground) -> Array:
    """Where to look from: from the front right, else from the first side where no ground is in the way."""
    views = []
    for rise in (0.42, 1.0):
        for turn in np.pi / 4 * np.array([0, 1, -1, 2, -2, 3, -3, 4]):
            c, s = np.cos(turn), np.sin(turn)
            way = np.array([0.78 * c + 0.92 * s, 0.78 * s - 0.92 * c, rise])
            views.append(1.3 * span * way / np.linalg.norm(way))
    sight = np.linspace(0.3, 1.0, 30)[:, None]
    # a tenth of the span is clear enough; rounded, so that on level ground all sides are equal
    room = [round(min(clearance(ground, middle + sight * v) / span, 0.1), 3) for v in views]
    return middle + views[int(np.argmax(room))]
