"""Geoms of a compiled MuJoCo model as shapes of links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kinloop.io.mjcf.mjcf_bodies import LinkFrames
from kinloop.io.mjcf.mjcf_contacts import can_touch, read_surface
from kinloop.io.mjcf.mujoco_codes import HEIGHTFIELD, MESH, MjModel
from kinloop.io.mjcf.safe_source import Places
from kinloop.model import Geometry
from kinloop.spatial import Transform, quaternion_rotation

MeshFile = tuple[str, str]
"""The file of a mesh as the model names it, and the path where it was found."""


def read_shapes(
    model: MjModel, frames: LinkFrames, meshes: Mapping[str, MeshFile], places: Places
) -> Iterator[tuple[str, Geometry]]:
    """(link, geometry) of every geom, sizes in kinloop's convention."""
    yield from _ShapeReader(model, frames, meshes, places).read()


class _ShapeReader:
    """Reads geoms; the hull of a mesh and the data of a height field once for all geoms that have them."""

    def __init__(self, model: MjModel, frames: LinkFrames, meshes: Mapping[str, MeshFile], places: Places) -> None:
        self.model, self.frames, self.meshes, self.places = model, frames, meshes, places
        self.touching = can_touch(model)
        self.hulls: dict[int, np.ndarray | None] = {}
        self.heights: dict[int, np.ndarray] = {}

    def read(self) -> Iterator[tuple[str, Geometry]]:
        names = self.frames.names
        for g in range(self.model.ngeom):
            name, body = names.of("geom", g), int(self.model.geom_bodyid[g])
            with self.places.of("geom", name, body=names.of("body", body)).blamed():
                link, at = self.frames.place(body, self.model.geom_pos[g], self.model.geom_quat[g])
                shape = self._shape(g, name, at)
            if shape is not None:
                yield link, shape

    def _shape(self, g: int, name: str, at: Transform) -> Geometry | None:
        """The shape of a geom at a pose in its link."""
        model = self.model
        material, touches = int(model.geom_matid[g]), bool(self.touching[g])
        rgba = model.geom_rgba[g] if material < 0 else model.mat_rgba[material]
        more: dict[str, Any] = {
            "color": tuple(float(c) for c in rgba), "name": name, "role": "collision" if touches else "visual",
            "surface": read_surface(model, g) if touches else None,
        }  # fmt: skip
        kind, k = int(model.geom_type[g]), int(model.geom_dataid[g])
        if kind == MESH:
            moved = Transform(quaternion_rotation(model.mesh_quat[k]), model.mesh_pos[k])
            more["mesh"], more["path"] = self.meshes.get(self.frames.names.of("mesh", k), (None, None))
            more["vertices"] = self._hull(k, moved) if touches else None
            return Geometry("mesh", tuple(float(s) for s in model.mesh_scale[k]), at.then(moved.inverse()), **more)
        if kind == HEIGHTFIELD:
            x, y, _, base = (float(s) for s in model.hfield_size[k])
            return Geometry("heightfield", (2 * x, 2 * y, base), at, heights=self._heights(k), **more)
        found = solid(kind, *(float(s) for s in model.geom_size[g]))
        return None if found is None else Geometry(*found, at, **more)

    def _hull(self, k: int, moved: Transform) -> np.ndarray | None:
        """The vertices of a mesh's convex hull, as MuJoCo has them, in the frame of the mesh's file."""
        if k not in self.hulls:
            graph, first = self.model.mesh_graph, int(self.model.mesh_graphadr[k])
            if first < 0:
                self.hulls[k] = None
            else:
                count = int(graph[first])  # then: numbers of faces, of each vertex its edges, of each vertex its number
                chosen = int(self.model.mesh_vertadr[k]) + graph[first + 2 + count : first + 2 + 2 * count]
                self.hulls[k] = _read_only(self.model.mesh_vert[chosen].astype(float) @ moved.R.T + moved.p)
        return self.hulls[k]

    def _heights(self, k: int) -> np.ndarray:
        """The heights of a height field [m]."""
        if k not in self.heights:
            rows, columns, first = (
                int(x[k]) for x in (self.model.hfield_nrow, self.model.hfield_ncol, self.model.hfield_adr)
            )
            data = self.model.hfield_data[first : first + rows * columns].astype(float)
            self.heights[k] = _read_only(data.reshape(rows, columns) * float(self.model.hfield_size[k, 2]))
        return self.heights[k]


def _read_only(x: np.ndarray) -> np.ndarray:
    x.setflags(write=False)
    return x


def solid(kind: int, x: float, y: float, z: float) -> tuple[str, tuple[float, ...]] | None:
    """The kind and size of a geom of MuJoCo's type and size (half lengths), where it is a solid or a plane."""
    return {
        0: ("plane", (x, y)), 2: ("sphere", (x,)), 3: ("capsule", (x, 2 * y)), 4: ("ellipsoid", (x, y, z)),
        5: ("cylinder", (x, 2 * y)), 6: ("box", (2 * x, 2 * y, 2 * z)),
    }.get(kind)  # fmt: skip
