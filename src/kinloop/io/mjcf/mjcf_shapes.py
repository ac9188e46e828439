"""Geoms of a compiled MuJoCo model as shapes of links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kinloop.io.mjcf.mjcf_bodies import LinkFrames
from kinloop.io.mjcf.mujoco_codes import MESH, MjModel
from kinloop.io.mjcf.safe_source import Places
from kinloop.model import Geometry
from kinloop.spatial import Transform, quaternion_rotation

MeshFile = tuple[str, str]
"""The file of a mesh as the model names it, and the path where it was found."""


def read_shapes(
    model: MjModel, frames: LinkFrames, meshes: Mapping[str, MeshFile], places: Places
) -> Iterator[tuple[str, Geometry]]:
    """(link, geometry) of every geom that is a solid, a plane or a mesh, sizes in kinloop's convention."""
    for g in range(model.ngeom):
        name, body = frames.names.of("geom", g), int(model.geom_bodyid[g])
        with places.of("geom", name, body=frames.names.of("body", body)).blamed():
            link, at = frames.place(body, model.geom_pos[g], model.geom_quat[g])
            shape = _shape(model, frames, meshes, g, name, at)
        if shape is not None:
            yield link, shape


def _shape(
    model: MjModel, frames: LinkFrames, meshes: Mapping[str, MeshFile], g: int, name: str, at: Transform
) -> Geometry | None:
    """The shape of a geom at a pose in its link."""
    material = int(model.geom_matid[g])
    rgba = model.geom_rgba[g] if material < 0 else model.mat_rgba[material]
    more: dict[str, Any] = {
        "color": tuple(float(c) for c in rgba), "name": name,
        "role": "collision" if model.geom_contype[g] or model.geom_conaffinity[g] else "visual",
    }  # fmt: skip
    kind = int(model.geom_type[g])
    solid = _solid(kind, *(float(s) for s in model.geom_size[g]))
    if solid is not None:
        return Geometry(*solid, at, **more)
    if kind != MESH:
        return None
    k = int(model.geom_dataid[g])
    moved = Transform(quaternion_rotation(model.mesh_quat[k]), model.mesh_pos[k])
    more["mesh"], more["path"] = meshes.get(frames.names.of("mesh", k), (None, None))
    size = tuple(float(s) for s in model.mesh_scale[k])
    return Geometry("mesh", size, at.then(moved.inverse()), **more)


def _solid(kind: int, x: float, y: float, z: float) -> tuple[str, tuple[float, ...]] | None:
    """The kind and size of a geom of MuJoCo's type and size (half lengths), where it is a solid or a plane."""
    return {
        0: ("plane", (x, y)), 2: ("sphere", (x,)), 3: ("capsule", (x, 2 * y)), 4: ("ellipsoid", (x, y, z)),
        5: ("cylinder", (x, 2 * y)), 6: ("box", (2 * x, 2 * y, 2 * z)),
    }.get(kind)  # fmt: skip
