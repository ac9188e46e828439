"""Where single free bodies are at the beginning of a step, or at the blow in it: there they push each other.

A step with contact moves by its last velocity, as if impulses came at its beginning. Angular momentum is then kept if
they have the levers of that instant (`integrators.free_momentum`), along the normals that shapes have there. With
restitution the instant is that of the first touch. All other bodies push where they are at the middle of the step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinloop.clusters import ClusterTree
from kinloop.scalar import Array
from kinloop.sim.contact.scene import Scene, Touching
from kinloop.sim.turning_axes import free_bodies
from kinloop.spatial import Transform
from kinloop.spatial.rotation import quaternion_product, quaternion_rotation, rotation_vector_quaternion
from kinloop.spatial.transform import cross


class Start(NamedTuple):
    """Positions and spanning velocities at the beginning of a step."""

    q: Array
    qd: Array

    def poses(self, tree: ClusterTree, bodies: list[int], time: Any) -> dict[int, Transform]:
        """Poses in the world of single bodies a time [s] after the beginning without accelerations."""
        out, top = dict[int, Transform](), tree.top
        for i in bodies:
            q, (w, v) = self.q[top.q_of[i]], self.qd[top.v_of[i]].reshape(2, 3)
            R_0, c = quaternion_rotation(q[3:]), np.asarray(top.com[i])
            R = R_0
            if not (isinstance(time, float) and time == 0.0):
                R = quaternion_rotation(quaternion_product(q[3:], rotation_vector_quaternion(time * w)))
            # the centre of mass goes straight on
            out[i] = top.placement[i].then(Transform(R, q[:3] + R_0 @ (c + time * (v + cross(w, c))) - R @ c))
        return out


def single_bodies(tree: ClusterTree) -> list[int]:
    """Free bodies that carry nothing and whose joint has no inertia of its own."""
    top = tree.top
    carriers = set(top.parent)
    return [i for i in free_bodies(tree) if i not in carriers and not np.any(top.armature[top.v_of[i]])]


def between_single(tree: ClusterTree, scene: Scene) -> list[bool]:
    """Of every pair of a scene whether both its shapes are those of single bodies."""
    single = set(single_bodies(tree))

    def both(pair: Touching) -> bool:
        return {scene.shapes[pair.a].body, scene.shapes[pair.b].body} <= single

    return [both(pair) for pair in scene.pairs]


def lever_shifts(
    tree: ClusterTree, bodies: tuple[int, ...], poses: dict[int, Transform], middle: dict[int, Transform]
) -> Array:
    """How far centres of mass go from `poses` to the middle (bodies and world, 3); zero where there is no such pose."""
    rows = np.zeros((len(bodies) + 1, 3), dtype=object)
    for k, i in enumerate(bodies):
        if i in poses:
            c = np.asarray(tree.top.com[i])
            rows[k] = (middle[i].p + middle[i].R @ c) - (poses[i].p + poses[i].R @ c)
    return rows
